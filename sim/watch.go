package sim

import "time"

// Moment is a point of a run at which a fault can make a difference. Between two moments of a process nothing happens
// to it: a fault that strikes in between has the same effect as one that strikes at the later moment.
type Moment struct {
	Kind    MomentKind
	At      Time
	Process ProcessID // the process that acts, passes, sends or settles
	Point   Point     // Passes
	Pass    int       // Passes: how often the process has passed the point, from 1
	To      ProcessID // Sends
	Number  int       // Sends: number of the message on its link, from 1
	// Early, for Acts and Sends, reports that the moment results from an event that was scheduled before the watch
	// began. A fault that was installed afterwards for the same instant strikes after it, and before any other event of
	// that instant.
	Early bool
}

// MomentKind says what happens at a moment.
type MomentKind uint8

const (
	// The process is about to take a message or a wake-up, to continue a task, or to start again.
	Acts    MomentKind = iota + 1
	Passes             // a client passes a named point
	Sends              // a message leaves: a request, a reply, or a message between servers
	Settles            // a part of what a server has written becomes durable, just because time has passed
)

// Settler is a server some of whose writes become durable just because time has passed, without any event. This changes
// what a loss of power would destroy.
type Settler interface {
	// Settled returns the times, on its monotonic clock, at which writes became durable since its last event and until
	// now.
	Settled(now time.Duration) []time.Duration
}

// Watch calls f with every moment of the run from now on, before the moment takes effect. Settled writes are reported
// late, at the server's next event or at the end of the watch. Call Watch with nil to end it. A watch changes nothing
// in a run.
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
