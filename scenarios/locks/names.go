package locks

import (
	"cmp"
	"fmt"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// NameProblem explains why a lock with protocol p cannot have the given name, and suggests the most similar allowed
// name (right). problem is empty if the name is allowed. right is empty if there is no similar name.
func NameProblem(p Protocol, name history.Lock) (problem, right string) {
	if d := Define(p); d != nil && d.badName != nil {
		return d.badName(name)
	}
	return "", ""
}

// PairProblem explains why two locks with protocol p cannot have the given names at the same time, and what to write
// instead. It returns "" if they can. Names that conflict here would also conflict on real servers.
func PairProblem(p Protocol, a, b history.Lock) string {
	if d := Define(p); d != nil && d.clash != nil {
		return cmp.Or(d.clash(a, b), d.clash(b, a))
	}
	return ""
}

// SlotProblem explains why a lock with protocol p cannot have the given name if it is stored on a Redis Cluster, and
// what to write instead. It returns "" if the name is allowed.
func SlotProblem(p Protocol, name history.Lock) string {
	d := Define(p)
	if d == nil || d.secondKey == nil {
		return ""
	}
	other := d.secondKey(name)
	if redis.KeySlot(other) == redis.KeySlot(string(name)) {
		return ""
	}
	return fmt.Sprintf("%s uses the keys %s and %s in one script. They are in different hash slots, "+
		"and a Cluster refuses such a script (CROSSSLOT): use set-nx-px, or write cluster: off", p, name, other)
}
