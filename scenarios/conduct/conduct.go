// Package conduct reads from the requests of a lock whose code nobody has seen which measures it takes for its safety.
//
// Goals: what it says is what the requests show. What they do not show is unknown: neither applied nor left out.
// Non-goals: judging a run (checker); what the code does beside its requests, such as on which clock it counts.
package conduct

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Shown is what requests show of a measure.
type Shown uint8

// The zero Shown is that they show nothing.
const (
	Unknown Shown = iota
	Applied       // in every request that could have shown otherwise
	Absent        // some request shows that it is not applied
)

// Request is one that has arrived at a lock server.
type Request struct {
	Conn    uint64          // of its connection; never used again
	Attempt history.Attempt // on whose behalf it is
	Server  history.Process
	Args    []string // Args[0] is the command
}

// Reader reads the requests of one run, in the order in which they arrive.
type Reader struct {
	isLock  func(key string) bool
	shown   map[history.Measure]Shown
	lapses  []history.Lapse
	values  map[string]history.Attempt // owner values, and who sent them first
	asked   map[place]string           // the latest value that an attempt asked with
	scripts map[string]*script         // by the hash of their texts
	conns   map[uint64]*conn
}

// place is where an attempt asks for a lock.
type place struct {
	attempt history.Attempt
	server  history.Process
	key     string
}

// conn is what a connection is in the middle of.
type conn struct {
	watched, read []string // keys, since WATCH
	multi         bool
}

// New makes a Reader for a run whose locks have the keys of which isLock is true.
func New(isLock func(key string) bool) *Reader {
	return &Reader{isLock: isLock, shown: map[history.Measure]Shown{}, values: map[string]history.Attempt{},
		asked: map[place]string{}, scripts: map[string]*script{}, conns: map[uint64]*conn{}}
}

// Of says what the requests have shown of a measure so far.
func (r *Reader) Of(m history.Measure) Shown { return r.shown[m] }

// Lapses are what they have shown that a lock does against its safety.
func (r *Reader) Lapses() []history.Lapse { return slices.Clone(r.lapses) }

// note takes note of what a request shows. What is absent once is absent; what one request hides, no other shows.
func (r *Reader) note(m history.Measure, s Shown) {
	was, seen := r.shown[m]
	switch {
	case was == Absent || seen && was == Unknown && s != Absent:
	default:
		r.shown[m] = s
	}
}

func (r *Reader) lapse(l history.Lapse) {
	if !slices.Contains(r.lapses, l) {
		r.lapses = append(r.lapses, l)
	}
}

// applies makes a Shown of what is known.
func applies(yes bool) Shown {
	if yes {
		return Applied
	}
	return Absent
}

// See reads a request.
func (r *Reader) See(q Request) {
	c := r.conns[q.Conn]
	if c == nil {
		c = &conn{}
		r.conns[q.Conn] = c
	}
	command, args := strings.ToUpper(q.Args[0]), q.Args[1:]
	switch command {
	case "WATCH":
		c.watched = append(c.watched, args...)
	case "MULTI":
		c.multi = true
	case "EXEC", "DISCARD", "UNWATCH":
		*c = conn{}
	case "SCRIPT":
		if len(args) == 2 && strings.EqualFold(args[0], "LOAD") {
			r.script(args[1])
		}
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		r.seeScript(q, command, args)
	case "WAIT":
		r.shown[history.WaitForReplicas] = Unknown // whether its count is obeyed is not shown
	default:
		if len(args) > 0 && r.isLock(args[0]) {
			r.seeKey(q, c, command, args)
		}
	}
}

// seeKey reads a plain command about the key of a lock.
func (r *Reader) seeKey(q Request, c *conn, command string, args []string) {
	has := func(word string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, word) })
	}
	switch command {
	case "GET", "HGET", "HEXISTS", "ZSCORE":
		c.read = append(c.read, args[0])
	case "SETNX":
		r.ask(q, args[0], args[1:])
		r.note(history.Expiry, Absent)
	case "SET":
		relative, absolute := has("PX") || has("EX"), has("PXAT") || has("EXAT")
		if relative || absolute {
			r.note(history.RelativeExpiry, applies(relative))
		}
		if !has("XX") && !has("IFEQ") && !has("KEEPTTL") {
			r.ask(q, args[0], args[1:])
			r.note(history.Expiry, applies(relative || absolute))
		} else if relative || absolute {
			r.note(history.Renewal, Applied)
		}
	case "EXPIRE", "PEXPIRE":
		r.note(history.Renewal, Applied)
	case "EXPIREAT", "PEXPIREAT":
		r.note(history.Renewal, Applied)
		r.note(history.RelativeExpiry, Absent)
	case "DEL", "UNLINK", "GETDEL":
		r.note(history.OwnerCheck,
			applies(c.multi && slices.Contains(c.watched, args[0]) && slices.Contains(c.read, args[0])))
	case "DELEX":
		r.note(history.OwnerCheck, applies(has("IFEQ")))
	case "CAD":
		r.note(history.OwnerCheck, Applied)
	}
}

// ask reads a request for a lock with an owner value: values begins with it, or is empty if it is not known.
func (r *Reader) ask(q Request, key string, values []string) {
	if _, seen := r.shown[history.WaitForReplicas]; !seen {
		r.shown[history.WaitForReplicas] = Absent
	}
	if len(values) == 0 || values[0] == "" {
		r.note(history.OwnValue, Unknown)
		return
	}
	value, at := values[0], place{q.Attempt, q.Server, key}
	if r.asked[at] == value {
		r.lapse(history.ValueForTries)
	}
	r.asked[at] = value
	first, known := r.values[value]
	switch {
	case !known:
		if r.values[value] = q.Attempt; len(r.values) > 1 {
			r.note(history.OwnValue, Applied)
		}
	case first != q.Attempt:
		r.note(history.OwnValue, Absent)
	}
}
