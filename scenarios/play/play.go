// Package play is what a reader does to a run by hand: a state (the text of a scenario and a seed) is shown as a
// report, edited by gestures on its timeline, and taken along as a link or as files. One request has one answer,
// whether the page is served by a command or has the simulator with it as WebAssembly.
//
// Goals: every gesture is an edit of the scenario's text, so that what is on the page can be read, kept and run by the
// other commands; equal states give equal answers everywhere; a mistake changes nothing and says where it is.
// Non-goals: drawing (reports/timeline), judging (checker), how requests travel (cmd/site, play/worker), what a
// scenario expects: on the page nothing is expected, laws hold or they do not.
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

// State is all that an answer depends on.
type State struct {
	// Text is the scenario as a file has it, its faults included. What it expects does not count.
	Text string `json:"text"`
	Seed uint64 `json:"seed,string"` // of the run; a JavaScript number has no room for all
}

// mistake says why an edit changed nothing, in the words of a terminal.
type mistake struct {
	In   string `json:"in"`   // faults, text, or the key of a setting
	Line int    `json:"line"` // of the faults, from 1; 0: none in particular
	Says string `json:"says"`
}

// Error returns what it says.
func (p *mistake) Error() string { return p.Says }

// problem is an error as a mistake; it is nil if err is.
func problem(in string, err error) *mistake {
	var known *mistake
	if err == nil || errors.As(err, &known) {
		return known
	}
	return &mistake{In: in, Says: err.Error()}
}

// view is what the page shows of a state.
type view struct {
	State
	Name     string      `json:"name"`
	Verdict  string      `json:"verdict"` // "broken", "held", "nothing judged" or "undecided"
	Tone     string      `json:"tone"`    // good, bad or open
	Headline string      `json:"headline"`
	Laws     []judgedLaw `json:"laws"`
	Report   string      `json:"report"` // HTML: the body of the report of this run
	Faults   []planned   `json:"faults"` // one for each line
	Settings []setting   `json:"settings"`
	Palette  []kindOffer `json:"palette"`
	Messages []carried   `json:"messages"` // if they were asked for
	Digest   string      `json:"digest"`
}

// judgedLaw is how a law came out.
type judgedLaw struct {
	Name    string `json:"name"`
	Outcome string `json:"outcome"`
}

// planned is a line of the plan, and where in the run it struck.
type planned struct {
	Line  string `json:"line"`
	Event int    `json:"event"` // position in the history; -1: it never struck
	From  int64  `json:"from"`  // true time of the strike and of its end, in ns
	To    int64  `json:"to"`
	Moves bool   `json:"moves"` // it strikes at a moment of its own, and not with a message
	Ends  bool   `json:"ends"`  // its end can be pulled
	Size  bool   `json:"size"`  // what can be pulled is how late a message is
	Idle  string `json:"idle"`  // why it can have had no effect; empty if it may have
}

// carried is a request of a client or the answer to it, which can be made to arrive later.
type carried struct {
	Words  string `json:"words"`
	Number int    `json:"number"` // in the picture
	From   int64  `json:"from"`   // true time at which it left, and at which it arrived, in ns
	To     int64  `json:"to"`
}

// Player answers requests. The zero value is ready; it may be asked by several at once.
type Player struct {
	taken sync.Map // the keys that a lock takes, a []*scenarios.Variable, by what its scenario says of it
}

// opened is a state that can be run.
type opened struct {
	State
	player   *Player
	doc      *format.Document
	scenario *scenarios.Scenario
	result   scenarios.Result // once it has run
}

// fileName is how problems name the text.
const fileName = "scenario"

// open reads a state. The error says what is wrong with its text, and where.
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
	if bare, less := unexpecting(doc); less {
		o.scenario, err = scenarios.Parse(fileName, []byte(bare.String()))
	}
	return o, err
}

// unexpecting is a scenario without what it expects and promises; less is false if it does neither.
func unexpecting(doc *format.Document) (bare *format.Document, less bool) {
	bare = doc.Clone()
	bare.Remove("expect")
	bare.Remove("promise")
	return bare, len(bare.Keys("")) < len(doc.Keys(""))
}

// Of is the state that a scenario begins with. One that expects nothing stands as its author wrote it.
func Of(s *scenarios.Scenario) (State, error) {
	doc, err := format.ParseDocument(s.Name, s.Text())
	if err != nil {
		return State{}, err
	}
	state := State{Text: string(s.Text()), Seed: 1}
	if bare, less := unexpecting(doc); less {
		state.Text = bare.String()
	}
	return state, nil
}

// With is the state of a plan for a scenario.
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

// run makes the run, once.
func (o *opened) run() (err error) {
	if o.result.History != nil {
		return nil
	}
	runner := scenarios.NewRunner(o.scenario)
	runner.ReportSent(true)
	o.result, err = runner.Run(nemesis.Plan{Scenario: o.scenario.Name, Seed: o.Seed, Faults: o.scenario.Faults})
	return err
}

// show makes the run and reports it. Rough leaves out what takes further runs: which faults a violation needs.
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

// messages are the requests that arrived, and then the answers, in the order in which they left.
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

// numberOf is the number of a request in the picture, or of the answer to it.
func numberOf(sent int, answer bool) int {
	if answer {
		return 2*sent + 1
	}
	return 2 * sent
}

// faults says of each line where it struck.
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
			strikes[at].Line = "" // the next fault with this line is the next strike of it
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

// byMessage reports whether a fault strikes one message, with it.
func byMessage(f nemesis.Fault) bool { return f.Kind.Has(nemesis.FieldNumber) }

// delaysOne reports whether a fault lets one message of a link arrive later.
func delaysOne(f nemesis.Fault) bool {
	return f.Kind.Has(nemesis.FieldPeer) && f.Kind.Has(nemesis.FieldBy) && f.For == 0
}

// ends reports whether a fault may have a length: a client that is gone stays away.
func ends(f nemesis.Fault) bool {
	return !delaysOne(f) && (f.Kind.Has(nemesis.FieldFor) || f.Kind.Has(nemesis.FieldRestart) &&
		!nemesis.IsClient(f.Target))
}

// seedOf reads a seed as a person types it.
func seedOf(text string) (uint64, error) {
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("a seed is a number from 0 to 18446744073709551615, not %q", text)
	}
	return seed, nil
}
