package document

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// ProbeIs explains the probe. Every document that mentions the probe contains this explanation.
const ProbeIs = "a last client, which asks for each lock once the faults and the work are over, " +
	"to see whether anybody can still get it"

// MentionsProbe reports whether a text mentions the probe.
func MentionsProbe(text string) bool {
	return strings.Contains(strings.ToLower(text), string(history.Probe))
}

// Closing writes the end of a text. It explains the probe if the text mentions it, says where the files are, and shows
// the command for showing everything again. It leaves out the files or the command if the corresponding argument is
// empty.
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

// Again writes a command for a person to paste.
func Again(p *text.Writer, words string) { p.Command(0, AgainLabel, words) }

// AgainLabel is the label for the command that shows everything again.
const AgainLabel = "again   "

// Tones maps result symbols to their colors.
var Tones = map[string]text.Style{"✓": text.Green, "✗": text.Red, "±": text.Red, "?": text.Yellow, "–": text.Plain}

// Interruption tells the reader of a report that a signal ended the work early. Such a report covers only what had been
// found by then.
const Interruption = "interrupted: these are the results so far"

// stopped writes the sentence about the interruption if the work was interrupted.
func stopped(p *text.Writer, interrupted bool) {
	if interrupted {
		p.Hang(0, "stopped ", text.Yellow, Interruption)
	}
}
