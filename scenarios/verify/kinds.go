package verify

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Scope says how a verification tries each kind of fault that can affect a scenario.
type Scope struct {
	Every  []nemesis.Kind // kinds for which every relevant placement is tried, the simplest kind first
	Random []Reason       // kinds for which random placements are tried, with or without enumerated ones
	None   []Reason       // kinds for which no placement is tried
}

// Reason explains why some placements of one kind of fault are not tried.
type Reason struct {
	Kind nemesis.Kind
	Why  string
}

// ScopeOf returns the scope for verifying s. The scope includes a kind of fault if s's mix draws it, s promises to
// survive it, and it can make a difference.
func ScopeOf(s *scenarios.Scenario) (scope Scope) {
	subjects, names := subjectsOf(s), s.Targets()
	targets := nemesis.TargetsOf(&names)
	kinds := slices.DeleteFunc(slices.Clone(nemesis.Kinds), func(k nemesis.Kind) bool {
		isAddition := k.Weight() == 0 // drawn only if the mix asks for it
		return !targets.Has(k) || isAddition && s.Mix.Weights[k] == 0
	})
	slices.SortStableFunc(kinds, func(a, b nemesis.Kind) int { return a.Placement().Order - b.Placement().Order })
	for _, k := range kinds {
		why := ""
		switch matters := k.Placement().Matters; {
		case s.Mix.Weights[k] == 0:
			why = "the scenario's mix does not include it"
		case ruledOut(s, &names, nemesis.Fault{Kind: k}):
			why = notPromised
		case len(candidates(subjects, k)) == 0:
			why = "no process " + matters
		case len(templates(s, subjects, k)) > 0:
			scope.try(k, subjects)
			continue
		case matters == "":
			why = notPromised
		default:
			why = fmt.Sprintf("no process %s except those for which the scenario excludes the fault", matters)
		}
		scope.None = append(scope.None, Reason{k, why})
	}
	return scope
}

const notPromised = "the scenario does not promise to survive this fault"

// try adds a kind to the scope. There must be at least one fault of that kind to try.
func (s *Scope) try(k nemesis.Kind, subjects *nemesis.Subjects) {
	how := k.Placement()
	why := ""
	if how.Why != nil {
		why = how.Why(subjects.Names)
	}
	if why == "" {
		s.Every = append(s.Every, k)
		if how.Beside != nil {
			why = how.Beside(subjects)
		}
	}
	if why != "" {
		s.Random = append(s.Random, Reason{k, why})
	}
}

// Enumerated returns a copy of the scope in which no faults are placed at random. The kinds that are placed at random
// in s are listed as not tried, even if they are also enumerated.
func (s Scope) Enumerated() Scope {
	return Scope{Every: s.Every, None: slices.Concat(s.None, s.Random)}
}

// restrictedTo returns the scope restricted to the given kinds, or the whole scope if kinds is empty.
func (s *Scope) restrictedTo(kinds []nemesis.Kind) Scope {
	if len(kinds) == 0 {
		return *s
	}
	other := func(k nemesis.Kind) bool { return !slices.Contains(kinds, k) }
	return Scope{Every: slices.DeleteFunc(slices.Clone(s.Every), other),
		Random: slices.DeleteFunc(slices.Clone(s.Random), func(r Reason) bool { return other(r.Kind) })}
}

// Tries reports whether faults of the given kind are tried.
func (s *Scope) Tries(k nemesis.Kind) bool {
	return slices.Contains(s.Every, k) || slices.ContainsFunc(s.Random, func(r Reason) bool { return r.Kind == k })
}

// WhyNot says why faults of the given kind are not tried.
func (s *Scope) WhyNot(k nemesis.Kind) string {
	for _, r := range s.None {
		if r.Kind == k {
			return r.Why
		}
	}
	return "it affects nothing in this scenario"
}

// whyNothing says why no kind is tried. It names kinds with the same reason together.
func (s *Scope) whyNothing() string {
	var reasons []string
	kinds := map[string][]string{}
	for _, r := range s.None {
		if kinds[r.Why] == nil {
			reasons = append(reasons, r.Why)
		}
		kinds[r.Why] = append(kinds[r.Why], r.Kind.String())
	}
	for i, why := range reasons {
		reasons[i] = strings.Join(kinds[why], ", ") + ": " + why
	}
	return strings.Join(reasons, "; ")
}

func subjectsOf(s *scenarios.Scenario) *nemesis.Subjects {
	names := s.Targets()
	subjects := &nemesis.Subjects{Names: &names, Persistent: s.Servers.Persistent()}
	for i := range s.Clients {
		if c := &s.Clients[i]; s.OfPrograms() || locks.Define(c.Lock.Protocol).ReadsWall(&c.Lock) {
			subjects.Wall = append(subjects.Wall, c.ID)
		}
	}
	if s.Servers.ReadWall() {
		subjects.Wall = append(subjects.Wall, names.Servers()...)
	}
	return subjects
}

// candidates returns the faults of kind k that can make a difference, one for each target. They have no start and no
// end yet. If such faults strike messages or links, there is only one candidate, and its targets are found in the run.
func candidates(subjects *nemesis.Subjects, k nemesis.Kind) []nemesis.Fault {
	list := []nemesis.Fault{{}}
	if find := k.Placement().Candidates; find != nil {
		list = find(subjects)
	}
	for i := range list {
		list[i].Kind = k
	}
	return list
}

// templates returns the faults of kind k that can make a difference and that s does not exclude. The faults do not have
// a start or an end.
func templates(s *scenarios.Scenario, subjects *nemesis.Subjects, k nemesis.Kind) []nemesis.Fault {
	return slices.DeleteFunc(candidates(subjects, k),
		func(f nemesis.Fault) bool { return ruledOut(s, subjects.Names, f) })
}

// restarts reports whether f can end with a restart. A client crash cannot end this way.
func restarts(f *nemesis.Fault) bool {
	return f.Kind.Has(nemesis.FieldRestart) && !nemesis.IsClient(f.Target)
}

// hasEnd reports whether f can have an end: a length, a restart, or a message's arrival.
func hasEnd(f *nemesis.Fault) bool {
	return restarts(f) || f.Kind.Has(nemesis.FieldFor) || f.Kind.Has(nemesis.FieldBy)
}

// canLast reports whether f can have an end but can also last forever.
func canLast(f *nemesis.Fault) bool { return restarts(f) || f.Kind.Endless() }

// ruledOut reports whether s excludes fault f from its promise, no matter when f ends: both as f is given and with the
// latest possible end.
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

// excluded reports whether s excludes fault f from its promise. For some faults, this depends on when the fault ends.
func excluded(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	return slices.ContainsFunc(s.Mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, names) })
}
