package scenarios

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// backend is a kind of lock server: how many a scenario may have and how they are made. Its file registers it; no other
// file refers to it.
type backend struct {
	kind    locks.Backend // the key under servers, and what they are called: etcd-1 …
	place   int           // in the reference, from 1
	most    int           // servers
	meaning string        // of the key, for the reference
	log     bool          // they agree on one log; otherwise each is a master of its own
	steady  bool          // they never read their wall clock
	cluster func(*Servers) cluster
	name    func(args []string) string // names a request; nil: by its first word, as Redis' commands
	upkeep  []string                   // names, in lower case, of requests that only keep a connection or a session up
	// What libraries need that are run as they are (protocol library); without a front none can ask these servers.
	front   sim.Front
	called  string          // as people call them: "Redis"
	service history.Service // of a lock on them whose code is unknown
}

// backends lists all kinds in the order of the reference.
var backends []*backend

// registerBackend adds a kind of server. It is called by the init function of the kind's file.
func registerBackend(b *backend) {
	backends = append(backends, b)
	slices.SortFunc(backends, func(a, b *backend) int { return a.place - b.place })
}

// backend returns the kind of servers; nil if the file failed to name one.
func (s *Servers) backend() *backend {
	for _, b := range backends {
		if b.kind == s.Backend {
			return b
		}
	}
	return nil
}

// naming is what names the requests of the run that begins; n serves one run after another.
func (b *backend) naming(n *redis.Namer) func(args []string) string {
	if b.name != nil {
		return b.name
	}
	n.Begin()
	return n.Name
}

// isUpkeep reports whether a request is for no lock, but only keeps a connection or a session up.
func (b *backend) isUpkeep(args []string) bool {
	name := args[0]
	if b.name != nil {
		name = b.name(args)
	}
	return slices.Contains(b.upkeep, strings.ToLower(name))
}

// Front is what stands before the servers, for clients that are no tasks; nil if there is nothing.
func (s *Servers) Front() sim.Front { return s.backend().front }

// Called is how people call the servers: "Redis".
func (s *Servers) Called() string { return s.backend().called }

// backendNames lists the keys that choose the kind of servers; a file gives one of them.
func backendNames() (names []string) {
	for _, b := range backends {
		names = append(names, string(b.kind))
	}
	return names
}

// key is the key that asks for a number of servers of this kind.
func (b *backend) key() format.Key[Servers] {
	k := format.Number(string(b.kind), func(s *Servers) *int { return &s.N }, 0, 1, b.most,
		b.meaning).Depending("none").Showing("1")
	k.Set = func(s *Servers, v format.Value) { s.Backend, s.N = b.kind, int(v.N) }
	get := k.Get
	k.Get = func(s *Servers) format.Value {
		if s.Backend != b.kind {
			return format.Value{}
		}
		return get(s)
	}
	return k
}
