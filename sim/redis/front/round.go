package front

import (
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// round contains the requests that a client has sent since it began to request the lock. A library may try several
// times, and each try may involve several servers or several keys. Not all requests are requests for the lock: only
// those of the same kind (see place) as a request that acquired one of the lock's keys.
type round []*request

// request is a request that a client sends while it is trying to acquire a lock.
type request struct {
	at       place
	args     []string
	sent     sim.Time
	answered bool // the reply arrived and was not an error
	took     bool // the request has acquired a key of the lock
}

// place says where a request goes: to which server, with which kind of command, and for which key. In one try, a client
// does not send a second request to a place that has answered the first one without an error. Therefore, a second
// request belongs to a new try.
type place struct {
	server sim.ProcessID
	kind   string // name of the command, or hash of the script
	key    string
}

// asks adds a request to the round.
func (r *round) asks(now sim.Time, server sim.ProcessID, args []string) {
	kind, key := kindOf(args)
	*r = append(*r, &request{at: place{server, kind, key}, args: args, sent: now})
}

// kindOf returns a request's kind and the first key in it.
func kindOf(args []string) (kind, key string) {
	kind = strings.ToLower(args[0])
	switch {
	case kind == "eval" && len(args) > 1:
		kind = fmt.Sprintf("%x", sha1.Sum([]byte(args[1])))
	case kind == "evalsha" && len(args) > 1:
		kind = strings.ToLower(args[1])
	case kind == "fcall" && len(args) > 1:
		kind += " " + args[1]
	case len(args) > 1:
		return kind, args[1]
	}
	if len(args) > 3 && args[2] != "0" {
		key = args[3]
	}
	return kind, key
}

// markAcquired marks the request that acquired one of the lock's keys. e is the event that records the key. If the
// client sent several requests to that server at the same time, it marks the last of them: a transaction acquires its
// keys when its EXEC is executed.
func (r round) markAcquired(e *history.Event) {
	for _, q := range slices.Backward(r) {
		if q.at.server == e.Process && q.sent == e.Sent {
			q.took = true
			return
		}
	}
}

// answered records that a request got a reply other than an error.
func (r round) answered(to *sim.Incoming, reply []byte) {
	for _, q := range slices.Backward(r) {
		if &q.args[0] == &to.Args[0] {
			q.answered = len(reply) > 0 && reply[0] != '-'
			return
		}
	}
}

// acquired returns the time at which the client's last try began, and the servers that granted the lock in that try.
// The try began when its first request was sent, not counting requests that failed or got no reply, unless they
// acquired a key. If no key was acquired, acquired returns start and no servers. If none of the replies that arrived
// granted the lock, it returns the servers whose replies were lost: the client must have found its key on them later.
func (r round) acquired(start sim.Time) (since sim.Time, granted []sim.ProcessID) {
	try := r.lastRound()
	since = start
	if first := slices.IndexFunc(try, func(q *request) bool { return q.answered || q.took }); first >= 0 {
		since = try[first].sent
	}
	for _, answered := range []bool{true, false} {
		for _, q := range try {
			if q.took && q.answered == answered && !slices.Contains(granted, q.at.server) {
				granted = append(granted, q.at.server)
			}
		}
		if len(granted) > 0 {
			break
		}
	}
	return since, granted
}

// lastRound returns the requests in the client's last try. A request that is repeated because it failed or was not
// answered belongs to the same try.
func (r round) lastRound() (try round) {
	asks := map[string]bool{}
	for _, q := range r {
		asks[q.at.kind] = asks[q.at.kind] || q.took
	}
	seen := map[place]bool{}
	for _, q := range slices.Backward(r) {
		switch {
		case !asks[q.at.kind]:
			continue
		case q.answered && seen[q.at]:
			slices.Reverse(try)
			return try
		}
		seen[q.at] = true
		try = append(try, q)
	}
	slices.Reverse(try)
	return try
}
