package checker

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
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
	var t trace
	t.read(h)
	t.sections()
	t.scan.reset(len(t.locks), len(t.grants))
	for _, at := range t.data {
		if e := &h.Events[at]; e.F == history.Apply && e.Type == history.OK {
			if lock, known := t.lockNumber[e.Lock]; known {
				t.scan.effect(int(at), lock, e)
			}
		}
	}
	updates := t.updates()
	var all []LockEvidence
	for n := range t.locks {
		l := &t.locks[n]
		e := LockEvidence{Lock: l.name}
		if len(l.sections) > 0 && len(l.sections) <= maxSections {
			ops := t.appendMutexOps(nil, l)
			for i := range ops {
				g := &t.grants[l.grants[ops[i].Section]]
				if ops[i].Name = string(g.attempt); g.attempt == "" {
					ops[i].Name = string(g.process)
				}
			}
			e.Mutex = linear.MutexEvidence(ops)
		}
		if list := updates[n]; len(list) > 0 && len(list) <= maxUpdates {
			e.Data = linear.RegisterEvidence(t.scan.data[n].initial, list)
		}
		all = append(all, e)
	}
	return all
}
