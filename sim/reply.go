package sim

import (
	"bytes"
	"strconv"
)

// Reply is the reply to one request of a Call: a RESP value, or the reason why there is no value.
type Reply struct {
	Status Status
	// Pushed is the number of pushes that had arrived on the connection before the reply. Env.Receive returns those
	// pushes.
	Pushed int
	raw    []byte
}

// Status is the outcome of a request.
type Status uint8

const (
	NoReply  Status = iota // not answered, or not yet
	Answered               // the reply has a value
	Reset                  // the connection broke; the request may or may not have been executed
	Refused                // no server is listening; the request was not executed
)

// NewReply returns the Reply for a request that was answered with the given RESP-encoded value. It keeps raw without
// copying it.
func NewReply(raw []byte) Reply { return Reply{Status: Answered, raw: raw} }

func (r *Reply) take(from *Reply) {
	r.Status, r.Pushed = from.Status, from.Pushed
	r.raw, from.raw = from.raw, r.raw
}

// Raw returns the RESP-encoded value, or nil if the request was not answered.
func (r *Reply) Raw() []byte {
	if r.Status != Answered {
		return nil
	}
	return r.raw
}

// OK reports whether the server's reply was +OK.
func (r *Reply) OK() bool { return r.Status == Answered && string(r.raw) == "+OK\r\n" }

// Nil reports whether the server's reply was null.
func (r *Reply) Nil() bool {
	return r.Status == Answered &&
		(string(r.raw) == "$-1\r\n" || string(r.raw) == "*-1\r\n" || string(r.raw) == "_\r\n")
}

// Int returns the integer in the server's reply; ok is false if the reply is anything else.
func (r *Reply) Int() (n int64, ok bool) {
	if r.Status != Answered || len(r.raw) < 4 || r.raw[0] != ':' {
		return 0, false
	}
	if len(r.raw) == 4 { // a single digit, as every lock script returns
		return int64(r.raw[1] - '0'), true
	}
	n, err := strconv.ParseInt(string(r.raw[1:len(r.raw)-2]), 10, 64)
	return n, err == nil
}

// Bulk returns the string in the server's reply; ok is false if the reply is anything else, including null.
func (r *Reply) Bulk() (s string, ok bool) {
	if r.Status != Answered || len(r.raw) < 5 || r.raw[0] != '$' || r.raw[1] == '-' {
		return "", false
	}
	head := bytes.IndexByte(r.raw, '\n')
	return string(r.raw[head+1 : len(r.raw)-2]), true
}

// Error returns the error message in the server's reply, without the leading '-', or "" if the reply is not an error.
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

// AppendBulk appends a RESP bulk string, which may contain any bytes.
func AppendBulk(b []byte, s string) []byte {
	b = strconv.AppendInt(append(b, '$'), int64(len(s)), 10)
	b = append(append(b, '\r', '\n'), s...)
	return append(b, '\r', '\n')
}

// AppendArray appends the header of a RESP array of n values. The caller appends the values.
func AppendArray(b []byte, n int) []byte {
	b = strconv.AppendInt(append(b, '*'), int64(n), 10)
	return append(b, '\r', '\n')
}

// AppendLine appends a one-line RESP value. kind is '+' for a status and '-' for an error. Like Redis, it replaces line
// breaks in s with spaces.
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

// Array returns the elements of the array in the server's reply, each as a Reply. It returns nil if the reply is not an
// array or is incomplete.
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

// length parses the number in the first line of a value. It returns the number and the bytes after the line.
func length(raw []byte) (n int, rest []byte, ok bool) {
	end := bytes.Index(raw, []byte("\r\n"))
	if end < 1 {
		return 0, nil, false
	}
	n, err := strconv.Atoi(string(raw[1:end]))
	return n, raw[end+2:], err == nil
}

// valueSize returns the size in bytes of the first value in raw, or -1 if it is incomplete.
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
