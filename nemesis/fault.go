// Package nemesis defines the faults that can strike a run, the plans that list them, and the notation of both. Package
// nemesis/draw draws faults at random; package nemesis/shrink reduces a failing plan.
//
// Goals: a fault is a plain value that prints as one line and parses back exactly, so that the same line can be used in
// a scenario, a plan, a report and a shrunk counterexample; a plan is fixed before the run, so that a run can be
// repeated, edited and shrunk; an error in a line states what is wrong and where, and suggests the nearest valid word.
//
// Non-goals: nothing here observes a run or makes decisions while it runs. Faults need to be possible; they need not be
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
//   - The file registers a definition. It states how the fault's line is written, what happens, which processes it can
//     strike, how it begins and ends in the simulated world, how it is drawn at random, and where a verification places
//     it. How the fault is simplified, swept, counted and excluded follows from the parts of its line. Running go test
//     -update adds its line and its weight to FORMAT.md.
//   - Its test, kind_NAME_test.go, adds a line, with the fault that the line means, to the table that tests the
//     grammar.
//   - A new kind that can be drawn changes the faults drawn for every seed. Renew the golden files with -update. A
//     mutant in scenarios/corpus/mutants.go may now be caught by a later seed than the one stated there.
//
// A program with an incomplete definition panics at start. kind_stall_test.go is an example of a new kind; all tests of
// this package run with it. rooms_test.go registers a twin of every kind, and checks that every package treats the twin
// like the kind itself.
package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Loss is what a crash destroys.
type Loss uint8

const (
	LosesMemory     Loss = iota // a client: all its data is in memory. A crash of a server never has this value
	LosesUnsynced               // a server keeps only what was fsynced
	LosesEverything             // a server comes back empty
)

// Fault is one fault of a plan. Each field states which kinds use it; all other fields are zero. A Fault that Parse
// returned, or that Validate has accepted, prints and parses back to an equal one.
type Fault struct {
	Kind Kind
	// Target is the process that the fault strikes. On a link (DelayLink, DelayMessage) it is the sender; for a Break
	// it is the client. A Cut has no target.
	Target sim.ProcessID
	// Peer is the other end of the link (DelayLink, DelayMessage: the receiver; Break: the server or the resource),
	// or the replica that FailOver promotes.
	Peer sim.ProcessID
	// Left and Right are the two sides of a Cut, as written, never empty.
	Left, Right []sim.ProcessID
	// Lock (EvictKey and DeleteKey only) is the lock whose key is removed.
	Lock history.Lock
	// OneWay (Cut only) stops only what Left sends to Right.
	OneWay bool
	// By is how far the clock jumps (Jump; never zero, backwards if negative), how much later a message arrives
	// (DelayLink, DelayMessage; positive), or how much longer an fsync takes (SlowFsync; positive).
	By time.Duration
	// PPM is the deviation of the clocks' rate, in millionths (Drift; never zero, slower if negative, within ±MaxPPM).
	PPM int
	// For is how long the fault lasts. Pause and SlowFsync always have it. Zero means that a Cut or a Drift never ends,
	// and that a DelayLink strikes only the first message sent on the link after the trigger.
	For time.Duration
	// Loss (Crash only) is what is lost.
	Loss Loss
	// Restart (Crash and ShutDown only) is the time from the strike to the next start of the server; zero: never. A
	// client never restarts.
	Restart time.Duration
	// Number identifies one message, counted from 1 since the start of the run: a message that Target sends to Peer
	// (DelayMessage), or a reply that Peer sends to Target (Break).
	Number int
	// Trigger is when the fault strikes. A DelayMessage or Break without a Number strikes the message that
	// Trigger.Message names. Target and Peer are the two ends of that message, so its own Of and To are empty.
	Trigger Trigger
}

// Trigger is the moment at which a fault strikes: a time, or when a client passes a named point, or when a message
// leaves or arrives. The zero Trigger is the start of the run.
type Trigger struct {
	Time time.Duration // since the start of the run, in true time; zero with a Point or a Message
	// Point is a named moment in the life of a lock; empty: strike at Time.
	Point sim.Point
	// Pass says at which passing of Point the fault strikes, counted from 1; zero without a Point.
	Pass int
	// By is the client that passes the point, if it is not the client that the fault itself names.
	By sim.ProcessID
	// Message is the message with which the fault strikes: when it leaves ("at") or arrives ("after"). The fault
	// strikes at that instant, but only after the sender has finished sending or the receiver has finished receiving. A
	// Pause after an answer strikes earlier: the client has the answer by then, but its next request waits. The zero
	// Message means that no message is named.
	Message Message
	// SaidAt records that the trigger was written with "at" instead of "after". For a Point both mean the same moment.
	// For a Message, "at" means when it leaves, "after" when it arrives.
	SaidAt bool
}

// On lists the processes that the fault strikes: the process that is paused or crashed, or the ends of the links,
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

// Struck returns what a history records about the fault in addition to its kind and its line.
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

// Recorded returns the line that a history records for the fault. Some kinds are recorded as an outcome, whether this
// plan or something else caused it; their line omits the planned moment.
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
	default: // a fault without a length is over at once
		return f.For, true
	}
}

// PassedBy returns the client that triggers the fault by passing Trigger.Point or by exchanging Trigger.Message. It is
// the client that the trigger names, or else the first client that the fault names, or empty if there is none.
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

// Renamed returns a copy of the fault in which name has replaced the name of every process.
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
