package checker

import (
	"slices"
	"sort"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// keyless reports whether a client was told that it had the lock although it did not have a key. It returns true only
// if the servers record the lock's keys and, at that moment, no server had a key for this client, no server had set a
// key for the attempt, and no other client had passed its key to this client. A key that is left over from an earlier
// hold does not count. If the grant counted servers, keyless returns false, unless the service is replicated, because
// its members answer as one.
func (t *judge) keyless(s *trace.Span) bool {
	g := &t.Grants[s.Grant]
	if s.At != g.OK || g.Attempt == "" || len(t.counted(s)) > 0 && !t.History.Header.OneService() {
		return false
	}
	there, own, recorded := t.keysOf(s)
	return recorded && !own && !slices.ContainsFunc(there, func(set int) bool { return t.leftOver(s, set) < 0 })
}

// keysOf lists the keys that a client has when it is told that it has the lock. For each key, it returns the position
// at which the key was set. A key that has disappeared before then does not count. In a service with one replicated
// log, however, a key that did not disappear until after the acquire was called still counts. own reports whether the
// attempt itself set one of the keys. recorded reports whether the servers record the lock's keys at all.
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

// leftOver reports whether a key was left over from an earlier hold. If so, it returns the position at which the key
// disappeared; if not, it returns -1. The client of window s had set this key at the given position. Two conditions
// must hold. First, the client called the earlier hold's release before it requested the lock again. Second, the key
// was still there when the window began, and disappeared only later, because it expired or the release deleted it. In a
// service with one replicated log, keys are never left over, because a session continues to use the key from its
// earlier attempt.
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
