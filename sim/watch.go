package sim

import "time"

// Moment is a point of a run at which a fault can make a difference. Between two moments of a process nothing happens
// to it: a fault that strikes between them has the effect of one that strikes at the later of the two.
type Moment struct {
	Kind    MomentKind
	At      Time
	Process ProcessID // the one that acts, passes, sends or settles
	Point   Point     // Passes
	Pass    int       // Passes: which passing of the point by the process, from 1
	To      ProcessID // Sends
	Number  int       // Sends: of the message on its link, from 1
	// Early, of Acts and Sends, reports that it results from an event that was scheduled before the watch began: a
	// fault that was installed afterwards for the same instant strikes after it, and before any other event of that
	// instant.
	Early bool
}

// MomentKind is what happens at a moment.
type MomentKind uint8

const (
	// the process is about to take a message or a wake-up, to continue a task, or to start again
	Acts    MomentKind = iota + 1
	Passes             // a client passes a named point
	Sends              // a message leaves: a request, a reply, or a message between servers
	Settles            // some of what a server has written becomes durable, by time alone
)

// Settler is a server some of whose writes become durable by time alone, without any event: what a loss of power takes
// changes meanwhile.
type Settler interface {
	// Settled lists when, since its last event and until now on its monotonic clock, that happened.
	Settled(now time.Duration) []time.Duration
}

// Watch calls f with every moment of the run from now on, each before it takes effect. Settled writes are reported
// late, at the server's next event or at the end of the watch, which a nil f causes. A watch changes nothing in a run.
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
