// Package play lets users experiment with a run on a page. A state consists of a scenario's text and a seed, and is
// shown as a report. Users edit it with gestures on the report's timeline, and save it as a link or as files. The
// answers are the same whether a command serves the page or the page contains the simulator as WebAssembly.
//
// Goals: every gesture edits the scenario's text, so users can read and save what is on the page, and run it with the
// other commands; the same state gives the same answer everywhere; a mistake changes nothing, and the answer says where
// the mistake is. Non-goals: drawing (reports/timeline), checking the laws (checker), and transporting requests
// (cmd/site, play/worker). The page ignores the scenario's expectations; it only says which laws hold.
package play

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/timeline"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// State contains everything that an answer depends on.
type State struct {
	// Text is the scenario with its faults, as in a scenario file. Its expectations are ignored.
	Text string `json:"text"`
	// the run's seed; a string in JSON, because a JavaScript number cannot represent all values
	Seed uint64 `json:"seed,string"`
}

// mistake says why an edit was rejected. It is worded like the commands' error messages.
type mistake struct {
	In   string `json:"in"`   // where the mistake is: faults, text, or the key of a setting
	Line int    `json:"line"` // line of the faults, counted from 1; 0 if it is not in a particular line
	Says string `json:"says"`
}

// Error returns the message.
func (p *mistake) Error() string { return p.Says }

// problem converts an error to a mistake. It returns nil if err is nil.
func problem(in string, err error) *mistake {
	var known *mistake
	if err == nil || errors.As(err, &known) {
		return known
	}
	return &mistake{In: in, Says: err.Error()}
}

// view contains what the page shows for a state.
type view struct {
	State
	Name     string      `json:"name"`
	Verdict  string      `json:"verdict"` // "broken", "held", "nothing judged" or "undecided"
	Tone     string      `json:"tone"`    // good, bad or open
	Headline string      `json:"headline"`
	Laws     []judgedLaw `json:"laws"`
	Report   string      `json:"report"` // the report of this run, as an HTML body
	Faults   []planned   `json:"faults"` // one element for each line of the plan
	Settings []setting   `json:"settings"`
	Palette  []kindOffer `json:"palette"`
	Messages []carried   `json:"messages"` // set only if the request asked for messages
	Digest   string      `json:"digest"`
}

// judgedLaw is the outcome for a law.
type judgedLaw struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
}

// planned is a line in the plan, with the event at which its fault struck.
type planned struct {
	Line  string `json:"line"`
	Event int    `json:"event"` // index in the history of the event at which the fault struck; -1 if it never struck
	From  int64  `json:"from"`  // true times in ns at which the fault struck and ended
	To    int64  `json:"to"`
	// Moves is whether its start can be dragged: it has a trigger, and does not strike one numbered message.
	Moves bool   `json:"moves"`
	Ends  bool   `json:"ends"` // whether its end can be dragged
	Size  bool   `json:"size"` // whether dragging its end changes how long it delays a message
	Idle  string `json:"idle"` // why it certainly had no effect; empty if it may have had one
}

// carried is a client's request or its answer. Users can delay its arrival.
type carried struct {
	Words  string `json:"words"`
	Number int    `json:"number"` // its number on the timeline
	From   int64  `json:"from"`   // true times at which it was sent and received, in ns
	To     int64  `json:"to"`
}

// Player answers requests. The zero value is ready to use. It is safe for concurrent use.
type Player struct {
	taken sync.Map // cache of the keys that each kind of lock accepts ([]*scenarios.Variable); see variables
}

// opened is a parsed state.
type opened struct {
	State
	player   *Player
	doc      *format.Document
	scenario *scenarios.Scenario
	result   scenarios.Result // result of the run; set by run
}

// fileName is what error messages call a state's text.
const fileName = "scenario"

// open parses a state. If its text is wrong, the error says what is wrong and where.
func (p *Player) open(s State) (*opened, error) {
	scenario, err := scenarios.Parse(fileName, []byte(s.Text))
	if err != nil {
		return nil, err
	}
	doc, err := format.ParseDocument(fileName, []byte(s.Text))
	if err != nil {
		return nil, err
	}
	o := &opened{State: s, player: p, doc: doc, scenario: scenario}
	if bare, removed := unexpecting(doc); removed {
		o.scenario, err = scenarios.Parse(fileName, []byte(bare.String()))
	}
	return o, err
}

// unexpecting returns a copy of a scenario without its "expect" and "promise" keys. removed reports whether the
// scenario had either of them.
func unexpecting(doc *format.Document) (bare *format.Document, removed bool) {
	bare = doc.Clone()
	bare.Remove("expect")
	bare.Remove("promise")
	return bare, len(bare.Keys("")) < len(doc.Keys(""))
}

// Of returns a scenario's initial state: seed 1, and the scenario's text without expectations. If the text has no
// expectations, it is kept exactly as the author wrote it.
func Of(s *scenarios.Scenario) (State, error) {
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return State{}, err
	}
	state := State{Text: string(s.Text()), Seed: 1}
	if bare, removed := unexpecting(doc); removed {
		state.Text = bare.String()
	}
	return state, nil
}

// With returns the state for a scenario with the given plan's faults and seed.
func With(s *scenarios.Scenario, plan nemesis.Plan) (State, error) {
	state, err := Of(s)
	if err != nil {
		return state, err
	}
	o, err := new(Player).open(state)
	if err != nil {
		return state, err
	}
	err = o.setFaults(linesOf(plan.Faults))
	o.Seed = plan.Seed
	return o.State, err
}

// run runs the state, unless it has already been run.
func (o *opened) run() (err error) {
	if o.result.History != nil {
		return nil
	}
	runner := scenarios.NewRunner(o.scenario)
	runner.ReportSent(true)
	o.result, err = runner.Run(nemesis.Plan{Scenario: o.scenario.Name, Seed: o.Seed, Faults: o.scenario.Faults})
	return err
}

// show runs the state and returns the report. If rough is set, the report omits everything that requires more runs,
// such as which faults are needed for a violation.
func (o *opened) show(rough, messages bool) (*view, error) {
	if err := o.run(); err != nil {
		return nil, err
	}
	judged := o.scenario.Judge(o.result)
	run := single.NewRun(o.scenario, o.result, judged)
	if !rough {
		var err error
		if run, err = single.Explain(o.scenario, o.result, judged); err != nil {
			return nil, err
		}
	}
	if messages {
		run.Messages = o.messages()
	}
	d := run.Document()
	shown := &view{State: o.State, Name: o.scenario.Name, Verdict: d.Verdict, Tone: d.Tone.Class(),
		Headline: d.Headline, Report: d.Fragment(), Faults: o.faults(run), Settings: o.settings(),
		Palette: o.palette(), Digest: run.Digest}
	for _, f := range run.Findings() {
		shown.Laws = append(shown.Laws, judgedLaw{string(f.Law), f.Outcome.String()})
	}
	for _, m := range run.Messages {
		shown.Messages = append(shown.Messages, carried{m.Words, m.Number, int64(m.Left), int64(m.Arrived)})
	}
	return shown, nil
}

// messages returns the requests that arrived, followed by the answers that arrived, each in the order in which they
// were sent.
func (o *opened) messages() (all []timeline.Message) {
	for _, answer := range []bool{false, true} {
		for i := range o.result.Sent {
			s := &o.result.Sent[i]
			m := timeline.Message{From: s.Client, To: s.Server, Left: s.Left, Arrived: s.Arrived,
				Words: s.Message(answer).String(), Number: numberOf(i, answer)}
			if answer {
				m.From, m.To, m.Left, m.Arrived = s.Server, s.Client, s.Answered, s.Taken
			}
			if m.Arrived > 0 {
				all = append(all, m)
			}
		}
	}
	return all
}

// numberOf returns the number that the timeline gives to a request or, if answer is set, to its answer. sent is the
// request's index.
func numberOf(sent int, answer bool) int {
	if answer {
		return 2*sent + 1
	}
	return 2 * sent
}

// faults returns the plan's lines, each with the event at which its fault struck.
func (o *opened) faults(run *single.Run) []planned {
	strikes := trace.Faults(run.History)
	all := make([]planned, len(o.scenario.Faults))
	for i, f := range o.scenario.Faults {
		shown := planned{Line: f.String(), Event: -1, Moves: f.Kind.Has(nemesis.FieldTrigger) && !byMessage(f),
			Ends: ends(f), Size: delaysOne(f)}
		shown.Idle = run.Idle[i].String()
		at := slices.IndexFunc(strikes, func(s trace.Fault) bool { return s.Line == f.Recorded() })
		if at >= 0 {
			s := strikes[at]
			strikes[at].Line = "" // the next strike belongs to another fault with the same line
			shown.Event, shown.From = s.Start, int64(run.History.Events[s.Start].Time)
			shown.To = shown.From
			if s.Stop != trace.Open {
				shown.To = int64(run.History.Events[s.Stop].Time)
			} else if s.Kind.Lasts() || s.Kind.IsDown() {
				shown.To = int64(run.History.Header.End)
			}
		}
		all[i] = shown
	}
	return all
}

// byMessage reports whether a fault strikes a single message when it is sent.
func byMessage(f nemesis.Fault) bool { return f.Kind.Has(nemesis.FieldNumber) }

// delaysOne reports whether a fault delays a single message on a link.
func delaysOne(f nemesis.Fault) bool {
	return f.Kind.Has(nemesis.FieldPeer) && f.Kind.Has(nemesis.FieldBy) && f.For == 0
}

// ends reports whether a fault has an end that users can drag. A client crash has none, because the client does not
// restart.
func ends(f nemesis.Fault) bool {
	return !delaysOne(f) && (f.Kind.Has(nemesis.FieldFor) || f.Kind.Has(nemesis.FieldRestart) &&
		!nemesis.IsClient(f.Target))
}

// seedOf parses a seed entered by the user.
func seedOf(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a seed is a number from 0 to 18446744073709551615, not %q", text)
	}
	return seed, nil
}
