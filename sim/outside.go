package sim

import "time"

// Outside is what stands outside of the world for one of its processes: a process of the host. It is told what the
// world does to its process, as part of the event that does it.
type Outside interface {
	Pauser
	// Crashed says that a client crashes. (A server is told by its Stop.) It gives 0, or if the client has ended by
	// itself before, until when it is known to have lived, above 0.
	Crashed() (alive Time)
	// Jumped tells that the process's wall clock has been moved by d.
	Jumped(d time.Duration)
	// Drifted tells that the rate of the process's clocks has been changed by ppm.
	Drifted(ppm int64)
}

// Attach has o told, for the rest of the run, what happens to a process.
func (w *World) Attach(id ProcessID, o Outside) { w.process(id).outside = o }

// Pass lets the faults strike that wait for a process to pass a point, where its code is no task of the world.
func (w *World) Pass(id ProcessID, point Point) { w.process(id).pass(point) }
