package trace

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
)

// MaxUpdates is the maximum number of read-modify-writes of one lock's data that are passed to porcupine.
const MaxUpdates = 10_000

// pairing tracks one worker's reads and writes to find its read-modify-writes.
type pairing struct {
	lock   int32
	called int  // position of the read's call; -1 if no read is open
	read   bool // whether the worker knows a value that its next write can be computed from
	value  string
	from   int // position at which the update begins: the read's call, or the previous write's return
	write  int // index of the update whose write has not returned yet; -1 if there is none
}

// Updates returns each lock's read-modify-writes as the clients saw them. Each consists of a read that returned and a
// write that was confirmed or has an unknown outcome. A write that failed for the client does not count. Nor does a
// write that the resource refused, even if the client got a confirmation: the resource confirms a repeated operation
// without applying it again.
func (t *Trace) Updates() [][]linear.Update {
	u := &t.pairs
	u.reset(len(t.Locks))
	for _, at := range t.Data {
		i, e := int(at), &t.History.Events[at]
		lock, known := t.LockNumber[e.Lock]
		switch {
		case !known:
		case e.F == history.Apply && e.Op == history.Write && e.Type == history.Fail:
			n, known := u.of[worker{lock, e.Of}]
			if !known {
				continue
			}
			if p := &u.all[n]; p.write >= 0 && u.lists[p.lock][p.write].Written == e.Value {
				u.refused(p)
			}
		case (e.F == history.Read || e.F == history.Write) && e.Attempt != "":
			w := worker{lock, e.Attempt}
			n, known := u.of[w]
			if !known {
				n = len(u.all)
				u.all = append(u.all, pairing{lock: lock, called: -1, write: -1})
				u.of[w] = n
			}
			p := &u.all[n]
			if e.F == history.Read {
				p.readEvent(i, e)
			} else {
				t.writeEvent(p, i, e)
			}
		}
	}
	return u.lists
}

// pairs groups updates by the lock that they belong to.
type pairs struct {
	of    map[worker]int // index in all
	all   []pairing
	lists [][]linear.Update
}

func (u *pairs) reset(locks int) {
	if u.of == nil {
		u.of = make(map[worker]int)
	}
	clear(u.of)
	u.all = u.all[:0]
	for len(u.lists) < locks {
		u.lists = append(u.lists, nil)
	}
	for i := range u.lists {
		u.lists[i] = u.lists[i][:0]
	}
}

func (p *pairing) readEvent(i int, e *history.Event) {
	switch e.Type {
	case history.Invoke:
		p.called = i
	case history.OK:
		p.read, p.value, p.from = true, e.Value, i
		if p.called >= 0 {
			p.from = p.called
		}
		p.called = -1
	}
}

// writeEvent records a write. A write counts as blind, which means that it does not depend on any other update, if its
// client did not read before it, or read a value that comes from outside the history.
func (t *Trace) writeEvent(p *pairing, i int, e *history.Event) {
	list := &t.pairs.lists[p.lock]
	if e.Type == history.Invoke {
		p.write = len(*list)
		follows := p.write > 0 && (*list)[p.write-1].Written == p.value
		blind := !p.read || !follows && t.fromNowhere(p.lock, p.value)
		up := linear.Update{Blind: blind, Optional: true, Read: p.value, Written: e.Value,
			Client: int(t.Number[e.Process]), Name: string(e.Attempt), Call: int64(i), Return: linear.Forever}
		if p.read {
			up.Call = int64(p.from)
		}
		*list = append(*list, up)
		return
	}
	if p.write < 0 {
		return
	}
	up := &(*list)[p.write]
	p.write = -1
	switch e.Type {
	case history.OK:
		up.Optional, up.Return = false, int64(i)
		p.value, p.from = up.Written, i // the next update begins here, since others may write in between
	case history.Fail:
		// The update does not have any effect, wherever porcupine places it in the order.
		up.Blind, up.Optional, up.Written = false, true, up.Read
	case history.Info:
		p.read = false // it is unknown whether that write took effect
	}
}

// refused cancels an update's effect because the resource refused its write.
func (u *pairs) refused(p *pairing) {
	up := &u.lists[p.lock][p.write]
	up.Blind, up.Optional, up.Written, up.Return = false, true, up.Read, linear.Forever
	p.write = -1
}

// UpdatesRefuted reports whether porcupine refutes any lock's updates. It skips a lock with more than MaxUpdates.
func (t *Trace) UpdatesRefuted() bool {
	for n, list := range t.Updates() {
		if n >= len(t.Locks) || len(list) < 2 || len(list) > MaxUpdates {
			continue
		}
		if linear.Register(t.Scan.Data[n].Initial, list) == linear.Refuted {
			return true
		}
	}
	return false
}
