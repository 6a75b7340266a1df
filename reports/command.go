package reports

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// probeIs explains the probe wherever it is mentioned.
const probeIs = "a last client, which asks for each lock once the faults and the work are over, to see whether anybody can still get it"

// mentionsProbe reports whether a text speaks of the probe.
func mentionsProbe(text string) bool {
	return strings.Contains(strings.ToLower(text), string(history.Probe))
}

// Closing explains the probe if it was mentioned, and says where the files are and what to paste to see it all again, as far as either is known.
func Closing(p *term.Writer, files, repeat string) {
	if p.Mentioned() {
		p.Hang(0, "probe   ", term.Plain, probeIs)
		p.Forget()
	}
	if files != "" {
		p.Hang(0, "files   ", term.Plain, files)
	}
	if repeat != "" {
		Again(p, repeat)
	}
}

// Notes writes each note on a line of its own, with the label before it.
func Notes(p *term.Writer, label string, list []string) {
	for _, note := range list {
		p.Hang(0, label, term.Yellow, note)
	}
}

// Again writes what a person pastes.
func Again(p *term.Writer, text string) { p.Command(0, again, text) }

// again is the label of a command that shows it all again.
const again = "again   "

// Tones are the colours of the signs of counts.
var Tones = map[string]term.Style{"✓": term.Green, "✗": term.Red, "±": term.Red, "?": term.Yellow, "–": term.Plain}

// LawNames are those of laws.
func LawNames(laws []checker.Law) []string {
	all := []string{}
	for _, l := range laws {
		all = append(all, string(l))
	}
	return all
}

// Interruption says in a report that a signal ended the work early: what it says was found by then, and goes no further.
const Interruption = "interrupted: this is what was found by then"

// Stopped writes in a text that the work was interrupted, if it was.
func Stopped(p *term.Writer, interrupted bool) {
	if interrupted {
		p.Hang(0, "stopped ", term.Yellow, Interruption)
	}
}
