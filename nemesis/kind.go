package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is a kind of fault: its index among history.FaultKinds, from 1. The zero Kind is none.
type Kind uint8

// MaxKinds bounds how many kinds there are, so that a value for each fits an array.
const MaxKinds = 31

// Kinds lists all kinds in the order in which they are documented, which is that of history.FaultKinds.
var Kinds []Kind

// definitions holds the definition of each kind, at its place.
var definitions [MaxKinds + 1]*definition

// definition is all that the nemesis, and the packages that draw, shrink and place faults, must know of a kind. What it
// does to its targets, which every reader of a history must know, is in its row of history.FaultKinds.
type definition struct {
	words   history.F // the words with which its lines begin, and by which a history names it
	named   history.F // the words in their place where Trigger.Message names a message; empty: the same
	also    string    // the usage of that form; empty: there is none
	parts   []part    // what follows them in a line
	meaning string    // what happens, as FORMAT.md states it

	// What it can strike: target and peer are the roles allowed for Fault.Target and Fault.Peer, check whatever else
	// must hold.
	target, peer roles
	check        func(*validator, *Fault)

	// How it is carried out. A kind that strikes with a message and not at a trigger arranges itself; all others begin
	// at the trigger and end after their length or, for a server that goes down, with its restart.
	arrange, begin, end func(*striker)
	// endless means that without a length it never ends.
	endless bool
	// holds means that its target does nothing from then on. It strikes a client that takes an answer before the client
	// does anything with it.
	holds bool
	// recordsItself reports whether f is recorded later than it begins; nil if it never is.
	recordsItself func(f *Fault) bool
	// aftermath is how much longer than its length f acts; nil if it does not.
	aftermath func(f *Fault) time.Duration
	// outcome means that the record is of the outcome, whoever caused it: its line has no trigger.
	outcome bool

	// How it is drawn: its weight relative to others, unless a mix states another; whether there is anything to strike;
	// and how the dice fill in a fault of which only the kind is known. The trigger is drawn separately.
	weight   int
	possible func(*Targets) bool
	draw     func(Dice, *Fault)

	placement Placement

	fields  Field    // fields of Fault that its parts state
	opening []string // words, one by one
}

// register adds a kind. It panics if the definition is not complete: an incomplete kind must never be used.
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

// lacks describes what is missing in a definition, or wrong; row is its index among history.FaultKinds.
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
	case d.weight <= 0 || d.possible == nil || d.draw == nil:
		return "does not say how it is drawn"
	case d.fields&FieldTarget != 0 && d.target.right == nil, d.fields&FieldPeer != 0 && d.peer.right == nil:
		return "does not say whom it can strike"
	case p.Order <= 0 || p.At == Nowhere && p.Why == nil || p.At == AtActs && p.Candidates == nil:
		return "does not say how a verification places it"
	case d.fields&p.At.needs() != p.At.needs():
		return "does not state what a verification is to set"
	}
	return ""
}

// begins are the words with which the line of f begins.
func (d *definition) begins(f *Fault) history.F {
	if d.named != "" && f.Trigger.Message.Named() {
		return d.named
	}
	return d.words
}

// definition returns the definition of a kind; nil if k is no kind.
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

// MarshalText returns the kind's words.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText parses the kind's words.
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

// Has reports whether a fault of this kind states the field, or may.
func (k Kind) Has(f Field) bool {
	d := k.definition()
	return d != nil && d.fields&f != 0
}

// Endless reports whether a fault of this kind that states no length never ends.
func (k Kind) Endless() bool {
	d := k.definition()
	return d != nil && d.endless
}

// StrikesOne reports whether a fault of this kind strikes a single process, which may be of the given kind.
func (k Kind) StrikesOne(of ProcessKind) bool {
	d := k.definition()
	return d.fields&(FieldPeer|FieldSides) == 0 && slices.ContainsFunc(allRoles, func(r role) bool {
		return d.target.right(r) && r.processKind() == of
	})
}

// Meaning describes what happens when a fault of this kind strikes, in Markdown.
func (k Kind) Meaning() string { return k.definition().meaning }

// Weight is how often a fault of this kind is drawn relative to others, unless a mix states otherwise.
func (k Kind) Weight() int { return k.definition().weight }

// Draw fills in f as a fault of this kind, all but its trigger.
func (k Kind) Draw(d Dice, f *Fault) {
	*f = Fault{Kind: k}
	k.definition().draw(d, f)
}

// Placement returns how a verification places faults of this kind.
func (k Kind) Placement() *Placement { return &k.definition().placement }

// Field is a set of fields of a Fault.
type Field uint16

// The fields.
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
)

// Dice are what a fault is drawn with. The mix behind them determines the results: it states the lengths and sizes.
type Dice interface {
	Targets() *Targets
	Among(list []sim.ProcessID) sim.ProcessID // any, with equal probability
	Below(n int) int                          // from 0 to n-1, with equal probability
	Coin() bool
	Pause() time.Duration          // the length of a pause
	Jump() time.Duration           // how far a clock jumps
	Delay() time.Duration          // how late a message is
	Fsync() time.Duration          // how late an fsync is
	Outage() time.Duration         // how long a cut, a drift, a slow link or a slow fsync lasts
	OutageOrEver() time.Duration   // the same, or zero for ever
	DowntimeOrEver() time.Duration // the time until a restart, or zero for none
	PPM() int                      // a drift, either way
	Message() int                  // the number of a message, from 1
}

// Placement states how a verification, which tries every placement of a fault that can make a difference, places those
// of one kind. A fault with a length or a restart is tried with every end that can make a difference. For kinds with
// too many such placements it tries random ones.
type Placement struct {
	// Order, from 1, ranks the kinds, the simplest first.
	Order int
	// At is where a fault may start.
	At Start
	// Why explains why only random placements are tried in a run with these processes; empty if all are. It is nil if
	// all always are.
	Why func(*Names) string
	// Beside describes placements that are not enumerated, so that random ones are tried as well; empty if there are
	// none. It is nil if there never are any.
	Beside func(*Subjects) string
	// Candidates lists the faults, without start and end, that a run may suffer. If it is nil, because the target is a
	// message or a link, they are found in the run.
	Candidates func(*Subjects) []Fault
	// Matters describes what those processes do to which it can make a difference, if they are not all that it can
	// strike: "reads its wall clock". Only faults of these are candidates.
	Matters string
	// Between are the instants, in addition to those at which the target acts, between which all starts are equivalent;
	// nil if there are none.
	Between func(*Fault) Instants
	// Stills means that it has no effect on a process that never acts again.
	Stills bool
	// AfterAnswers means that of a client it may also start between an answer and the request that follows at the same
	// instant.
	AfterAnswers bool
	// Sized means that it is tried in every size that can make a difference to its target's clock, and has no end.
	Sized bool
}

// Start is where in a run a fault may start.
type Start uint8

// The starts.
const (
	Nowhere    Start = iota // no small set of starts represents all others
	AtActs                  // between two acts of its target, and at the points that it passes
	AtMessages              // with each message, whose arrival is its end
	AtReplies               // with each message to a client
	AtLinks                 // between two messages of a link, one way
)

// needs are the fields that a verification sets for such a start.
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

// Instants are kinds of instants in the life of a process at which it does not act.
type Instants uint8

// The kinds of instants.
const (
	NoInstants Instants = iota
	Syncs               // its writes reach the disk
	HangUps             // a client does, or does not, learn in time that its connection is gone
	Deadlines           // a validity that was reported to it ends, or an fsync
)

// Subjects are the processes on which faults are placed.
type Subjects struct {
	*Names
	// Persistent means that the servers write to a disk, so that a loss of unsynced writes differs from one of
	// everything.
	Persistent bool
	// Wall are the processes that read their wall clock.
	Wall []sim.ProcessID
}

// always explains for a kind, whatever the processes, why only random placements are tried.
func always(why string) func(*Names) string { return func(*Names) string { return why } }

// on lists a fault for each of the processes, with only the target and the loss set.
func on(loss Loss, processes ...sim.ProcessID) []Fault {
	list := make([]Fault, 0, len(processes))
	for _, p := range processes {
		list = append(list, Fault{Target: p, Loss: loss})
	}
	return list
}
