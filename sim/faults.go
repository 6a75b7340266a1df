package sim

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// The methods below inject faults into a world. They panic if a process does not exist, because plans are validated
// before a run. Faults of the same kind on the same process can be nested.

// AtPoint calls f when the process passes the point for the nth time. The first time is 1.
func (w *World) AtPoint(id ProcessID, point Point, nth int, f func()) {
	c := w.process(id).count(point, true)
	c.strikes = append(c.strikes, strike{nth, f})
}

func (w *World) process(id ProcessID) *Process {
	p := w.byName[id]
	if p == nil {
		panic("sim: no process " + string(id))
	}
	return p
}

// Pause stops a process: none of its code runs, and its timers and messages wait. Pauses can be nested: the process
// continues once Resume has been called as many times as Pause.
func (w *World) Pause(id ProcessID) {
	p := w.process(id)
	p.paused++
	p.stopped()
	if program := p.program(); program != nil && p.paused == 1 {
		program.Pause()
	}
}

// Resume ends one of a process's pauses. The process continues when all its pauses have ended.
func (w *World) Resume(id ProcessID) {
	p := w.process(id)
	p.paused--
	if p.paused > 0 {
		return
	}
	p.stopped()
	p.resume()
}

// Paused reports whether a process is paused.
func (w *World) Paused(id ProcessID) bool { return w.process(id).paused > 0 }

// OnStop sets a function that is called, until the end of the run, when a process is paused or continues, and when a
// client crashes. The function's argument stopped is true if the process's code must stop, and false if it may
// continue.
func (w *World) OnStop(f func(id ProcessID, stopped bool)) { w.onStop = f }

// stopped calls the function that was set with OnStop. It tells the process's code to stop or continue, if that code is
// not a task.
func (p *Process) stopped() {
	if p.w.onStop != nil {
		p.w.onStop(p.id, p.paused > 0 || p.down)
	}
}

// Jump moves a process's wall clock by d, which may be negative.
func (w *World) Jump(id ProcessID, d time.Duration) {
	p := w.process(id)
	p.clock.jump(w.now, d)
	if p.outside != nil {
		p.outside.Jumped(d)
	}
	p.clockChanged(false)
}

// Drift adds ppm (parts per million) to the rate error of a process's two clocks. The sum of all drifts must be at
// least -900,000.
func (w *World) Drift(id ProcessID, ppm int64) {
	p := w.process(id)
	p.clock.drift(w.now, ppm)
	if p.outside != nil {
		p.outside.Drifted(ppm)
	}
	p.clockChanged(true)
}

// Down reports whether a client has crashed, or whether a server has been stopped and not restarted.
func (w *World) Down(id ProcessID) bool { return w.process(id).down }

// Crash ends a client. None of its code continues to run, but messages that it has already sent still arrive. Crash
// reports whether the client was still running.
func (w *World) Crash(id ProcessID) bool {
	p := w.process(id)
	if p.down {
		return false
	}
	alive := Time(0)
	if p.outside != nil {
		alive = p.outside.Crashed()
	}
	p.stopTasks()
	p.stopped()
	for _, c := range p.conns {
		c.bid() // the client's operating system closes the connection
	}
	p.Record(history.Event{Type: history.Info, F: history.Crashed, Until: alive})
	return true
}

// Stop stops a server in the given way. It reports whether the server was still running.
func (w *World) Stop(id ProcessID, how Stop) bool {
	p := w.process(id)
	if p.down {
		return false
	}
	p.down, p.off = true, how
	p.timers = p.timers[:0]
	if how == ShutDown {
		p.hangUpAll()
	} else {
		p.keepAlive()
	}
	p.server.Stop(how)
	p.endPeers()
	return true
}

// Restart starts a stopped server again. If the server is paused, it starts when the pause ends.
func (w *World) Restart(id ProcessID) { starter{w.process(id)}.act(0) }

type starter struct{ p *Process }

func (s starter) act(uint64) {
	if s.p.down && !s.p.holds(s, 0) {
		s.p.boot()
	}
}

// Cut holds back messages from one process to another from now on. Messages that are already in flight still arrive.
// Cuts can be nested.
func (w *World) Cut(from, to ProcessID) { w.link(from, to).cuts++ }

// Heal ends one cut. When no cut is left, the messages that were held back are sent in order.
func (w *World) Heal(from, to ProcessID) {
	l := w.link(from, to)
	l.cuts--
	if l.cuts == 0 {
		l.heal()
	}
}

// Slow adds d to the delay of every message sent on a link from now on. To undo this, call Slow with -d.
func (w *World) Slow(from, to ProcessID, d time.Duration) { w.link(from, to).extra += Time(d) }

// DelayNext adds d to the delay of the next message or push sent on a link. struck is called when it is sent.
func (w *World) DelayNext(from, to ProcessID, d time.Duration, struck func()) {
	l := w.link(from, to)
	l.once = append(l.once, nextDelay{Time(d), struck})
}

// DelayNth adds d to the delay of the nth message on a link, counted from 1 at the start of the run. struck is called
// when that message is sent.
func (w *World) DelayNth(from, to ProcessID, n int, d time.Duration, struck func()) {
	l := w.link(from, to)
	l.nth = append(l.nth, nthDelay{n, Time(d), struck})
}

// BreakBefore breaks the connection just before the nth reply (counted from 1) from server to client arrives. The
// request is executed, but the client gets a reset instead of the reply. struck is called when the reply is lost.
func (w *World) BreakBefore(client, server ProcessID, n int, struck func()) {
	l := w.link(server, client)
	l.breaks = append(l.breaks, nthBreak{n, struck})
}

// ServerFault tells a server program that a fault begins or ends. It is up to the server to implement the fault.
func (w *World) ServerFault(id ProcessID, f ServerFault) { w.process(id).server.Fault(f) }

// Outside is a real process on the host, for which a simulated process stands in the world. It is notified of each
// fault that affects the simulated process, during the event that causes the fault.
type Outside interface {
	Pauser
	// Crashed is called when a client crashes. (When a server stops, Server.Stop is called instead.) If the real
	// process was still running, Crashed returns 0. Otherwise, it returns the last time (always above 0) at which the
	// process is known to have been running.
	Crashed() (alive Time)
	// Jumped is called when a fault has moved the process's wall clock by d.
	Jumped(d time.Duration)
	// Drifted is called when a fault has changed the rate of the process's clocks by ppm.
	Drifted(ppm int64)
}

// Attach connects a process to an Outside, which is notified of the process's faults until the end of the run.
func (w *World) Attach(id ProcessID, o Outside) { w.process(id).outside = o }

// Pass records that a process whose code is not a task has passed a point. It triggers the faults that are waiting for
// the point.
func (w *World) Pass(id ProcessID, point Point) { w.process(id).pass(point) }
