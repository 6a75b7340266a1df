package sim

// alarm ends the timed waits of a task. Nearly all waits end before their time, since the answer has come: an event
// for each would fill the queue with what nobody waits for any more. So the event of an earlier wait stands for those
// that end after it: when it is due it is put off, to where the present wait's own event would stand.
type alarm struct {
	t      *task
	end    event  // of the present wait: its number is from when the wait began
	at     Time   // when the event in the queue is due; not after end
	number uint64 // of that event, 0 if there is none; other events of the alarm are void
}

// set has the task woken at the given time, unless its wait ends before.
func (a *alarm) set(t *task, at Time) {
	a.t = t
	w := t.p.w
	w.seq++
	a.end = event{at: at, seq: w.seq, who: a, arg: t.wait}
	if a.number == 0 || at < a.at {
		a.enqueue()
	}
}

func (a *alarm) enqueue() {
	a.at, a.number = a.end.at, a.end.seq
	a.t.p.w.queue.push(a.end)
}

func (a *alarm) act(wait uint64) {
	w := a.t.p.w
	if w.acting != a.number {
		return
	}
	a.number = 0
	switch {
	case a.end.arg != a.t.wait: // the wait has ended otherwise
	case a.end.seq != w.acting:
		a.enqueue()
	default:
		a.t.act(wait)
	}
}
