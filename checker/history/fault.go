package history

import "slices"

// What the nemesis does: the F of its events. A foreign history may name others; they count as faults of a kind that is not
// known, which last until their end is recorded.
const (
	Pause         F = "pause"          // nothing of a process runs: GC, SIGSTOP, a stalled VM
	Jump          F = "jump"           // its wall clock is set forward or back
	Drift         F = "drift"          // its clocks run fast or slow
	Crash         F = "crash"          // a client's code ends, a server loses power. Other recorders spell Crashed so
	ShutDown      F = "shut down"      // a server ends in good order
	FailOver      F = "fail over"      // a replica has become master
	Cut           F = "cut"            // nothing passes between two sides
	Delay         F = "delay"          // messages on a link are held up
	DelayMessage  F = "delay message"  // one message is held up
	Break         F = "break"          // a connection is reset before a reply
	SlowFsync     F = "slow fsync"     // a server's fsync takes long
	ExpireSession F = "expire session" // a client's session or lease at the lock service ends
)

// Loss is what a crash of a server takes with it.
type Loss string

// The losses. A crash of a client, and every other fault, states none.
const (
	LosesUnsynced   Loss = "unsynced writes" // what was not fsynced
	LosesEverything Loss = "everything"
)

// Fault says whom a fault strikes and how, as the nemesis knows it when it strikes. Its kind is the event's F, its line in
// the words of a plan the event's Value.
type Fault struct {
	// On names the processes struck: the one paused or crashed, the master replaced, or the sending side of a link.
	On []Process
	// To names the other side of a link, or the replica promoted. Empty for other faults.
	To []Process
	// Ends says that an end will be recorded: the fault has a length, or the crashed server restarts. Without it a fault
	// whose end is not recorded is over as it strikes, or never.
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

// Lasts reports whether a fault of this kind goes on until its end is recorded. Of a kind that is not known it is assumed.
func (f F) Lasts() bool {
	switch f {
	case Jump, Crash, ShutDown, FailOver, Break, ExpireSession:
		return false
	}
	return true
}

// IsClock reports whether a fault of this kind changes clocks and nothing else.
func (f F) IsClock() bool { return f == Jump || f == Drift }

// IsLink reports whether a fault of this kind holds up or loses messages.
func (f F) IsLink() bool {
	switch f {
	case Cut, Delay, DelayMessage, Break:
		return true
	}
	return false
}

// IsDown reports whether a fault of this kind ends a process.
func (f F) IsDown() bool { return f == Crash || f == ShutDown }
