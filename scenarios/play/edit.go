package play

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// gesture is an edit that the user makes on the page, with its arguments.
type gesture struct {
	Do    string `json:"do"`    // name of the gesture: a key of edits
	Fault int    `json:"fault"` // number of the fault, counted from 1
	// the new true times, in ns, at which the fault strikes and ends; for a message, To is its arrival time
	From  int64    `json:"from"`
	To    int64    `json:"to"`
	Sent  int      `json:"sent"` // number of the message in the picture
	Kind  string   `json:"kind"` // kind of the fault to add
	On    string   `json:"on"`   // the process that has the lane on which the fault was placed
	Key   string   `json:"key"`
	Value string   `json:"value"` // new value; if empty, the key is removed, so that its default applies
	Lines []string `json:"lines"` // the lines of all faults
	Text  string   `json:"text"`
}

// edits maps gesture names to functions that edit a state. Such a function returns an error if the edit is not
// possible: a *mistake, or an error that says what is wrong with a setting's value.
var edits = map[string]func(*opened, *gesture) error{
	"move": func(o *opened, e *gesture) error {
		return o.change(e.Fault, func(f *nemesis.Fault) { move(f, e.From) })
	},
	"end":      (*opened).end,
	"begin":    (*opened).begin,
	"remove":   (*opened).remove,
	"add":      (*opened).add,
	"late":     (*opened).late,
	"faults":   func(o *opened, e *gesture) error { return o.setFaults(e.Lines) },
	"set":      (*opened).set,
	"text":     func(o *opened, e *gesture) error { o.Text = e.Text; return nil },
	"scenario": (*opened).replace,
}

// replaces reports whether the edit replaces the whole text. If so, the old text need not be valid.
func (e *gesture) replaces() bool { return e.Do == "text" || e.Do == "scenario" }

// apply returns the state after an edit, without changing o.
func (o *opened) apply(e *gesture) (*opened, *mistake) {
	do := edits[e.Do]
	if do == nil {
		return nil, &mistake{In: "text", Says: fmt.Sprintf("unknown gesture %q", e.Do)}
	}
	next := *o
	next.doc = o.doc.Clone()
	if err := do(&next, e); err != nil {
		return nil, problem(where(e), err)
	}
	again, err := o.player.open(next.State)
	if err != nil {
		return nil, problem(where(e), err)
	}
	return again, nil
}

// where returns the name of the part of the page that an edit belongs to.
func where(e *gesture) string {
	switch {
	case e.Do == "set":
		return e.Key
	case e.replaces():
		return "text"
	}
	return "faults"
}

// replace switches to one of the catalog's scenarios.
func (o *opened) replace(e *gesture) error {
	s, err := scenarios.Named(e.Value)
	if err != nil {
		return err
	}
	o.State, err = Of(s)
	return err
}

// set changes a setting's value.
func (o *opened) set(e *gesture) error {
	value := strings.TrimSpace(e.Value)
	switch {
	case e.Key == "seed":
		seed, err := seedOf(value)
		o.Seed = seed
		return err
	case value == "":
		o.doc.Remove(e.Key)
	case strings.HasPrefix(e.Key, "faults."):
		return o.setInFault(e.Key, value)
	default:
		o.doc.Set(e.Key, value)
	}
	o.Text = o.doc.String()
	return nil
}

// setFaults replaces the scenario's faults with those in the given lines. It ignores empty lines.
func (o *opened) setFaults(lines []string) error {
	known := o.scenario.Targets()
	var kept []string
	for i, line := range lines {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		f, err := nemesis.ParseFor(line, known)
		if err != nil {
			return &mistake{In: "faults", Line: i + 1, Says: fmt.Sprintf("line %d: %s", i+1, err)}
		}
		kept = append(kept, f.String())
	}
	o.doc.Remove("faults")
	if len(kept) > 0 {
		o.doc.SetList("faults", kept)
	}
	o.Text = o.doc.String()
	return nil
}

// has returns an error if there is no fault with the given number.
func (o *opened) has(number int) error {
	if number < 1 || number > len(o.scenario.Faults) {
		return fmt.Errorf("there is no fault %d", number)
	}
	return nil
}

// change applies the given function to one fault, and updates the fault's line.
func (o *opened) change(number int, edit func(*nemesis.Fault)) error {
	if err := o.has(number); err != nil {
		return err
	}
	lines := linesOf(o.scenario.Faults)
	f := o.scenario.Faults[number-1]
	edit(&f)
	lines[number-1] = f.String()
	return o.setFaults(lines)
}

// linesOf returns each fault as it would be written in a plan.
func linesOf(faults []nemesis.Fault) []string {
	lines := make([]string, len(faults))
	for i, f := range faults {
		lines[i] = f.String()
	}
	return lines
}

// move replaces a fault's trigger, so that the fault strikes at the given time, in ns since the start of the run.
func move(f *nemesis.Fault, at int64) {
	f.Trigger = nemesis.Trigger{Time: max(0, time.Duration(at))}
}

// end moves a fault's end, so that the fault lasts from e.From to e.To. If the fault delays a message, end adds e.To -
// e.From to the delay.
func (o *opened) end(e *gesture) error {
	length := max(time.Millisecond, time.Duration(e.To-e.From))
	return o.change(e.Fault, func(f *nemesis.Fault) {
		switch {
		case delaysOne(*f):
			f.By = max(time.Millisecond, f.By+time.Duration(e.To-e.From))
		case f.Kind.Has(nemesis.FieldRestart):
			f.Restart = length
		case f.Kind.Has(nemesis.FieldFor):
			f.For = length
		}
	})
}

// begin moves a fault's start but not its end.
func (o *opened) begin(e *gesture) error {
	if err := o.change(e.Fault, func(f *nemesis.Fault) { move(f, e.From) }); err != nil {
		return err
	}
	next, err := o.player.open(o.State)
	if err != nil {
		return err
	}
	*o = *next
	return o.end(e)
}

func (o *opened) remove(e *gesture) error {
	if err := o.has(e.Fault); err != nil {
		return err
	}
	return o.setFaults(slices.Delete(linesOf(o.scenario.Faults), e.Fault-1, e.Fault))
}

// add adds a fault of the given kind to a lane (a process's row on the timeline).
func (o *opened) add(e *gesture) error {
	i := slices.IndexFunc(nemesis.Kinds, func(k nemesis.Kind) bool { return k.String() == e.Kind })
	if i < 0 {
		return fmt.Errorf("unknown kind of fault %q", e.Kind)
	}
	f, err := o.propose(nemesis.Kinds[i], sim.ProcessID(e.On))
	if err != nil {
		return err
	}
	if f.Kind.Has(nemesis.FieldTrigger) {
		move(&f, e.From)
	}
	return o.setFaults(append(linesOf(o.scenario.Faults), f.String()))
}

// late changes the time at which a message arrives. If a fault is already delaying the message, late changes the delay,
// or removes the fault if there is no delay left.
func (o *opened) late(e *gesture) error {
	if err := o.run(); err != nil {
		return err
	}
	i, answer := e.Sent/2, e.Sent%2 == 1
	if i < 0 || i >= len(o.result.Sent) {
		return errors.New("this message is no longer sent")
	}
	sent := &o.result.Sent[i]
	arrived := sent.Arrived
	if answer {
		arrived = sent.Taken
	}
	by := time.Duration(e.To - int64(arrived))
	f := sent.Strike(nemesis.Fault{Kind: nemesis.DelayMessage, By: max(by, time.Millisecond)}, answer)
	lines := linesOf(o.scenario.Faults)
	for n, old := range o.scenario.Faults {
		undelayed := old
		undelayed.By = f.By
		if undelayed.String() != f.String() {
			continue
		}
		if old.By += by; old.By <= 0 {
			return o.setFaults(slices.Delete(lines, n, n+1))
		}
		lines[n] = old.String()
		return o.setFaults(lines)
	}
	if by <= 0 {
		return &mistake{In: "faults", Says: "a message can arrive later than without a fault, but not earlier"}
	}
	return o.setFaults(append(lines, f.String()))
}
