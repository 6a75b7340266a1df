package scenarios

import (
	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// namedLock is a lock's name and its position in the file.
type namedLock struct {
	name  history.Lock
	place format.Place
}

// lockName parses a lock's name and records its position in the file for checkNames.
func (f *file) lockName(n ast.Node) (history.Lock, bool) {
	name, ok := f.Name(n)
	if ok {
		f.names = append(f.names, namedLock{history.Lock(name), format.StartOf(n)})
	}
	return history.Lock(name), ok
}

// checkNames reports names that the lock servers do not permit, and pairs of names that the servers cannot distinguish.
func (f *file) checkNames() {
	p := f.lock.config.Protocol
	places := map[history.Lock]format.Place{}
	for _, l := range f.names {
		if problem, right := locks.NameProblem(p, l.name); problem != "" {
			f.Problem(l.place, right, "%s", problem)
		}
		if _, known := places[l.name]; !known {
			places[l.name] = l.place
		}
	}
	used := f.scenario.Locks()
	for _, name := range used {
		if problem := locks.SlotProblem(p, name); problem != "" && f.scenario.Servers.Cluster {
			place, given := places[name]
			if !given {
				place = f.inServers["cluster"]
			}
			f.Problem(place, "", "%s", problem)
		}
	}
	for i, b := range used {
		for _, a := range used[:i] {
			if problem := locks.PairProblem(p, a, b); problem != "" {
				f.Problem(later(places[a], places[b]), "", "%s", problem)
			}
		}
	}
}

// later returns whichever position is further down in the file.
func later(a, b format.Place) format.Place {
	if a.Line > b.Line || a.Line == b.Line && a.Column > b.Column {
		return a
	}
	return b
}
