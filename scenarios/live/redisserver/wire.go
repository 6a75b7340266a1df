package redisserver

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// wire is a connection to a Redis server, for sending requests and reading RESP values.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

// endpoint is the address on which a server listens, and the credentials for it.
type endpoint struct {
	network, address string
	user, password   string // empty: the server does not require it
	database         string // empty: database 0
}

func (e endpoint) dial() (*wire, error) {
	conn, err := net.DialTimeout(e.network, e.address, answerLimit)
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

// send sends several requests with a single write.
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

// ask sends a request and reads its reply.
func (w *wire) ask(args ...string) (resp.Value, error) {
	if err := w.send(args); err != nil {
		return resp.Value{}, err
	}
	return w.read()
}

func (w *wire) read() (resp.Value, error) {
	raw, err := w.raw(nil)
	if err != nil {
		return resp.Value{}, err
	}
	v, _ := resp.Parse(raw)
	return v, nil
}

// raw appends the next value to b in the form in which it was received.
func (w *wire) raw(b []byte) ([]byte, error) {
	line, err := w.in.ReadBytes('\n')
	if err != nil {
		return b, err
	}
	if len(line) < 3 || line[len(line)-2] != '\r' {
		return b, fmt.Errorf("the server's reply is not RESP: %q", line)
	}
	b = append(b, line...)
	kind, text := line[0], string(line[1:len(line)-2])
	switch kind {
	case '+', '-', ':', '_', '#', ',', '(':
		return b, nil
	case '$', '=', '!', '*', '~', '>', '%', '|':
	default:
		return b, fmt.Errorf("the server's reply is not RESP: %q", line)
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
	}
	for range resp.Elements(kind, n) {
		if b, err = w.raw(b); err != nil {
			return b, err
		}
	}
	return b, nil
}
