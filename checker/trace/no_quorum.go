package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// forGood reports whether f disables processes or links forever.
func (t *Trace) forGood(f *Fault) bool {
	return f.Stop == Open && !f.Ends && (f.Does.IsDown() || f.Does == history.Parts) ||
		f.Loses == history.LosesEverything && t.History.Header.OneService()
}

// withoutQuorum returns a minimal set of permanent faults before the given position that together deprive a client of a
// quorum of servers. It returns nil if the client still has a quorum, or if the history does not list the lock's
// servers.
func (t *Trace) withoutQuorum(client history.Process, at int) (faults []*Fault) {
	if len(t.History.Header.Servers) == 0 {
		return nil
	}
	for i := range t.Faults {
		f := &t.Faults[i]
		if f.Start < at && t.forGood(f) && (f.Does.IsLink() || !f.Strikes(client)) {
			faults = append(faults, f)
		}
	}
	left := func(without []*Fault) bool {
		var gone absence
		for _, f := range without {
			gone.add(t, f, client)
		}
		return t.enough(&gone)
	}
	if left(faults) {
		return nil
	}
	// keep the earlier faults, since they made servers unavailable first
	for _, f := range slices.Backward(slices.Clone(faults)) {
		if fewer := slices.DeleteFunc(slices.Clone(faults), func(o *Fault) bool { return o == f }); !left(fewer) {
			faults = fewer
		}
	}
	return faults
}
