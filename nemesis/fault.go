// Package nemesis defines the faults that can strike a run, the plans that list them, and the notation of both. Package
// nemesis/draw draws faults at random; package nemesis/shrink reduces a failing plan.
//
// Goals: a fault is a plain value that prints as one line and parses back exactly, so that the same line can be used in
// a scenario, a plan, a report and a shrunk counterexample; a plan is fixed before the run, so that a run can be
// repeated, edited and shrunk; an error in a line states what is wrong and where, and suggests the nearest valid word.
//
// Non-goals: nothing here observes a run or makes decisions while it runs. Faults must be possible, but not necessarily
// likely or fair.
//
// # Where to add a kind of fault
//
// A kind of fault consists of a file in this package, kind_NAME.go, and a row in history.FaultKinds:
//
//   - The row holds what every reader of a history must know without importing this package: the words that name the
//     kind, what the fault does to its targets, and whether it lasts. The laws, the causes, the stories and the page
//     depend only on what it does: whatever stops a process is drawn and described as a pause. A kind that does
//     something new needs a new history.Effect, and each law and each lane of the timeline must handle it.
//   - The file registers a definition. It says how the fault's line is written, what happens, which processes it can
//     strike, how it begins and ends in the simulated world, how it is drawn at random, and where a verification places
//     it. How the fault is simplified, swept, counted and excluded follows from the parts of its line. Running go test
//     -update adds its line and its weight to FORMAT.md.
//   - Its test, kind_NAME_test.go, adds a line, with the fault that the line means, to the table that tests the
//     grammar.
//   - A new kind that can be drawn changes the faults drawn for every seed. Rewrite the golden files with -update. A
//     mutant in scenarios/corpus/mutants.go may now be caught by a later seed than the one stated there.
//
// A program with an incomplete definition panics on startup. kind_stall_test.go is an example of a new kind; all tests
// of this package run with it. rooms_test.go registers a twin of every kind, and checks that every package treats the
// twin like the kind itself.
package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Loss is what a crash destroys.
type Loss uint8

const (
	// a client loses all its data, which is in memory; never used for a server crash
	LosesMemory     Loss = iota
	LosesUnsynced        // a server keeps only what was fsynced
	LosesEverything      // a server restarts with no data
)

// Fault is one fault of a plan. The comment on each field says which kinds use it; fields that a kind does not use are
// zero. If a Fault was returned by Parse or accepted by Validate, it prints as a line that parses back to an equal
// Fault.
type Fault struct {
	Kind Kind
	// Target is the process that the fault affects. For a fault on a link (DelayLink, DelayMessage) it is the sender,
	// and for a Break the client. A Cut has no target.
	Target sim.ProcessID
	// Peer is the other end of the link: the receiver for a DelayLink or DelayMessage, and the server or the resource
	// for a Break. For a FailOver, it is the replica to promote.
	Peer sim.ProcessID
	// Left and Right are the two sides of a Cut, in the order in which they were written. Neither is empty.
	Left, Right []sim.ProcessID
	// Lock (EvictKey and DeleteKey only) is the lock whose key is removed.
	Lock history.Lock
	// OneWay (Cut only) means that only messages from Left to Right are stopped.
	OneWay bool
	// For a Jump, By is how far the clock jumps: backward if negative, and never zero. For a DelayLink or DelayMessage,
	// it is how much later a message arrives. For a SlowFsync, it is how much longer an fsync takes. These two delays
	// are positive.
	By time.Duration
	// PPM (Drift only) is the change of the clocks' rate in parts per million. It is negative for slower clocks, within
	// ±MaxPPM, and never zero.
	PPM int
	// For is how long the fault lasts. For Pause, ClientPause and SlowFsync it is never zero. For a Cut or a Drift,
	// zero means that the fault never ends. For a DelayLink, zero means that only the first message after the trigger
	// is delayed.
	For time.Duration
	// Loss (Crash only) says which data is lost.
	Loss Loss
	// Restart (Crash and ShutDown only) is the time from the fault until the server starts again; zero means never. A
	// client never restarts.
	Restart time.Duration
	// Number identifies one message by its position since the start of the run, counted from 1. For a DelayMessage,
	// messages from Target to Peer are counted; for a Break, replies from Peer to Target.
	Number int
	// Trigger is when the fault strikes. A DelayMessage or Break without a Number affects the message in
	// Trigger.Message. Target and Peer are then the processes between which that message travels, and the message's
	// fields Of and To are empty.
	Trigger Trigger
}

// Trigger says when a fault strikes: at a time, when a client passes a named point, or when a message leaves or
// arrives. The zero Trigger means the start of the run.
type Trigger struct {
	Time time.Duration // true time since the start of the run; zero if there is a Point or a Message
	// Point is a named moment in the use of a lock. If it is empty, Time or Message applies.
	Point sim.Point
	// Pass says how many times the client must have passed Point, counted from 1. It is zero if Point is empty.
	Pass int
	// By is the client that passes the point. It is empty if that is the client that the fault itself names.
	By sim.ProcessID
	// Message is the message that triggers the fault, when it leaves ("at") or arrives ("after"). At that instant, the
	// sender finishes sending or the receiver finishes receiving, and then the fault strikes. There is one exception: a
	// Pause after an answer begins when the client has the answer but has not sent its next request yet. The zero
	// Message means that no message triggers the fault.
	Message Message
	// SaidAt means that a Point or a Message was written with "at" and not with "after". For a Message, "at" means the
	// instant at which the message leaves, and "after" the instant at which it arrives. For a Point, both mean the
	// same.
	SaidAt bool
}

// On lists the processes that the fault affects: the process that is paused or crashed, or both ends of the links, with
// senders first.
func (f Fault) On() []sim.ProcessID {
	switch {
	case f.Kind.Has(FieldSides):
		return append(append(make([]sim.ProcessID, 0, len(f.Left)+len(f.Right)), f.Left...), f.Right...)
	case f.Kind.Has(FieldPeer):
		return []sim.ProcessID{f.Target, f.Peer}
	default:
		return []sim.ProcessID{f.Target}
	}
}

// Struck returns what a history records about the fault, besides its kind and its line.
func (f Fault) Struck() *history.Fault {
	_, ends := f.duration()
	kind := history.F(f.Kind.String())
	h := &history.Fault{On: []sim.ProcessID{f.Target}, Ends: ends && (kind.Lasts() || kind.IsDown())}
	switch {
	case f.Kind.Has(FieldSides):
		h.On, h.To = f.Left, f.Right
	case f.Kind.Has(FieldPeer):
		h.To = []sim.ProcessID{f.Peer}
	}
	h.Shift, h.PPM = history.Of(f.By), f.PPM
	h.Loses = [...]history.Loss{LosesUnsynced: history.LosesUnsynced, LosesEverything: history.LosesEverything}[f.Loss]
	return h
}

// Recorded returns the fault's line as a history records it. For some kinds of faults, the line omits the trigger,
// because the history records only the outcome, which may also have a cause outside of the plan.
func (f Fault) Recorded() string {
	d := f.Kind.definition()
	if d == nil || !d.outcome {
		return f.String()
	}
	b := []byte(d.words)
	for i := range d.parts {
		if d.parts[i].states != FieldTrigger {
			b = d.parts[i].print(b, &f)
		}
	}
	return string(b)
}

// duration returns how long the fault lasts. ends is false if it never ends.
func (f *Fault) duration() (d time.Duration, ends bool) {
	switch {
	case f.Kind.Has(FieldRestart):
		return f.Restart, f.Restart > 0
	case f.Kind.Endless():
		return f.For, f.For > 0
	default: // a fault without a duration ends at once
		return f.For, true
	}
}

// PassedBy returns the client that triggers the fault, by passing Trigger.Point or by sending or receiving
// Trigger.Message. This is the client that the trigger names, or else the first client that the fault names. If there
// is none, PassedBy returns "".
func (f Fault) PassedBy() sim.ProcessID {
	switch t := &f.Trigger; {
	case t.Point == "" && !t.Message.Named():
		return ""
	case t.By != "":
		return t.By
	case t.Message.Of != "":
		return t.Message.Of
	}
	for _, p := range f.On() {
		if IsClient(p) {
			return p
		}
	}
	return ""
}

// Renamed returns a copy of the fault in which each process name p is replaced by name(p).
func (f Fault) Renamed(name func(sim.ProcessID) sim.ProcessID) Fault {
	all := func(processes []sim.ProcessID) []sim.ProcessID {
		var renamed []sim.ProcessID
		for _, p := range processes {
			renamed = append(renamed, name(p))
		}
		return renamed
	}
	one := func(p sim.ProcessID) sim.ProcessID {
		if p == "" {
			return ""
		}
		return name(p)
	}
	f.Target, f.Peer, f.Trigger.By = one(f.Target), one(f.Peer), one(f.Trigger.By)
	f.Trigger.Message.Of, f.Trigger.Message.To = one(f.Trigger.Message.Of), one(f.Trigger.Message.To)
	f.Left, f.Right = all(f.Left), all(f.Right)
	return f
}
