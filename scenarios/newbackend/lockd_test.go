// Package newbackend shows how to add a kind of lock server. It contains, only in tests, an invented kind called lockd.
// Everything about lockd is in lockd_test.go (its servers, their wire protocol and its rows in tables) and
// recipe_test.go (its lock). lockd differs from the existing kinds in everything that the program needs to know about a
// kind of server. Its servers are independent, although clients have sessions on them. They never read their wall
// clock, do not write anything to disk and speak a protocol of their own. A ticket tells owners apart. backend_test.go
// then uses lockd in a scenario, a library, a real-time program, an explanation and a comparison.
package newbackend

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/sim"
)

const lockd = "lockd"

func init() {
	history.RegisterService(history.ServiceKind{Name: lockd, Majority: true, Sessions: true, Revisions: true,
		Compared: "the ticket of the key", Shared: "a ticket"})
	scenarios.RegisterBackend(&scenarios.Backend{Kind: lockd, Called: "lockd", Place: 9, Most: 5, Service: lockd,
		Meaning: "how many servers of lockd, each on its own: lockd-1 …", Steady: true,
		Upkeep: []string{"hello"}, Front: front{}, Scheme: "lockd://",
		Cluster: func(s *scenarios.Servers) scenarios.Cluster {
			d := make(daemons, s.N)
			for i := range d {
				d[i] = &daemon{name: sim.ProcessID(fmt.Sprintf("lockd-%d", i+1))}
			}
			return d
		}})
	compare.Add(compare.Contender{Name: lockd, Title: "lockd", Text: "Three servers, each on its own.",
		Servers: "lockd: 3", Lock: "protocol: lockd", Nodes: []string{"lockd-1", "lockd-2", "lockd-3"},
		Struck: "lockd-1", Spare: []string{"lockd-3"}, Most: []string{"lockd-2", "lockd-3"}, Synced: true})
}

// daemons are a run's servers.
type daemons []*daemon

// Add adds the servers to a world.
func (d daemons) Add(w *sim.World, _ nemesis.Plan, wrap scenarios.Tap) {
	for _, s := range d {
		wrap.Before(w)(s.name, s)
	}
}

// daemon is a server of lockd. It holds its keys in memory:
//
//	TAKE key session ms -> OK ticket, or NO if another session has the key
//	KEEP key session ms -> OK, or NO if the session does not have it
//	GIVE key session    -> OK, or NO if the session does not have it
//	HELLO               -> OK lockd
type daemon struct {
	name   sim.ProcessID
	host   sim.Host
	keys   map[string]*key
	ticket int
}

type key struct {
	session string
	owner   history.Attempt
	timer   uint64
}

// Start starts the server with no keys.
func (d *daemon) Start(h sim.Host) { d.host, d.keys = h, map[string]*key{} }

// Serve answers a request.
func (d *daemon) Serve(q *sim.Incoming) { q.Reply([]byte(d.answer(q) + "\n")) }

func (d *daemon) answer(q *sim.Incoming) string {
	if q.Args[0] == "HELLO" {
		return "OK lockd"
	}
	name, session := q.Args[1], q.Args[2]
	k := d.keys[name]
	e := history.Event{By: q.Attempt, Value: session}
	switch own := k != nil && k.session == session; {
	case q.Args[0] == "TAKE" && k == nil:
		k = &key{session: session, owner: q.Attempt}
		d.keys[name] = k
		e.F, e.Until = history.KeySet, d.live(k, q.Args[3])
		d.record(name, k, e)
		return "OK " + strconv.FormatUint(k.timer, 10)
	case q.Args[0] == "KEEP" && own:
		e.F, e.Value, e.Until = history.KeyProlonged, "", d.live(k, q.Args[3])
		d.record(name, k, e)
	case q.Args[0] == "GIVE" && own:
		d.remove(name, history.Deleted, q.Attempt)
	default:
		return "NO"
	}
	return "OK"
}

// live makes a key expire after the given number of milliseconds, and returns its expiry time.
func (d *daemon) live(k *key, ms string) (until history.Time) {
	n, _ := strconv.Atoi(ms)
	d.ticket++
	k.timer = uint64(d.ticket)
	d.host.WakeAfter(time.Duration(n)*time.Millisecond, k.timer)
	return d.host.Due(time.Duration(n) * time.Millisecond)
}

func (d *daemon) record(name string, k *key, e history.Event) {
	e.Type, e.Lock, e.Of = history.OK, history.Lock(name), k.owner
	d.host.Record(e)
}

func (d *daemon) remove(name string, why history.Why, by history.Attempt) {
	d.record(name, d.keys[name], history.Event{F: history.KeyGone, Why: why, By: by})
	delete(d.keys, name)
}

// removeAll removes all keys for which the function returns true.
func (d *daemon) removeAll(why history.Why, which func(*key) bool) {
	for _, name := range slices.Sorted(maps.Keys(d.keys)) {
		if which(d.keys[name]) {
			d.remove(name, why, "")
		}
	}
}

// Wake removes a key whose session was not kept alive.
func (d *daemon) Wake(tag uint64) {
	d.removeAll(history.Expired, func(k *key) bool { return k.timer == tag })
}

// ClockChanged does nothing, because the servers do not read their wall clock.
func (d *daemon) ClockChanged() {}

// Fault ends a client's sessions.
func (d *daemon) Fault(f sim.ServerFault) {
	if f.Kind == sim.ExpireSession {
		d.removeAll(history.Expired, func(k *key) bool { return strings.HasPrefix(string(k.owner), string(f.To)+"/") })
	}
}

// Stop removes all keys.
func (d *daemon) Stop(how sim.Stop) { d.removeAll(how.Loss(false), func(*key) bool { return true }) }

// front implements the wire protocol, in which each request and each answer is a line.
type front struct{}

// Port returns the servers' port.
func (front) Port() int { return 7000 }

// Serial returns true, because a connection has only one request at a time.
func (front) Serial() bool { return true }

// Begin starts a run.
func (front) Begin() sim.Callers { return callers{} }

// callers maps names to a run's clients.
type callers map[sim.ProcessID]*caller

// Caller returns the client with the given name.
func (c callers) Caller(client sim.ProcessID) sim.Caller {
	c[client] = &caller{}
	return c[client]
}

// Recorded notes that a server has granted a key.
func (c callers) Recorded(e *history.Event) {
	for _, k := range c {
		if e.F == history.KeySet && e.Of == k.attempt {
			k.granted = append(k.granted, e.Process)
		}
	}
}

// caller is a client and its current attempt.
type caller struct {
	attempt history.Attempt
	since   sim.Time
	granted []sim.ProcessID
}

// Wire returns the client's end of a connection.
func (c *caller) Wire(sim.ProcessID) sim.Wire { return &wire{caller: c} }

// Begin begins an attempt.
func (c *caller) Begin(a history.Attempt, now sim.Time) { *c = caller{attempt: a, since: now} }

// Try returns when the attempt began, and the servers that have granted the lock.
func (c *caller) Try() (since sim.Time, granted []sim.ProcessID) { return c.since, c.granted }

// wire splits what a client writes into lines.
type wire struct {
	caller *caller
	half   []byte
}

// Written sends each line as a request.
func (w *wire) Written(l sim.Line, b []byte) error {
	for w.half = append(w.half, b...); ; {
		line, rest, whole := bytes.Cut(w.half, []byte("\n"))
		if !whole {
			return nil
		}
		w.half = rest
		args := strings.Fields(string(line))
		if n, known := map[string]int{"HELLO": 1, "TAKE": 4, "KEEP": 4, "GIVE": 3}[args[0]]; !known || n != len(args) {
			return &sim.NotSimulatedError{Request: string(line)}
		}
		l.Ask(args, w.caller.attempt, args[0])
	}
}

// Arrived delivers an answer.
func (w *wire) Arrived(l sim.Line, b []byte, _ *sim.Incoming) { l.Deliver(b) }
