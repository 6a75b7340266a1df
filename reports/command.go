package reports

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/term"
)

// probeIs explains the probe wherever it is mentioned.
const probeIs = "a last client, which asks for each lock once the faults and the work are over, to see whether anybody can still get it"

// mentionsProbe reports whether a text speaks of the probe.
func mentionsProbe(text string) bool {
	return strings.Contains(strings.ToLower(text), string(history.Probe))
}

// closing explains the probe if it was mentioned, and says where the files are and what to paste to see it all again, as far as either is known.
func closing(p *term.Writer, files, repeat string) {
	if p.Mentioned() {
		p.Hang(0, "probe   ", term.Plain, probeIs)
		p.Forget()
	}
	if files != "" {
		p.Hang(0, "files   ", term.Plain, files)
	}
	if repeat != "" {
		command(p, repeat)
	}
}

// notes writes each note on a line of its own, with the label before it.
func notes(p *term.Writer, label string, list []string) {
	for _, note := range list {
		p.Hang(0, label, term.Yellow, note)
	}
}

// command writes what a person pastes.
func command(p *term.Writer, text string) { p.Command(0, again, text) }

// again is the label of a command that shows it all again.
const again = "again   "
