package play

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/advise"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// request is a request from the page: "show", "take", or one of the longer tasks "explore", "cut", "advise" and "edge".
type request struct {
	Do string `json:"do"`
	State
	Edit *gesture `json:"edit"` // edit to apply before the request is answered
	// whether to skip the search for the faults that a violation needs; set while a fault is being dragged
	Rough    bool   `json:"rough"`
	Messages bool   `json:"messages"` // whether to show the messages as well
	Vary     string `json:"vary"`     // used by the edge task: KEY=FROM..TO/STEP
}

// reply is the answer to a request: a problem or a result.
type reply struct {
	Problem *mistake `json:"problem"`
	Shown   *view    `json:"shown"`
	Done    *outcome `json:"done"`
	Files   []file   `json:"files"`
}

// outcome is the result of a longer task.
type outcome struct {
	Words  string     `json:"words"`  // the edge, or how many findings the report leaves out
	Report string     `json:"report"` // the task's report, as HTML
	States []proposal `json:"states"` // states that the reader can open
}

// proposal is a state that a task proposes to the user.
type proposal struct {
	Words string `json:"words"`
	State
}

// Progress says how much of a longer task is done.
type Progress struct {
	What string `json:"what"`
	Done int    `json:"done"`
	Of   int    `json:"of"`
}

// Ask answers a request. Both the request and the answer are JSON. A longer task calls progress from time to time, and
// stops early when ctx is done.
func (p *Player) Ask(ctx context.Context, text []byte, progress func(Progress)) []byte {
	var r request
	answer := &reply{}
	if err := json.Unmarshal(text, &r); err != nil {
		answer.Problem = &mistake{In: "text", Says: "the request cannot be read: " + err.Error()}
	} else {
		answer = p.answer(ctx, &r, progress)
	}
	var said bytes.Buffer
	e := json.NewEncoder(&said)
	e.SetEscapeHTML(false) // there is no need to escape HTML, because the JSON is not embedded in a page
	if err := e.Encode(answer); err != nil {
		panic(err) // this cannot happen: every reply can be encoded
	}
	return said.Bytes()
}

func (p *Player) answer(ctx context.Context, r *request, progress func(Progress)) *reply {
	o, err := p.open(r.State)
	if r.Edit != nil && r.Edit.replaces() {
		o, err = &opened{State: r.State, player: p, doc: &format.Document{}}, nil
	}
	if err != nil {
		return &reply{Problem: problem("text", err)}
	}
	if r.Edit != nil {
		var wrong *mistake
		if o, wrong = o.apply(r.Edit); wrong != nil {
			return &reply{Problem: wrong}
		}
	}
	answer := &reply{}
	crew := campaign.Crew{Progress: func(what string, done, of int) { progress(Progress{what, done, of}) }}
	switch r.Do {
	case "show":
		answer.Shown, err = o.show(r.Rough, r.Messages)
	case "take":
		answer.Files, err = o.files()
	case "explore":
		answer.Done, err = o.explore(ctx, crew)
	case "cut":
		answer.Done, err = o.cut(ctx)
	case "advise":
		answer.Done, err = o.advise(ctx, crew)
	case "edge":
		answer.Done, err = o.edge(ctx, crew, r.Vary)
	default:
		err = fmt.Errorf("unknown request %q", r.Do)
	}
	answer.Problem = problem("work", err)
	return answer
}

// exploredSeeds is the number of random plans that an exploration runs, starting with the state's seed.
const exploredSeeds = 1000

// mostCut is the maximum number of findings that an exploration shrinks and reports.
const mostCut = 5

// explore runs the scenario under random faults, and shrinks the violations that it finds.
func (o *opened) explore(ctx context.Context, crew campaign.Crew) (*outcome, error) {
	found, err := search.NewExploration(o.scenario, o.Seed, exploredSeeds, search.Whole)
	if err != nil {
		return nil, err
	}
	counted := func() { crew.Report("runs", found.Done(), found.Size()) }
	if err := found.Run(ctx, o.scenario, crew.Workers, counted); err != nil {
		return nil, err
	}
	plans, err := found.Plans(o.scenario)
	if err != nil {
		return nil, err
	}
	report := &search.Report{Result: found, Subject: o.scenario, Interrupted: ctx.Err() != nil}
	few := found.Findings[:min(mostCut, len(found.Findings))]
	done := &outcome{Words: leftOut(len(few), len(found.Findings))}
	for i, f := range few {
		crew.Report("findings cut down", i, len(few))
		small, err := search.Shrink(ctx, o.scenario, plans.Plan(f.First), search.Violation{Law: f.Law,
			Cause: f.Cause}, 0)
		if err != nil {
			return nil, err
		}
		run, err := small.Explained()
		if err != nil {
			return nil, err
		}
		report.Findings = append(report.Findings, search.ReducedFinding{Finding: f,
			Promised: o.scenario.Promise.Covers(f.Law, f.Cause), Small: small, Run: run})
		if err := done.offer(fmt.Sprintf("%s: %s", f.Law, f.Cause), small.Scenario, small.Plan.Seed); err != nil {
			return nil, err
		}
	}
	done.Report = report.Document().Fragment()
	return done, nil
}

// leftOut says how many of an exploration's findings the report shows, or "" if it shows all of them.
func leftOut(shown, found int) string {
	if shown == found {
		return ""
	}
	return fmt.Sprintf("the report shows %d of %d findings", shown, found)
}

// cut makes the plan as small as possible without losing its most serious violation.
func (o *opened) cut(ctx context.Context) (*outcome, error) {
	if err := o.run(); err != nil {
		return nil, err
	}
	run := single.NewRun(o.scenario, o.result, o.scenario.Judge(o.result))
	law := run.Gravest()
	if law == "" {
		return nil, errors.New("no law is broken, so there is no plan to shrink")
	}
	small, err := search.Shrink(ctx, o.scenario, o.result.Plan, search.Violation{Law: law,
		Cause: run.Verdict.Of(law).Cause}, 0)
	if err != nil {
		return nil, err
	}
	done := &outcome{}
	if err := done.offer(fmt.Sprintf("%s: %s", small.Law, small.Cause), small.Scenario, small.Plan.Seed); err != nil {
		return nil, err
	}
	plan := document.PlanOf(linesOf(small.Plan.Faults))
	done.Report = (&document.Document{Body: []document.Block{plan}}).Fragment()
	return done, nil
}

// adviceSeeds is the number of new plans for trying each proposed change.
const adviceSeeds = 20

// advise tries changes to the scenario to find out which of them prevent its violations.
func (o *opened) advise(ctx context.Context, crew campaign.Crew) (*outcome, error) {
	advice, err := advise.Try(ctx, o.scenario, advise.Options{From: o.Seed, Seeds: adviceSeeds, Crew: crew})
	if err != nil {
		return nil, err
	}
	done := &outcome{}
	for _, tried := range advice.Mending[:min(advise.Confirmed, len(advice.Mending))] {
		text, err := advice.File(tried)
		if err != nil {
			continue // skip it: the report lists the changes that must be made by hand
		}
		s, err := scenarios.Parse(fileName, text)
		if err != nil {
			return nil, err
		}
		if err := done.offer(tried.String(), s, o.Seed); err != nil {
			return nil, err
		}
	}
	done.Report = (&advise.Report{Advice: advice, Scenario: o.scenario}).Document().Fragment()
	return done, nil
}

// edgeSeeds is the number of runs for each value that edge tries. sureSeeds is the number of runs for the values next
// to an edge.
const edgeSeeds, sureSeeds = 5, 50

// edge varies one key and finds the values at which mutual exclusion starts or stops holding.
func (o *opened) edge(ctx context.Context, crew campaign.Crew, vary string) (*outcome, error) {
	subject, err := sweep.NewSubject(o.scenario)
	if err != nil {
		return nil, err
	}
	axis, err := subject.Axis(vary)
	if err != nil {
		return nil, err
	}
	swept, err := subject.Sweep(ctx, sweep.Options{Axes: []sweep.Axis{axis},
		Laws: []checker.Law{checker.MutualExclusion}, From: o.Seed, Seeds: edgeSeeds, Sure: sureSeeds, Crew: crew})
	if err != nil {
		return nil, err
	}
	done := &outcome{}
	for _, line := range sweep.LawOf(swept, checker.MutualExclusion).Lines {
		done.Words = line.Words("")
	}
	return done, nil
}

// offer adds a state that the user can open.
func (d *outcome) offer(words string, s *scenarios.Scenario, seed uint64) error {
	state, err := Of(s)
	state.Seed = seed
	d.States = append(d.States, proposal{words, state})
	return err
}
