package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// LockEvidence is what porcupine says about one lock, with its drawing.
type LockEvidence struct {
	Lock history.Lock
	// Mutex judges the critical sections: all of them, or where they are refuted in parts, those of the part that is.
	// It is nil where porcupine has no answer, and where it allows more sections than it is asked about at once.
	Mutex *linear.Evidence
	// Data judges the clients' read-modify-writes of what the lock guards; nil likewise.
	Data *linear.Evidence
}

// Refuted reports whether porcupine refutes the critical sections.
func (e *LockEvidence) Refuted() bool { return e.Mutex != nil && e.Mutex.Answer == linear.Refuted }

// Evidence asks porcupine about every lock of h, in the order of the header, and keeps what its drawing needs. It costs
// far more than Check and is meant for reports.
func Evidence(h *history.History) []LockEvidence {
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
	var all []LockEvidence
	for n := range t.Locks {
		l := &t.Locks[n]
		e := LockEvidence{Lock: l.Name}
		if ops := t.answered(l); len(ops) > 0 {
			for i := range ops {
				g := &t.Grants[l.Grants[ops[i].Section]]
				if ops[i].Name = string(g.Attempt); g.Attempt == "" {
					ops[i].Name = string(g.Process)
				}
			}
			if drawn := linear.MutexEvidence(ops); drawn.Answer != linear.Unknown {
				e.Mutex = drawn
			}
		}
		if list := updates[n]; len(list) > 0 && len(list) <= trace.MaxUpdates {
			e.Data = linear.RegisterEvidence(t.Scan.Data[n].Initial, list)
		}
		all = append(all, e)
	}
	return all
}

// answered are the operations on a lock that show porcupine's answer, none if it has none.
func (t *judge) answered(l *trace.LockTrace) []linear.MutexOp {
	if t.History.Header.ClockError > 0 {
		return nil
	}
	ops := t.appendMutexOps(nil, l)
	t.parts.Renew()
	switch answer, refuted := t.parts.Mutex(ops); {
	case answer == linear.Refuted:
		return refuted
	case answer == linear.Linearizable && len(l.Sections) <= linear.MaxSections:
		return ops
	}
	return nil
}
