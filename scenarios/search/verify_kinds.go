package search

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

// notEnumerable says why the others are not tried.
var notEnumerable = map[nemesis.Kind]string{
	nemesis.Drift:         "what it does grows with its length: no few starts and ends stand for the others",
	nemesis.FailOver:      "who takes over, and when, is a matter of messages that its start sets off",
	nemesis.DelayLink:     "of late messages, single ones are tried (delay message), and all on a link until an end (cut)",
	nemesis.SlowFsync:     "it changes how long what is under way takes",
	nemesis.ExpireSession: "when it takes effect is a matter of messages that its start sets off",
}

// costly are the kinds that are tried with more than one fault only if they are asked for: much of what they do others do
// too, a crash of a server that loses nothing, and messages that come late.
var costly = []nemesis.Kind{nemesis.ShutDown, nemesis.Cut}

// Enumerable lists the kinds of faults that a verification of s can try: those that its mix draws, that it promises to
// survive, and whose starts can be reduced without loss. The other kinds that something in a run of s could suffer are
// left out.
func Enumerable(s *scenarios.Scenario) (kinds []nemesis.Kind, left []LeftOut) {
	names := s.Targets()
	suffers := map[nemesis.Kind]bool{nemesis.FailOver: len(names.Shards) > 0, nemesis.SlowFsync: len(names.Redis) > 0,
		nemesis.ExpireSession: len(names.Consensus) > 0, nemesis.Drift: true, nemesis.DelayLink: true}
	for _, k := range slices.Concat(enumerable, nemesis.Kinds) {
		why, never := notEnumerable[k]
		switch {
		case slices.Contains(kinds, k) || never != suffers[k] || slices.ContainsFunc(left, func(l LeftOut) bool { return l.Kind == k }):
		case s.Mix.Weights[k] == 0:
			left = append(left, LeftOut{k, "the scenario's mix does not draw it"})
		case never:
			left = append(left, LeftOut{k, why})
		case len(templates(s, &names, k)) == 0:
			left = append(left, LeftOut{k, "the scenario does not promise to survive it"})
		default:
			kinds = append(kinds, k)
		}
	}
	return kinds, left
}

// choose lists the kinds that are tried if the options name none, and those that are not.
func choose(s *scenarios.Scenario, faults int) (kinds []nemesis.Kind, left []LeftOut) {
	all, left := Enumerable(s)
	for _, k := range all {
		if faults > 1 && slices.Contains(costly, k) {
			left = append(left, LeftOut{k, "with more than one fault it takes long, and others do much the same; name it to have it tried"})
			continue
		}
		kinds = append(kinds, k)
	}
	return kinds, left
}

// templates lists the faults of a kind that s does not exclude, without their starts and ends: one for each target. Those of messages and links
// find their targets in the run.
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
	return slices.DeleteFunc(list, func(f nemesis.Fault) bool { return excluded(s, names, f) })
}

// excluded reports whether f is a fault that s does not promise to survive. One without a restart is not excluded for
// an early restart.
func excluded(s *scenarios.Scenario, names *nemesis.Names, f nemesis.Fault) bool {
	return slices.ContainsFunc(s.Mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, names) })
}
