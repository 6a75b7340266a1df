package timeline

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/phrase"
)

// teller puts events into words. A lock or an attempt is named only where it is needed to tell it from another.
type teller struct {
	lanes *Lanes
	locks bool // more than one lock is in use
	long  bool // say also what the eye can do without: tokens, servers, deadlines
}

func newTeller(l *Lanes, long bool) teller {
	return teller{lanes: l, locks: len(l.locks) > 1, long: long}
}

// Told is an event in words.
type Told struct {
	Pos   int // in the history
	At    history.Time
	Words string
}

// Told tells the events at some positions; those outside of the history are left out.
func (l *Lanes) Told(positions []int) []Told {
	t := newTeller(l, true)
	var all []Told
	for _, pos := range positions {
		if pos >= 0 && pos < len(l.history.Events) {
			e := &l.history.Events[pos]
			all = append(all, Told{pos, e.Time, t.tell(e)})
		}
	}
	return all
}

// tell says in one line what happened.
func (t *teller) tell(e *history.Event) string {
	if e.Process == history.Nemesis {
		return t.fault(e)
	}
	switch e.F {
	case history.Acquire:
		return t.acquire(e)
	case history.Extend:
		return t.extend(e)
	case history.Release:
		return t.release(e)
	case history.Lost:
		return string(e.Process) + " learns that its lock is gone and stops"
	case history.Crashed:
		return string(e.Process) + " crashes"
	case history.Woken:
		return string(e.Process) + " is woken to look again"
	case history.Read:
		return t.read(e)
	case history.Write:
		return t.write(e)
	case history.Apply:
		return t.apply(e)
	case history.KeySet, history.KeyProlonged, history.KeyGone:
		return t.key(e, string(e.Process))
	case history.KeyCopied:
		return fmt.Sprintf("%s: the key of %s has arrived", e.Process, e.Of)
	case history.CopyGone:
		return fmt.Sprintf("%s: learns that the key of %s is gone", e.Process, e.Of)
	}
	return fmt.Sprintf("%s: %s %s", e.Process, e.F, e.Type)
}

func (t *teller) fault(e *history.Event) string {
	line := e.Value
	if line == "" {
		line = string(e.F)
	}
	if e.Type == history.Invoke {
		return "fault: " + line
	}
	return "over: " + line
}

// lock names the lock where more than one is in use.
func (t *teller) lock(e *history.Event) string {
	if !t.locks || e.Lock == "" {
		return ""
	}
	return " " + string(e.Lock)
}

func (t *teller) acquire(e *history.Event) string {
	who, lock := string(e.Process), t.lock(e)
	switch e.Type {
	case history.Invoke:
		if lock == "" {
			lock = " the lock"
		}
		return who + " asks for" + lock
	case history.OK:
		shared := ""
		if e.Shared {
			shared = " shared"
		}
		return who + " acquires" + lock + shared + t.lease(e)
	case history.Fail:
		return who + " does not get" + cmp.Or(lock, " the lock") + because(e.Why)
	}
	return who + " never learns whether it got" + cmp.Or(lock, " the lock") + because(e.Why)
}

// lease says until when the holder was told that it holds, and at length by whom and under which token.
func (t *teller) lease(e *history.Event) string {
	g := e.Grant
	if g == nil {
		return token(e.Token)
	}
	s := ": lease until " + phrase.Instant(g.Until)
	switch {
	case g.Until == history.Never:
		s = ": lease without end"
	case g.Until <= g.Granted:
		s = ": lease already over at " + phrase.Instant(g.Until)
	}
	if t.long && len(g.Counted) > 0 {
		s += ", counted " + processes(g.Counted)
	}
	return s + token(e.Token)
}

func (t *teller) extend(e *history.Event) string {
	who, lock := string(e.Process), t.lock(e)
	switch e.Type {
	case history.Invoke:
		return who + " asks to extend" + cmp.Or(lock, " its lease")
	case history.OK:
		return who + " extends" + lock + t.lease(e)
	case history.Fail:
		return who + " cannot extend" + cmp.Or(lock, " its lease") + because(e.Why)
	}
	return who + " never learns whether it extended" + cmp.Or(lock, " its lease") + because(e.Why)
}

func (t *teller) release(e *history.Event) string {
	who, lock := string(e.Process), t.lock(e)
	switch e.Type {
	case history.Invoke:
		return who + " leaves and releases" + lock
	case history.OK:
		return who + " has released" + lock
	case history.Fail:
		return who + "'s release of" + cmp.Or(lock, " the lock") + " took no effect" + because(e.Why)
	}
	return who + " never learns whether it released" + lock + because(e.Why)
}

func (t *teller) read(e *history.Event) string {
	who := string(e.Process)
	switch e.Type {
	case history.Invoke:
		return who + " asks the resource for its value"
	case history.OK:
		return who + " reads " + quoted(e.Value)
	}
	return who + "'s read brought nothing" + because(e.Why)
}

func (t *teller) write(e *history.Event) string {
	who := string(e.Process)
	switch e.Type {
	case history.Invoke:
		return who + " sends its write of " + quoted(e.Value)
	case history.OK:
		return who + " learns that " + quoted(e.Value) + " is written"
	case history.Fail:
		if e.Why == history.LeaseNotValid {
			return who + " does not write: it sees that its lease is over"
		}
		return who + " learns that its write took no effect" + because(e.Why)
	}
	return who + " never learns whether its write took effect" + because(e.Why)
}

func (t *teller) apply(e *history.Event) string {
	whose := string(t.lanes.holder(e.Of))
	if whose == "" {
		whose = cmp.Or(string(e.Of), "an unknown client")
	}
	verb := "accepts"
	if e.Type != history.OK {
		verb = "refuses"
	}
	what := "write of " + quoted(e.Value)
	if e.Op == history.Read {
		what = "read"
		if e.Type == history.OK {
			what = "read: " + quoted(e.Value)
		}
	}
	s := fmt.Sprintf("%s %s %s's %s", e.Process, verb, whose, what)
	if t.long {
		s += token(e.Token)
	}
	return s + because(e.Why)
}

// key tells of a key on the servers named by where.
func (t *teller) key(e *history.Event, where string) string {
	key := "the key"
	if t.locks {
		key = string(e.Lock)
	}
	of := string(e.Of)
	switch e.F {
	case history.KeySet:
		return fmt.Sprintf("%s: %s is set for %s%s", where, key, of, t.due(e))
	case history.KeyProlonged:
		return fmt.Sprintf("%s: %s of %s is prolonged%s%s", where, key, of, t.byOther(e), t.due(e))
	}
	switch e.Why {
	case history.Expired:
		return fmt.Sprintf("%s: %s of %s expires", where, key, of)
	case history.Deleted:
		return fmt.Sprintf("%s: %s of %s is deleted%s", where, key, of, t.byOther(e))
	}
	return fmt.Sprintf("%s: %s of %s is %s", where, key, of, cmp.Or(string(e.Why), "gone"))
}

func (t *teller) due(e *history.Event) string {
	switch {
	case e.Until == history.Never:
		return ", without expiry"
	case t.long && e.Until != 0:
		return ", due " + phrase.Instant(e.Until)
	}
	return ""
}

func (t *teller) byOther(e *history.Event) string {
	if e.By == "" || e.By == e.Of {
		return ""
	}
	return " by " + string(e.By)
}

func because(w history.Why) string {
	if w == "" {
		return ""
	}
	return " (" + string(w) + ")"
}

func token(n history.Token) string {
	if n == 0 {
		return ""
	}
	return ", token " + strconv.FormatInt(int64(n), 10)
}

// quoted gives a value in quotes, shortened to what a reader can compare at a glance.
func quoted(v string) string {
	const most = 24
	r := []rune(v)
	if len(r) > most {
		v = string(r[:most-1]) + "…"
	}
	return strconv.QuoteToGraphic(v)
}

// processes lists names and shortens runs of numbers: "redis-1…3, redis-5".
func processes(ps []history.Process) string {
	sorted := slices.Clone(ps)
	slices.SortFunc(sorted, compareNames)
	var out []string
	for i := 0; i < len(sorted); {
		j := i + 1
		for j < len(sorted) && follows(sorted[j-1], sorted[j]) {
			j++
		}
		name := string(sorted[i])
		switch {
		case j-i == 2:
			name += ", " + string(sorted[i+1])
		case j-i > 2:
			_, n, _ := numbered(sorted[j-1])
			name += "…" + strconv.Itoa(n)
		}
		out = append(out, name)
		i = j
	}
	return strings.Join(out, ", ")
}

// numbered splits "redis-3" into "redis-" and 3.
func numbered(p history.Process) (base string, n int, ok bool) {
	s := string(p)
	i := strings.LastIndexByte(s, '-')
	n, err := strconv.Atoi(s[i+1:])
	if err != nil || n < 0 {
		return s, 0, false
	}
	return s[:i+1], n, true
}

func compareNames(a, b history.Process) int {
	ab, an, aok := numbered(a)
	bb, bn, bok := numbered(b)
	if aok && bok && ab == bb {
		return an - bn
	}
	return strings.Compare(string(a), string(b))
}

func follows(a, b history.Process) bool {
	ab, an, aok := numbered(a)
	bb, bn, bok := numbered(b)
	return aok && bok && ab == bb && bn == an+1
}
