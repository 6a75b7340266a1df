package locktest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/sim"
)

// recorded returns what the servers have recorded about the lock's keys so far.
func (t *trial) recorded() []history.Event {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(t.seen), func(e history.Event) bool {
		return !slices.Contains(t.keys, string(e.Lock))
	})
}

// place identifies a key on a server. All members of a cluster are treated as one server.
func (t *trial) place(e *history.Event) string {
	if t.together {
		return strings.Join([]string{"", string(e.Lock), e.Member}, "\x00")
	}
	return strings.Join([]string{string(e.Process), string(e.Lock), e.Member}, "\x00")
}

// standing returns the last record of each key that an attempt still holds after the given events.
func (t *trial) standing(a history.Attempt, events []history.Event) (keys []history.Event) {
	for i := range events {
		e := &events[i]
		at := slices.IndexFunc(keys, func(k history.Event) bool { return t.place(&k) == t.place(e) })
		switch {
		case e.F == history.KeySet && e.Of == a && at < 0:
			keys = append(keys, *e)
		case e.F == history.KeyProlonged && at >= 0, e.F == history.KeySet && e.Of == a:
			keys[at] = *e
		case at >= 0:
			keys = slices.Delete(keys, at, at+1)
		}
	}
	return keys
}

// stands reports whether a client still has one of the lock's keys on any server.
func (t *trial) stands(h *hand) bool { return len(t.standing(h.attempt, t.recorded())) > 0 }

// expired returns the names of the keys whose expiry ended a client's lease, and the time of the last expiry. If the
// lease has not ended, or if it ended in another way, expired returns no keys.
func (t *trial) expired(h *hand) (keys []string, ended sim.Time) {
	if t.stands(h) {
		return nil, 0
	}
	for _, e := range t.recorded() {
		switch {
		case e.Of != h.attempt || e.Time < h.last().from:
		case e.F == history.KeyGone && e.Why == history.Expired:
			if ended = e.Time; !slices.Contains(keys, string(e.Lock)) {
				keys = append(keys, string(e.Lock))
			}
		default:
			keys = nil
		}
	}
	return keys, ended
}

func (t *trial) hasExpired(h *hand) bool {
	keys, _ := t.expired(h)
	return len(keys) > 0
}

// robbed reports whether another client deleted one of client h's keys, and nothing has been recorded about h's keys
// since then.
func (t *trial) robbed(h *hand) (robbed bool) {
	for _, e := range t.recorded() {
		if e.Of == h.attempt {
			robbed = e.F == history.KeyGone && e.Why == history.Deleted && e.By != e.Of
		}
	}
	return robbed
}

// renewals says whether any request has renewed a client's lease since the client acquired the lock.
func (t *trial) renewals(h *hand) string {
	n := 0
	for _, e := range t.recorded() {
		if e.Of == h.attempt && e.By == h.attempt && e.F != history.KeyGone && e.Time > h.last().from {
			n++
		}
	}
	if n == 0 {
		return "without a renewal"
	}
	return "after a renewal"
}

// records returns the problems that are visible in the servers' records. If one problem explains others, it comes
// first.
func (t *trial) records() (problems []string) {
	events := t.recorded()
	if len(events) == 0 {
		if len(t.seen) == 0 && len(t.wrong) > 0 {
			return nil // the problem in wrong is a better explanation
		}
		return []string{t.unseen()}
	}
	for _, look := range []func([]history.Event) string{t.keyInUse, t.otherTTL, t.misused, t.unreleased} {
		if problem := look(events); problem != "" {
			problems = append(problems, problem)
		}
	}
	return problems
}

// unseen says that no server has recorded any of the lock's keys.
func (t *trial) unseen() string {
	var others []string
	for i := range t.seen {
		if name := string(t.seen[i].Lock); !slices.Contains(others, name) {
			others = append(others, name)
		}
	}
	if len(others) > 0 {
		return fmt.Sprintf("the servers saw no key %s, but they saw %s: set Config.Keys, or make the lock use c.Key",
			quoted(t.keys), quoted(others))
	}
	return fmt.Sprintf(
		"the servers saw no key %s and no other key: keys show who owns a lock and why its lease ended. "+
			"If this lock needs no keys, set Config.SkipTrial; then this is not checked", quoted(t.keys))
}

func quoted(names []string) string {
	var all []string
	for _, n := range names {
		all = append(all, fmt.Sprintf("%q", n))
	}
	return text.Join(all, " and ")
}

// keyInUse returns a description of the problem if a holder deleted its own key, or if Config.Keys names a key that
// does not belong to the lock. Otherwise, it returns "". The order of the checks matters. If a holder deletes its own
// key, another client can set that key and so get the lock. Without the first check, that client would seem to be
// waiting, and the key would seem not to belong to the lock.
func (t *trial) keyInUse(events []history.Event) string {
	return cmp.Or(t.givenAway(events), t.waitersKey(events), t.signalKey(events))
}

// givenAway returns a description of the problem if a client deleted the last of its own keys before it called Unlock.
// For example, releasing an inner hold may do this. givenAway returns "" if no client did so, or if the deletion did no
// harm, because no other client got the lock and Unlock did not fail. (Some locks, such as a list with a token, set a
// key only when they are released, so it is normal for their holder to have no key.)
func (t *trial) givenAway(events []history.Event) string {
	for _, h := range t.hand {
		since := sim.Time(0)
		for _, x := range h.held {
			key, at := t.deletedItself(h.attempt, events, since, x.to)
			since = x.to
			switch next := t.gotMeanwhile(h, x, at); {
			case key == "":
			case next != nil:
				return fmt.Sprintf("%s deleted its own key %q before it called Unlock, and %s got the lock as well: %s",
					h.name, key, next.name, onlyInUnlock)
			case x.refused:
				return fmt.Sprintf("%s deleted its own key %q before it called Unlock, which then failed: %s", h.name,
					key, onlyInUnlock)
			}
		}
	}
	return ""
}

const onlyInUnlock = "delete it only in Unlock. " +
	"If a function that runs under the lock acquires it again, count the holds"

// deletedItself returns the last key of attempt a, and the time of its deletion, if a itself deleted that key between
// from and to. If a still has a key at the end of this period, or if its last key was removed in another way, the
// returned key is "".
func (t *trial) deletedItself(a history.Attempt, events []history.Event, from, to sim.Time) (key string, at sim.Time) {
	if n := slices.IndexFunc(events, func(e history.Event) bool { return e.Time >= to }); n >= 0 {
		events = events[:n]
	}
	if len(t.standing(a, events)) > 0 {
		return "", 0
	}
	for _, e := range events {
		if e.Time >= from && e.Of == a {
			key, at = "", e.Time
			if e.F == history.KeyGone && e.Why == history.Deleted && e.By == a {
				key = string(e.Lock)
			}
		}
	}
	return key, at
}

// gotMeanwhile returns a client that got the lock during period x, while client h had it. A client that got the lock
// before the time given as after does not count. If there is no such client, gotMeanwhile returns nil.
func (t *trial) gotMeanwhile(h *hand, x *held, after sim.Time) *hand {
	for _, other := range t.hand {
		if other != h && slices.ContainsFunc(other.held, func(y *held) bool {
			return y.from >= max(after, x.from) && y.from < x.to
		}) {
			return other
		}
	}
	return nil
}

// waitersKey looks for a key in Config.Keys that clients set while they are waiting, and that no holder has, such as a
// queue or a set of waiting clients. Such a key is not a key of the lock. waitersKey returns a description of this
// problem, or "" if there is no such key.
func (t *trial) waitersKey(events []history.Event) string {
	held := t.heldKeys(events)
	for _, e := range events {
		by := t.handOf(e.By)
		if e.F != history.KeySet || by == nil || by.had(e.Time) || slices.Contains(held, e.Lock) {
			continue
		}
		for _, h := range t.hand {
			if h != by && h.had(e.Time) {
				return fmt.Sprintf("Config.Keys names %q, which %s set while it waited for the lock that %s had: "+
					"name only keys that every holder of the lock sets", string(e.Lock), by.name, h.name)
			}
		}
	}
	return ""
}

// heldKeys returns the names of all keys that a client had when its Lock returned nil.
func (t *trial) heldKeys(events []history.Event) (held []history.Lock) {
	for _, h := range t.hand {
		for _, x := range h.held {
			for _, k := range t.standing(h.attempt, events[:countUntil(events, x.from)]) {
				held = append(held, k.Lock)
			}
		}
	}
	return held
}

// signalKey looks for a key in Config.Keys that is only a signal, which Unlock sets to wake a waiting client. Such a
// key is not a key of the lock. It is recognized as follows: no client has it when its Lock returns, and the first
// client, which did not have to wait, got the lock without deleting it. signalKey returns a description of this
// problem, or "" if there is no such key.
func (t *trial) signalKey(events []history.Event) string {
	first := t.hand[0]
	if len(first.held) == 0 {
		return ""
	}
	held := t.heldKeys(events)
	for _, e := range events[:countUntil(events, first.held[0].from)] {
		if e.F == history.KeyGone && e.By == first.attempt {
			held = append(held, e.Lock)
		}
	}
	for i := range events {
		if e := &events[i]; e.F == history.KeySet && t.gaveBack(e) && !slices.Contains(held, e.Lock) {
			return fmt.Sprintf("Config.Keys names %q, which the Unlock of %s set, "+
				"but which %s did not use when it acquired the lock: "+
				"name only keys that every holder of the lock sets",
				string(e.Lock), owner(e.By),
				first.name)
		}
	}
	return ""
}

// handOf returns the client that made an attempt, or nil if it is not one of the trial's clients.
func (t *trial) handOf(a history.Attempt) *hand {
	for _, h := range t.hand {
		if h.attempt == a {
			return h
		}
	}
	return nil
}

// otherTTL returns a description of the problem if the first client's keys expire, but none of them has the Config's
// TTL. Otherwise, it returns "". The keys do not matter if the lock reports that it is valid for more than half the TTL
// and not noticeably longer than the TTL: then it returns "", too.
func (t *trial) otherTTL(events []history.Event) string {
	first := t.hand[0]
	if len(first.held) == 0 {
		return ""
	}
	x, lives := first.held[0], t.ttl*time.Duration(max(1, t.scenario.Service().Kind().Lives))
	if states := (x.until - x.from).Duration(); states > t.ttl/2 && states < t.ttl+t.ttl/20 {
		return ""
	}
	other := ""
	for _, e := range events {
		if e.F == history.KeyGone || e.By != first.attempt || e.Until == history.Never || e.Time > x.to {
			continue
		}
		lasts := (e.Until - e.Time).Duration()
		if off := lasts - lives; off <= t.ttl/20 && off >= -t.ttl/20 {
			return ""
		}
		if other == "" {
			other = fmt.Sprintf("the key %q expires %v after Lock has set it, but Config.TTL is %v: make them equal",
				string(e.Lock), lasts.Round(10*time.Millisecond), t.ttl)
		}
	}
	return other
}

// misused returns a description of the problem if a client deleted, extended or overwrote the key of another client
// that had the lock. It returns "" if no client did so, or if ownership is not promised. It ignores keys that were
// overwritten by a Lock, because then two clients have the lock, which is reported elsewhere.
func (t *trial) misused(events []history.Event) string {
	if !slices.Contains(t.promise.Laws, checker.Ownership) {
		return ""
	}
	keys := map[string]history.Attempt{} // the key's owner at each place
	for i := range events {
		e := &events[i]
		was := keys[t.place(e)]
		switch e.F {
		case history.KeySet:
			keys[t.place(e)] = e.Of
		case history.KeyGone:
			delete(keys, t.place(e))
		}
		of, did, do := e.Of, "", ""
		switch {
		case e.F == history.KeyGone && e.Why == history.Deleted:
			did, do = "deleted", "delete"
		case e.F == history.KeyProlonged:
			did, do = "prolonged", "prolong"
		case e.F == history.KeySet && t.gaveBack(e) && t.leased(was, e.Time):
			of, did, do = was, "overwrote", "write"
		}
		holder := t.handOf(of)
		if did == "" || e.By == "" || e.By == of || holder == nil || !holder.had(e.Time) {
			continue
		}
		return fmt.Sprintf("%s %s the key %q of %s, which already had the lock. %s", owner(e.By), did, string(e.Lock),
			holder.name, compareOwn(events, e, of, do))
	}
	return ""
}

// gaveBack reports whether the event was caused by a client that had already called Unlock.
func (t *trial) gaveBack(e *history.Event) bool {
	by := t.handOf(e.By)
	return by != nil && len(by.held) > 0 && by.last().to <= e.Time
}

// leased reports whether an attempt's lease is still valid at the given time. The lease lasts for the TTL, or for the
// validity period that the lock reported, whichever ends later.
func (t *trial) leased(a history.Attempt, at sim.Time) bool {
	h := t.handOf(a)
	return h != nil && slices.ContainsFunc(h.held, func(x *held) bool {
		return x.from <= at && at < max(x.until, x.from+sim.Time(t.ttl))
	})
}

// compareOwn suggests how a client can make sure that a key is its own before it changes the key. e is the event in
// which it deleted, extended or overwrote another client's key, and of is that key's owner. do is the verb for what it
// did.
func compareOwn(events []history.Event, e *history.Event, of history.Attempt, do string) string {
	own, other := value(events, e.Lock, e.By), value(events, e.Lock, of)
	compare := fmt.Sprintf("Compare the owner value and %s in one step", do)
	switch {
	case own != "" && own == other: // the value does not name an owner
		return fmt.Sprintf("Let each Lock set its own value; compare it and %s in one step", do)
	case own != "" && strings.HasPrefix(other, own): // it may have compared only the beginning
		return fmt.Sprintf("%s, and compare all of it: %q begins with %q", compare, other, own)
	case e.Checked == history.CheckedValue && e.F != history.KeySet:
		return fmt.Sprintf(
			"It read the value of the key, but did not compare it with the value that its own Lock had set: "+
				"keep that value; compare it and %s in one step", do)
	}
	return compare
}

// owner returns the name of the client that made an attempt.
func owner(a history.Attempt) string { name, _, _ := strings.Cut(string(a), "/"); return name }

// value returns the value to which an attempt set a key.
func value(events []history.Event, key history.Lock, of history.Attempt) string {
	for i := range events {
		if e := &events[i]; e.F == history.KeySet && e.Lock == key && e.Of == of {
			return e.Value
		}
	}
	return ""
}

// unreleased returns a description of the problem if an Unlock returned nil but left keys unchanged, so that the next
// client could not get the lock before the keys expired. It returns "" if there are no such keys. The exact rule is in
// the comment on RunTrial.
func (t *trial) unreleased(events []history.Event) string {
	if t.scenario.Service().Kind().ClientsExpire {
		return ""
	}
	for _, h := range t.hand {
		for _, x := range h.held {
			if !x.released || x.next == 0 {
				continue
			}
			if left := t.leftBy(h, x, events); left != "" {
				return left
			}
		}
	}
	return ""
}

// leftBy describes the keys that a client's Unlock left unchanged although it should have changed them.
func (t *trial) leftBy(h *hand, x *held, events []history.Event) string {
	called := countUntil(events, x.to)
	var keys, servers []string
	became := ""
	for _, k := range t.standing(h.attempt, events[:called]) {
		how := t.leftAlone(&k, x, events[called:])
		if how == "" {
			continue
		}
		became = how
		if name := fmt.Sprintf("%q", string(k.Lock)); !slices.Contains(keys, name) {
			keys = append(keys, name)
		}
		if !slices.Contains(servers, string(k.Process)) {
			servers = append(servers, string(k.Process))
		}
	}
	if len(keys) == 0 {
		return ""
	}
	where := ""
	if t.scenario.Servers.N > 1 && !t.together {
		where = " on " + text.Join(servers, " and ")
	}
	return fmt.Sprintf("the key %s still existed%s after Unlock of %s had returned nil, %s: Unlock must delete it, "+
		"or set it to a value that marks the lock as free", text.Join(keys, " and "), where, h.name, became)
}

// leftAlone describes what happened to a key that Unlock left on its server: it expired, was extended, or did not
// change. It returns "" if the server recorded any other change to the lock's keys, or if the next client got the lock
// before the key expired.
func (t *trial) leftAlone(k *history.Event, x *held, since []history.Event) string {
	after := func(at sim.Time) time.Duration { return (at - x.to).Duration().Round(10 * time.Millisecond) }
	prolonged := ""
	for i := range since {
		e := &since[i]
		switch {
		case e.Time >= x.next:
			return ""
		case e.Process != k.Process && !t.together:
		// The request to extend the key may already have been on its way.
		case e.F == history.KeyProlonged && e.By == k.Of && e.Until >= k.Until:
			prolonged = fmt.Sprintf("and was extended %v later", after(e.Time))
		case e.F == history.KeyGone && e.Why == history.Expired && e.Of == k.Of:
			return fmt.Sprintf("until it expired %v later", after(e.Time))
		default:
			return ""
		}
	}
	if x.next != history.Never {
		return ""
	}
	return cmp.Or(prolonged, "and it has not been changed since")
}

// countUntil returns the number of events up to and including the given time. The events are in chronological order.
func countUntil(events []history.Event, at sim.Time) int {
	n := slices.IndexFunc(events, func(e history.Event) bool { return e.Time > at })
	if n < 0 {
		return len(events)
	}
	return n
}
