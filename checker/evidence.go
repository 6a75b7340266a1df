package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// LockEvidence is what porcupine says about one lock, with its drawing.
type LockEvidence struct {
	Lock history.Lock
	// Mutex judges the critical sections; nil if there is none, or more than porcupine is asked about.
	Mutex *linear.Evidence
	// Data judges the clients' read-modify-writes of what the lock guards; nil likewise.
	Data *linear.Evidence
}

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
		if len(l.Sections) > 0 && len(l.Sections) <= maxSections {
			ops := t.appendMutexOps(nil, l)
			for i := range ops {
				g := &t.Grants[l.Grants[ops[i].Section]]
				if ops[i].Name = string(g.Attempt); g.Attempt == "" {
					ops[i].Name = string(g.Process)
				}
			}
			e.Mutex = linear.MutexEvidence(ops)
		}
		if list := updates[n]; len(list) > 0 && len(list) <= trace.MaxUpdates {
			e.Data = linear.RegisterEvidence(t.Scan.Data[n].Initial, list)
		}
		all = append(all, e)
	}
	return all
}
