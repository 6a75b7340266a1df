package nemesis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Kind is a kind of fault: its place among history.FaultKinds, from 1. The zero Kind is none.
type Kind uint8

// MaxKinds bounds how many kinds there are, so that a value for each fits an array.
const MaxKinds = 31

// Kinds lists all kinds in the order in which they are documented, which is that of history.FaultKinds.
var Kinds []Kind

// definitions holds the definition of each kind, at its place.
var definitions [MaxKinds + 1]*definition

// definition is all that the nemesis, and whoever draws, shrinks and places faults, must know of a kind. What it does
// to those whom it strikes, which every reader of a history must know, stands in its row of history.FaultKinds.
type definition struct {
	words   history.F // that its lines open with, and by which a history names it
	parts   []part    // what follows them in a line
	meaning string    // what happens, as FORMAT.md says it

	// Whom it can strike: target and peer say what is right for Fault.Target and Fault.Peer, check what else must be
	// so.
	target, peer roles
	check        func(*validator, *Fault)

	// How it is carried out. What strikes with a message and not at a trigger arranges itself, all else begins at its
	// trigger and ends after its length or, of a server that goes down, with its restart.
	arrange, begin, end func(*striker)
	// endless says that without a length it never ends.
	endless bool
	// recordsItself reports whether f is recorded later than it begins; nil if it never is.
	recordsItself func(f *Fault) bool
	// aftermath is how much longer than itself f acts; nil if it does not.
	aftermath func(f *Fault) time.Duration
	// outcome says that what is recorded is what came of it, whoever brought it about: its line without a trigger.
	outcome bool

	// How it is drawn: its weight against others, if a mix does not say otherwise; whether there is anything to
	// strike; and what the dice make of a fault of which only the kind is known. The trigger is drawn for it.
	weight   int
	possible func(*Targets) bool
	draw     func(Dice, *Fault)

	placement Placement

	fields  Field    // of Fault, that its parts state
	opening []string // words, one by one
}

// register makes a kind known. It panics if the definition is not complete: a kind that is half known must reach
// nobody.
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

// lacks says what is missing in a definition, or wrong; row is its place among history.FaultKinds.
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

// definition gives the definition of a kind; nil if k is no kind.
func (k Kind) definition() *definition {
	if k > MaxKinds {
		return nil
	}
	return definitions[k]
}

// String gives the words that a line of this kind opens with: "shut down".
func (k Kind) String() string {
	if d := k.definition(); d != nil {
		return string(d.words)
	}
	return "unknown fault"
}

// MarshalText gives the kind's words.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads the kind's words.
func (k *Kind) UnmarshalText(text []byte) error {
	for _, known := range Kinds {
		if known.String() == string(text) {
			*k = known
			return nil
		}
	}
	return fmt.Errorf("there is no fault %q", text)
}

// Does gives what a fault of this kind does to those whom it strikes.
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

// StrikesOne reports whether a fault of this kind strikes one process alone, which may be of the given sort.
func (k Kind) StrikesOne(of Sort) bool {
	d := k.definition()
	return d.fields&(FieldPeer|FieldSides) == 0 && slices.ContainsFunc(allRoles, func(r role) bool {
		return d.target.right(r) && r.sort() == of
	})
}

// Meaning says what happens when a fault of this kind strikes, in Markdown.
func (k Kind) Meaning() string { return k.definition().meaning }

// Weight is how often a fault of this kind is drawn against others, where a mix does not say otherwise.
func (k Kind) Weight() int { return k.definition().weight }

// Draw makes f a fault of this kind, all but its trigger.
func (k Kind) Draw(d Dice, f *Fault) {
	*f = Fault{Kind: k}
	k.definition().draw(d, f)
}

// Placement says how a verification places faults of this kind.
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
)

// Dice are what a fault is drawn with. What they roll is a matter of the mix behind them; it states the lengths and
// sizes.
type Dice interface {
	Targets() *Targets
	Among(list []sim.ProcessID) sim.ProcessID // any, as likely as another
	Below(n int) int                          // from 0 to n-1, as likely
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

// Placement is how a verification, which tries every placement of a fault that can make a difference, places those of
// one kind. What has a length or a restart is tried with every end that can make a difference. Of kinds that have too
// many such placements it tries random ones.
type Placement struct {
	// Order, from 1, ranks the kinds, the simplest first.
	Order int
	// At is where a fault may start.
	At Start
	// Why says why only random placements are tried in a run with these processes; empty if all are. It is nil if all
	// always are.
	Why func(*Names) string
	// Beside says which placements are none of those that are enumerated, so that random ones are tried as well; empty
	// if there are none. It is nil if there never are any.
	Beside func(*Subjects) string
	// Candidates lists the faults, without start and end, that a run may suffer. Where it is nil, as a message or a
	// link is the target, they are found in the run.
	Candidates func(*Subjects) []Fault
	// Matters is what those processes do to which it can make a difference, where they are not all that it can strike:
	// "reads its wall clock". Only faults of these are candidates.
	Matters string
	// Between are the instants, besides those at which the target acts, between which one start is as good as another;
	// nil if there are none.
	Between func(*Fault) Instants
	// Stills says that it does nothing to a process that never acts again.
	Stills bool
	// Sized says that it is tried in every size that can make a difference to its target's clock, and has no end.
	Sized bool
}

// Start is where in a run a fault may start.
type Start uint8

// The starts.
const (
	Nowhere    Start = iota // no few starts stand for all others
	AtActs                  // between two acts of its target, and at the points that it passes
	AtMessages              // with each message, whose arrival is its end
	AtReplies               // with each message to a client
	AtLinks                 // between two messages of a link, one way
)

// needs are the fields that a verification sets where a fault starts so.
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
	Syncs               // what it has written reaches the disk
	HangUps             // a client learns in time, or does not, that its connection is gone
	Deadlines           // a validity that it was told ends, or an fsync
)

// Subjects are the processes on whom faults are placed.
type Subjects struct {
	*Names
	// Persistent says that the servers write to a disk, so that a loss of unsynced writes is not one of everything.
	Persistent bool
	// Wall are the processes that read their wall clock.
	Wall []sim.ProcessID
}

// always says of a kind, whatever the processes, why only random placements are tried.
func always(why string) func(*Names) string { return func(*Names) string { return why } }

// on lists a fault for each of some processes, of which only the target and the loss are set.
func on(loss Loss, processes ...sim.ProcessID) []Fault {
	list := make([]Fault, 0, len(processes))
	for _, p := range processes {
		list = append(list, Fault{Target: p, Loss: loss})
	}
	return list
}
