package scenarios

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// showing is what the requests of a lock whose code nobody has seen show of a measure that it may take for its safety.
// What they do not show is unknown: neither applied nor left out.
type showing uint8

// The zero showing is that they show nothing.
const (
	notShown     showing = iota
	shownApplied         // in every request that could have shown otherwise
	shownAbsent          // some request shows that it is not applied
)

// request is one that has arrived at a lock server.
type request struct {
	Conn    uint64          // of its connection; never used again
	Attempt history.Attempt // on whose behalf it is
	Args    []string        // Args[0] is the command
}

// requestReader reads the requests of one run, in the order in which they arrive.
type requestReader struct {
	isLock  func(key string) bool
	shown   map[history.Measure]showing
	lapses  []history.Lapse
	values  map[string]history.Attempt // owner values, and who sent them first
	scripts map[string]*script         // by the hash of their texts
	conns   map[uint64]*connection
	asked   map[history.Process]history.Time // see history.Header
}

// connection is what a connection is in the middle of.
type connection struct {
	watched, read []string // keys, since WATCH
	multi         bool
}

// newRequestReader makes a Reader for a run whose locks have the keys of which isLock is true.
func newRequestReader(isLock func(key string) bool) *requestReader {
	return &requestReader{isLock: isLock, shown: map[history.Measure]showing{}, values: map[string]history.Attempt{},
		scripts: map[string]*script{}, conns: map[uint64]*connection{}, asked: map[history.Process]history.Time{}}
}

// note takes note of what a request shows. What is absent once is absent; what one request hides, no other shows.
func (r *requestReader) note(m history.Measure, s showing) {
	was, seen := r.shown[m]
	switch {
	case was == shownAbsent || seen && was == notShown && s != shownAbsent:
	default:
		r.shown[m] = s
	}
}

func (r *requestReader) lapse(l history.Lapse) {
	if !slices.Contains(r.lapses, l) {
		r.lapses = append(r.lapses, l)
	}
}

// shownIf makes a showing of what is known.
func shownIf(yes bool) showing {
	if yes {
		return shownApplied
	}
	return shownAbsent
}

// read reads a request.
func (r *requestReader) read(q request) {
	c := r.conns[q.Conn]
	if c == nil {
		c = &connection{}
		r.conns[q.Conn] = c
	}
	command, args := strings.ToUpper(q.Args[0]), q.Args[1:]
	switch command {
	case "WATCH":
		c.watched = append(c.watched, args...)
	case "MULTI":
		c.multi = true
	case "EXEC", "DISCARD", "UNWATCH":
		*c = connection{}
	case "SCRIPT":
		if len(args) == 2 && strings.EqualFold(args[0], "LOAD") {
			r.script(args[1])
		}
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO":
		r.seeScript(q, command, args)
	case "WAIT":
		r.shown[history.WaitForReplicas] = notShown // whether its count is obeyed is not shown
	default:
		if len(args) > 0 && r.isLock(args[0]) {
			r.seeKey(q, c, command, args)
		}
	}
}

// seeKey reads a plain command about the key of a lock.
func (r *requestReader) seeKey(q request, c *connection, command string, args []string) {
	has := func(word string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, word) })
	}
	switch command {
	case "GET", "HGET", "HEXISTS", "ZSCORE":
		c.read = append(c.read, args[0])
	case "SETNX":
		r.ask(q, args[1:])
		r.note(history.Expiry, shownAbsent)
	case "SET":
		relative, absolute := has("PX") || has("EX"), has("PXAT") || has("EXAT")
		if relative || absolute {
			r.note(history.RelativeExpiry, shownIf(relative))
		}
		if !has("XX") && !has("IFEQ") && !has("KEEPTTL") {
			r.ask(q, args[1:])
			r.note(history.Expiry, shownIf(relative || absolute))
		} else if relative || absolute {
			r.note(history.Renewal, shownApplied)
		}
	case "EXPIRE", "PEXPIRE":
		r.note(history.Renewal, shownApplied)
	case "EXPIREAT", "PEXPIREAT":
		r.note(history.Renewal, shownApplied)
		r.note(history.RelativeExpiry, shownAbsent)
	case "DEL", "UNLINK", "GETDEL":
		r.note(history.OwnerCheck,
			shownIf(c.multi && slices.Contains(c.watched, args[0]) && slices.Contains(c.read, args[0])))
	case "DELEX":
		r.note(history.OwnerCheck, shownIf(has("IFEQ")))
	case "CAD":
		r.note(history.OwnerCheck, shownApplied)
	}
}

// ask reads a request for a lock with an owner value: values begins with it, or is empty if it is not known.
func (r *requestReader) ask(q request, values []string) {
	if _, seen := r.shown[history.WaitForReplicas]; !seen {
		r.shown[history.WaitForReplicas] = shownAbsent
	}
	if len(values) == 0 || values[0] == "" {
		r.note(history.OwnValue, notShown)
		return
	}
	value := values[0]
	first, known := r.values[value]
	switch {
	case !known:
		if r.values[value] = q.Attempt; len(r.values) > 1 {
			r.note(history.OwnValue, shownApplied)
		}
	case first != q.Attempt:
		r.note(history.OwnValue, shownAbsent)
	}
}
