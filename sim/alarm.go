package sim

// alarm ends the timed waits of a task. Nearly all waits end early because the reply arrives, and an event for each
// would fill the queue with obsolete ones. Therefore a task has only one event in the queue. When it is due but belongs
// to an earlier wait, it is put back into the queue with the time of the current wait.
type alarm struct {
	t      *task
	end    event  // event of the current wait; its number was assigned when the wait began
	at     Time   // when the alarm's event in the queue is due; not after end
	number uint64 // number of that event, or 0 if there is none; other events of the alarm are obsolete
}

// set wakes task t at the given time, unless its wait ends earlier.
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
	case a.end.arg != a.t.wait: // the wait has ended already
	case a.end.seq != w.acting:
		a.enqueue()
	default:
		a.t.act(wait)
	}
}
