package locks

import (
	"cmp"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// NameProblem explains why a lock of the protocol cannot have the name; problem is empty if it can. right is the
// nearest possible name; empty if there is none.
func NameProblem(p Protocol, name history.Lock) (problem, right string) {
	if d := Define(p); d != nil && d.badName != nil {
		return d.badName(name)
	}
	return "", ""
}

// PairProblem explains why two locks of the protocol cannot have these names at the same time, and what to write;
// empty if they can. Names that collide here would collide on the real service.
func PairProblem(p Protocol, a, b history.Lock) string {
	if d := Define(p); d != nil && d.clash != nil {
		return cmp.Or(d.clash(a, b), d.clash(b, a))
	}
	return ""
}
