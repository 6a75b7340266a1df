package checker

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// forGood reports whether what f takes away never comes back.
func (t *trace) forGood(f *fault) bool {
	return f.to == open && !f.Ends && (f.does.IsDown() || f.does == history.Parts) || f.Loses == history.LosesEverything && oneService(&t.h.Header)
}

// withoutQuorum tells which faults before position at have taken so many servers from a client for good that no quorum is
// left to it, and where they struck; nothing if one is left, or if the history does not say what a quorum is.
func (t *trace) withoutQuorum(client history.Process, at int) (story string, witness []int) {
	if len(t.h.Header.Servers) == 0 {
		return "", nil
	}
	var gone absence
	var lines []string
	for i := range t.faults {
		f := &t.faults[i]
		if f.from >= at || !t.forGood(f) || f.Strikes(client) && !f.does.IsLink() {
			continue
		}
		before := len(gone.away) + len(gone.parted)
		if gone.add(t, f, client); len(gone.away)+len(gone.parted) > before {
			witness, lines = append(witness, f.from), append(lines, f.line)
		}
	}
	if t.enough(&gone) {
		return "", nil
	}
	return "So many servers are gone for good that no quorum is left: " + strings.Join(lines, "; ") + ".", witness
}
