package nemesis

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// Kinds of faults that remove keys from a Redis node. They are drawn only if a mix asks for them, because hardly any
// lock survives them and most deployments can rule them out.
var (
	// EvictKey is the kind of fault in which a node that is short of memory evicts a lock's key.
	EvictKey = register(removal(definition{
		words: history.EvictKey,
		parts: []part{words("of"), lockName, words("on"), target, trigger},
		meaning: "a Redis master evicts the key of that lock, " +
			"as it may when memory runs out (`maxmemory` with any policy but `noeviction`)",
	}, history.Evicted))
	// DeleteKey is the kind of fault in which an operator deletes a lock's key with DEL.
	DeleteKey = register(removal(definition{
		words:   history.DeleteKey,
		parts:   []part{words("of"), lockName, words("on"), target, trigger},
		meaning: "an operator deletes the key of that lock from a Redis master (DEL)",
	}, history.DeletedByOperator))
	// Flush is the kind of fault in which an operator removes all keys with FLUSHALL.
	Flush = register(removal(definition{
		words:   history.Flush,
		parts:   []part{target, trigger},
		meaning: "an operator removes all keys from a Redis master (FLUSHALL)",
	}, history.FlushedByOperator))
)

// removal completes the definition of a kind of fault that removes keys. reason is the reason that the node records for
// the removal.
func removal(d definition, reason history.Why) definition {
	d.target, d.check = aRedisNode, checkLock
	d.begin = func(s *striker) {
		s.w.ServerFault(s.Target, sim.ServerFault{Kind: sim.RemoveKeys, Key: s.Lock, Why: reason})
	}
	named := slices.ContainsFunc(d.parts, func(p part) bool { return p.states == FieldLock })
	d.possible = func(t *Targets) bool { return len(t.Redis) > 0 && (!named || len(t.Locks) > 0) }
	d.draw = func(d Dice, f *Fault) {
		t := d.Targets()
		if f.Target = d.Among(t.Redis); named {
			f.Lock = t.Locks[d.Below(len(t.Locks))]
		}
	}
	d.placement = Placement{Order: 13, At: AtActs, Between: func(*Fault) Instants { return Deadlines }}
	d.placement.Candidates = func(s *Subjects) (list []Fault) {
		if !named {
			return faultsOf(LosesMemory, s.Redis...)
		}
		for _, name := range s.Locks {
			for _, f := range faultsOf(LosesMemory, s.Redis...) {
				f.Lock = name
				list = append(list, f)
			}
		}
		return list
	}
	return d
}

// checkLock reports an error if the fault names a lock that is not part of the run.
func checkLock(v *validator, f *Fault) {
	if f.Lock == "" || slices.Contains(v.known.Locks, f.Lock) {
		return
	}
	names := make([]string, len(v.known.Locks))
	for i, name := range v.known.Locks {
		names[i] = string(name)
	}
	near := nearest.Word(string(f.Lock), names)
	if near == "" && len(names) == 1 {
		near = names[0]
	}
	v.failNear(string(f.Lock), "no lock of this run is called "+string(f.Lock), near)
}
