package trace

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// forGood reports whether what f takes away never comes back.
func (t *Trace) forGood(f *Fault) bool {
	return f.Stop == Open && !f.Ends && (f.Does.IsDown() || f.Does == history.Parts) ||
		f.Loses == history.LosesEverything && OneService(&t.History.Header)
}

// WithoutQuorum tells which faults before position at have taken so many servers from a client for good that no quorum
// is left to it, and where they struck; nothing if one is left, or if the history does not say what a quorum is.
func (t *Trace) WithoutQuorum(client history.Process, at int) (story string, witness []int) {
	if len(t.History.Header.Servers) == 0 {
		return "", nil
	}
	var gone absence
	var lines []string
	for i := range t.Faults {
		f := &t.Faults[i]
		if f.Start >= at || !t.forGood(f) || f.Strikes(client) && !f.Does.IsLink() {
			continue
		}
		before := len(gone.Away) + len(gone.parted)
		if gone.add(t, f, client); len(gone.Away)+len(gone.parted) > before {
			witness, lines = append(witness, f.Start), append(lines, f.Line)
		}
	}
	if t.enough(&gone) {
		return "", nil
	}
	return "So many servers are gone for good that no quorum is left: " + strings.Join(lines, "; ") + ".", witness
}
