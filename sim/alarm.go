package sim

// alarm implements a task's timeouts. Most waits end early because the reply arrives. With one event per wait, the
// queue would fill up with obsolete events, so each task has at most one timeout event in the queue. If that event
// turns out to belong to an earlier wait, it is queued again with the current wait's deadline.
type alarm struct {
	t      *task
	end    event  // timeout of the current wait; numbered when the wait began
	at     Time   // when the queued event is due; never later than end
	number uint64 // number of the queued event, or 0 if none is queued; all other events of the alarm are obsolete
}

// set wakes task t at the given time, unless the task's wait ends earlier.
func (a *alarm) set(t *task, at Time) {
	a.t = t
	w := t.p.w
	w.seq++
	a.end.at, a.end.seq, a.end.who, a.end.arg = at, w.seq, a, t.wait
	if a.number == 0 || at < a.at {
		a.enqueue()
	}
}

func (a *alarm) enqueue() {
	a.at, a.number = a.end.at, a.end.seq
	a.t.p.w.queue.push(&a.end)
}

func (a *alarm) act(wait uint64) {
	w := a.t.p.w
	if w.acting != a.number {
		return
	}
	a.number = 0
	switch {
	case a.end.arg != a.t.wait: // this wait is already over
	case a.end.seq != w.acting:
		a.enqueue()
	default:
		a.t.act(wait)
	}
}
