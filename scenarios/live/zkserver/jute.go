package zkserver

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// record is a record in ZooKeeper's encoding (jute), which grows.
type record []byte

func (r record) int(n int32) record  { return binary.BigEndian.AppendUint32(r, uint32(n)) }
func (r record) long(n int64) record { return binary.BigEndian.AppendUint64(r, uint64(n)) }
func (r record) text(s string) record {
	return append(r.int(int32(len(s))), s...)
}

func (r record) flag(is bool) record {
	if is {
		return append(r, 1)
	}
	return append(r, 0)
}

func (r record) texts(list []string) record {
	r = r.int(int32(len(list)))
	for _, s := range list {
		r = r.text(s)
	}
	return r
}

// framed is a record as it is sent: its length, and the record.
func (r record) framed() []byte { return append(record(nil).int(int32(len(r))), r...) }

// fields reads a record. Once the record has ended too early, everything read is zero.
type fields struct {
	b    []byte
	torn bool
}

func (f *fields) next(n int) []byte {
	if n < 0 || n > len(f.b) {
		f.torn, f.b = true, nil
		return nil
	}
	b := f.b[:n]
	f.b = f.b[n:]
	return b
}

func (f *fields) int() int32 {
	if b := f.next(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (f *fields) long() int64 {
	if b := f.next(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// text reads a string or a buffer; a null one, whose length is -1, is empty.
func (f *fields) text() string {
	n := f.int()
	if n <= 0 {
		return ""
	}
	return string(f.next(int(n)))
}

func (f *fields) texts() (list []string) {
	for n := f.int(); n > 0 && !f.torn; n-- {
		list = append(list, f.text())
	}
	return list
}

// stat reads a Stat, without the fields that package zookeeper lacks.
func (f *fields) stat() (s zookeeper.Stat) {
	s.Czxid, s.Mzxid = zookeeper.Zxid(f.long()), zookeeper.Zxid(f.long())
	f.long() // ctime
	f.long() // mtime
	s.Version, s.Cversion = int64(f.int()), int64(f.int())
	f.int() // aversion
	s.EphemeralOwner = zookeeper.SessionID(f.long())
	f.int() // dataLength
	s.NumChildren = int64(f.int())
	s.Pzxid = zookeeper.Zxid(f.long())
	return s
}

// longest is the largest frame that a member sends; anything larger is no frame.
const longest = 16 << 20

var errNoFrame = errors.New("what the member says is no frame of ZooKeeper's protocol")

// readFrame reads the next record.
func readFrame(in io.Reader) (fields, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return fields{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > longest {
		return fields{}, errNoFrame
	}
	b := make([]byte, n)
	_, err := io.ReadFull(in, b)
	return fields{b: b}, err
}
