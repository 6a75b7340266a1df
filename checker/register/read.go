package register

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// none is the value of an empty register.
const none = "nil"

// step is a part of an operation that reads or writes one register.
type step struct {
	register string
	write    bool
	value    string
}

// operation is a client's operation that took effect or may have done so.
type operation struct {
	f       history.F
	process history.Process
	// The call is at some position from first to last. The two differ only if several threads of a process called the
	// same operation at the same time, so that it is unknown which call belongs to which return. If the call was not
	// recorded, first is -1 and last is the position of the return.
	first, last int
	returned    int // position of the return; never if it is unknown whether the operation took effect
	steps       []step
}

// never, as the value of operation.returned, means that an operation may have had no effect.
const never = -1

// reads reports whether the operation read anything.
func (o *operation) reads() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return !s.write })
}

// several reports whether the operation uses more than one register.
func (o *operation) several() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return s.register != o.steps[0].register })
}

// writes reports whether the operation wrote anything.
func (o *operation) writes() bool {
	return slices.ContainsFunc(o.steps, func(s step) bool { return s.write })
}

// reader finds the register operations in a history.
type reader struct {
	h          *history.History
	operations []operation
	keyed      bool              // whether each value is [REGISTER VALUE], as jepsen.independent writes it
	unclear    bool              // whether the position of some call is unknown: its first and last differ
	plain      map[string]string // cache of the method value: maps a text to the normal form of its value
	lists      map[string]list   // cache of the method elements: maps a text to the elements of its value
	calls      map[history.Process][]*calls
}

// list is the result of parsing a value as a vector or list. ok is false if it is neither.
type list struct {
	elements []string
	ok       bool
}

// mostTexts is the maximum number of entries in each cache.
const mostTexts = 1 << 16

// calls represents several calls by a process (n of them) that have not returned yet and cannot be told apart.
type calls struct {
	f           history.F
	what        string // the registers and the written values; see subject
	steps       []step
	first, last int
	n           int
}

// Of reports whether a history uses registers and no locks: its clients only read, write, compare-and-set or run
// transactions, and never do so while they hold a grant. It returns an error if the history contains both registers and
// locks, or if a value does not fit its operation.
func Of(h *history.History) (bool, error) {
	t, err := read(h)
	return t != nil, err
}

// isOfRegisters reports whether a history uses registers and no locks. It returns an error if the history contains
// both.
func isOfRegisters(h *history.History) (bool, error) {
	var data, only, lock *history.Event
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Process == history.Nemesis, e.F == history.Crashed:
		case !onRegister(e):
			lock = cmp.Or(lock, e)
		case e.F == history.CAS, e.F == history.Txn:
			only = cmp.Or(only, e)
		default:
			data = cmp.Or(data, e)
		}
	}
	if only != nil && lock != nil {
		return false, fmt.Errorf("index %d: the history contains both %s of %s and %s of %s, "+
			"but a history contains either registers or locks with the data that they guard",
			only.Index, only.F, only.Process, lock.F, lock.Process)
	}
	return lock == nil && cmp.Or(only, data) != nil, nil
}

func onRegister(e *history.Event) bool {
	switch e.F {
	case history.Read, history.Write, history.CAS, history.Txn:
		return e.Attempt == "" && e.Token == 0
	}
	return false
}

// read finds the operations in a register history. It returns nil for any other history.
func read(h *history.History) (*reader, error) {
	if of, err := isOfRegisters(h); !of {
		return nil, err
	}
	t := &reader{h: h, plain: map[string]string{}, lists: map[string]list{}, calls: map[history.Process][]*calls{}}
	t.keyed = t.isKeyed()
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.Process == history.Nemesis:
		case e.F == history.Crashed:
			t.leave(e.Process)
		default:
			if err := t.event(i, e); err != nil {
				return nil, fmt.Errorf("index %d: %s of %s: %w", e.Index, e.F, e.Process, err)
			}
		}
	}
	for i := range h.Events { // visit the processes in a fixed order
		t.leave(h.Events[i].Process)
	}
	return t, nil
}

// leave records a process's pending calls as operations with an unknown outcome.
func (t *reader) leave(p history.Process) {
	for _, c := range t.calls[p] {
		for range c.n {
			t.add(p, c, never, c.steps)
		}
	}
	delete(t.calls, p)
}

// add records an operation, unless it wrote nothing and is not known to have read anything.
func (t *reader) add(p history.Process, c *calls, returned int, steps []step) {
	o := operation{c.f, p, c.first, c.last, returned, steps}
	if o.writes() || returned != never && o.reads() {
		t.operations = append(t.operations, o)
	}
}

func (t *reader) event(at int, e *history.Event) error {
	steps, err := t.steps(e)
	if e.Type == history.Invoke {
		if err == nil {
			t.call(at, e, steps)
		}
		return err
	}
	stated := e.Value != "" && err == nil
	if e.Type == history.OK {
		stated = e.Value != "" || e.F == history.Read // a read without a value found an empty register
		if stated && err != nil {
			return err
		}
	}
	c, err := t.matchReturn(e, steps, stated)
	if c == nil && stated { // the history records only the return
		c, t.unclear = &calls{f: e.F, steps: unknownReads(e.F, steps), first: -1, last: at}, true
	}
	switch {
	case err != nil:
		return err
	case c == nil, e.Type == history.Fail:
	case e.Type == history.Info:
		t.add(e.Process, c, never, c.steps)
	case stated:
		t.add(e.Process, c, at, steps)
	default:
		t.add(e.Process, c, at, c.steps)
	}
	return nil
}

// unknownReads removes a call's read steps, because their values are not known yet. A compare-and-set keeps its read,
// because its call contains the old value.
func unknownReads(f history.F, steps []step) (left []step) {
	for _, s := range steps {
		if f == history.CAS || s.write {
			left = append(left, s)
		}
	}
	return left
}

// call records an operation's call.
func (t *reader) call(at int, e *history.Event, steps []step) {
	what := subject(e.F, steps)
	for _, c := range t.calls[e.Process] {
		if c.f == e.F && c.what == what {
			c.last, c.n, t.unclear = at, c.n+1, true
			return
		}
	}
	t.calls[e.Process] = append(t.calls[e.Process],
		&calls{f: e.F, what: what, steps: unknownReads(e.F, steps), first: at, last: at, n: 1})
}

// matchReturn finds the call that the return e belongs to, and removes it from its process's pending calls. stated says
// whether e contains its operation's steps. If so, the call is the one with the same registers and written values. If
// not, or if there is no such call, it is the only pending call with the same F. The result is nil if there is none. If
// there are several, matchReturn returns an error.
func (t *reader) matchReturn(e *history.Event, steps []step, stated bool) (*calls, error) {
	what, of := subject(e.F, steps), []int(nil)
	for i, c := range t.calls[e.Process] {
		switch {
		case c.f == e.F && stated && c.what == what:
			return t.take(e.Process, i), nil
		case c.f == e.F:
			of = append(of, i)
		}
	}
	switch len(of) {
	case 0:
		return nil, nil
	case 1:
		return t.take(e.Process, of[0]), nil
	}
	return nil, errors.New("the history does not show which of the process's calls has returned")
}

func (t *reader) take(p history.Process, i int) *calls {
	list := t.calls[p]
	c := *list[i]
	if list[i].n--; list[i].n == 0 {
		t.calls[p] = append(list[:i:i], list[i+1:]...)
	}
	return &c
}

// subject returns an operation's registers and written values as a string, which is used to tell a process's calls
// apart.
func subject(f history.F, steps []step) string {
	var b strings.Builder
	for _, s := range steps {
		if s.write || f == history.CAS {
			fmt.Fprintf(&b, "%q=%q ", s.register, s.value)
		} else {
			fmt.Fprintf(&b, "%q ", s.register)
		}
	}
	return b.String()
}

// steps parses an event's value into reads and writes.
func (t *reader) steps(e *history.Event) ([]step, error) {
	register, value := string(e.Lock), e.Value
	if t.keyed {
		pair, _ := t.elements(value)
		if len(pair) != 2 {
			return nil, fmt.Errorf("its value is %s, not [REGISTER VALUE] as in the others", shown(value))
		}
		register, value = pair[0], pair[1]
	}
	list, ok := t.elements(value)
	if e.F == history.CAS {
		if len(list) != 2 {
			return nil, fmt.Errorf("its value is %s, not [OLD NEW]", shown(value))
		}
		return []step{{register, false, list[0]}, {register, true, list[1]}}, nil
	}
	steps := t.transaction(list)
	switch {
	case steps == nil && e.F == history.Txn && !ok:
		return nil, fmt.Errorf("its value is %s, not [[:read REGISTER VALUE] …]", shown(value))
	case steps == nil && e.F == history.Txn && len(list) > 0:
		return nil, fmt.Errorf("%s holds something other than [:read REGISTER VALUE] and [:write REGISTER VALUE]",
			shown(value))
	case steps == nil && e.F != history.Txn:
		return []step{{register, e.F == history.Write, t.value(value)}}, nil
	case t.keyed:
		for i := range steps {
			steps[i].register = register + " " + steps[i].register
		}
	}
	return steps, nil
}

// transaction parses a list of [:read REGISTER VALUE] and [:write REGISTER VALUE], which may also be written as :r and
// :w. It returns nil if the list contains anything else. Some of Jepsen's workloads record such a list as the value of
// a :read or a :write.
func (t *reader) transaction(list []string) (steps []step) {
	for _, part := range list {
		micro, _ := t.elements(part)
		if len(micro) != 3 || !slices.Contains([]string{":read", ":r", ":write", ":w"}, micro[0]) {
			return nil
		}
		steps = append(steps, step{micro[1], strings.HasPrefix(micro[0], ":w"), micro[2]})
	}
	return steps
}

// elements returns the elements of a vector or list. ok is false if text is neither.
func (t *reader) elements(text string) ([]string, bool) {
	l, known := t.lists[text]
	if !known {
		l.elements, l.ok = history.ElementsEDN(text)
		if len(t.lists) < mostTexts {
			t.lists[text] = l
		}
	}
	return l.elements, l.ok
}

// value returns the normal form of a value, or the constant none if text is empty.
func (t *reader) value(text string) string {
	if text == "" {
		return none
	}
	plain, ok := t.plain[text]
	if !ok {
		if plain = history.PlainEDN(text); len(t.plain) < mostTexts {
			t.plain[text] = plain
		}
	}
	return plain
}

// isKeyed reports whether the value of every call, and of every operation that took effect, is a register-value pair.
func (t *reader) isKeyed() bool {
	keyed := false
	for i := range t.h.Events {
		e := &t.h.Events[i]
		if !onRegister(e) || e.Process == history.Nemesis || e.Type == history.Fail || e.Type == history.Info {
			continue
		}
		pair, _ := t.elements(e.Value)
		if len(pair) != 2 {
			return false
		}
		inner, list := t.elements(pair[1])
		switch {
		case e.F == history.CAS && (!list || len(inner) != 2):
			return false
		case e.F == history.Txn:
			if _, micro := t.elements(pair[0]); micro || !list {
				return false
			}
		}
		keyed = true
	}
	return keyed
}

func shown(text string) string {
	if text == "" {
		return none
	}
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:59]) + "…"
	}
	return text
}
