package history

import "slices"

// The fault kinds. Each has a row in FaultKinds. A nemesis event has its fault's kind as its F.
const (
	Pause         F = "pause"
	Jump          F = "jump"
	Drift         F = "drift"
	Crash         F = "crash" // if a process other than the nemesis records it, it is read as Crashed
	ShutDown      F = "shut down"
	FailOver      F = "fail over"
	Cut           F = "cut"
	Delay         F = "delay"
	DelayMessage  F = "delay message"
	Break         F = "break"
	SlowFsync     F = "slow fsync"
	ExpireSession F = "expire session"
	EvictKey      F = "evict key"
	DeleteKey     F = "delete key"
	Flush         F = "flush"
	ClientPause   F = "client pause"
)

// Effect is what a fault does to its targets. The laws, the search for causes and the plots depend only on a fault's
// effect, never on the name of its kind.
type Effect uint8

// The effects that a fault can have. The zero Effect is the effect of an unknown kind.
const (
	Unknown     Effect = iota
	Stops              // a process stops running (GC, SIGSTOP, a stalled virtual machine) or stops answering clients
	SetsClock          // a wall clock is set forward or back, permanently
	PacesClock         // the clocks of a process run fast or slow
	Kills              // a client's program ends, or a server loses power
	ShutsDown          // a server shuts down cleanly
	Promotes           // a replica becomes master
	Parts              // no message passes between two sides, in one direction or in both
	HoldsUp            // messages on a link are delayed
	Resets             // a connection is reset
	SlowsDisk          // a server's fsync takes long
	EndsSession        // a client's session or lease at the lock service ends
	RemovesKeys        // a server evicts a key, or an operator deletes one key or all keys
)

// FaultKind is what a program that reads histories needs to know about a kind of fault.
type FaultKind struct {
	F    F // the fault's name in histories
	Does Effect
	// Lasts reports whether the fault continues until its end is recorded. Other faults are over as soon as they
	// strike, although a server that they stop may restart later (Fault.Ends).
	Lasts bool
}

// FaultKinds lists the known fault kinds, in the order of the documentation. A history from another program may contain
// other kinds. Their effect is unknown, and they last until their end is recorded.
var FaultKinds = []FaultKind{
	{Pause, Stops, true},
	{Jump, SetsClock, false},
	{Drift, PacesClock, true},
	{Crash, Kills, false},
	{ShutDown, ShutsDown, false},
	{FailOver, Promotes, false},
	{Cut, Parts, true},
	{Delay, HoldsUp, true},
	{DelayMessage, HoldsUp, true},
	{Break, Resets, false},
	{SlowFsync, SlowsDisk, true},
	{ExpireSession, EndsSession, false},
	{EvictKey, RemovesKeys, false},
	{DeleteKey, RemovesKeys, false},
	{Flush, RemovesKeys, false},
	{ClientPause, Stops, true},
}

func (f F) kind() FaultKind {
	for i := range FaultKinds {
		if FaultKinds[i].F == f {
			return FaultKinds[i]
		}
	}
	return FaultKind{F: f, Lasts: true}
}

// Does returns the effect of faults of this kind.
func (f F) Does() Effect { return f.kind().Does }

// Loss is what a server loses in a crash.
type Loss string

// The kinds of data that a crash can make a server lose.
const (
	LosesUnsynced   Loss = "unsynced writes" // writes that were not fsynced
	LosesEverything Loss = "everything"
)

// wrong returns an error if l is not one of the kinds above.
func (l Loss) wrong() error {
	if l == LosesUnsynced || l == LosesEverything {
		return nil
	}
	return unknown("unknown loss", string(l), []string{string(LosesUnsynced), string(LosesEverything)})
}

// Fault says which processes a fault strikes and how, as far as this is known when it strikes. The fault's kind is the
// event's F. Its line in the plan is the event's Value.
type Fault struct {
	// On lists the processes that the fault strikes: the process that is paused or crashed, the master that is
	// replaced, or the sending side of a link.
	On []Process
	// To is the other side of a link, or the replica that is promoted. It is empty for all other faults.
	To []Process
	// Ends reports whether the end of the fault will be recorded. This is the case if the fault has a duration or the
	// crashed server restarts. Otherwise, the fault is over as soon as it strikes, or it lasts forever.
	Ends  bool
	Loses Loss
	// Shift, in ns, is how far a Jump sets the clock (negative for backward), or how much longer a message (Delay,
	// DelayMessage) or an fsync (SlowFsync) takes. PPM, in parts per million, is how much faster the clocks run during
	// a Drift (negative for slower).
	Shift Time
	PPM   int
}

// Strikes reports whether the fault strikes p, on either side of a link.
func (f *Fault) Strikes(p Process) bool {
	return f != nil && (slices.Contains(f.On, p) || slices.Contains(f.To, p))
}

// Struck lists all processes that the fault strikes. For a link, the sending side comes first.
func (f *Fault) Struck() []Process {
	if f == nil {
		return nil
	}
	return slices.Concat(f.On, f.To)
}

// Lasts reports whether a fault of this kind continues until its end is recorded. For an unknown kind, it returns true.
func (f F) Lasts() bool { return f.kind().Lasts }

// IsClock reports whether a fault of this kind changes clocks and nothing else.
func (f F) IsClock() bool { return f.Does().IsClock() }

// IsClock reports whether the effect changes clocks and nothing else.
func (e Effect) IsClock() bool { return e == SetsClock || e == PacesClock }

// Delays reports whether the effect can delay the reply to a request. Changes to clocks, sessions and keys do not delay
// messages.
func (e Effect) Delays() bool { return !e.IsClock() && e != EndsSession && e != RemovesKeys }

// IsLink reports whether a fault of this kind affects a link: it drops or delays messages, or resets a connection.
func (f F) IsLink() bool { return f.Does().IsLink() }

// IsLink reports whether the effect is on a link: it drops or delays messages, or resets a connection.
func (e Effect) IsLink() bool { return e == Parts || e == HoldsUp || e == Resets }

// IsDown reports whether a fault of this kind stops a client's program or a server.
func (f F) IsDown() bool { return f.Does().IsDown() }

// IsDown reports whether the effect stops a client's program or a server.
func (e Effect) IsDown() bool { return e == Kills || e == ShutsDown }
