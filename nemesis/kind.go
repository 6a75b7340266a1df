package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is a kind of fault. Its value is the index of its row in history.FaultKinds plus one; the zero Kind means no
// kind.
type Kind uint8

// MaxKinds bounds the number of kinds, so that a value for each kind fits in an array.
const MaxKinds = 63

// Kinds lists all kinds in the order of history.FaultKinds, in which they are also documented.
var Kinds []Kind

// definitions holds the definition of each kind, indexed by kind.
var definitions [MaxKinds + 1]*definition

// definition contains everything that this package, and the packages that draw, shrink and place faults, must know
// about a kind. What the kind does to its targets is stated in its row of history.FaultKinds, because every reader of a
// history needs it.
type definition struct {
	words   history.F // the words with which its lines begin, and by which a history names the kind
	named   history.F // the opening words used instead if Trigger.Message names a message; empty: the same words
	also    string    // the usage text of that second form; empty if there is no second form
	parts   []part    // the parts of a line that follow the words
	meaning string    // what happens, as FORMAT.md states it

	// target and peer are the roles that are allowed for Fault.Target and Fault.Peer. check tests all other conditions.
	target, peer roles
	check        func(*validator, *Fault)

	// These functions carry out the fault. A kind that strikes with a message and not at a trigger schedules itself in
	// arrange. All other kinds begin at the trigger and end after their length or, if a server goes down, with its
	// restart.
	arrange, begin, end func(*striker)
	// endless means that a fault of this kind never ends if it states no length.
	endless bool
	// holds means that the target does nothing after the fault strikes. If the fault strikes with an answer to a
	// client, it begins before the client acts on the answer.
	holds bool
	// recordsItself reports whether f is recorded later than it begins. It is nil if this is never the case.
	recordsItself func(f *Fault) bool
	// aftermath returns how long f still has effects after its length. It is nil if there are none.
	aftermath func(f *Fault) time.Duration
	// outcome means that a history records the outcome of the fault, whatever caused it. So the recorded line has no
	// trigger.
	outcome bool

	// weight, possible and draw say how the fault is drawn. weight is relative to the other kinds, unless a mix sets
	// another weight. If it is 0, only a mix that asks for the kind draws it. possible reports whether a run has
	// anything that the fault can strike. draw fills in a fault of which only the kind is set; the trigger is drawn
	// separately.
	weight   int
	possible func(*Targets) bool
	draw     func(Dice, *Fault)

	placement Placement

	fields  Field    // the fields of Fault that the parts state
	opening []string // the words of the field words, one by one
}

// register adds a kind. It panics if the definition is not complete, so that an incomplete kind can never be used.
func register(d definition) Kind {
	row := slices.IndexFunc(history.FaultKinds, func(k history.FaultKind) bool { return k.F == d.words })
	d.opening = strings.Fields(string(d.words))
	for i := range d.parts {
		d.fields |= d.parts[i].states
	}
	if lack := d.lacks(row); lack != "" {
		panic(fmt.Sprintf("nemesis: the kind of faults %q %s", d.words, lack))
	}
	k := Kind(row + 1)
	definitions[k] = &d
	at, _ := slices.BinarySearch(Kinds, k)
	Kinds = slices.Insert(Kinds, at, k)
	return k
}

// lacks describes what is missing or wrong in a definition, or returns "". row is the index of the definition's row in
// history.FaultKinds, or negative if there is none.
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
		return "does not say how it strikes"
	case d.end == nil && d.arrange == nil && d.fields&(FieldFor|FieldRestart) != 0:
		return "does not say how it ends"
	case d.weight < 0 || d.possible == nil || d.draw == nil:
		return "does not say how it is drawn"
	case d.fields&FieldTarget != 0 && d.target.right == nil, d.fields&FieldPeer != 0 && d.peer.right == nil:
		return "does not say whom it can strike"
	case p.Order <= 0 || p.At == Nowhere && p.Why == nil || p.At == AtActs && p.Candidates == nil:
		return "does not say how a verification places it"
	case d.fields&p.At.needs() != p.At.needs():
		return "lacks a field that its placement sets"
	}
	return ""
}

// begins returns the words with which the line of f begins.
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

// String returns the words with which a line of this kind begins: "shut down".
func (k Kind) String() string {
	if d := k.definition(); d != nil {
		return string(d.words)
	}
	return "unknown fault"
}

// MarshalText returns the words with which a line of this kind begins.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the words at the beginning of a line that name the kind of a fault.
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

// Has reports whether faults of this kind always or sometimes state the field.
func (k Kind) Has(f Field) bool {
	d := k.definition()
	return d != nil && d.fields&f != 0
}

// Endless reports whether a fault of this kind never ends if it states no length.
func (k Kind) Endless() bool {
	d := k.definition()
	return d != nil && d.endless
}

// StrikesOne reports whether a fault of this kind strikes exactly one process and can strike a process of the given
// kind.
func (k Kind) StrikesOne(of ProcessKind) bool {
	d := k.definition()
	return d.fields&(FieldPeer|FieldSides) == 0 && slices.ContainsFunc(allRoles, func(r role) bool {
		return d.target.right(r) && r.processKind() == of
	})
}

// Meaning describes what happens when a fault of this kind strikes, in Markdown.
func (k Kind) Meaning() string { return k.definition().meaning }

// Weight returns how often a fault of this kind is drawn relative to others, unless a mix states otherwise.
func (k Kind) Weight() int { return k.definition().weight }

// Draw sets f to a random fault of this kind, without a trigger.
func (k Kind) Draw(d Dice, f *Fault) {
	*f = Fault{Kind: k}
	k.definition().draw(d, f)
}

// Placement returns how a verification places faults of this kind.
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

// Dice draws the values of a random fault. The mix from which it draws determines the ranges of lengths and sizes.
type Dice interface {
	Targets() *Targets
	Among(list []sim.ProcessID) sim.ProcessID // any one, with equal probability
	Below(n int) int                          // from 0 to n-1, with equal probability
	Coin() bool
	Pause() time.Duration          // the length of a pause
	Jump() time.Duration           // how far a clock jumps, without a sign
	Delay() time.Duration          // how much later a message arrives
	Fsync() time.Duration          // how much longer an fsync takes
	Outage() time.Duration         // how long a cut, a drift, a slow link or a slow fsync lasts
	OutageOrEver() time.Duration   // like Outage, or zero, which means forever
	DowntimeOrEver() time.Duration // the time until a restart, or zero for no restart
	PPM() int                      // a drift in either direction
	Message() int                  // the number of a message, from 1
}

// Placement states how a verification places the faults of one kind. A verification tries every start of a fault that
// can make a difference and, for a fault that has a length or a restart, every end that can make a difference. If a
// kind has too many such placements, the verification tries random ones.
type Placement struct {
	// Order, from 1, is the rank of the kind; the simplest kind comes first.
	Order int
	// At says where in a run the fault may start.
	At Start
	// Why explains why only random placements are tried in a run with these processes; it returns "" if all placements
	// are tried. A nil Why means that all placements are tried in every run.
	Why func(*Names) string
	// Beside describes placements that are not enumerated, of which random ones are tried in addition; it returns "" if
	// there are none. A nil Beside means that there are never any.
	Beside func(*Subjects) string
	// Candidates lists the faults that can strike a run, without their starts and ends. It is nil if the target is a
	// message or a link, which a verification finds in the run.
	Candidates func(*Subjects) []Fault
	// Matters says which of the possible targets this kind can affect: "reads its wall clock". Only faults that strike
	// such processes are candidates. It is empty if the kind can affect all possible targets.
	Matters string
	// Between selects further instants that divide the possible starts, in addition to the instants at which the target
	// acts. All starts between two neighboring instants have the same effect. It is nil if there are no further
	// instants.
	Between func(*Fault) Instants
	// Stills means that the fault has no effect on a process that never acts again.
	Stills bool
	// AfterAnswers means that a fault on a client may also start between an answer and the request that follows at the
	// same instant.
	AfterAnswers bool
	// Sized means that the fault is tried in every size that can make a difference to its target's clock, and that it
	// has no end.
	Sized bool
}

// Start says where in a run a fault may start.
type Start uint8

// The possible starts.
const (
	Nowhere    Start = iota // no small set of starts represents all others
	AtActs                  // between two acts of its target, and at the points that the target passes
	AtMessages              // with each message; the message's arrival ends the fault
	AtReplies               // with each message to a client
	AtLinks                 // between two messages of a link, in one direction
)

// needs returns the fields that a verification sets for faults with such a start.
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

// Instants selects instants in a run that matter to a process although the process does not act at them.
type Instants uint8

// The kinds of instants.
const (
	NoInstants Instants = iota
	Syncs               // writes of the process reach the disk
	HangUps             // a connection ends: a client may or may not learn of it in time
	Deadlines           // the end of a validity that was reported to the process, or the end of an fsync
)

// Subjects are the processes on which a verification places faults.
type Subjects struct {
	*Names
	// Persistent means that the servers write to a disk, so that losing unsynced writes differs from losing everything.
	Persistent bool
	// Wall lists the processes that read their wall clock.
	Wall []sim.ProcessID
}

// always returns a Placement.Why that gives the same explanation for every run.
func always(why string) func(*Names) string { return func(*Names) string { return why } }

// on lists one fault for each of the processes, with only the target and the loss set.
func on(loss Loss, processes ...sim.ProcessID) []Fault {
	list := make([]Fault, 0, len(processes))
	for _, p := range processes {
		list = append(list, Fault{Target: p, Loss: loss})
	}
	return list
}
