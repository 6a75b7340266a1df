// Package jute implements ZooKeeper's protocol between clients and servers: the encoding of records, the numbers of
// operations, errors and events, and the frames that both sides send. It does not implement server behavior.
//
// A frame consists of a four-byte length, followed by a record. A client's first record requests a session. Each of its
// later records begins with an operation and a number chosen by the client (xid). Each reply begins with that number,
// the server's zxid and an error code.
package jute

import (
	"encoding/binary"
	"errors"
	"io"
)

// Record is an encoded record. Its methods append fields.
type Record []byte

// Int appends a 32-bit integer.
func (r Record) Int(n int32) Record { return binary.BigEndian.AppendUint32(r, uint32(n)) }

// Long appends a 64-bit integer.
func (r Record) Long(n int64) Record { return binary.BigEndian.AppendUint64(r, uint64(n)) }

// Text appends a non-null string or buffer.
func (r Record) Text(s string) Record { return append(r.Int(int32(len(s))), s...) }

// Null appends a null string, buffer or list.
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

// Framed returns the record as a frame: its length, followed by the record.
func (r Record) Framed() []byte { return append(Record(nil).Int(int32(len(r))), r...) }

// Fields decodes a record. If the record has been cut short or contains an invalid length, Torn is set, and all later
// fields are zero.
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

// Int reads a 32-bit integer.
func (f *Fields) Int() int32 {
	if b := f.next(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

// Long reads a 64-bit integer.
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

// Buffer reads a buffer. null reports whether it is null, which is not the same as empty.
func (f *Fields) Buffer() (s string, null bool) {
	n := f.Int()
	if n == -1 {
		return "", true
	}
	return string(f.next(int(n))), false
}

// Text reads a string or a buffer. If it is null, Text returns "".
func (f *Fields) Text() string {
	s, _ := f.Buffer()
	return s
}

// Path reads a string. If the string is null, Torn is set.
func (f *Fields) Path() string {
	s, null := f.Buffer()
	f.Torn = f.Torn || null
	return s
}

// Texts reads a list of strings. If the list is null, Texts returns an empty list.
func (f *Fields) Texts() (list []string) {
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		list = append(list, f.Text())
	}
	return list
}

// maxBuffer is the maximum length in bytes of a record that a server accepts (jute.maxbuffer).
const maxBuffer = 1<<20 - 1

// longest is the maximum length in bytes of a record that a client accepts from a server.
const longest = 16 << 20

// ErrNoFrame reports that the bytes received from a server are not a frame.
var ErrNoFrame = errors.New("jute: the bytes are not a frame of ZooKeeper's protocol")

// ReadFrame reads the next record from a server. It returns ErrNoFrame if the frame is too long, and the reader's error
// if reading fails.
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
