// Package http1 implements the parts of HTTP/1.1 that affect simulated servers' replies. Clients that run outside the
// simulation connect through a [Front]. Modeled clients send the same requests ([Request.Args]).
//
// Goals: the bytes that clients write are split into requests the way net/http's server does it. A body may have a
// Content-Length or be sent in chunks. A connection carries one request after another.
//
// Non-goals: HTTP/2, TLS, compression, "Expect: 100-continue", and chunked replies to modeled clients.
package http1

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Front is the [sim.Front] for servers that use HTTP/1.1.
type Front struct {
	At      int    // the servers' port
	Longest int    // maximum size of a request in bytes
	TooLong string // the reply to a larger request, after which the connection is closed
}

// Port returns the servers' port.
func (f Front) Port() int { return f.At }

// Serial returns true, because HTTP/1.1 answers a connection's requests in order.
func (Front) Serial() bool { return true }

// Begin starts a run.
func (f Front) Begin() sim.Callers { return callers{f} }

// callers is the set of a run's clients.
type callers struct{ front Front }

// Recorded does nothing. The records would only show which servers have granted a lock, but here it is the cluster as a
// whole that grants it.
func (callers) Recorded(*history.Event) {}

// Caller returns a new client that has not sent a request yet.
func (c callers) Caller(sim.ProcessID) sim.Caller { return &caller{front: c.front} }

// caller is a client. All its requests belong to its most recent attempt.
type caller struct {
	front   Front
	attempt history.Attempt
	since   sim.Time
}

// Wire returns the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try returns the time at which the current attempt began. It does not return any servers, because the cluster as a
// whole grants a lock.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// wire implements one HTTP/1.1 connection.
type wire struct {
	caller *caller
	half   []byte // an incomplete request
	over   bool
}

// Written handles bytes from the client. If they are not HTTP/1.1, it replies like net/http's server and closes the
// connection.
func (w *wire) Written(l sim.Line, b []byte) error {
	if w.over {
		return nil
	}
	w.half = append(w.half, b...)
	for len(w.half) > 0 && !w.over {
		r, rest, whole, err := cut(w.half)
		size := len(w.half) // of this request; others may follow it
		if whole {
			size -= len(rest)
		}
		switch {
		case size > w.caller.front.Longest:
			w.hangUp(l, w.caller.front.TooLong)
		case err != nil && w.half[0] == 0x16: // the start of a TLS handshake
			w.hangUp(l, "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTPS request to an HTTP server.\n")
		case err != nil:
			w.hangUp(l,
				"HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n"+
					"400 Bad Request")
		case !whole:
			return nil
		default:
			w.half = slices.Clone(rest)
			l.Ask(r.Args(), w.caller.attempt, r.Method)
		}
	}
	return nil
}

func (w *wire) hangUp(l sim.Line, last string) {
	w.over = true
	l.Deliver([]byte(last))
	l.HangUp()
}

var errMalformed = errors.New("no HTTP/1.1")

// cut removes the first request from b. whole is false if the request is still incomplete.
func cut(b []byte) (r Request, rest []byte, whole bool, err error) {
	if !plain(b) {
		return r, b, false, errMalformed
	}
	head, body, found := strings.Cut(string(b), "\r\n\r\n")
	if !found {
		return r, b, false, nil
	}
	lines := strings.Split(head, "\r\n")
	words := strings.Split(lines[0], " ")
	if len(words) != 3 || words[2] != "HTTP/1.1" || !strings.HasPrefix(words[1], "/") {
		return r, b, false, errMalformed
	}
	fields := fieldsOf(lines[1:])
	if fields == nil {
		return r, b, false, errMalformed
	}
	r = Request{Method: words[0], URI: words[1], ContentType: fields["content-type"], Accept: fields["accept"]}
	if strings.EqualFold(fields["transfer-encoding"], "chunked") {
		r.Body, body, whole, err = unchunked(body)
		return r, []byte(body), whole, err
	}
	n, err := strconv.Atoi(cmp.Or(fields["content-length"], "0"))
	switch {
	case err != nil || n < 0:
		return r, b, false, errMalformed
	case n > len(body):
		return r, b, false, nil
	}
	r.Body = body[:n]
	return r, []byte(body[n:]), true, nil
}

// unchunked decodes a chunked body. It ignores chunk extensions and trailer fields, as a server must if it does not
// know them (RFC 9112, 7.1.1 and 7.1.2).
func unchunked(b string) (body, rest string, whole bool, err error) {
	for {
		line, after, found := strings.Cut(b, "\r\n")
		if !found {
			return "", "", false, nil
		}
		size, _, _ := strings.Cut(line, ";")
		n, err := strconv.ParseUint(strings.TrimRight(size, " \t"), 16, 31)
		switch {
		case err != nil:
			return "", "", false, errMalformed
		case n == 0:
			if rest, none := strings.CutPrefix(after, "\r\n"); none {
				return body, rest, true, nil
			}
			_, rest, found := strings.Cut(after, "\r\n\r\n")
			return body, rest, found, nil
		case len(after) < int(n)+2:
			return "", "", false, nil
		case after[n:n+2] != "\r\n":
			return "", "", false, errMalformed
		}
		body, b = body+after[:n], after[n+2:]
	}
}

// plain reports whether b could be the start of a request, which begins with a method in capital letters.
func plain(b []byte) bool {
	method, _, _ := strings.Cut(string(b[:min(len(b), 10)]), " ")
	return method != "PRI" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Arrived delivers what the server has sent.
func (w *wire) Arrived(l sim.Line, b []byte, _ *sim.Incoming) { l.Deliver(b) }
