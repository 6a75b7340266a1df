package reports

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/documenttest"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
	"github.com/fencepost-sim/fencepost/scenarios/single/singletest"
)

// Every command that any report gives to be pasted is whole on its lines: what breaks it is a backslash, and no line is
// wider than the terminal.
func TestEveryCommandCanBePasted(t *testing.T) {
	const call = `fencepost run '/a/rather long/path/to the/folder/of scenarios/my-lock.yaml' --seed 18446744073709551615 --vary 'restart=8s..11s/1s' --out found/here`
	run, verification, exploration := singletest.Kleppmann(), verified(), explored()
	run.Repeat, verification.Repeat, exploration.Repeat = call, call, call
	finding := foundBy(checker.MutualExclusion, checker.Untold, true, 1, "pause client-1 for 1s at 1s")
	finding.Run.Repeat = call
	exploration.Findings = []ExploredFinding{finding}
	seeds := many()
	seeds.Repeat, seeds.Shown = call, []*single.Run{run}
	for name, c := range map[string]struct {
		write func(io.Writer, document.TextOptions) error
		calls int
	}{
		"run":     {func(w io.Writer, o document.TextOptions) error { return run.Document().Text(w, o) }, 1},
		"many":    {func(w io.Writer, o document.TextOptions) error { return seeds.Text(w, o) }, 2},
		"explore": {func(w io.Writer, o document.TextOptions) error { return exploration.Text(w, o) }, 2},
		"all": {func(w io.Writer, o document.TextOptions) error {
			o.All = true
			return exploration.Text(w, o)
		}, 3},
		"verify": {func(w io.Writer, o document.TextOptions) error { return verification.Text(w, o) }, 1},
	} {
		for _, width := range []int{60, 80, 120, 200} {
			var b strings.Builder
			if err := c.write(&b, document.TextOptions{Width: width}); err != nil {
				t.Fatal(err)
			}
			if got := documenttest.Pasted(b.String(), call); got != c.calls {
				t.Errorf("%s at %d: %d of %d commands can be pasted:\n%s", name, width, got, c.calls, b.String())
			}
		}
	}
}

// Where a report speaks of the probe it says what that is, once; elsewhere it does not.
func TestTheProbeIsExplainedWhereItAppears(t *testing.T) {
	stuck := func() *single.Run {
		r := singletest.Deadlock()
		for i := range r.Verdict.Findings {
			if f := &r.Verdict.Findings[i]; f.Law == checker.DeadlockFreedom {
				f.Explanation, f.Holders = `Probe asked for "lock" at 60 s.`, []history.Process{history.Probe}
			}
		}
		return r
	}
	exploration := explored(ExploredFinding{Finding: campaign.Finding{Law: checker.DeadlockFreedom,
		Cause: checker.Cause{Kind: "stuck although nobody holds"}},
		Promised: true, Small: &search.Shrunk{}, Run: stuck()})
	for name, c := range map[string]struct {
		write func(io.Writer) error
		want  int
	}{
		"a run that mentions it": {func(w io.Writer) error { return stuck().Document().Text(w, document.TextOptions{}) }, 1},
		"a run that does not":    {func(w io.Writer) error { return singletest.Kleppmann().Document().Text(w, document.TextOptions{}) }, 0},
		"its page":               {func(w io.Writer) error { return stuck().Document().HTML(w, "page.html") }, 1},
		"the page that does not": {func(w io.Writer) error { return singletest.Kleppmann().Document().HTML(w, "page.html") }, 0},
		"an exploration":         {func(w io.Writer) error { return exploration.Text(w, document.TextOptions{}) }, 1},
		"its other page":         {func(w io.Writer) error { return exploration.html(w, nil) }, 1},
		"one without any finding": {func(w io.Writer) error {
			return errors.Join(explored().Text(w, document.TextOptions{}), explored().html(w, nil))
		}, 0},
	} {
		var b strings.Builder
		if err := c.write(&b); err != nil {
			t.Fatal(err)
		}
		if got := strings.Count(squeezed(b.String()), document.ProbeIs); got != c.want {
			t.Errorf("%s: explained %d times, want %d:\n%s", name, got, c.want, b.String())
		}
		if c.want == 0 && document.MentionsProbe(b.String()) {
			t.Errorf("%s mentions it after all", name)
		}
	}
}
