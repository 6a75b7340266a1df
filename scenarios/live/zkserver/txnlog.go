package zkserver

import (
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// txn is a transaction as a log tells of it.
type txn struct {
	zxid    int64
	session int64
	cxid    int32 // the number of the request on its session; 0: no client's
	op      int32
	path    string   // opCreate, opCreate2, opDelete
	paths   []string // opCloseSession: the ephemeral znodes that go with it
	owned   bool     // opCreate, opCreate2: the znode is ephemeral
}

// epoch is the leadership that a zxid is of.
func epoch(zxid int64) int64 { return zxid >> 32 }

// begins reports whether nothing has been done yet in the epoch of a zxid.
func begins(zxid int64) bool { return zxid&(1<<32-1) == 0 }

// logReader reads the transaction logs of a member, as they grow (FileTxnLog).
type logReader struct {
	folder string // that has them
	file   *os.File
	name   string // of the file, or of the last
	offset int64
}

// Sizes in a log: of a file's head, of an entry's, which is a checksum and a length, and of its mark at the end.
const (
	fileHead  = 16
	entryHead = 12
	entryTail = 1
	endMark   = 'B'
)

// reset has everything read again.
func (l *logReader) reset() {
	if l.file != nil {
		l.file.Close()
	}
	*l = logReader{folder: l.folder}
}

// read gives what has been written since, as far as it is whole.
func (l *logReader) read(take func(txn)) error {
	for {
		if l.file == nil {
			if more, err := l.open(); !more {
				return err
			}
		}
		entry, err := l.entry()
		if err != nil {
			return err
		}
		if entry != nil {
			take(readTxn(entry))
			continue
		}
		if next, err := l.following(); err != nil || next == "" {
			return err
		}
		// what was written between the two looks comes before the next file
		if entry, err = l.entry(); err != nil {
			return err
		}
		if entry != nil {
			take(readTxn(entry))
			continue
		}
		l.file.Close()
		l.file = nil
	}
}

// following is the file after the present one; empty if there is none.
func (l *logReader) following() (string, error) {
	names, err := filepath.Glob(filepath.Join(l.folder, "log.*"))
	if err != nil {
		return "", err
	}
	slices.SortFunc(names, earlier)
	at := slices.IndexFunc(names, func(name string) bool { return earlier(l.name, name) < 0 })
	if at < 0 {
		return "", nil
	}
	return names[at], nil
}

// earlier compares the names of files, which end in the hexadecimal number of their first zxid.
func earlier(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// open opens the next file, if there is one.
func (l *logReader) open() (more bool, err error) {
	name, err := l.following()
	if err != nil || name == "" {
		return false, err
	}
	if l.file, err = os.Open(name); err != nil {
		return false, err
	}
	l.name, l.offset = name, fileHead
	return true, nil
}

// entry is the next entry of the file; nil if it is not whole.
func (l *logReader) entry() ([]byte, error) {
	var head [entryHead]byte
	if whole, err := l.at(head[:], l.offset); !whole {
		return nil, err
	}
	sum, size := binary.BigEndian.Uint64(head[:]), binary.BigEndian.Uint32(head[8:])
	if size == 0 || size > longest {
		return nil, nil
	}
	b := make([]byte, size+entryTail)
	if whole, err := l.at(b, l.offset+entryHead); !whole {
		return nil, err
	}
	entry := b[:size]
	if b[size] != endMark || uint64(adler32.Checksum(entry)) != sum {
		return nil, nil
	}
	l.offset += entryHead + int64(len(b))
	return entry, nil
}

// at fills b with what stands at a place; whole is false if that is not there yet.
func (l *logReader) at(b []byte, offset int64) (whole bool, err error) {
	_, err = l.file.ReadAt(b, offset)
	if errors.Is(err, io.EOF) {
		return false, nil
	}
	return err == nil, err
}

// readTxn reads an entry.
func readTxn(b []byte) (t txn) {
	f := fields{b: b}
	t.session, t.cxid, t.zxid = f.long(), f.int(), f.long()
	f.long() // when, by the leader's clock
	t.op = f.int()
	switch t.op {
	case opCreate, opCreate2:
		t.path = f.text()
		_ = f.text() // data
		for n := f.int(); n > 0 && !f.torn; n-- {
			f.int()
			_, _ = f.text(), f.text()
		}
		t.owned = f.flag()
	case opDelete:
		t.path = f.text()
	case opCloseSession:
		t.paths = f.texts()
	}
	return t
}

// joined is the latest epoch that a member has joined; 0 if that is not known.
func joined(folder string) int64 {
	b, err := os.ReadFile(filepath.Join(folder, "currentEpoch"))
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64)
	return n
}
