// Package reporttest contains helpers that the report tests share: a check that applies to every document in all its
// output formats, and a few handwritten histories for testing the text and pictures in reports.
//
// Goals: one check for all documents; a history's code reads like a description of what happened, and builds a history
// that a run could have recorded.
//
// Non-goals: judging a document's content, and checking a history (the code that builds it also states the findings).
package reporttest

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// LongCommand is a command that is too long for one line in a report.
const LongCommand = `fencepost run '/a/rather long/path/to the/folder/of scenarios/my-lock.yaml' ` +
	`--seed 18446744073709551615 --vary 'restart=8s..11s/1s' --out found/here`

// Check returns an error that describes what is wrong with a document's pages, or with its text at some width. For
// example, it must be possible to paste a long command from the text. The text and the pages must mention an
// interruption if and only if the work was interrupted. They must explain the probe (see document.ProbeIs) if and only
// if they mention it.
func Check(d *document.Document) (err error) {
	wrong := func(format string, args ...any) { err = errors.Join(err, fmt.Errorf(format, args...)) }
	says := func(form, text string) {
		if strings.Contains(text, document.Interruption) != d.Interrupted {
			wrong("the work was interrupted: %t, but %s says otherwise", d.Interrupted, form)
		}
		plain := strings.Join(strings.Fields(text), " ")
		explained := strings.Contains(plain, document.ProbeIs)
		plain = strings.ReplaceAll(plain, document.ProbeIs, "")
		if explained && !document.MentionsProbe(plain) || !explained && document.MentionsProbe(plain) {
			wrong("%s must explain the probe if and only if it mentions the probe: explained %t, mentioned %t", form,
				explained, !explained)
		}
	}
	long := *d
	long.Repeat = LongCommand
	for _, width := range []int{60, 80, 120, 200} {
		for _, all := range []bool{false, true} {
			var b strings.Builder
			if err := long.Text(&b, document.TextOptions{Width: width, All: all}); err != nil {
				return err
			}
			for line := range strings.Lines(b.String()) {
				line = strings.TrimSuffix(line, "\n")
				if text.Cells(line) > width && !strings.Contains(line, "://") {
					wrong("at %d cells: %q", width, line)
				}
			}
			says("the text", b.String())
			if Pasted(b.String(), LongCommand) == 0 {
				wrong("at a width of %d characters, the command cannot be pasted:\n%s", width, b.String())
			}
		}
	}
	pages := d.Pages("page.html")
	for i, page := range pages {
		var b strings.Builder
		if err := page.Write(&b); err != nil {
			return err
		}
		if i == len(pages)-1 {
			says("the page", b.String())
			_, unexplained := Explained(b.String())
			err = errors.Join(err, unexplained)
		}
		if bad := Page(b.String()); bad != nil {
			wrong("%s: %w", page.Path, bad)
		}
	}
	if d.Metrics != nil {
		err = errors.Join(err, CheckOpenMetrics(string(d.Metrics)))
	}
	return err
}
