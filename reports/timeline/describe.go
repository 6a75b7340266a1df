package timeline

// This file describes each event in one line: who did what and why. It uses the same terms as plans and findings. An
// event has the same description in a text, in a picture and in an explanation.

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// describer describes events in words. It names a lock or an attempt only if it could be confused with another one.
type describer struct {
	Holder func(trace.Title) history.Process // returns the client that made an attempt, or "" if it is unknown
	// Apart reports whether an attempt is shown under its own name instead of its client's, because its client is
	// making other attempts at the same time. If Apart is nil, no attempt is shown under its own name.
	Apart   func(trace.Title) bool
	Several bool // whether more than one lock is in use
	// Locks lists the locks in use. Servers may also record keys that do not belong to any of these locks. Such keys
	// are described by name. If Locks is nil, all keys belong to a lock.
	Locks []history.Lock
	// Bounded maps the event that set a key to the time at which the key expires. It contains the keys that were set
	// without an expiry but got one at the same instant, for example by a script that increments a counter and then
	// sets the expiry.
	Bounded map[*history.Event]history.Time
	// Registers is the number of registers, if the history consists of operations on registers. Such a history has no
	// locks.
	Registers int
	Long      bool // whether to include nonessential details: tokens, servers, deadlines
}

// who returns the name of the client or attempt that caused an event.
func (t *describer) who(e *history.Event) string { return t.name(e.Process, made(e)) }

// name returns the name of a client, or of its attempt if the attempt is shown under its own name (see Apart).
func (t *describer) name(p history.Process, of trace.Title) string {
	if t.Apart != nil && t.Apart(of) {
		return string(of.Attempt)
	}
	return string(p)
}

// event describes an event in one line.
func (t *describer) event(e *history.Event) string {
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
		return t.who(e) + " learns that its lock" + t.lock(e) + " is gone and stops"
	case history.Crashed:
		return string(e.Process) + " crashes"
	case history.Woken:
		return fmt.Sprintf("%s is woken up to try again", e.Process)
	case history.Read:
		return t.read(e)
	case history.Write:
		return t.write(e)
	case history.CAS, history.Txn:
		return t.transaction(e)
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

// promotion describes a promotion that the servers themselves (Sentinel, for example) decided on. It returns "" for all
// other events.
func promotion(e *history.Event) string {
	if !e.Why.BySystem() || e.Fault == nil || len(e.Fault.On) == 0 || len(e.Fault.To) == 0 {
		return ""
	}
	who := strings.TrimPrefix(string(e.Why), "by ")
	return fmt.Sprintf("%s promotes %s in place of %s", who, e.Fault.To[0], e.Fault.On[0])
}

func (t *describer) fault(e *history.Event) string {
	line := e.Value
	if line == "" {
		line = string(e.F)
	}
	if promotion := promotion(e); promotion != "" {
		return promotion
	}
	switch e.Type {
	case history.Invoke:
		return "fault: " + line
	case history.OK:
		return "over: " + line
	}
	return "nemesis: " + line // in a nemesis report, only the text says whether something begins or ends
}

// lock returns the lock's name if several locks are in use, and "" otherwise.
func (t *describer) lock(e *history.Event) string {
	if !t.Several || e.Lock == "" {
		return ""
	}
	return " " + string(e.Lock)
}

func (t *describer) acquire(e *history.Event) string {
	who, lock := t.who(e), t.lock(e)
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
		return who + " does not get" + cmp.Or(lock, " the lock") + reasonFor(e)
	}
	return fmt.Sprintf("%s never learns whether it got%s%s", who, cmp.Or(lock, " the lock"), reasonFor(e))
}

// lease describes a lease: its token, and how long the holder believes it will hold the lock. The long form also lists
// the servers that the holder counted.
func (t *describer) lease(e *history.Event) string {
	g := e.Grant
	if g == nil {
		return token(e.Token)
	}
	s := ": lease until " + text.Instant(g.Until)
	switch {
	case g.Open:
		s = ": lease without a stated end"
	case g.Told:
		s = fmt.Sprintf(": lease until %s, when it is told that the lock is lost", text.Instant(g.Until))
	case g.Until == history.Never:
		s = ": lease without end"
	case g.Until <= g.Granted:
		s = fmt.Sprintf(": lease had already ended at %s", text.Instant(g.Until))
	}
	if t.Long && len(g.Counted) > 0 {
		s += ", counted " + processes(g.Counted)
	}
	return s + token(e.Token)
}

func (t *describer) extend(e *history.Event) string {
	who, lock := t.who(e), t.lock(e)
	switch e.Type {
	case history.Invoke:
		return who + " asks to extend" + cmp.Or(lock, " its lease")
	case history.OK:
		return who + " extends" + lock + t.lease(e)
	case history.Fail:
		return who + " cannot extend" + cmp.Or(lock, " its lease") + reasonFor(e)
	}
	return fmt.Sprintf("%s never learns whether it extended%s%s", who, cmp.Or(lock, " its lease"), reasonFor(e))
}

func (t *describer) release(e *history.Event) string {
	who, lock := t.who(e), t.lock(e)
	switch e.Type {
	case history.Invoke:
		return who + " leaves and releases" + lock
	case history.OK:
		return who + " has released" + lock
	case history.Fail:
		return who + "'s release of" + cmp.Or(lock, " the lock") + " took no effect" + reasonFor(e)
	}
	return fmt.Sprintf("%s never learns whether it released%s%s", who, lock, reasonFor(e))
}

// ofRegister returns the given word and the name of the operation's register, such as " of x". If there is only one
// register, it returns "".
func (t *describer) ofRegister(e *history.Event, word string) string {
	if t.Registers < 2 {
		return ""
	}
	return " " + word + " " + string(e.Lock)
}

func (t *describer) read(e *history.Event) string {
	who := t.who(e)
	switch {
	case e.Type == history.Invoke && t.Registers > 0:
		return who + " asks for the value" + t.ofRegister(e, "of")
	case e.Type == history.Invoke:
		return fmt.Sprintf("%s reads the value from the resource", who)
	case e.Type == history.OK:
		return who + " reads " + quoted(e.Value) + t.ofRegister(e, "from")
	}
	return who + "'s read brought nothing" + reasonFor(e)
}

func (t *describer) write(e *history.Event) string {
	who := t.who(e)
	switch e.Type {
	case history.Invoke:
		return who + " sends its write of " + quoted(e.Value) + t.ofRegister(e, "to")
	case history.OK:
		return who + " learns that " + quoted(e.Value) + " is written" + t.ofRegister(e, "to")
	case history.Fail:
		if e.Why == history.LeaseNotValid {
			return fmt.Sprintf("%s does not write, because it sees that its lease has ended", who)
		}
		return fmt.Sprintf("%s learns that its write took no effect%s", who, reasonFor(e))
	}
	return fmt.Sprintf("%s never learns whether its write took effect%s", who, reasonFor(e))
}

func (t *describer) transaction(e *history.Event) string {
	what := map[history.F]string{history.CAS: "compare-and-set ", history.Txn: "transaction "}[e.F] + quoted(e.Value)
	if e.F == history.CAS {
		what += t.ofRegister(e, "of")
	}
	switch e.Type {
	case history.Invoke:
		return string(e.Process) + " asks for the " + what
	case history.OK:
		return string(e.Process) + " learns that its " + what + " took effect"
	case history.Fail:
		return string(e.Process) + " learns that its " + what + " took no effect" + reasonFor(e)
	}
	return string(e.Process) + " never learns whether its " + what + " took effect" + reasonFor(e)
}

func (t *describer) apply(e *history.Event) string {
	whose := t.name(t.Holder(behalf(e)), behalf(e))
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
	if t.Long {
		s += token(e.Token)
	}
	return s + reasonFor(e)
}

// key describes what happened to a key. where names the servers.
func (t *describer) key(e *history.Event, where string) string {
	key := "the key"
	switch {
	case t.Locks != nil && !slices.Contains(t.Locks, e.Lock):
		key = "the key " + strconv.Quote(string(e.Lock))
	case t.Several:
		key = string(e.Lock)
	}
	of := cmp.Or(string(e.Of), "nobody")
	switch {
	case e.F == history.KeySet && e.Of == "":
		return fmt.Sprintf("%s: %s stays without an owner%s", where, key, t.due(e))
	case e.F == history.KeySet:
		return fmt.Sprintf("%s: %s is set for %s%s", where, key, of, t.due(e))
	case e.F == history.KeyProlonged:
		return fmt.Sprintf("%s: %s of %s is prolonged%s%s", where, key, of, t.byOther(e), t.due(e))
	}
	if e.Takes() && e.By != e.Of {
		return fmt.Sprintf("%s: %s of %s is taken by %s", where, key, of, e.By)
	}
	switch e.Why {
	case history.Expired:
		return fmt.Sprintf("%s: %s of %s expires", where, key, of)
	case history.Deleted:
		return fmt.Sprintf("%s: %s of %s is deleted%s", where, key, of, t.byOther(e))
	case history.NotRecorded:
		return fmt.Sprintf("%s: %s of %s is gone", where, key, of)
	}
	return fmt.Sprintf("%s: %s of %s is %s", where, key, of, cmp.Or(string(e.Why), "gone"))
}

func (t *describer) due(e *history.Event) string {
	until := cmp.Or(t.Bounded[e], e.Until)
	switch {
	case until == history.Never:
		return ", without expiry"
	case t.Long && until != 0:
		return ", due " + text.Instant(until)
	}
	return ""
}

// bounded finds keys that were set without an expiry but got one at the same instant. For each such key, it maps the
// event that set the key to the time at which the key expires.
func bounded(events []history.Event) map[*history.Event]history.Time {
	all := map[*history.Event]history.Time{}
	for i := range events {
		set := &events[i]
		if set.F != history.KeySet || set.Until != history.Never {
			continue
		}
		for j := i + 1; j < len(events) && events[j].Time == set.Time; j++ {
			e := &events[j]
			same := e.Process == set.Process && e.Lock == set.Lock && e.Member == set.Member && e.Of == set.Of
			if e.F == history.KeyProlonged && same {
				all[set] = e.Until
			}
		}
	}
	return all
}

func (t *describer) byOther(e *history.Event) string {
	if e.By == "" || e.By == e.Of {
		return ""
	}
	return " by " + string(e.By)
}

// reasonFor returns the reason for an event, in parentheses. If a library gave the reason, it is quoted.
func reasonFor(e *history.Event) string {
	words := e.Value != "" && (e.F == history.Acquire || e.F == history.Extend || e.F == history.Release)
	switch {
	case words:
		return fmt.Sprintf(" (%q)", e.Value)
	case e.Why == "":
		return ""
	}
	return " (" + string(e.Why) + ")"
}

func token(n history.Token) string {
	if n == 0 {
		return ""
	}
	return ", token " + strconv.FormatInt(int64(n), 10)
}

// quoted returns a value in quotes. It shortens long values so that a reader can compare them at a glance.
func quoted(v string) string {
	const most = 24
	r := []rune(v)
	if len(r) > most {
		v = string(r[:most-1]) + "…"
	}
	return strconv.QuoteToGraphic(v)
}
