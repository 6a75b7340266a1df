package redisserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
)

// wire is a connection to a Redis: requests go out, values come in.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// endpoint is where a server listens, and who is calling.
type endpoint struct {
	network, address string
	user, password   string // empty: none is asked for
	database         string // empty: 0
}

func (e endpoint) dial() (*wire, error) {
	conn, err := net.DialTimeout(e.network, e.address, soon)
	if err != nil {
		return nil, err
	}
	w := &wire{conn: conn, in: bufio.NewReader(conn)}
	if err := e.login(w); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

func (w *wire) close() { _ = w.conn.Close() }

// send sends requests, all at once.
func (w *wire) send(requests ...[]string) error {
	w.out = w.out[:0]
	for _, args := range requests {
		w.out = sim.AppendArray(w.out, len(args))
		for _, a := range args {
			w.out = sim.AppendBulk(w.out, a)
		}
	}
	_, err := w.conn.Write(w.out)
	return err
}

// ask sends one request and reads its answer.
func (w *wire) ask(args ...string) (value, error) {
	if err := w.send(args); err != nil {
		return value{}, err
	}
	return w.read()
}

// read reads one value.
func (w *wire) read() (value, error) {
	raw, err := w.raw(nil)
	if err != nil {
		return value{}, err
	}
	v, _ := parse(raw)
	return v, nil
}

// raw appends the next value, as it came, to b.
func (w *wire) raw(b []byte) ([]byte, error) {
	line, err := w.in.ReadSlice('\n')
	if err != nil {
		return b, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return b, fmt.Errorf("what the server says is no RESP: %q", line)
	}
	b = append(b, line...)
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return b, nil
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return b, fmt.Errorf("what the server says is no RESP: %q", line)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return b, err
	}
	switch kind {
	case '$', '=', '!':
		from := len(b)
		b = append(b, make([]byte, n+2)...)
		_, err := io.ReadFull(w.in, b[from:])
		return b, err
	case '%':
		n *= 2
	case '|':
		n = 2*n + 1 // attributes stand before the value that they are about
	}
	for range n {
		if b, err = w.raw(b); err != nil {
			return b, err
		}
	}
	return b, nil
}

// value is a value of RESP.
type value struct {
	kind byte
	text string // of all but aggregates
	null bool
	list []value // of aggregates; of a map, keys and values in turn
}

// parse reads the value at the start of b, which is whole.
func parse(b []byte) (v value, rest []byte) {
	end := 0
	for b[end] != '\r' {
		end++
	}
	v = value{kind: b[0], text: string(b[1:end])}
	rest = b[end+2:]
	switch v.kind {
	case '_':
		v.null = true
		return v, rest
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return v, rest
	}
	n, _ := strconv.Atoi(v.text)
	v.text = ""
	switch {
	case n < 0:
		v.null = true
		return v, rest
	case v.kind == '$' || v.kind == '=' || v.kind == '!':
		v.text = string(rest[:n])
		return v, rest[n+2:]
	case v.kind == '%':
		n *= 2
	case v.kind == '|':
		n = 2*n + 1
	}
	for range n {
		var item value
		item, rest = parse(rest)
		v.list = append(v.list, item)
	}
	return v, rest
}

// isError reports whether the server refused.
func (v value) isError() bool { return v.kind == '-' || v.kind == '!' }

// texts are the elements of a flat list.
func (v value) texts() (list []string) {
	for _, item := range v.list {
		list = append(list, item.text)
	}
	return list
}

// number is an integer, however it was said.
func (v value) number() int64 {
	n, _ := strconv.ParseInt(v.text, 10, 64)
	return n
}
