package history

import "slices"

// The kinds of faults, which are the F of the nemesis's events. Each has a row in FaultKinds.
const (
	Pause         F = "pause"
	Jump          F = "jump"
	Drift         F = "drift"
	Crash         F = "crash" // other recorders' name for Crashed
	ShutDown      F = "shut down"
	FailOver      F = "fail over"
	Cut           F = "cut"
	Delay         F = "delay"
	DelayMessage  F = "delay message"
	Break         F = "break"
	SlowFsync     F = "slow fsync"
	ExpireSession F = "expire session"
)

// Effect is what a fault does to its targets. Laws are judged, causes found and faults drawn by effect, never by the
// name of a kind.
type Effect uint8

// The effects. The zero Effect is that of an unknown kind.
const (
	Unknown     Effect = iota
	Stops              // nothing of a process runs: GC, SIGSTOP, a stalled VM
	SetsClock          // its wall clock is set forward or back, and stays so
	PacesClock         // its clocks run fast or slow
	Kills              // a client's code ends, a server loses power
	ShutsDown          // a server ends in good order
	Promotes           // a replica becomes master
	Parts              // nothing passes between two sides
	HoldsUp            // messages on a link are held up
	Resets             // a connection is reset
	SlowsDisk          // a server's fsync takes long
	EndsSession        // a client's session or lease at the lock service ends
)

// FaultKind is what a reader of histories must know of a kind of fault.
type FaultKind struct {
	F    F // the words that name it
	Does Effect
	// Lasts reports that the fault continues until its end is recorded. Others end as they strike, although a server
	// that they stop may come back later (Fault.Ends).
	Lasts bool
}

// FaultKinds lists the known kinds of faults, in the order in which they are documented. A foreign history may name
// others: their effect is unknown, and they last until their end is recorded.
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

// The losses. A crash of a client, and every other fault, states none.
const (
	LosesUnsynced   Loss = "unsynced writes" // what was not fsynced
	LosesEverything Loss = "everything"
)

// Fault states whom a fault strikes and how, as the nemesis knows it when it strikes. Its kind is the event's F, its
// line in a plan the event's Value.
type Fault struct {
	// On names the processes that are struck: the one paused or crashed, the master replaced, or the sending side of a
	// link.
	On []Process
	// To names the other side of a link, or the replica promoted. Empty for other faults.
	To []Process
	// Ends reports that an end will be recorded: the fault has a length, or the crashed server restarts. Without it, a
	// fault whose end is not recorded is over as it strikes, or lasts for ever.
	Ends  bool
	Loses Loss
	// Shift is how far a Jump sets the clock, in ns, back if negative; or how much longer a message (Delay,
	// DelayMessage) or an fsync (SlowFsync) takes. PPM is how much faster the clocks run in a Drift, in parts per
	// million, slower if negative.
	Shift Time
	PPM   int
}

// Strikes reports whether p is among the processes struck, on either side of a link.
func (f *Fault) Strikes(p Process) bool {
	return f != nil && (slices.Contains(f.On, p) || slices.Contains(f.To, p))
}

// Struck lists all processes struck, the sending side of a link first.
func (f *Fault) Struck() []Process {
	if f == nil {
		return nil
	}
	return slices.Concat(f.On, f.To)
}

// Lasts reports whether a fault of this kind continues until its end is recorded, which is assumed of an unknown kind.
func (f F) Lasts() bool { return f.kind().Lasts }

// IsClock reports whether a fault of this kind changes clocks and nothing else.
func (f F) IsClock() bool { return f.Does().IsClock() }

// IsClock reports whether the effect is on clocks and nothing else.
func (e Effect) IsClock() bool { return e == SetsClock || e == PacesClock }

// IsLink reports whether a fault of this kind holds up or loses messages.
func (f F) IsLink() bool { return f.Does().IsLink() }

// nil if the history does not state it
func (e Effect) IsLink() bool { return e == Parts || e == HoldsUp || e == Resets }

// IsDown reports whether a fault of this kind ends a process.
func (f F) IsDown() bool { return f.Does().IsDown() }

// IsDown reports whether the effect is that a process ends.
func (e Effect) IsDown() bool { return e == Kills || e == ShutsDown }
