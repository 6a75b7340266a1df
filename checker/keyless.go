package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// keyless reports whether a client was told that it had the lock although it did not have a key. The servers must
// record the lock's keys. At that moment, they must have had no key that the client had set or that another client had
// passed on to it. The attempt must not have set any key, either. A key that is left over from an earlier hold does not
// count. If the grant counted servers, keyless returns false, except for a replicated service, whose members answer as
// one.
func (t *judge) keyless(s *trace.Span) bool {
	g := &t.Grants[s.Grant]
	if s.At != g.OK || g.Attempt == "" || len(t.counted(s)) > 0 && !t.History.Header.OneService() {
		return false
	}
	there, own, recorded := t.keysOf(s)
	return recorded && !own && !slices.ContainsFunc(there, func(set int) bool { return t.leftOver(s, set) < 0 })
}

// keysOf lists the keys that a client has when it is told that it has the lock, by the positions at which they were
// set. A key that has disappeared before that does not count. If the service has one replicated log, a key that
// disappeared after the acquire was called still counts. own reports whether the attempt itself set one of the keys.
// recorded reports whether the servers record the lock's keys at all.
func (t *judge) keysOf(s *trace.Span) (there []int, own, recorded bool) {
	g, needed := &t.Grants[s.Grant], t.NeededUntil(s)
	for _, i := range t.Keys {
		at, e := int(i), &t.History.Events[i]
		switch {
		case e.Lock != t.Locks[g.Lock].Name:
		case e.F == history.KeySet:
			recorded = true
			if at < s.At && t.ProcessOf(e.Lock, e.Of) == g.Process {
				there, own = append(there, at), own || e.Of == g.Attempt
			}
		case e.F == history.KeyGone && at < needed:
			there = slices.DeleteFunc(there, func(set int) bool { return t.History.Events[set].Of == e.Of })
		}
	}
	return there, own, recorded
}

// leftOver is about the key that the client of window s set at the position set. If this key was left over from an
// earlier hold of the client, leftOver returns the position at which the key disappeared; otherwise, it returns -1. The
// key was left over if two things are true. The client released the earlier hold before it requested the lock again.
// And the key disappeared only after the window had begun, because it expired or the earlier attempt deleted it. If the
// service has one replicated log, no key is left over, because a session continues to use the key from its earlier
// attempt.
func (t *judge) leftOver(s *trace.Span, set int) int {
	e := &t.History.Events[set]
	n, granted := t.Owner[trace.Title{Lock: e.Lock, Attempt: e.Of}]
	oneLog := t.History.Header.Service.Kind().OneLog
	if oneLog || !granted || n == s.Grant || t.Grants[n].Release >= t.Asks[t.Grants[s.Grant].Ask].Call {
		return -1
	}
	later := t.Keys[sort.Search(len(t.Keys), func(i int) bool { return int(t.Keys[i]) > s.At }):]
	for _, at := range later {
		k := &t.History.Events[at]
		ended := k.Why == history.Expired || k.Why == history.Deleted && k.By == e.Of
		if k.F == history.KeyGone && ended && k.Of == e.Of && k.Lock == e.Lock && k.Process == e.Process {
			return int(at)
		}
	}
	return -1
}

// keylessStory says that a client got the lock without having a key.
func (t *judge) keylessStory(s *trace.Span, who string) string {
	return sentence(" No server had a key of %s when it was told at %v that it had the lock.", who,
		t.Time(t.Grants[s.Grant].OK)) + t.leftOverStory(s)
}

// leftOverStory describes a left-over key, if there is one: the client had already released the hold that
// the key belonged to, but still had the key when it was granted the lock. If there is no such key, leftOverStory
// returns "".
func (t *judge) leftOverStory(s *trace.Span) string {
	there, _, _ := t.keysOf(s)
	for _, set := range there {
		if gone := t.leftOver(s, set); gone >= 0 {
			return sentence(" The only exception was the key of an earlier hold, which it had already released. "+
				"That key was gone at %v.",
				t.Time(gone))
		}
	}
	return ""
}
