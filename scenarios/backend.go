package scenarios

import (
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// backend describes a kind of lock server: how many a scenario may have and how they are made. Each kind has a file of
// its own, which registers it; no other file refers to the kind.
type backend struct {
	kind    locks.Backend // the key under servers, and the prefix of their names: etcd-1 …
	place   int           // position in the reference, from 1
	most    int           // largest number of servers
	meaning string        // description of the key in the reference
	log     bool          // the servers replicate one log; otherwise each is an independent master
	steady  bool          // they never read their wall clock
	cluster func(*Servers) cluster
	// settings are the keys under servers that only servers of this kind accept. fields names further such keys,
	// which have their own reading code. check, if set, reports problems in the description of the servers.
	settings []format.Key[Servers]
	fields   []string
	check    func(*file)
	// silence returns how long a member may go on serving clients after it last heard from its leader. It is nil if
	// no setting limits that time.
	silence func(*Servers) time.Duration
	// fixed says that a shorter run in real time cannot divide all times by the same number, because the servers
	// round some of them to steps of their own or limit them.
	fixed  bool
	name   func(args []string) string // returns the name of a request; nil: its first word, as for Redis commands
	upkeep []string                   // lower-case names of requests that only keep a connection or session alive
	// former maps the names that earlier versions gave to requests of the modeled clients, in upper case, to their
	// present names.
	former map[string]string
	// The fields below are for clients that run a released library (protocol library). If front is nil, no library
	// can use these servers.
	front   sim.Front
	paths   bool            // libraries append something to the lock's name, or prepend a path to it, to form keys
	scheme  string          // the prefix of HOST:PORT in the address of a member: "http://"
	called  string          // the common name of the servers: "Redis"
	service history.Service // the service of a lock on these servers whose code is unknown
}

// backends lists all kinds of servers in the order of the reference.
var backends []*backend

// registerBackend adds a kind of server. The init function of the kind's file calls it.
func registerBackend(b *backend) {
	for i := range b.settings {
		b.settings[i] = b.inForce(b.settings[i])
	}
	backends = append(backends, b)
	slices.SortFunc(backends, func(a, b *backend) int { return a.place - b.place })
}

// backend returns the kind of the servers, or nil if the file does not name a valid one.
func (s *Servers) backend() *backend {
	for _, b := range backends {
		if b.kind == s.Backend {
			return b
		}
	}
	return nil
}

// naming returns the function that names the requests of the run that is about to begin. It resets n, which is reused
// from run to run.
func (b *backend) naming(n *redis.Namer) func(args []string) string {
	if b.name != nil {
		return b.name
	}
	n.Begin()
	return n.Name
}

// isUpkeep reports whether a request only keeps a connection or a session alive and concerns no lock.
func (b *backend) isUpkeep(args []string) bool {
	name := args[0]
	if b.name != nil {
		name = b.name(args)
	}
	return slices.Contains(b.upkeep, strings.ToLower(name))
}

// Front returns the front of the servers, which speaks their wire protocol with clients outside the simulation. It is
// nil if they have none.
func (s *Servers) Front() sim.Front { return s.backend().front }

// Called returns the common name of the servers, such as "Redis".
func (s *Servers) Called() string { return s.backend().called }

// Variable returns the environment variable that tells a program the addresses of the members. Each member is given
// as HOST:PORT: "FENCEPOST_ETCD=http://HOST:PORT,http://HOST:PORT".
func (s *Servers) Variable(members []string) string {
	b := s.backend()
	return "FENCEPOST_" + strings.ToUpper(string(b.kind)) + "=" + b.scheme + strings.Join(members, ","+b.scheme)
}

// backendNames lists the keys that choose the kind of servers. A file has exactly one of them.
func backendNames() (names []string) {
	for _, b := range backends {
		names = append(names, string(b.kind))
	}
	return names
}

// inForce returns a copy of k that has no value in scenarios with servers of another kind.
func (b *backend) inForce(k format.Key[Servers]) format.Key[Servers] {
	get := k.Get
	k.Get = func(s *Servers) format.Value {
		if s.Backend != b.kind {
			return format.Value{}
		}
		return get(s)
	}
	return k
}

// own lists the names of the keys under servers that only this kind of servers accepts.
func (b *backend) own() []string {
	names := slices.Clone(b.fields)
	for _, k := range b.settings {
		names = append(names, k.Path)
	}
	return names
}

// KeysOnPaths reports whether libraries form the keys of a lock by appending to its name or by prepending a path to
// it.
func (s *Servers) KeysOnPaths() bool { return s.backend().paths }

// FixedTimes reports whether it is impossible to divide all times of a scenario on these servers by the same number.
func (s *Servers) FixedTimes() bool { return s.backend().fixed }

// OneLog reports whether servers of a kind replicate one log. Otherwise each is an independent master.
func OneLog(kind locks.Backend) bool {
	b := (&Servers{Backend: kind}).backend()
	return b != nil && b.log
}

// key returns the key under servers that states how many servers of this kind there are.
func (b *backend) key() format.Key[Servers] {
	k := format.Number(string(b.kind), func(s *Servers) *int { return &s.N }, 0, 1, b.most,
		b.meaning).Depending("none").Showing("1")
	k.Set = func(s *Servers, v format.Value) { s.Backend, s.N = b.kind, int(v.N) }
	return b.inForce(k)
}
