package sim

import (
	"bytes"
	"strconv"
)

// Reply is the answer to one request of a Call: a RESP value, or why there is none.
type Reply struct {
	Status Status
	raw    []byte
}

// Status is the outcome of a request.
type Status uint8

const (
	NoReply  Status = iota // not answered (yet)
	Answered               // a value is there
	Reset                  // the connection broke: the request may or may not have been executed
	Refused                // nobody listens there: the request was not executed
)

// NewReply makes an answered reply of a RESP-encoded value, which it keeps.
func NewReply(raw []byte) Reply { return Reply{Answered, raw} }

func (r *Reply) take(from *Reply) {
	r.Status = from.Status
	r.raw, from.raw = from.raw, r.raw
}

// Raw is the RESP-encoded value; empty unless Answered.
func (r *Reply) Raw() []byte {
	if r.Status != Answered {
		return nil
	}
	return r.raw
}

// OK reports whether the server answered +OK.
func (r *Reply) OK() bool { return r.Status == Answered && string(r.raw) == "+OK\r\n" }

// Nil reports whether the server answered null.
func (r *Reply) Nil() bool {
	return r.Status == Answered &&
		(string(r.raw) == "$-1\r\n" || string(r.raw) == "*-1\r\n" || string(r.raw) == "_\r\n")
}

// Int is the integer that the server answered; ok is false if it answered something else.
func (r *Reply) Int() (n int64, ok bool) {
	if r.Status != Answered || len(r.raw) < 4 || r.raw[0] != ':' {
		return 0, false
	}
	if len(r.raw) == 4 { // one digit, the answer of every lock script
		return int64(r.raw[1] - '0'), true
	}
	n, err := strconv.ParseInt(string(r.raw[1:len(r.raw)-2]), 10, 64)
	return n, err == nil
}

// Bulk is the string that the server answered; ok is false if it answered something else, null included.
func (r *Reply) Bulk() (s string, ok bool) {
	if r.Status != Answered || len(r.raw) < 5 || r.raw[0] != '$' || r.raw[1] == '-' {
		return "", false
	}
	head := bytes.IndexByte(r.raw, '\n')
	return string(r.raw[head+1 : len(r.raw)-2]), true
}

// Error is the error that the server answered, without the leading '-'; empty if there was none.
func (r *Reply) Error() string {
	if r.Status != Answered || len(r.raw) < 3 || r.raw[0] != '-' {
		return ""
	}
	return string(r.raw[1 : len(r.raw)-2])
}

// AppendInt appends a RESP integer to b.
func AppendInt(b []byte, n int64) []byte {
	b = strconv.AppendInt(append(b, ':'), n, 10)
	return append(b, '\r', '\n')
}

// AppendBulk appends a RESP bulk string, which holds any bytes.
func AppendBulk(b []byte, s string) []byte {
	b = strconv.AppendInt(append(b, '$'), int64(len(s)), 10)
	b = append(append(b, '\r', '\n'), s...)
	return append(b, '\r', '\n')
}

// AppendArray appends the head of a RESP array; its n values follow.
func AppendArray(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, '*'), int64(n), 10)
	return append(b, '\r', '\n')
}

// AppendLine appends a RESP value of one line: kind is '+' for a status, '-' for an error. Line breaks in s become
// spaces, as in Redis.
func AppendLine(b []byte, kind byte, s string) []byte {
	b = append(b, kind)
	for i := 0; i < len(s); i++ {
		c := s[i]
		if c == '\r' || c == '\n' {
			c = ' '
		}
		b = append(b, c)
	}
	return append(b, '\r', '\n')
}

// Array is the list that the server answered, each element a reply of its own; nil if it answered something else, or an
// incomplete list.
func (r *Reply) Array() []Reply {
	if r.Status != Answered || len(r.raw) == 0 || r.raw[0] != '*' {
		return nil
	}
	n, rest, ok := length(r.raw)
	if !ok {
		return nil
	}
	var list []Reply
	for range n {
		size := valueSize(rest)
		if size < 0 {
			return nil
		}
		list = append(list, NewReply(rest[:size]))
		rest = rest[size:]
	}
	return list
}

// length reads the number that a value begins with, and returns what follows its line.
func length(raw []byte) (n int, rest []byte, ok bool) {
	end := bytes.Index(raw, []byte("\r\n"))
	if end < 1 {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(raw[1:end]))
	return n, raw[end+2:], err == nil
}

// valueSize is how many bytes the first value in raw takes; -1 if it is incomplete.
func valueSize(raw []byte) int {
	n, rest, ok := length(raw)
	line := len(raw) - len(rest)
	if len(raw) == 0 || !ok && raw[0] != '+' && raw[0] != '-' {
		return -1
	}
	switch raw[0] {
	case '$':
		if n >= 0 {
			line += n + 2
		}
	case '*':
		for range n {
			size := valueSize(raw[min(line, len(raw)):])
			if size < 0 {
				return -1
			}
			line += size
		}
	case '+', '-':
		end := bytes.Index(raw, []byte("\r\n"))
		if end < 0 {
			return -1
		}
		return end + 2
	}
	if line > len(raw) {
		return -1
	}
	return line
}
