package slow

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// cause finds why two windows overlap: of the records of all servers that both counted, the latest.
func (r *reading) cause(a, b *window) string {
	counted := [2][]history.Process{r.Events[a.at].Grant.Counted, r.Events[b.at].Grant.Counted}
	if len(counted[0]) == 0 && a.at == a.ok || len(counted[1]) == 0 && b.at == b.ok {
		return "not told by the history"
	}
	common, latest, cause := false, -1, "not told by the history"
	for _, s := range counted[0] {
		for _, o := range counted[1] {
			if !slices.Contains(r.shard(s), o) {
				continue
			}
			common = true
			if at, why := r.record(a, b, r.shard(s)); at > latest {
				latest, cause = at, why
			}
		}
	}
	if !common {
		return "counted without quorum"
	}
	return cause
}

// shard lists the servers that hold one copy of a lock between them.
func (r *reading) shard(p history.Process) []history.Process {
	for _, shard := range r.Header.Shards {
		if slices.Contains(shard, p) {
			return shard
		}
	}
	return []history.Process{p}
}

// keyEvent is the first, or the last, place in [from, to) of an event about the key of an attempt on one of the servers.
func (r *reading) keyEvent(f history.F, w *window, on []history.Process, from, to int, last bool) int {
	found := -1
	for i := max(from, 0); i < to; i++ {
		e := &r.Events[i]
		if e.F == f && e.Lock == w.lock && e.Of == w.attempt && slices.Contains(on, e.Process) {
			if found = i; !last {
				break
			}
		}
	}
	return found
}

// record is what the servers of one shard wrote down: the victim is the key set first, the record how it went before the
// other key was set. In a queue (etcd, ZooKeeper) the other key is there before, so that only the later grant bounds it.
func (r *reading) record(a, b *window, on []history.Process) (at int, cause string) {
	bound := max(a.at, b.at)
	setA, setB := r.keyEvent(history.KeySet, a, on, 0, bound, false), r.keyEvent(history.KeySet, b, on, 0, bound, false)
	if setA < 0 || setB < 0 {
		return -1, ""
	}
	victim, first, then := a, setA, setB
	if setB < setA {
		victim, first, then = b, setB, setA
	}
	gone := r.keyEvent(history.KeyGone, victim, on, first, then, true)
	if gone < 0 {
		gone = r.keyEvent(history.KeyGone, victim, on, then, bound, true)
	}
	apart := r.Events[first].Process != r.Events[then].Process
	switch {
	case apart && (gone < 0 || r.deposed(first) || r.deposed(then)):
		return then, "granted by a deposed master"
	case gone >= 0:
		return gone, r.loss(victim, on, first, gone)
	case !apart:
		if over := r.overwritten(victim, first, bound); over >= 0 {
			return over, "removed by non-owner"
		}
	}
	return -1, ""
}

func (r *reading) overwritten(victim *window, first, bound int) int {
	for i := first + 1; i < bound; i++ {
		e := &r.Events[i]
		if e.F == history.KeySet && e.Lock == victim.lock && e.Of != victim.attempt && e.Process == r.Events[first].Process {
			return i
		}
	}
	return -1
}

// deposed reports whether, before place i, the last failover of that event's server took its mastership away.
func (r *reading) deposed(i int) bool {
	p, was := r.Events[i].Process, false
	for _, f := range r.faults {
		if f.from < i && f.kind == "fail over" && slices.Contains(f.on, p) {
			was = f.on[0] == p
		}
	}
	return was
}

// loss tells from the key-gone at place gone why the victim's key went.
func (r *reading) loss(victim *window, on []history.Process, set, gone int) string {
	e, lease := &r.Events[gone], r.Events[victim.at].Grant
	switch {
	case e.Why == history.Expired && lease.Until <= lease.Granted:
		return "lease not rechecked"
	case e.Why == history.Expired:
		return r.expiry(victim, on, set, gone)
	case e.Why == history.Deleted && e.By == e.Of:
		return "removed by its own holder"
	case e.Why == history.Deleted:
		return "removed by non-owner"
	case e.Why == history.Flushed:
		return "removed by non-owner (flushed)"
	}
	return string(e.Why) // lost in crash (…), lost in failover
}

// expiry holds the key's end against the deadline that its last set or prolongation gave it. Redis counts whole
// milliseconds, twice.
func (r *reading) expiry(victim *window, on []history.Process, set, gone int) string {
	due := r.Events[max(r.keyEvent(history.KeySet, victim, on, set, gone, true), r.keyEvent(history.KeyProlonged, victim, on, set, gone, true))].Until
	if r.Events[gone].Time < due-2_000_000 {
		return "expired early (server clock)"
	}
	return "validity miscounted"
}
