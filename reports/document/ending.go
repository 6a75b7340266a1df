package document

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// ProbeIs explains the probe wherever it is mentioned.
const ProbeIs = "a last client, which asks for each lock once the faults and the work are over, to see whether " +
	"anybody can still get it"

// MentionsProbe reports whether a text speaks of the probe.
func MentionsProbe(text string) bool {
	return strings.Contains(strings.ToLower(text), string(history.Probe))
}

// Closing explains the probe if it was mentioned, and says where the files are and what to paste to see it all again,
// as far as either is known.
func Closing(p *text.Writer, files, repeat string) {
	if p.Mentioned() {
		p.Hang(0, "probe   ", text.Plain, ProbeIs)
		p.Forget()
	}
	if files != "" {
		p.Hang(0, "files   ", text.Plain, files)
	}
	if repeat != "" {
		Again(p, repeat)
	}
}

// Again writes what a person pastes.
func Again(p *text.Writer, words string) { p.Command(0, AgainLabel, words) }

// AgainLabel is the label of a command that shows it all again.
const AgainLabel = "again   "

// Tones are the colours of the signs of counts.
var Tones = map[string]text.Style{"✓": text.Green, "✗": text.Red, "±": text.Red, "?": text.Yellow, "–": text.Plain}

// Interruption says in a report that a signal ended the work early: what it says was found by then, and goes no
// further.
const Interruption = "interrupted: this is what was found by then"

// stopped writes in a text that the work was interrupted, if it was.
func stopped(p *text.Writer, interrupted bool) {
	if interrupted {
		p.Hang(0, "stopped ", text.Yellow, Interruption)
	}
}
