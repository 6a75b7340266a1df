package advise

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// File returns the text of the scenario's file with some changes. Its expectations are the outcomes of running the
// changed scenario, so a later run shows whether these outcomes have changed. If the text can be changed in place,
// everything else stays as written. Otherwise File rewrites the whole file. If this would lose comments, it returns a
// CommentsError.
func (a *Advice) File(t *Tried) ([]byte, error) {
	b := a.subject
	all := edits(t.Changes)
	restart := restartOf(t.Changes)
	all = append(all, b.faultEdits(t, restart)...)
	if restart > 0 {
		span := nemesis.FormatDuration(restart) + ".." + nemesis.FormatDuration(2*restart)
		all = append(all, edit{Path: "mix.downtime", Value: span})
	}
	doc := b.doc.Clone()
	apply(doc, all)
	more, err := b.expectations(doc)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", t, err)
	}
	all = append(all, more...)
	text, err := rewritten(b.scenario.Text(), all)
	if before := string(b.scenario.Text()); err != nil && comments(before) > 0 {
		byHand := &CommentsError{Line: braced(before)}
		for _, e := range all {
			byHand.Changes = append(byHand.Changes, e.String())
		}
		return nil, byHand
	}
	if err != nil {
		apply(doc, more)
		text = []byte(doc.String())
	}
	_, err = b.scenario.Parse(b.scenario.Name, text)
	return text, err
}

// faultEdits returns edits that make the file's faults strike the changed lock's servers. The last fault's edit comes
// first, so that removing a fault does not renumber the others.
func (b *subject) faultEdits(t *Tried, restart time.Duration) (list []edit) {
	with := castings(b.scenario.Faults, b.scenario.Targets(), t.scenario.Targets())[0]
	for i := len(b.scenario.Faults) - 1; i >= 0; i-- {
		f := b.scenario.Faults[i]
		p, _ := translated(nemesis.Plan{Faults: []nemesis.Fault{f}}, t.scenario, with, restart)
		path := fmt.Sprintf("faults.%d", i+1)
		switch {
		case len(p.Faults) == 0:
			list = append(list, edit{Path: path, Remove: true})
		case p.Faults[0].String() != f.String():
			list = append(list, edit{Path: path, Value: p.Faults[0].String()})
		}
	}
	return list
}

// expectations runs the document and returns edits that make its expect section match the outcomes of these runs.
func (b *subject) expectations(doc *format.Document) (list []edit, err error) {
	free := doc.Clone()
	free.Remove("expect") // the section may name a metric that the changed lock does not have
	s, err := b.scenario.Parse(b.scenario.Name, []byte(free.String()))
	if err != nil {
		return nil, err
	}
	runner, seen, missed := scenarios.NewRunner(s), map[checker.Law]map[string]bool{}, map[string]bool{}
	for i := range uint64(ownSeeds) {
		r, err := runner.Run(s.Plan(b.options.From + i))
		if err != nil {
			return nil, err
		}
		v := checker.Check(r.History)
		r.Qualify(v)
		for _, f := range v.Findings {
			if seen[f.Law] == nil {
				seen[f.Law] = map[string]bool{}
			}
			out := f.Outcome.String()
			if f.Outcome == checker.Violated {
				out += " by " + f.Cause.String()
			}
			seen[f.Law][out] = true
		}
		mismatches, _ := b.scenario.Expect.Match(v, checker.Measure(r.History), b.scenario.Promise)
		for _, m := range mismatches {
			missed[m.Name] = true
		}
	}
	for _, law := range checker.Laws {
		list = append(list, b.expectation(law, seen[law], missed[string(law)])...)
	}
	for _, m := range b.scenario.Expect.Metrics {
		if missed[m.Name] {
			list = append(list, edit{Path: "expect.metrics." + m.Name, Remove: true})
		}
	}
	return list, nil
}

// expectation returns the edits that adapt the expectation for one law to the outcomes in seen. missed is set if any
// run did not meet the expectation. An expectation that was met is kept. A law that the file does not name needs an
// expectation only if it is broken.
func (b *subject) expectation(law checker.Law, seen map[string]bool, missed bool) []edit {
	path := "expect." + string(law)
	want, named := b.scenario.Expect.Laws[law]
	met := !missed && (want.Any || !named || !seen[checker.Undecided.String()])
	var ways []string
	for way := range seen {
		ways = append(ways, way)
	}
	slices.Sort(ways)
	broken := func(way string) bool { return strings.HasPrefix(way, checker.Violated.String()) }
	switch {
	case met:
		return nil
	case len(ways) == 1 && ways[0] == checker.Unchecked.String():
		return []edit{{Path: path, Remove: true}}
	case len(ways) == 1 && ways[0] != checker.Undecided.String():
		return []edit{{Path: path, Value: ways[0]}}
	case !slices.ContainsFunc(ways, func(w string) bool { return !broken(w) }):
		return []edit{{Path: path, Value: checker.Violated.String()}}
	}
	return []edit{{Path: path, Value: "any"}}
}
