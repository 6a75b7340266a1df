package locktest

import (
	"cmp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// showPassed logs a run's report and timeline if a single seed was requested and its run has no violations. It logs
// them in a subtest named after the seed, so that go test prints them only with -v.
func (p *parent) showPassed() {
	if !p.one || !testing.Verbose() || len(p.runs) != 1 || p.runs[0].bad() || p.config.EachFault {
		return
	}
	r := p.runs[0]
	p.t.Run(p.name(r.Seed), func(t *testing.T) {
		t.Log(p.shown(r))
	})
}

// shown makes a worker describe a run and returns the description. If that fails, shown returns the reason instead.
func (p *parent) shown(r ran) (words string) {
	why := p.onceMore(r, task{Show: true}, func(r report) bool {
		words = cmp.Or(r.Text, words)
		return words != ""
	})
	if words == "" {
		return "The run cannot be shown: " + why
	}
	return strings.TrimRight(words, "\n")
}

// show sends the parent process a description of the run with the given seed.
func (w *worker) show(seed uint64) {
	text, err := w.describe(seed)
	if err != nil {
		say(report{Problem: err.Error()})
		return
	}
	say(report{Text: text})
}

// describe repeats the run with the given seed and returns a report on it.
func (w *worker) describe(seed uint64) (string, error) {
	result, err := w.runner.Run(w.plan(seed))
	if err != nil {
		return "", err
	}
	run, err := single.Explain(w.scenario, result, w.scenario.Judge(result))
	if err != nil {
		return "", err
	}
	run.Seed = seed // the plan that was drawn for the seed may state another seed
	run.HoldTo(w.promise)
	var text strings.Builder
	err = run.Document().Text(&text, document.TextOptions{Width: width})
	return text.String(), err
}
