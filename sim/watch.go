package sim

import "time"

// Moment is a time in a run at which a fault can make a difference. Nothing happens to a process between two of its
// moments: a fault injected between them has the same effect as one injected at the later moment.
type Moment struct {
	Kind    MomentKind
	At      Time
	Process ProcessID // the process that the moment belongs to
	Point   Point     // for Passes: the point
	Pass    int       // for Passes: how many times the process has passed the point, counted from 1
	To      ProcessID // for Sends: the receiver
	Number  int       // for Sends: the message's number on its link, counted from 1
	// Early applies to Acts and Sends. It means that the moment results from an event that was scheduled before the
	// watch began. A fault that is scheduled later, for the same instant, takes effect after that event and before all
	// other events at that instant.
	Early bool
}

// MomentKind says what happens at a moment.
type MomentKind uint8

const (
	// a process is about to receive a message or a wake-up, to continue a task, or to start again
	Acts    MomentKind = iota + 1
	Passes             // a client passes a named point
	Sends              // a message is sent: a request, a reply, or a message between servers
	Settles            // part of what a server has written becomes durable because time has passed
)

// Settler is a server whose writes can become durable without an event, simply because time passes. Each such write
// changes what a power loss would destroy.
type Settler interface {
	// Settled returns the times at which writes have become durable since the server's last event, up to now. All times
	// are on the server's monotonic clock.
	Settled(now time.Duration) []time.Duration
}

// Watch calls f for every moment in the run from now on, before the moment takes effect. There is one exception: if a
// write becomes durable, f is called only at the server's next event or when the watch ends. Watch(nil) ends the watch.
// A watch does not change the run.
func (w *World) Watch(f func(Moment)) {
	if f == nil && w.watch != nil {
		for _, p := range w.procs {
			w.watchSettled(p)
		}
	}
	w.watch, w.early = f, w.seq
}

func (w *World) watchAct(p *Process) {
	w.watchSettled(p)
	w.watch(Moment{Kind: Acts, At: w.now, Process: p.id, Early: w.acting <= w.early})
}

func (w *World) watchSend(from, to ProcessID, number int) {
	w.watch(Moment{Kind: Sends, At: w.now, Process: from, To: to, Number: number, Early: w.acting <= w.early})
}

func (w *World) watchSettled(p *Process) {
	s, ok := p.server.(Settler)
	if !ok || p.down {
		return
	}
	for _, at := range s.Settled(p.Monotonic()) {
		w.watch(Moment{Kind: Settles, At: p.clock.trueTime(Monotonic, int64(at), 0), Process: p.id})
	}
}
