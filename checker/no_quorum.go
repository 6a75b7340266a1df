package checker

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// forGood reports whether what f takes away never comes back.
func (t *trace) forGood(f *fault) bool {
	return f.to == open && !f.Ends && (f.kind.IsDown() || f.kind == history.Cut) || f.Loses == history.LosesEverything && oneService(&t.h.Header)
}

// withoutQuorum tells which faults before position at have taken so many servers from a client for good that no quorum is
// left to it, and where they struck; nothing if one is left, or if the history does not say what a quorum is.
func (t *trace) withoutQuorum(client history.Process, at int) (story string, witness []int) {
	h := &t.h.Header
	if h.Quorum <= 0 || len(h.Servers) == 0 {
		return "", nil
	}
	var away []history.Process
	var lines []string
	for i := range t.faults {
		f := &t.faults[i]
		if f.from >= at || !t.forGood(f) || f.Strikes(client) && !f.kind.IsLink() {
			continue
		}
		for _, s := range f.Struck() {
			if t.isServer(s) && t.separates(f, client, s) && !slices.Contains(away, s) {
				away = append(away, s)
				witness = append(witness, f.from)
			}
		}
		if len(witness) > 0 && witness[len(witness)-1] == f.from {
			lines = append(lines, f.line)
		}
	}
	if t.enough(away) {
		return "", nil
	}
	return "So many servers are gone for good that no quorum is left: " + strings.Join(lines, "; ") + ".", witness
}
