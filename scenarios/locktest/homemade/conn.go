package homemade

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// Conn is a connection to one server. After any error except a [ReplyError], the next command reopens the connection.
type Conn interface {
	// Do sends a command and returns its reply: nil, an int64, a string or a []any. The error is a [ReplyError] if the
	// server rejected the command. After any other error it is unknown whether the command was executed.
	Do(ctx context.Context, args ...string) (any, error)
	Close() error
}

// ReplyError is the error message with which a server rejected a command.
type ReplyError string

// Error returns the server's error message.
func (e ReplyError) Error() string { return string(e) }

// Dial returns a connection to the server with the given address. It may postpone connecting until the first command.
type Dial func(c *locktest.Client, addr string) Conn

// Plain is a Dial that uses Redis's own protocol, without a client library.
func Plain(c *locktest.Client, addr string) Conn { return &plain{client: c, addr: addr} }

type plain struct {
	client *locktest.Client
	addr   string
	conn   net.Conn
	in     *bufio.Reader
}

func (p *plain) Do(ctx context.Context, args ...string) (reply any, err error) {
	if p.conn == nil {
		if p.conn, err = p.client.DialContext(ctx, "tcp", p.addr); err != nil {
			p.conn = nil
			return nil, err
		}
		p.in = bufio.NewReader(p.conn)
	}
	if end, ok := ctx.Deadline(); ok {
		if err = p.conn.SetDeadline(end); err != nil {
			return nil, err
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	if _, err = p.conn.Write([]byte(b.String())); err == nil {
		reply, err = p.reply()
	}
	var refused ReplyError
	if err != nil && !errors.As(err, &refused) {
		p.Close()
	}
	return reply, err
}

// reply reads one RESP2 reply.
func (p *plain) reply() (any, error) {
	line, err := p.in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	line = strings.TrimSuffix(line, "\r\n")
	kind, rest := line[0], line[1:]
	switch kind {
	case '+':
		return rest, nil
	case '-':
		return nil, ReplyError(rest)
	}
	n, err := strconv.ParseInt(rest, 10, 64)
	switch {
	case err != nil || kind == ':':
		return n, err
	case n < 0:
		return nil, nil
	case kind == '$':
		text := make([]byte, n+2)
		_, err = io.ReadFull(p.in, text)
		return string(text[:n]), err
	}
	all := make([]any, n)
	for i := range all {
		var refused ReplyError
		if all[i], err = p.reply(); errors.As(err, &refused) {
			all[i] = refused
		} else if err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (p *plain) Close() error {
	if p.conn == nil {
		return nil
	}
	err := p.conn.Close()
	p.conn = nil
	return err
}

// patience is the maximum time that a lock waits for one reply.
const patience = 500 * time.Millisecond
