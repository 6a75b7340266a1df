// Package jute is ZooKeeper's protocol between clients and servers: records in its encoding, the numbers of operations,
// errors and events, and the frames that both sides send. It knows nothing of what a server does with them.
//
// A frame is a length of four bytes and a record. A client's first asks for a session; each later one begins with a
// number that the client chose (xid) and an operation, each reply with that number, the server's zxid and an error.
package jute

import (
	"encoding/binary"
	"errors"
	"io"
)

// Record is a record that grows.
type Record []byte

// Int appends 32 bits.
func (r Record) Int(n int32) Record { return binary.BigEndian.AppendUint32(r, uint32(n)) }

// Long appends 64 bits.
func (r Record) Long(n int64) Record { return binary.BigEndian.AppendUint64(r, uint64(n)) }

// Text appends a string, or the bytes of a buffer that is not null.
func (r Record) Text(s string) Record { return append(r.Int(int32(len(s))), s...) }

// Null appends a string, a buffer or a list that is null.
func (r Record) Null() Record { return r.Int(-1) }

// Flag appends a boolean.
func (r Record) Flag(is bool) Record {
	if is {
		return append(r, 1)
	}
	return append(r, 0)
}

// Texts appends a list of strings.
func (r Record) Texts(list []string) Record {
	r = r.Int(int32(len(list)))
	for _, s := range list {
		r = r.Text(s)
	}
	return r
}

// Framed is the record as it is sent: its length, and the record.
func (r Record) Framed() []byte { return append(Record(nil).Int(int32(len(r))), r...) }

// Fields reads a record. Once the record has ended too early, or a length in it makes no sense, it is Torn, and
// everything read is zero.
type Fields struct {
	Rest []byte
	Torn bool
}

func (f *Fields) next(n int) []byte {
	if n < 0 || n > len(f.Rest) {
		f.Torn, f.Rest = true, nil
		return nil
	}
	b := f.Rest[:n]
	f.Rest = f.Rest[n:]
	return b
}

// Int reads 32 bits.
func (f *Fields) Int() int32 {
	if b := f.next(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Long reads 64 bits.
func (f *Fields) Long() int64 {
	if b := f.next(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

// Flag reads a boolean.
func (f *Fields) Flag() bool {
	b := f.next(1)
	return b != nil && b[0] != 0
}

// Buffer reads a buffer; null reports that it is null, and not just empty.
func (f *Fields) Buffer() (s string, null bool) {
	n := f.Int()
	if n == -1 {
		return "", true
	}
	return string(f.next(int(n))), false
}

// Text reads a string or a buffer; a null one is empty.
func (f *Fields) Text() string {
	s, _ := f.Buffer()
	return s
}

// Path reads a string that must not be null.
func (f *Fields) Path() string {
	s, null := f.Buffer()
	f.Torn = f.Torn || null
	return s
}

// Texts reads a list of strings; a null one is empty.
func (f *Fields) Texts() (list []string) {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		list = append(list, f.Text())
	}
	return list
}

// maxBuffer is the longest record, in bytes, that a server takes (jute.maxbuffer).
const maxBuffer = 1<<20 - 1

// longest is the longest record that a client takes from a server.
const longest = 16 << 20

// ErrNoFrame reports bytes of a server that are no frame.
var ErrNoFrame = errors.New("jute: no frame of ZooKeeper's protocol")

// ReadFrame reads the next record that a server sends. Errors: those of in, ErrNoFrame.
func ReadFrame(in io.Reader) (Fields, error) {
	var head [4]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return Fields{}, err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > longest {
		return Fields{}, ErrNoFrame
	}
	b := make([]byte, n)
	_, err := io.ReadFull(in, b)
	return Fields{Rest: b}, err
}
