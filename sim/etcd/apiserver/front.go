// Package apiserver lets clients that are no tasks of a world call the API server of Kubernetes that each etcd member
// has beside it, as in a control plane whose nodes have both: HTTP/1.1 with JSON.
//
// Goals: what client-go's leader election and watches of Lease objects can see, with the statuses, reasons and texts of
// the real server. A resourceVersion is etcd's revision. Reads are quorum reads, unless the client asks for
// resourceVersion=0: then they show the server's cache, which is up to 10 ms behind the member of etcd beside it, and
// further if that is cut off from the others. A watch ends after timeoutSeconds if its client gives them. Objects,
// names, labels and times are refused as by the real server, and so are Lease objects in a namespace that does not
// exist: default and those whose names begin with kube- do, and a client can create others.
//
// Non-goals: other kinds than Lease objects and namespaces, which are refused by name; patches, selectors but for the
// name of one object, and pages; finalizers, dry runs, generated names; protobuf, which a server may refuse (415);
// HTTP/2 and TLS; creation times, since members of etcd read no wall clock; the end, after half an hour or more, of a
// watch without timeoutSeconds.
package apiserver

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// API is the [sim.Front] of API servers.
type API struct{}

// Port is the API server's.
func (API) Port() int { return 6443 }

// Serial is true: HTTP/1.1 answers the requests of a connection in turn.
func (API) Serial() bool { return true }

// Begin starts a run.
func (API) Begin() sim.Callers { return callers{} }

// callers are the clients of a run.
type callers struct{}

// Recorded does nothing: a cluster grants a lock as one.
func (callers) Recorded(*history.Event) {}

// Caller returns a client that has requested nothing yet.
func (callers) Caller(sim.ProcessID) sim.Caller { return &caller{} }

// caller is a client. All that it requests is on behalf of its latest attempt.
type caller struct {
	attempt history.Attempt
	since   sim.Time
}

// Wire makes the client's end of a new connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { c.attempt, c.since = a, now }

// Try is the current attempt: a cluster grants a lock as one.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, nil }

// wire is a connection of HTTP/1.1.
type wire struct {
	caller *caller
	half   []byte // of a request
	over   bool
}

// mostRequest is how long, in bytes, a request may be: the API server's limit for a body, and 1 MB for its head.
const mostRequest = 3<<20 + 1<<20

// Written takes bytes of the client. What is no HTTP/1.1 is answered as net/http's server does, which ends the
// connection.
func (w *wire) Written(l sim.Line, b []byte) error {
	if w.over {
		return nil
	}
	w.half = append(w.half, b...)
	for len(w.half) > 0 && !w.over {
		r, rest, whole, err := cut(w.half)
		switch {
		case len(w.half) > mostRequest:
			w.refuse(l, etcd.Failure(413, "RequestEntityTooLarge", "Request entity too large: "+
				"limit is 3145728"))
		case err != nil && w.half[0] == 0x16: // a handshake of TLS
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

func (w *wire) refuse(l sim.Line, s *etcd.Status) { w.hangUp(l, string(etcd.Answer(s.Code, s))) }

func (w *wire) hangUp(l sim.Line, last string) {
	w.over = true
	l.Deliver([]byte(last))
	l.HangUp()
}

var errMalformed = errors.New("no HTTP/1.1")

// cut takes the first request of b; whole is false if it is not complete yet.
func cut(b []byte) (r etcd.APIRequest, rest []byte, whole bool, err error) {
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
	fields := map[string]string{}
	for _, line := range lines[1:] {
		name, value, ok := strings.Cut(line, ":")
		if !ok {
			return r, b, false, errMalformed
		}
		fields[strings.ToLower(name)] = strings.TrimSpace(value)
	}
	r = etcd.APIRequest{Method: words[0], URI: words[1], ContentType: fields["content-type"], Accept: fields["accept"]}
	if fields["transfer-encoding"] == "chunked" {
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

// unchunked takes a body that comes in chunks.
func unchunked(b string) (body, rest string, whole bool, err error) {
	for {
		line, after, found := strings.Cut(b, "\r\n")
		if !found {
			return "", "", false, nil
		}
		n, err := strconv.ParseUint(line, 16, 31)
		switch {
		case err != nil:
			return "", "", false, errMalformed
		case len(after) < int(n)+2:
			return "", "", false, nil
		case n == 0:
			return body, after[2:], true, nil
		}
		body, b = body+after[:n], after[n+2:]
	}
}

// plain reports whether b may be the beginning of a request: a method in capital letters.
func plain(b []byte) bool {
	method, _, _ := strings.Cut(string(b[:min(len(b), 10)]), " ")
	return method != "PRI" && strings.Trim(method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") == ""
}

// Arrived takes what the API server has sent.
func (w *wire) Arrived(l sim.Line, b []byte, _ *sim.Incoming) { l.Deliver(b) }
