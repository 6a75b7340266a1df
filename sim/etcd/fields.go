package etcd

import (
	"errors"
	"math"

	"google.golang.org/protobuf/encoding/protowire"
)

// scan decodes the fields of a protobuf message one by one. It can skip unknown fields, as an older server skips the
// fields of a newer API.
type scan struct {
	rest   []byte
	number protowire.Number
	kind   protowire.Type
	n      uint64
	b      []byte
	err    error
}

func scanOf[T string | []byte](message T) *scan { return &scan{rest: []byte(message)} }

// errMalformed is the error for bytes that are not a valid message.
var errMalformed = errors.New("proto: malformed message")

// next decodes the next field. It returns false after the last field, or if the message is malformed.
func (s *scan) next() bool {
	if len(s.rest) == 0 || s.err != nil {
		return false
	}
	number, kind, size := protowire.ConsumeTag(s.rest)
	if size < 0 {
		s.err = errMalformed
		return false
	}
	s.number, s.kind, s.rest = number, kind, s.rest[size:]
	switch kind {
	case protowire.VarintType:
		s.n, size = protowire.ConsumeVarint(s.rest)
	case protowire.BytesType:
		s.b, size = protowire.ConsumeBytes(s.rest)
	default:
		size = protowire.ConsumeFieldValue(number, kind, s.rest)
	}
	if size < 0 {
		s.err = errMalformed
		return false
	}
	s.rest = s.rest[size:]
	return true
}

// int returns the value of a numeric field.
func (s *scan) int() int64 {
	if s.kind != protowire.VarintType {
		s.err = errMalformed
		return 0
	}
	return int64(s.n)
}

// bytes returns the content of a string or message field. The result is part of the message and stays valid as long as
// the message does.
func (s *scan) bytes() []byte {
	if s.kind != protowire.BytesType {
		s.err = errMalformed
		return nil
	}
	return s.b
}

func (s *scan) text() string { return string(s.bytes()) }

// take calls decode with the bytes of a nested message.
func (s *scan) take(decode func([]byte) error) {
	if b := s.bytes(); s.err == nil {
		s.err = decode(b)
	}
}

// readFields decodes a protobuf message. It stores field 1 in to[0], field 2 in to[1], and so on. An element of to is a
// *string, *int64 or *bool; a func([]byte) error for a nested message; a func(*scan) that decodes the field itself; or
// nil to skip the field.
func readFields[T string | []byte](message T, to ...any) error {
	s := scanOf(message)
	for s.next() {
		if int(s.number) > len(to) {
			continue
		}
		switch to := to[s.number-1].(type) {
		case *string:
			*to = s.text()
		case *int64:
			*to = s.int()
		case *bool:
			*to = s.int() != 0
		case func([]byte) error:
			s.take(to)
		case func(*scan):
			to(s)
		}
	}
	return s.err
}

// appendFields encodes a message: the first value as field 1, the second as field 2, and so on. A value is a string,
// int64 or bool. Zero values are omitted.
func appendFields(b []byte, values ...any) []byte {
	for i, v := range values {
		number := protowire.Number(i + 1)
		switch v := v.(type) {
		case string:
			b = appendText(b, number, v)
		case int64:
			b = appendNumber(b, number, v)
		case bool:
			b = appendNumber(b, number, asNumber(v))
		}
	}
	return b
}

// appendNumber appends a numeric field. If the number is zero, the field is omitted.
func appendNumber(b []byte, number protowire.Number, n int64) []byte {
	if n == 0 {
		return b
	}
	return protowire.AppendVarint(protowire.AppendTag(b, number, protowire.VarintType), uint64(n))
}

// appendText appends a string field. If the string is empty, the field is omitted.
func appendText(b []byte, number protowire.Number, text string) []byte {
	if text == "" {
		return b
	}
	return protowire.AppendString(protowire.AppendTag(b, number, protowire.BytesType), text)
}

// appendPart appends a nested message, even if it is empty.
func appendPart(b []byte, number protowire.Number, part []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, number, protowire.BytesType), part)
}

// clamp clears the sign bit of an ID, so that it can be used as a non-negative int64.
func clamp(n uint64) int64 { return int64(n & math.MaxInt64) }
