package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// LockEvidence is porcupine's verdict on one lock, with the data needed to draw a diagram of it.
type LockEvidence struct {
	Lock history.Lock
	// Mutex is porcupine's verdict on the critical sections. If porcupine refutes some of the sections, Mutex covers
	// only these; otherwise it covers all. Mutex is nil if porcupine did not reach a verdict, if the history states a
	// clock error, or if there are too many sections to check at once.
	Mutex *linear.Evidence
	// Data is the result of porcupine's check of the clients' read-modify-writes of the data that the lock guards. It
	// is nil if there are none, or too many to check at once.
	Data *linear.Evidence
}

// Refuted reports whether porcupine refutes the critical sections.
func (e *LockEvidence) Refuted() bool { return e.Mutex != nil && e.Mutex.Answer == linear.Refuted }

// Evidence has porcupine check h's locks, and returns the data needed to draw diagrams of the results. The parameter
// most limits how many locks are drawn. Evidence chooses the preferred locks first, then locks with refuted sections,
// and returns them in the order of the header. The result left is the number of other locks for which a diagram could
// be drawn. Evidence takes far longer than Check and is meant for reports.
func Evidence(h *history.History, most int, preferred ...history.Lock) (all []LockEvidence, left int) {
	var t judge
	t.Read(h)
	t.Sections()
	t.Scan.Reset(len(t.Locks), len(t.Grants))
	for _, at := range t.Data {
		if e := &h.Events[at]; e.F == history.Apply && e.Type == history.OK {
			if lock, known := t.LockNumber[e.Lock]; known {
				t.Scan.Effect(int(at), lock, e)
			}
		}
	}
	updates := t.Updates()
	chosen, left := t.worthDrawing(updates, most, preferred)
	for _, n := range chosen {
		l := &t.Locks[n]
		e := LockEvidence{Lock: l.Name}
		if ops, _ := t.answered(l); len(ops) > 0 {
			for i := range ops {
				g := &t.Grants[l.Grants[ops[i].Section]]
				ops[i].Name = history.Printable(cmp.Or(string(g.Attempt), string(g.Process)))
			}
			if drawn := linear.MutexEvidence(ops, t.Permits()); drawn.Answer != linear.Unknown {
				e.Mutex = drawn
			}
		}
		if list := updates[n]; drawable(list) {
			for i := range list {
				list[i].Name = history.Printable(list[i].Name)
			}
			e.Data = linear.RegisterEvidence(t.Scan.Data[n].Initial, list)
		}
		all = append(all, e)
	}
	return all, left
}

// drawable reports whether a diagram of the updates can be drawn, that is, whether there are any, but not too many.
func drawable(updates []linear.Update) bool {
	return len(updates) > 0 && len(updates) <= trace.MaxUpdates
}

// worthDrawing chooses at most the given number of locks to draw, in the order of preference documented at Evidence. It
// returns their indexes in ascending order, and the number of locks left out.
func (t *judge) worthDrawing(updates [][]linear.Update, most int, first []history.Lock) (chosen []int, left int) {
	var byRank [3][]int
	for n := range t.Locks {
		l := &t.Locks[n]
		ops, refuted := t.answered(l)
		switch {
		case len(ops) == 0 && !drawable(updates[n]):
		case slices.Contains(first, l.Name):
			byRank[0] = append(byRank[0], n)
		case refuted:
			byRank[1] = append(byRank[1], n)
		default:
			byRank[2] = append(byRank[2], n)
		}
	}
	all := slices.Concat(byRank[:]...)
	chosen = all[:min(most, len(all))]
	slices.Sort(chosen)
	return chosen, len(all) - len(chosen)
}

// answered returns the operations that illustrate porcupine's verdict on lock l, and whether that verdict is a
// refutation. It returns no operations if there is no verdict, or if the lock is not refuted but has too many sections
// to draw.
func (t *judge) answered(l *trace.LockTrace) (shown []linear.MutexOp, isRefuted bool) {
	if t.History.Header.ClockError > 0 {
		return nil, false
	}
	ops := t.appendMutexOps(nil, l)
	t.parts.Renew(t.Permits())
	switch answer, refuted := t.parts.Mutex(ops); {
	case answer == linear.Refuted:
		return refuted, true
	case answer == linear.Linearizable && len(l.Sections) <= linear.MaxSections:
		return ops, false
	}
	return nil, false
}
