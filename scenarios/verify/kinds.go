package verify

import (
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// LeftOut is a kind of fault that is not tried, and why.
type LeftOut struct {
	Kind nemesis.Kind
	Why  string
}

// Enumerable lists the kinds of faults that a verification of s can try: those that its mix draws, that it promises to
// survive, and whose starts can be reduced without loss. The other kinds that something in a run of s could suffer are
// left out.
func Enumerable(s *scenarios.Scenario) (kinds []nemesis.Kind, left []LeftOut) {
	names := s.Targets()
	targets := nemesis.TargetsOf(&names)
	ranked := slices.DeleteFunc(slices.Clone(nemesis.Kinds), func(k nemesis.Kind) bool { return !targets.Has(k) })
	slices.SortStableFunc(ranked, func(a, b nemesis.Kind) int { return a.Placement().Order - b.Placement().Order })
	untried := func(k nemesis.Kind) string {
		if why := k.Placement().Why; why != nil {
			return why(&names)
		}
		return ""
	}
	reduced := slices.DeleteFunc(slices.Clone(ranked), func(k nemesis.Kind) bool { return untried(k) != "" })
	others := slices.DeleteFunc(ranked, func(k nemesis.Kind) bool { return untried(k) == "" })
	for _, k := range slices.Concat(reduced, others) {
		switch {
		case s.Mix.Weights[k] == 0:
			left = append(left, LeftOut{k, "the scenario's mix does not draw it"})
		case untried(k) != "":
			left = append(left, LeftOut{k, untried(k)})
		case len(templates(s, &names, k)) == 0:
			left = append(left, LeftOut{k, "the scenario does not promise to survive it"})
		default:
			kinds = append(kinds, k)
			if k.Placement().At == nemesis.AtLinks && len(names.Servers()) > 1 {
				left = append(left, LeftOut{k,
					"those of several links at once: each that is tried severs one link, one way"})
			}
		}
	}
	return kinds, left
}

// templates lists the faults of a kind that s does not exclude, without their starts and ends: one for each target.
// Those of messages and links find their targets in the run.
func templates(s *scenarios.Scenario, names *nemesis.Names, k nemesis.Kind) []nemesis.Fault {
	list := []nemesis.Fault{{}}
	if candidates := k.Placement().Candidates; candidates != nil {
		subjects := nemesis.Subjects{Names: names, Persistent: s.Servers.Persistent()}
		for i := range s.Clients {
			if c := &s.Clients[i]; c.Lock.Clock == sim.Wall {
				subjects.Wall = append(subjects.Wall, c.ID)
			}
		}
		list = candidates(&subjects)
	}
	for i := range list {
		list[i].Kind = k
	}
	return slices.DeleteFunc(list, func(f nemesis.Fault) bool { return ruledOut(s, names, f) })
}

// restarts reports whether f has a restart for its end. A client that has crashed has none.
func restarts(f *nemesis.Fault) bool {
	return f.Kind.Has(nemesis.FieldRestart) && !nemesis.IsClient(f.Target)
}

// hasEnd reports whether f may have an end: a length, a restart, or an arrival.
func hasEnd(f *nemesis.Fault) bool {
	return restarts(f) || f.Kind.Has(nemesis.FieldFor) || f.Kind.Has(nemesis.FieldBy)
}

// canLast reports whether f may have an end and may have none.
func canLast(f *nemesis.Fault) bool { return restarts(f) || f.Kind.Endless() }

// ruledOut reports whether s does not promise to survive f, whatever its end.
func ruledOut(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	late := f
	switch {
	case restarts(&f):
		late.Restart = nemesis.MaxDuration
	case f.Kind.Endless():
		late.For = nemesis.MaxDuration
	}
	return excluded(s, names, f) && excluded(s, names, late)
}

// excluded reports whether f, with its end, is a fault that s does not promise to survive.
func excluded(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	return slices.ContainsFunc(s.Mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, names) })
}
