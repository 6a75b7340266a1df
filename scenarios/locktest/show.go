package locktest

import (
	"cmp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// showPassed reports the run of a seed that was asked for alone and broke nothing, with its timeline, as a subtest with
// the name of the seed. Only -v prints it.
func (p *parent) showPassed() {
	if !p.one || !testing.Verbose() || len(p.runs) != 1 || p.runs[0].bad() || p.config.Every == 1 {
		return
	}
	r := p.runs[0]
	p.t.Run(p.name(r.Seed), func(t *testing.T) {
		t.Log(p.shown(r))
	})
}

// shown makes a worker describe a run. If that fails, it says why.
func (p *parent) shown(r ran) string {
	var words, why string
	ctx, done := p.within(allShare)
	defer done()
	k := p.onceMore(r)
	k.Show = true
	end := p.do(ctx, k, func(r report) { words, why = cmp.Or(r.Text, words), cmp.Or(r.Problem, why) })
	switch {
	case words != "":
		return strings.TrimRight(words, "\n")
	case why == "" && end != nil:
		why = end.Error()
	}
	return "The run cannot be shown: " + cmp.Or(why, "the time that -timeout gives was up")
}

// show describes the run of a seed.
func (w *worker) show(seed uint64) {
	result, err := w.runner.Run(w.plan(seed))
	if err == nil {
		var run *single.Run
		if run, err = single.Explain(w.scenario, result, w.scenario.Judge(result)); err == nil {
			run.Seed = seed // the plan that is drawn for it may have another
			run.HoldTo(w.promise)
			var words strings.Builder
			_ = run.Document().Text(&words, document.TextOptions{Width: width}) // a Builder takes all
			say(report{Text: words.String()})
			return
		}
	}
	say(report{Problem: err.Error()})
}
