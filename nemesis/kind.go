package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is a kind of fault. Its value is the index of its row in history.FaultKinds plus one. Zero means no kind.
type Kind uint8

// MaxKinds is the maximum number of kinds. It determines the size of arrays with one value per kind.
const MaxKinds = 63

// Kinds lists all kinds in the order of history.FaultKinds, which the documentation also follows.
var Kinds []Kind

// definitions holds the definition of each kind, indexed by kind.
var definitions [MaxKinds + 1]*definition

// definition contains everything that this package, and the packages that draw, shrink and place faults, need to know
// about a kind. What the kind does to its targets is in its row of history.FaultKinds instead, because every reader of
// a history needs to know that.
type definition struct {
	words   history.F // the words that begin its lines; a history uses them as the name of the kind
	named   history.F // the words that begin its lines if Trigger.Message names a message; empty if they are the same
	also    string    // usage text of the form that names a message; empty if there is no such form
	parts   []part    // the parts of a line after the first words
	meaning string    // what the fault does, as described in FORMAT.md

	// target and peer are the roles that Fault.Target and Fault.Peer may have. check checks everything else that must
	// be true of a fault.
	target, peer roles
	check        func(*validator, *Fault)

	// Functions that inject the fault. If a fault strikes with the message that it affects, it has no trigger of its
	// own, and arrange injects it. All other faults begin at their trigger. A fault ends after its duration or, if a
	// server went down, when the server restarts.
	arrange, begin, end func(*striker)
	// endless is set if a fault of this kind never ends unless its line specifies a duration.
	endless bool
	// holds is set if the target does nothing once the fault has begun. In that case, if the trigger is an answer to a
	// client, the fault begins before the client acts on the answer.
	holds bool
	// recordsItself reports whether f is not recorded until some time after it begins. The function is nil if faults of
	// this kind are never recorded late.
	recordsItself func(f *Fault) bool
	// aftermath returns how long the effects of f last after its end. It is nil if there are none.
	aftermath func(f *Fault) time.Duration
	// outcome is set if histories record only the fault's outcome and not its cause. The recorded line then has no
	// trigger.
	outcome bool

	// weight, possible and draw determine how the fault is drawn at random. weight is relative to the weights of other
	// kinds; a mix may override it. If it is 0, the kind is drawn only if a mix asks for it. possible reports whether
	// the run has a target for the fault. draw fills in the rest of a fault whose kind is set, except the trigger,
	// which is drawn separately.
	weight   int
	possible func(*Targets) bool
	draw     func(Dice, *Fault)

	placement Placement

	fields  Field    // the fields of Fault that the parts set
	opening []string // words, split into single words
}

// register adds a kind. It panics if the definition is incomplete, so that an incomplete kind cannot be used.
func register(d definition) Kind {
	row := slices.IndexFunc(history.FaultKinds, func(k history.FaultKind) bool { return k.F == d.words })
	d.opening = strings.Fields(string(d.words))
	for i := range d.parts {
		d.fields |= d.parts[i].states
	}
	if lack := d.lacks(row); lack != "" {
		panic(fmt.Sprintf("nemesis: the definition of the fault %q %s", d.words, lack))
	}
	k := Kind(row + 1)
	definitions[k] = &d
	at, _ := slices.BinarySearch(Kinds, k)
	Kinds = slices.Insert(Kinds, at, k)
	return k
}

// lacks says what is missing from a definition or wrong with it. It returns "" if the definition is complete. row is
// the index of the definition's row in history.FaultKinds, or negative if there is no such row.
func (d *definition) lacks(row int) string {
	p := &d.placement
	switch {
	case row < 0:
		return "has no row in history.FaultKinds"
	case row >= MaxKinds:
		return "is one too many: raise MaxKinds"
	case definitions[row+1] != nil:
		return "is registered twice"
	case d.meaning == "":
		return "does not say what happens"
	case d.begin == nil && d.arrange == nil, d.arrange == nil && d.fields&FieldTrigger == 0:
		return "does not say how the fault begins"
	case d.end == nil && d.arrange == nil && d.fields&(FieldFor|FieldRestart) != 0:
		return "does not say how the fault ends"
	case d.weight < 0 || d.possible == nil || d.draw == nil:
		return "does not say how the fault is drawn at random"
	case d.fields&FieldTarget != 0 && d.target.right == nil, d.fields&FieldPeer != 0 && d.peer.right == nil:
		return "does not say which processes the fault can affect"
	case p.Order <= 0 || p.At == Nowhere && p.Why == nil || p.At == AtActs && p.Candidates == nil:
		return "does not say at which times fencepost verify tries the fault"
	case d.fields&p.At.needs() != p.At.needs():
		return "lacks a field that fencepost verify sets"
	}
	return ""
}

// begins returns the words with which f's line begins.
func (d *definition) begins(f *Fault) history.F {
	if d.named != "" && f.Trigger.Message.Named() {
		return d.named
	}
	return d.words
}

// definition returns the definition of a kind, or nil if k is not a kind.
func (k Kind) definition() *definition {
	if k > MaxKinds {
		return nil
	}
	return definitions[k]
}

// String returns the words that begin a line of this kind, such as "shut down".
func (k Kind) String() string {
	if d := k.definition(); d != nil {
		return string(d.words)
	}
	return "unknown fault"
}

// MarshalText returns the words that begin a line of this kind.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText sets the kind to the one whose lines begin with the given words.
func (k *Kind) UnmarshalText(text []byte) error {
	at := slices.IndexFunc(Kinds, func(known Kind) bool { return known.String() == string(text) })
	if at < 0 {
		return fmt.Errorf("there is no fault %q", text)
	}
	*k = Kinds[at]
	return nil
}

// Does returns what a fault of this kind does to its targets.
func (k Kind) Does() history.Effect { return history.F(k.String()).Does() }

// Has reports whether faults of this kind use the field, at least sometimes.
func (k Kind) Has(f Field) bool {
	d := k.definition()
	return d != nil && d.fields&f != 0
}

// Endless reports whether a fault of this kind never ends unless its line specifies a duration.
func (k Kind) Endless() bool {
	d := k.definition()
	return d != nil && d.endless
}

// StrikesOne reports whether a fault of this kind affects exactly one process, which may be of the given kind.
func (k Kind) StrikesOne(of ProcessKind) bool {
	d := k.definition()
	return d.fields&(FieldPeer|FieldSides) == 0 && slices.ContainsFunc(allRoles, func(r role) bool {
		return d.target.right(r) && r.processKind() == of
	})
}

// Meaning describes what a fault of this kind does, in Markdown.
func (k Kind) Meaning() string { return k.definition().meaning }

// Weight returns how often faults of this kind are drawn, relative to faults of other kinds. A mix may override it.
func (k Kind) Weight() int { return k.definition().weight }

// Draw sets f to a random fault of this kind, without a trigger.
func (k Kind) Draw(d Dice, f *Fault) {
	*f = Fault{Kind: k}
	k.definition().draw(d, f)
}

// Placement says how a verification places faults of this kind.
func (k Kind) Placement() *Placement { return &k.definition().placement }

// Field is a set of fields of a Fault.
type Field uint16

// The fields of a Fault.
const (
	FieldTarget Field = 1 << iota
	FieldPeer
	FieldSides // Left, Right and OneWay
	FieldBy
	FieldPPM
	FieldFor
	FieldLoss
	FieldRestart
	FieldNumber
	FieldTrigger
	FieldMessage
	FieldLock
)

// Dice draws a random fault's values. Its mix sets the ranges of durations and sizes.
type Dice interface {
	Targets() *Targets
	Among(list []sim.ProcessID) sim.ProcessID // one of the list, all with equal probability
	Below(n int) int                          // from 0 to n-1, all with equal probability
	Coin() bool
	Pause() time.Duration          // the length of a pause
	Jump() time.Duration           // how far a clock jumps, not negative
	Delay() time.Duration          // how much later a message arrives
	Fsync() time.Duration          // how much longer an fsync takes
	Outage() time.Duration         // how long a cut, a drift, a slow link or a slow fsync lasts
	OutageOrEver() time.Duration   // like Outage, but may be zero, which means forever
	DowntimeOrEver() time.Duration // the time until a restart, or zero for no restart
	PPM() int                      // a drift rate in either direction
	Message() int                  // the number of a message, counted from 1
}

// Placement says which faults of one kind a verification tries. It tries every start that can make a difference and, if
// the fault has a duration or a restart, every end that can make a difference. If there are too many such placements,
// it tries random ones instead.
type Placement struct {
	// Order ranks the kinds, from 1. The simplest kind comes first.
	Order int
	// At says where in a run the fault may start.
	At Start
	// Why returns an explanation of why, in a run with these processes, the verification tries only random placements.
	// It returns "" if the verification tries all placements. If Why is nil, the verification tries all placements in
	// every run.
	Why func(*Names) string
	// Beside describes the placements that the verification tries at random because it does not enumerate them. It
	// returns "" if there are none. If Beside is nil, there are none in any run.
	Beside func(*Subjects) string
	// Candidates returns the possible faults in a run, without their starts and ends. It is nil if the faults' target
	// is a message or a link, because the verification finds messages and links in the run itself.
	Candidates func(*Subjects) []Fault
	// Matters says what a process must do for this kind of fault to affect it, in words such as "reads its wall clock".
	// Only faults on such processes are candidates. Matters is empty if the kind can affect every possible target.
	Matters string
	// Between selects instants at which a fault's effect may change even though the target does not act. Starting the
	// fault anywhere between two neighboring instants has the same effect. Between is nil if there are no such
	// instants.
	Between func(*Fault) Instants
	// Stills is set if the fault has no effect unless its target acts again.
	Stills bool
	// AfterAnswers means that a fault on a client may also start after an answer and before the next request, even if
	// the client sends that request at the same instant.
	AfterAnswers bool
	// Sized is set if the fault is tried in every size that can make a difference to its target's clock. Such a fault
	// has no end.
	Sized bool
}

// Start says where in a run a fault may start.
type Start uint8

// Where in a run a verification starts a fault.
const (
	Nowhere    Start = iota // placements are not enumerated: no small set of starts represents all others
	AtActs                  // between two acts of the target, and at the points that the target passes
	AtMessages              // with each message; the fault ends when the message arrives
	AtReplies               // with each message to a client
	AtLinks                 // between two messages on a link, in one direction
)

// needs returns the fields that a verification sets for faults with this start.
func (s Start) needs() Field {
	switch s {
	case AtActs:
		return FieldTarget | FieldTrigger
	case AtMessages:
		return FieldTarget | FieldPeer | FieldNumber | FieldBy
	case AtReplies:
		return FieldTarget | FieldPeer | FieldNumber
	case AtLinks:
		return FieldSides | FieldTrigger
	}
	return 0
}

// Instants is a set of kinds of instants at which something happens to a process even if the process itself does
// nothing.
type Instants uint8

// The kinds of instants in an Instants set.
const (
	NoInstants Instants = iota
	Syncs               // when writes of the process reach the disk
	HangUps             // when a connection ends, which a client may or may not learn in time
	Deadlines           // when a lease ends that was reported to the process, or when an fsync ends
)

// Subjects describes the processes for which a verification places faults.
type Subjects struct {
	*Names
	// Persistent is set if the servers write to a disk. Only then does it make a difference whether a server loses its
	// unsynced writes or everything.
	Persistent bool
	// Wall lists the processes that read their wall clock.
	Wall []sim.ProcessID
}

// sameReason returns a Placement.Why function that gives the same explanation for every run.
func sameReason(why string) func(*Names) string { return func(*Names) string { return why } }

// faultsOf returns one fault per process, with only the target and the loss set.
func faultsOf(loss Loss, processes ...sim.ProcessID) []Fault {
	list := make([]Fault, 0, len(processes))
	for _, p := range processes {
		list = append(list, Fault{Target: p, Loss: loss})
	}
	return list
}
