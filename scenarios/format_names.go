package scenarios

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// namedLock is the name of a lock where it stands in the file.
type namedLock struct {
	name  history.Lock
	place at
}

// lockName reads the name of a lock, and notes its place for checkNames.
func (f *file) lockName(n ast.Node) (history.Lock, bool) {
	name, ok := f.key(n)
	if ok {
		f.names = append(f.names, namedLock{history.Lock(name), startOf(n)})
	}
	return history.Lock(name), ok
}

// checkNames refuses names that the lock service cannot have, and those that it cannot tell apart.
func (f *file) checkNames() {
	p := f.lock.config.Protocol
	places := map[history.Lock]at{}
	for _, l := range f.names {
		if problem, right := locks.NameProblem(p, l.name); problem != "" {
			f.problem(l.place, right, "%s", problem)
		}
		if _, told := places[l.name]; !told {
			places[l.name] = l.place
		}
	}
	used := f.scenario.Locks()
	for i, b := range used {
		for _, a := range used[:i] {
			if problem := locks.PairProblem(p, a, b); problem != "" {
				f.problem(later(places[a], places[b]), "", "%s", problem)
			}
		}
	}
}

// later is the place further down in the file.
func later(a, b at) at {
	if a.line > b.line || a.line == b.line && a.column > b.column {
		return a
	}
	return b
}
