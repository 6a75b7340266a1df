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

// enumerable are the kinds whose starts can be reduced without loss, the simplest first.
var enumerable = []nemesis.Kind{nemesis.Pause, nemesis.Crash, nemesis.ShutDown, nemesis.Jump, nemesis.Break, nemesis.DelayMessage, nemesis.Cut}

// notReduced says why the others are not tried, and some of those where servers tell each other, or clients that watch, what
// has happened.
var notReduced = map[nemesis.Kind]string{
	nemesis.ShutDown:      "others are told of it at once, and act at a time that depends on its start",
	nemesis.Jump:          "replicas are told at once of the keys that it ends, at a time that depends on its start",
	nemesis.Drift:         "what it does grows with its length: no few starts and ends stand for the others",
	nemesis.FailOver:      "who takes over, and when, is a matter of messages that its start sets off",
	nemesis.DelayLink:     "of late messages, single ones are tried (delay message), and all on a link until an end (cut)",
	nemesis.SlowFsync:     "it changes how long what is under way takes",
	nemesis.ExpireSession: "when it takes effect is a matter of messages that its start sets off",
}

// Enumerable lists the kinds of faults that a verification of s can try: those that its mix draws, that it promises to
// survive, and whose starts can be reduced without loss. The other kinds that something in a run of s could suffer are
// left out.
func Enumerable(s *scenarios.Scenario) (kinds []nemesis.Kind, left []LeftOut) {
	names := s.Targets()
	others := []nemesis.Kind{nemesis.Drift, nemesis.DelayLink}
	if len(names.Redis) > 0 {
		others = append(others, nemesis.SlowFsync)
	}
	switch {
	case len(names.Consensus) > 0:
		others = append(others, nemesis.ShutDown, nemesis.ExpireSession)
	case len(names.Shards) > 0:
		others = append(others, nemesis.ShutDown, nemesis.Jump, nemesis.FailOver)
	}
	reduced := slices.DeleteFunc(slices.Clone(enumerable), func(k nemesis.Kind) bool { return slices.Contains(others, k) })
	for _, k := range slices.Concat(reduced, others) {
		switch {
		case s.Mix.Weights[k] == 0:
			left = append(left, LeftOut{k, "the scenario's mix does not draw it"})
		case slices.Contains(others, k):
			left = append(left, LeftOut{k, notReduced[k]})
		case len(templates(s, &names, k)) == 0:
			left = append(left, LeftOut{k, "the scenario does not promise to survive it"})
		default:
			kinds = append(kinds, k)
			if k == nemesis.Cut && len(names.Redis)+len(names.Consensus) > 1 {
				left = append(left, LeftOut{k, "those of several links at once: each that is tried severs one link, one way"})
			}
		}
	}
	return kinds, left
}

// templates lists the faults of a kind that s does not exclude, without their starts and ends: one for each target. Those of
// messages and links find their targets in the run.
func templates(s *scenarios.Scenario, names *nemesis.Names, k nemesis.Kind) []nemesis.Fault {
	servers := slices.Concat(names.Redis, names.Consensus)
	var list []nemesis.Fault
	add := func(loss nemesis.Loss, targets ...sim.ProcessID) {
		for _, p := range targets {
			list = append(list, nemesis.Fault{Kind: k, Target: p, Loss: loss})
		}
	}
	switch k {
	case nemesis.Pause:
		add(nemesis.LosesMemory, names.Clients...)
		add(nemesis.LosesMemory, servers...)
		add(nemesis.LosesMemory, names.Resource)
	case nemesis.Crash:
		add(nemesis.LosesMemory, names.Clients...)
		if s.Servers.Persistent() { // else both losses are one
			add(nemesis.LosesUnsynced, servers...)
		}
		add(nemesis.LosesEverything, servers...)
	case nemesis.ShutDown:
		add(nemesis.LosesMemory, servers...)
	case nemesis.Jump:
		for i := range s.Clients {
			if c := &s.Clients[i]; c.Lock.Clock == sim.Wall { // the others never look at their wall clock
				add(nemesis.LosesMemory, c.ID)
			}
		}
		add(nemesis.LosesMemory, servers...)
	default:
		add(nemesis.LosesMemory, "")
	}
	return slices.DeleteFunc(list, func(f nemesis.Fault) bool { return ruledOut(s, names, f) })
}

// restarts reports whether f has a restart for its end.
func restarts(f *nemesis.Fault) bool {
	return f.Kind == nemesis.ShutDown || f.Kind == nemesis.Crash && f.Loss != nemesis.LosesMemory
}

// canLast reports whether f may have an end and may have none.
func canLast(f *nemesis.Fault) bool { return restarts(f) || f.Kind == nemesis.Cut }

// ruledOut reports whether s does not promise to survive f, whatever its end.
func ruledOut(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	late := f
	switch {
	case restarts(&f):
		late.Restart = nemesis.MaxDuration
	case f.Kind == nemesis.Cut:
		late.For = nemesis.MaxDuration
	}
	return excluded(s, names, f) && excluded(s, names, late)
}

// excluded reports whether f, with its end, is a fault that s does not promise to survive.
func excluded(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	return slices.ContainsFunc(s.Mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, names) })
}
