package sim

import "time"

// Outside represents one of the world's processes outside of the world: a process of the host. It is notified of what
// the world does to its process, as part of the event that does it.
type Outside interface {
	Pauser
	// Crashed is called when a client crashes. (For a server, Stop is.) It returns 0, or if the client has ended by
	// itself before, until when it is known to have lived, above 0.
	Crashed() (alive Time)
	// Jumped is called when the process's wall clock has been moved by d.
	Jumped(d time.Duration)
	// Drifted is called when the rate of the process's clocks has been changed by ppm.
	Drifted(ppm int64)
}

// Attach notifies o, for the rest of the run, of what happens to a process.
func (w *World) Attach(id ProcessID, o Outside) { w.process(id).outside = o }

// Pass lets faults strike that wait for a process to pass a point, if its code is not a task of the world.
func (w *World) Pass(id ProcessID, point Point) { w.process(id).pass(point) }
