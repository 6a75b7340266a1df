// Package front lets clients that are no tasks of a world ask its Redis servers and Sentinels: it cuts what they write
// into requests, and knows on behalf of which attempt each is.
package front

import (
	"crypto/sha1"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Redis is the [sim.Front] of Redis servers and Sentinels.
type Redis struct{}

// Port is Redis' port.
func (Redis) Port() int { return 6379 }

// Serial is true: Redis executes the commands of a connection in turn.
func (Redis) Serial() bool { return true }

// Begin starts a run.
func (Redis) Begin() sim.Callers { return &callers{values{}, scripts{}} }

// callers are the clients of one run: what one has set, others may read, and one may send only the hash of what another
// has sent.
type callers struct {
	values  values
	scripts scripts
}

// Caller returns a client that has requested nothing yet.
func (c *callers) Caller(sim.ProcessID) sim.Caller {
	return &owners{of: c.values, scripts: c.scripts}
}

// wire is RESP. What is not yet a complete request is kept.
type wire struct {
	owners *owners
	server sim.ProcessID
	half   []byte
}

// Written asks for each complete request. The error is [sim.ErrProtocol].
func (w *wire) Written(l sim.Line, b []byte) error {
	w.half = append(w.half, b...)
	for len(w.half) > 0 {
		args, rest, err := sim.CutRequest(w.half)
		if err != nil {
			return err
		}
		if args == nil {
			return nil
		}
		w.half = rest
		of, phase := w.owners.tag(l.Now(), w.server, args)
		l.Ask(args, of, phase)
	}
	w.half = nil
	return nil
}

// Arrived delivers everything as it is.
func (w *wire) Arrived(l sim.Line, b []byte, to *sim.Incoming) {
	if to != nil {
		w.owners.answered(w.server, to, b)
	}
	l.Deliver(b)
}

// owners determines on behalf of which attempt a client makes a request: by the owner value, which a SET or a script
// contains.
type owners struct {
	attempt history.Attempt // the latest that the client has begun
	of      values          // those of all clients of the run
	try     try
	scripts scripts // those of all clients of the run
}

// Wire makes the client's end of a new connection to a server.
func (o *owners) Wire(server sim.ProcessID) sim.Wire { return &wire{owners: o, server: server} }

// values maps owner values to attempts.
type values map[string]history.Attempt

// scripts records, by the hash of each script whose text a client has sent, whether it can set a key.
type scripts map[string]bool

// try is one round of requests for the lock, each for another key or to another server. A library may make several
// until it has the lock.
type try struct {
	since   sim.Time
	asked   []place
	granted []sim.ProcessID
}

// place is where a request for the lock wants a key to be set.
type place struct {
	server sim.ProcessID
	key    string
}

// Begin begins an attempt. Until a request for the lock is seen it counts from now.
func (o *owners) Begin(a history.Attempt, now sim.Time) { o.attempt, o.try = a, try{since: now} }

// Try is the latest round of requests for the lock.
func (o *owners) Try() (since sim.Time, granted []sim.ProcessID) {
	return o.try.since, slices.Clone(o.try.granted)
}

// tag returns on whose behalf a request is made and what it is for.
func (o *owners) tag(now sim.Time, server sim.ProcessID, args []string) (history.Attempt, string) {
	command := strings.ToLower(args[0])
	value, key := o.ownerValue(command, args)
	sets := key != ""
	if at := (place{server, key}); sets {
		if slices.Contains(o.try.asked, at) || len(o.try.asked) == 0 {
			o.try = try{since: now}
		}
		o.try.asked = append(o.try.asked, at)
	}
	if value == "" {
		return o.attempt, command
	}
	known, ok := o.of[value]
	if !ok || sets {
		known = o.attempt
		o.of[value] = known
	}
	return known, command
}

// answered records who granted a request for the lock.
func (o *owners) answered(server sim.ProcessID, to *sim.Incoming, reply []byte) {
	if to.Attempt != o.attempt || slices.Contains(o.try.granted, server) {
		return
	}
	_, key := o.ownerValue(strings.ToLower(to.Args[0]), to.Args)
	if slices.Contains(o.try.asked, place{server, key}) && positive(reply) {
		o.try.granted = append(o.try.granted, server)
	}
}

// positive reports whether a reply grants the lock: OK, a number other than zero, a string.
func positive(reply []byte) bool {
	r := sim.NewReply(reply)
	if n, ok := r.Int(); ok {
		return n != 0
	}
	_, ok := r.Bulk()
	return r.OK() || ok
}

// ownerValue is the owner value in a request, empty if there is none. asks is the key that it requests, if it is a
// request for the lock: a SET NX, a SET that seizes the key for a time, whoever has it, or a script that can set one.
func (o *owners) ownerValue(command string, args []string) (value, asks string) {
	switch command {
	case "set", "setnx":
		if len(args) > 2 {
			has := func(option string) bool {
				return slices.ContainsFunc(args[3:], func(a string) bool { return strings.EqualFold(a, option) })
			}
			expires := has("px") || has("ex") || has("pxat") || has("exat")
			if command == "setnx" || has("nx") || expires && !has("xx") {
				asks = args[1]
			}
			return args[2], asks
		}
	case "eval", "evalsha":
		if len(args) < 3 {
			return "", ""
		}
		if keys, err := strconv.Atoi(args[2]); err == nil && keys >= 0 && len(args) > 3+keys {
			if keys > 0 && o.scripts.setsKey(command, args[1]) {
				asks = args[3]
			}
			return args[3+keys], asks
		}
	case "script":
		if len(args) == 3 && strings.EqualFold(args[1], "load") {
			o.scripts.setsKey("eval", args[2])
		}
	}
	return "", ""
}

// setsKey reports whether a script, or the one with the given hash, calls SET, SETNX or PSETEX. It is false for a hash
// whose text no client has sent.
func (known scripts) setsKey(command, script string) bool {
	if command == "evalsha" {
		return known[strings.ToLower(script)]
	}
	hash := fmt.Sprintf("%x", sha1.Sum([]byte(script)))
	sets, sent := known[hash]
	if !sent {
		sets = setting.MatchString(script)
		known[hash] = sets
	}
	return sets
}

var setting = regexp.MustCompile(`(?i)call\(\s*['"](set|setnx|psetex)['"]`)
