package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

func newStatus(to console) *cobra.Command {
	p, f, page := place{console: to}, output.Frame{}, ""
	c := &cobra.Command{
		Use:   "status",
		Short: "Show the progress of a campaign and what it has found",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			ctx, stop := output.Interruptible()
			defer stop()
			defer p.close()
			q, err := p.opened(ctx)
			if err != nil {
				return err
			}
			s, err := statusOf(ctx, q)
			if err != nil {
				return err
			}
			if page == "" {
				return f.Show(s.document())
			}
			j, err := p.join(ctx)
			if j != nil {
				defer j.close()
			}
			if err != nil {
				return err
			}
			end, err := serve(ctx, page, j, to)
			if err != nil {
				return err
			}
			defer end()
			<-ctx.Done()
			return nil
		},
	}
	p.register(c)
	c.Flags().StringVar(&p.folder, "out", "", "`DIR` of a campaign that was started on this machine")
	f.RegisterJSON(c)
	registerPage(c, &page)
	return c
}

// status is a campaign's progress and its findings so far, as shown to users who are following it.
type status struct {
	document.Head
	Name     string                `json:"campaign"`
	Verdict  string                `json:"state"` // running, finished or failed
	Reason   string                `json:"reason,omitempty" doc:"why it failed or is being stopped"`
	Version  string                `json:"version"`
	Elapsed  time.Duration         `json:"elapsed_ns"`
	Worked   time.Duration         `json:"worked_ns"`
	Runs     int                   `json:"runs"`
	Stages   []queue.StageProgress `json:"stages"`
	Findings []finding             `json:"-"`
	Found    []found               `json:"findings"`
	Lost     []queue.Loss          `json:"lost"`
	Workers  []queue.Worker        `json:"workers"`
	Aside    []string              `json:"put_aside"`
	Stored   queue.Stored          `json:"stored"`
	Trouble  string                `json:"trouble,omitempty" doc:"why the server cannot store results"`
}

// found is a finding as it is printed.
type found struct {
	Entry    string      `json:"entry"`
	Law      checker.Law `json:"law"`
	Cause    string      `json:"cause"`
	Runs     int         `json:"runs"`
	First    uint64      `json:"first"`
	Promised bool        `json:"promised"`
}

func statusOf(ctx context.Context, c *queue.Campaign) (*status, error) {
	var o order
	if err := json.Unmarshal(c.What, &o); err != nil {
		return nil, fmt.Errorf("campaign %s was created by another version of this program: %w", c.Name, err)
	}
	s, err := c.State(ctx)
	if err != nil {
		return nil, err
	}
	var sum state
	if s.Summary != nil {
		if err := json.Unmarshal(s.Summary, &sum); err != nil {
			return nil, fmt.Errorf("campaign %s: %w", c.Name, err)
		}
	}
	d := &status{Name: c.Name, Verdict: "running", Version: o.Version, Elapsed: s.Elapsed, Worked: s.Took,
		Runs: sum.Runs, Stages: s.Stages, Findings: sum.Findings, Lost: s.Lost, Workers: s.Workers, Aside: s.Aside,
		Stored: s.Stored, Trouble: s.Trouble}
	for _, f := range sum.Findings {
		d.Found = append(d.Found, found{f.Entry, f.Law, f.Cause.String(), f.Runs, f.First, f.Promised})
	}
	switch {
	case s.Failed != "":
		d.Verdict, d.Reason = "failed", s.Failed
	case s.Finished:
		d.Verdict = "finished"
	case s.Stopped != "":
		d.Reason = s.Stopped
	}
	return d, nil
}

// stage returns the current stage, or the last one if the campaign is over.
func (s *status) stage() (p queue.StageProgress) {
	if n := len(s.Stages); n > 0 {
		p = s.Stages[n-1]
	}
	return p
}

// document returns the status as a document.
func (s *status) document() *document.Document {
	d := &document.Document{Data: s}
	d.Name, d.Verdict = "campaign "+s.Name, s.Verdict
	if s.Verdict == "failed" {
		d.Tone = document.Bad
	}
	broken := 0
	for _, f := range s.Findings {
		if f.Promised {
			broken++
		}
	}
	p, soFar := s.stage(), " so far"
	if s.Verdict == "finished" {
		soFar = ""
	}
	switch {
	case broken > 0:
		d.Headline = fmt.Sprintf("%s of promised laws%s.", text.Count(broken, "distinct violation"), soFar)
	case s.Runs > 0:
		d.Headline = fmt.Sprintf("No promise is broken in %s%s.", text.CountGrouped(s.Runs, "run"), soFar)
	}
	section := func(heading string, blocks ...document.Block) {
		d.Body = append(d.Body, document.Section{Heading: heading, Body: blocks})
	}
	section("Progress", s.facts(p))
	if len(s.Stages) > 0 {
		section("Stages", s.stages())
	}
	if len(s.Findings) > 0 {
		section("Violations", s.findings())
	}
	if len(s.Lost) > 0 {
		section("Set aside", document.Notes("set aside", lines(s.Lost, func(l queue.Loss) string {
			return fmt.Sprintf("%s, positions %d to %d: %s", l.Stage, l.First, l.First+l.Size-1, l.Why)
		})))
	}
	if len(s.Aside) > 0 {
		section("Messages that could not be interpreted", document.Notes("not interpreted", s.Aside))
	}
	if len(s.Workers) > 0 {
		section("Workers", s.workers())
	}
	return d
}

func lines[T any](list []T, line func(T) string) (all []string) {
	for _, one := range list {
		all = append(all, line(one))
	}
	return all
}

// facts returns the figures about the whole campaign.
func (s *status) facts(p queue.StageProgress) document.Facts {
	facts := document.Facts{}
	add := func(name, value string) {
		if value != "" {
			facts = append(facts, document.Fact{Name: name, Value: value})
		}
	}
	add("reason", s.Reason)
	add("trouble", s.Trouble)
	add("time", s.Elapsed.Round(time.Second).String())
	add("cost", fmt.Sprintf("%s of worker time in total", s.Worked.Round(time.Second)))
	if s.Runs > 0 && s.Worked > 0 {
		perWorker := float64(s.Runs) / s.Worked.Seconds()
		add("rate", fmt.Sprintf("%s runs per second, %s per worker",
			text.Grouped(int(float64(s.Runs)/max(s.Elapsed.Seconds(), 1))), text.Grouped(int(perWorker))))
	}
	if s.Verdict == "running" && p.Done > 0 && p.Done < p.Size && len(s.Stages) == 1 {
		left := time.Duration(float64(s.Elapsed) * float64(p.Size-p.Done) / float64(p.Done))
		add("left", "about "+left.Round(time.Second).String())
	}
	add("queue", fmt.Sprintf("%s queued or in progress; %s, %s", text.Count(int(s.Stored.Waiting), "portion"),
		text.Count(int(s.Stored.Parts), "stored result"), size(s.Stored.Bytes)))
	add("program", "fencepost-campaign "+s.Version)
	return facts
}

// size formats a number of bytes in a suitable unit.
func size(bytes uint64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.1f KiB", float64(bytes)/(1<<10))
	}
	return fmt.Sprintf("%.1f MiB", float64(bytes)/(1<<20))
}

// stages returns the table of stages with their progress.
func (s *status) stages() document.Table {
	t := document.Table{Heading: "stage", Columns: []document.Column{{Title: "done"}, {Title: "of"},
		{Title: "set aside"},
		{Title: "ended early", Words: true}}}
	for _, p := range s.Stages {
		sign, tone := "", document.Plain
		if p.Complete() {
			sign, tone = "✓", document.Good
		}
		t.Rows = append(t.Rows, document.Row{Sign: sign, Tone: tone, Name: p.Name, Cells: []document.Cell{
			{Words: text.Grouped(int(p.Done))}, {Words: text.Grouped(int(p.Size))}, {Words: text.Grouped(int(p.Lost))},
			{Words: p.Ended}}})
	}
	return t
}

// findings returns the table of violations. Each row is for one combination of law and cause.
func (s *status) findings() document.Table {
	t := document.Table{Heading: "violation", Columns: []document.Column{{Title: "runs"}, {Title: "first seed"},
		{Title: "cause", Words: true}}}
	for _, f := range s.Findings {
		row := document.Row{Sign: "·", Name: string(f.Law), Group: s.group(f), Cells: []document.Cell{
			{Words: text.Grouped(f.Runs)}, {Words: fmt.Sprint(f.First)}, {Words: f.Cause.String()}}}
		if f.Promised {
			row.Sign, row.Tone = document.Failed.Sign(), document.Failed.Tone()
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// group returns the title of the group that a finding belongs to. It returns "" if all findings belong to the same
// entry, such as a scenario.
func (s *status) group(f finding) string {
	if slices.ContainsFunc(s.Findings, func(g finding) bool { return g.Entry != f.Entry }) {
		return f.Entry
	}
	return ""
}

// workers returns the table of workers that have joined.
func (s *status) workers() document.Table {
	t := document.Table{Heading: "worker", Columns: []document.Column{{Title: "process"}, {Title: "made"},
		{Title: "state", Words: true}}}
	for _, w := range s.Workers {
		row := document.Row{Name: w.Host, Sign: "·"}
		state, made := "gone", ""
		if w.Here || w.Ended {
			made = text.Grouped(int(w.Made))
		}
		switch {
		case w.Refused != "":
			state = "refused: " + w.Refused
			row.Sign, row.Tone = document.Failed.Sign(), document.Failed.Tone()
		case w.Here:
			state = "here"
			if w.Doing != "" {
				state += ": " + w.Doing
			}
			row.Sign, row.Tone = document.Passed.Sign(), document.Passed.Tone()
		case w.Ended:
			state = "ended"
		}
		row.Cells = []document.Cell{{Words: fmt.Sprint(w.Process)}, {Words: made}, {Words: state}}
		t.Rows = append(t.Rows, row)
	}
	return t
}
