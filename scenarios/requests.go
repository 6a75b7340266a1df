package scenarios

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// showing says whether a lock's requests show that the lock applies a certain safety measure. It is used for locks
// whose code is unknown.
type showing uint8

// The zero value, notShown, means that the requests reveal nothing.
const (
	notShown     showing = iota
	shownApplied         // all relevant requests show that it is applied
	shownAbsent          // some request shows that it is not applied
)

// request is a request that has arrived at a lock server.
type request struct {
	Conn    uint64          // identifies the connection; never reused
	Attempt history.Attempt // the attempt to which the request belongs
	Args    []string        // Args[0] is the command
}

// requestReader reads a run's requests in order of arrival, and infers which safety measures the lock applies.
type requestReader struct {
	isLock  func(key string) bool
	shown   map[history.Measure]showing
	lapses  []history.Lapse
	values  map[string]history.Attempt // owner values, each with the attempt that sent it first
	scripts map[string]*script         // keyed by the hash of the script's text
	conns   map[uint64]*connection
	asked   map[history.Process]history.Time // the values of Header.Asked
	first   map[history.Process]history.Time // when each client's first request reached a server
	between map[history.Process]history.Span // the longest time between two requests of each client
}

// connection holds a connection's transaction state.
type connection struct {
	watched, read []string // keys that are watched, and those of them that were read since WATCH and before MULTI
	multi         bool
}

// newRequestReader creates a requestReader for a run. isLock reports whether a key belongs to a lock.
func newRequestReader(isLock func(key string) bool) *requestReader {
	return &requestReader{isLock: isLock, shown: map[history.Measure]showing{}, values: map[string]history.Attempt{},
		scripts: map[string]*script{}, conns: map[uint64]*connection{}, asked: map[history.Process]history.Time{},
		first: map[history.Process]history.Time{}, between: map[history.Process]history.Span{}}
}

// reached records that a client's lock request reached a server.
func (r *requestReader) reached(client history.Process, now history.Time) {
	if _, later := r.first[client]; !later {
		r.first[client] = now
	} else if q := r.between[client]; now-r.asked[client] > q.To-q.From {
		r.between[client] = history.Span{From: r.asked[client], To: now}
	}
	r.asked[client] = now
}

// quiet returns, for each client, the longest period in which it did not send a lock request, as defined by
// Header.Quiet. events contains the run's events.
func (r *requestReader) quiet(events []history.Event) map[history.Process]history.Span {
	longest := maps.Clone(r.between)
	seen := make(map[history.Process]bool)
	for i := range events {
		e := &events[i]
		if e.Type != history.Invoke || e.F != history.Acquire || seen[e.Process] {
			continue
		}
		seen[e.Process] = true
		first, some := r.first[e.Process]
		if q := longest[e.Process]; some && first-e.Time > q.To-q.From {
			longest[e.Process] = history.Span{From: e.Time, To: first}
		}
	}
	return longest
}

// note records what a request shows about whether the lock applies a measure. Usually, a later request replaces what an
// earlier one has shown. There are two exceptions. If a request shows that the lock does not apply the measure, that is
// final. If a request shows nothing, later ones can only show that the lock does not apply it.
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

func shownIf(yes bool) showing {
	if yes {
		return shownApplied
	}
	return shownAbsent
}

// read reads a request and records what it reveals about the client's safety measures.
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
	case "EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO", "FCALL", "FCALL_RO":
		r.seeScript(q, command, args)
	case "WAIT", "WAITAOF":
		if len(args) > 1 && args[len(args)-2] != "0" {
			r.shown[history.WaitForReplicas] = notShown // the requests do not show whether the client obeys the count
		}
	default:
		if len(args) > 0 && r.isLock(args[0]) {
			r.seeKey(q, c, command, args)
		}
	}
}

// seeKey records what a command on a lock's key reveals about the lock. It is not called for commands within a script.
func (r *requestReader) seeKey(q request, c *connection, command string, args []string) {
	has := func(word string) bool {
		return slices.ContainsFunc(args, func(a string) bool { return strings.EqualFold(a, word) })
	}
	switch command {
	case "GET", "HGET", "HEXISTS", "ZSCORE":
		if slices.Contains(c.watched, args[0]) && !c.multi {
			c.read = append(c.read, args[0])
		}
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

// ask records a lock request. The first element of values is the owner value in the request. If that is unknown, values
// is empty.
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
