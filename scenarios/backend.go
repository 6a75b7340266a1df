package scenarios

import (
	"slices"

	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/setting"
)

// backend is a kind of lock servers: how many there may be, and how they are made. Its file registers it, and no other
// file knows of it.
type backend struct {
	kind    locks.Backend // the key under servers, and what they are called: etcd-1 …
	place   int           // in the reference, from 1
	most    int           // servers
	meaning string        // of the key
	log     bool          // they agree on one log; otherwise each is a master of its own
	steady  bool          // they never read their wall clock
	cluster func(*Servers) cluster
}

// backends are all kinds, in the order of the reference.
var backends []*backend

// registerBackend makes a kind of servers known. It is for the init function of the kind's file.
func registerBackend(b *backend) {
	backends = append(backends, b)
	slices.SortFunc(backends, func(a, b *backend) int { return a.place - b.place })
}

// backend is what there is of the kind of servers; nil if the file fails to say which.
func (s *Servers) backend() *backend {
	for _, b := range backends {
		if b.kind == s.Backend {
			return b
		}
	}
	return nil
}

// backendNames are the keys that say what servers there are; a file gives one of them.
func backendNames() (names []string) {
	for _, b := range backends {
		names = append(names, string(b.kind))
	}
	return names
}

// key is the one that asks for so many servers of the kind.
func (b *backend) key() setting.Key[Servers] {
	k := setting.Number(string(b.kind), func(s *Servers) *int { return &s.N }, 0, 1, b.most,
		b.meaning).Depending("none").Showing("1")
	k.Set = func(s *Servers, v setting.Value) { s.Backend, s.N = b.kind, int(v.N) }
	get := k.Get
	k.Get = func(s *Servers) setting.Value {
		if s.Backend != b.kind {
			return setting.Value{}
		}
		return get(s)
	}
	return k
}
