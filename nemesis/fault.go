// Package nemesis defines what goes wrong in a run: faults, the plans that list them, and the notation of both. Package
// nemesis/draw draws faults at random; package nemesis/shrink reduces a failing plan.
//
// Goals: a fault is a plain value that prints as one line and parses back exactly, so that the same line can be used in
// a scenario, a plan, a report and a shrunk counterexample; a plan is fixed before the run, so that a run can be
// repeated, edited and shrunk; an error in a line states where and what is wrong, and the nearest right word.
//
// Non-goals: nothing here watches a run or decides during one. Faults are not meant to be likely or fair, only
// possible.
//
// # Where to add a kind of fault
//
// A kind is one file here, kind_NAME.go, and one row of history.FaultKinds:
//
//   - The row holds what every reader of a history must know without knowing the nemesis: the words, what the fault
//     does to its targets, and whether it lasts. The laws, the causes, the stories and the page depend only on what it
//     does: whatever stops a process is drawn and described as a pause. A kind that does something new needs a new
//     history.Effect, and each law and lane must handle it.
//   - The file registers a definition, which states how its line is written and what happens, whom it can strike, how
//     it begins and ends in the simulated world, how it is drawn at random, and where a verification places it. How it
//     is simplified, swept, counted and excluded follows from the parts of its line. Its line and its weight are added
//     to FORMAT.md by go test -update.
//   - Its test, kind_NAME_test.go, adds a line and what it means to the grammar that is tested.
//   - A kind that is drawn changes what every seed draws: goldens are renewed by -update, and a mutant in
//     scenarios/corpus/mutants.go may be caught by a later seed than is stated there.
//
// A definition that lacks something is refused when the program starts. kind_stall_test.go is an example, with which
// all tests of this folder run; rooms_test.go adds a twin of every kind, which all rooms must treat like the kind
// itself.
package nemesis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Loss is what is lost in a crash.
type Loss uint8

const (
	LosesMemory     Loss = iota // a client: all its data is in memory. No crash of a server is of this kind
	LosesUnsynced               // a server keeps what was fsynced
	LosesEverything             // a server comes back empty
)

// Fault is one thing that goes wrong. Each field states which kinds use it; all other fields are zero. A Fault that
// Parse returned, or that Validate has accepted, prints and parses back to an equal one.
type Fault struct {
	Kind Kind
	// Target is the process struck. On a link (DelayLink, DelayMessage) it is the sender; for a Break it is the client.
	// A Cut has none.
	Target sim.ProcessID
	// Peer is the other end of the link (DelayLink, DelayMessage: the receiver; Break: the server or the resource),
	// or the replica that FailOver promotes.
	Peer sim.ProcessID
	// Left and Right are the two sides of a Cut, as written, never empty.
	Left, Right []sim.ProcessID
	// OneWay, of a Cut, stops only what Left sends to Right.
	OneWay bool
	// By is how far the clock jumps (Jump; never zero, back if negative), how much later a message arrives (DelayLink,
	// DelayMessage; positive), or how much longer an fsync takes (SlowFsync; positive).
	By time.Duration
	// PPM is how much faster the clocks run, in millionths (Drift; never zero, slower if negative, within ±MaxPPM).
	PPM int
	// For is how long it lasts: Pause and SlowFsync always have it. Zero means that a Cut or a Drift never ends, and
	// that a DelayLink strikes only the first message sent on the link after the trigger.
	For time.Duration
	// Loss, of a Crash, is what is lost.
	Loss Loss
	// Restart, of a Crash or ShutDown, is the time from the strike to the next start of the server; zero: never. A
	// client never restarts.
	Restart time.Duration
	// Number counts, from 1, since the start of the run: the message that Target sends to Peer (DelayMessage), or the
	// reply that Peer sends to Target (Break).
	Number int
	// Trigger is when it strikes. DelayMessage and Break strike with the message that it names, if they state no
	// Number; Target and Peer are the ends of that, so that its own are empty.
	Trigger Trigger
}

// Trigger is the moment at which a fault strikes: a true time, the passing of a named point, or of a message. The zero
// Trigger is the start of the run.
type Trigger struct {
	Time time.Duration // since the start of the run, in true time; zero with a Point or a Message
	// Point is a moment in the life of a lock; empty: strike at Time.
	Point sim.Point
	// Pass is which passing of the Point is meant, from 1; zero without a Point.
	Pass int
	// By is the client that passes the point, if it is not the one that the fault itself names.
	By sim.ProcessID
	// Message is one that leaves ("at") or arrives ("after") at that moment: the fault strikes once its sender or its
	// receiver has ended that act, at the same instant. A Pause after an answer comes earlier: the client has the
	// answer by then, but its next request waits. The zero Message is none.
	Message Message
	// SaidAt records that a Point was written "at POINT" and not "after POINT": both are the same moment. Of a Message
	// it is the moment at which it leaves, not that at which it arrives.
	SaidAt bool
}

// On lists the processes struck: the one paused or crashed, or the ends of the links, senders first.
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

// Struck is what a history records of the fault in addition to its kind and its line.
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

// Recorded is the line by which a history records the fault. For an outcome, whoever caused it, the planned moment is
// omitted.
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

// duration is how long the fault lasts; ends is false if it never ends.
func (f *Fault) duration() (d time.Duration, ends bool) {
	switch {
	case f.Kind.Has(FieldRestart):
		return f.Restart, f.Restart > 0
	case f.Kind.Endless():
		return f.For, f.For > 0
	default: // without a length it is over at once
		return f.For, true
	}
}

// PassedBy is the client whose passing of Trigger.Point, or whose Trigger.Message, makes the fault strike: the one that
// the trigger names, or else the first client that the fault names. It is empty if there is none.
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

// Renamed returns the fault with other names for its processes.
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
