package history

import "slices"

// What the nemesis does: the F of its events. Each has a row in FaultKinds.
const (
	Pause         F = "pause"
	Jump          F = "jump"
	Drift         F = "drift"
	Crash         F = "crash" // other recorders spell Crashed so
	ShutDown      F = "shut down"
	FailOver      F = "fail over"
	Cut           F = "cut"
	Delay         F = "delay"
	DelayMessage  F = "delay message"
	Break         F = "break"
	SlowFsync     F = "slow fsync"
	ExpireSession F = "expire session"
)

// Effect is what a fault does to those whom it strikes. Laws are judged, causes found and faults drawn by it, never by
// the name of a kind.
type Effect uint8

// The effects. The zero Effect is that of a kind that is not known.
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
	// Lasts says that it goes on until its end is recorded. Others are over as they strike, although a server that they
	// end may come back later (Fault.Ends).
	Lasts bool
}

// FaultKinds are the kinds of faults that are known, in the order in which they are documented. A foreign history may
// name others: they are faults of no known effect, which last until their end is recorded.
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

// Does gives the effect of a fault of this kind.
func (f F) Does() Effect { return f.kind().Does }

// Loss is what a crash of a server takes with it.
type Loss string

// The losses. A crash of a client, and every other fault, states none.
const (
	LosesUnsynced   Loss = "unsynced writes" // what was not fsynced
	LosesEverything Loss = "everything"
)

// Fault says whom a fault strikes and how, as the nemesis knows it when it strikes. Its kind is the event's F, its
// line in the words of a plan the event's Value.
type Fault struct {
	// On names the processes struck: the one paused or crashed, the master replaced, or the sending side of a link.
	On []Process
	// To names the other side of a link, or the replica promoted. Empty for other faults.
	To []Process
	// Ends says that an end will be recorded: the fault has a length, or the crashed server restarts. Without it a
	// fault whose end is not recorded is over as it strikes, or never.
	Ends  bool
	Loses Loss
	// Shift is how far a Jump sets the clock, in ns, back if negative; or how much longer a message takes (Delay,
	// DelayMessage) or an fsync (SlowFsync). PPM is how much faster the clocks run in a Drift, in
	// parts per million, slower if negative.
	Shift Time
	PPM   int
}

// Strikes reports whether p is among those struck, on either side of a link.
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

// Lasts reports whether a fault of this kind goes on until its end is recorded. Of a kind that is not known it is
// assumed.
func (f F) Lasts() bool { return f.kind().Lasts }

// IsClock reports whether a fault of this kind changes clocks and nothing else.
func (f F) IsClock() bool { return f.Does().IsClock() }

// IsClock reports whether the effect is on clocks and nothing else.
func (e Effect) IsClock() bool { return e == SetsClock || e == PacesClock }

// IsLink reports whether a fault of this kind holds up or loses messages.
func (f F) IsLink() bool { return f.Does().IsLink() }

// IsLink reports whether the effect is to hold up or lose messages.
func (e Effect) IsLink() bool { return e == Parts || e == HoldsUp || e == Resets }

// IsDown reports whether a fault of this kind ends a process.
func (f F) IsDown() bool { return f.Does().IsDown() }

// IsDown reports whether the effect is that a process ends.
func (e Effect) IsDown() bool { return e == Kills || e == ShutsDown }
