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

// Backend describes a kind of lock server: how many a scenario may have, how they are created, and everything else that
// depends on the kind. Each kind is registered in a separate file, and no other file of this package names it.
type Backend struct {
	Kind    locks.Backend   // the key in the servers mapping, and the prefix of server names: etcd-1 …
	Called  string          // the common name of the servers: "Redis"
	Place   int             // position in the reference, counted from 1
	Most    int             // maximum number of servers
	Meaning string          // description of the key in the reference
	Service history.Service // the service of locks whose protocol does not name one
	// Several is the service if there are several independent servers. If Several is empty, the service is Service in
	// this case, too.
	Several history.Service
	// Redis is set if the servers are Redis nodes. Then faults such as "client pause" can strike them, each server has
	// its own URL, and live runs read the clients' requests.
	Redis   bool
	Steady  bool // the servers never read their wall clock
	Cluster func(*Servers) Cluster
	// Settings are the settings in the "servers" mapping that only this kind of server accepts. fields lists the names
	// of further such settings, which are parsed by separate code. check, if set, checks the description of the servers
	// and reports problems.
	Settings []format.Key[Servers]
	fields   []string
	check    func(*file)
	// Silence returns how long a fault may keep clients waiting although a quorum of the servers is up: until a member
	// stops waiting for a silent leader, or until a Redis Cluster serves requests again. It is nil if no setting
	// determines that time.
	Silence func(*Servers) time.Duration
	// Fixed is set if the servers round or limit some of the times, so that a real-time run cannot be shortened by
	// dividing all times by the same number.
	Fixed bool
	// Name returns the name of a request. If Name is nil, the name is the first word, as for Redis commands.
	Name   func(args []string) string
	Upkeep []string // lower-case names of requests that only keep a connection or session alive
	// Former maps request names from earlier versions (in upper case) to the current names. It applies to modeled
	// clients' requests.
	Former map[string]string
	// The fields below are for clients that use a released library (the protocol "library"). If Front is nil, libraries
	// cannot use these servers.
	Front sim.Front
	Paths bool // libraries form keys by appending to the lock's name or by prepending a path to it
	// Lasts returns how long a library's lock can block other clients after the servers have received its holder's last
	// message. If Lasts is nil, the lock can block them for its TTL.
	Lasts  func(ttl time.Duration) time.Duration
	Scheme string // prefix of a member's address, before HOST:PORT: "http://"
}

// backends lists all kinds of servers in the same order as the reference documentation.
var backends []*Backend

// RegisterBackend adds a kind of server. [history.RegisterService] registers the service of its locks.
func RegisterBackend(b *Backend) {
	for i := range b.Settings {
		b.Settings[i] = b.inForce(b.Settings[i])
	}
	backends = append(backends, b)
	slices.SortFunc(backends, func(a, b *Backend) int { return a.Place - b.Place })
}

// backend returns the definition of the servers' kind, or nil if the file does not name a valid kind.
func (s *Servers) backend() *Backend {
	for _, b := range backends {
		if b.Kind == s.Backend {
			return b
		}
	}
	return nil
}

// naming returns the function that names the next run's requests. It resets n, which is reused from run to run.
func (b *Backend) naming(n *redis.Namer) func(args []string) string {
	if b.Name != nil {
		return b.Name
	}
	n.Begin()
	return n.Name
}

// isUpkeep reports whether a request only keeps a connection or a session alive and does not concern a lock.
func (b *Backend) isUpkeep(args []string) bool {
	name := args[0]
	if b.Name != nil {
		name = b.Name(args)
	}
	return slices.Contains(b.Upkeep, strings.ToLower(name))
}

// Front returns the servers' front end, which speaks their wire protocol with clients outside the simulation. It
// returns nil if there is none.
func (s *Servers) Front() sim.Front { return s.backend().Front }

// Called returns the servers' common name, such as "Redis".
func (s *Servers) Called() string { return s.backend().Called }

// Variable returns an environment variable that tells a program the members' addresses, for example
// "FENCEPOST_ETCD=http://HOST:PORT,http://HOST:PORT". Each address in members is of the form HOST:PORT.
func (s *Servers) Variable(members []string) string {
	b := s.backend()
	return "FENCEPOST_" + strings.ToUpper(string(b.Kind)) + "=" + b.Scheme + strings.Join(members, ","+b.Scheme)
}

// Wired returns one server of each kind to which clients outside the simulation can connect, except Redis.
func Wired() (list []Servers) {
	for _, b := range backends {
		if b.Front != nil && !b.Redis {
			list = append(list, Servers{Backend: b.Kind, N: 1})
		}
	}
	return list
}

// backendNames lists the settings that select the kind of server. A file has exactly one of them.
func backendNames() (names []string) {
	for _, b := range backends {
		names = append(names, string(b.Kind))
	}
	return names
}

// inForce returns a copy of a setting of this kind of server. In scenarios with another kind of server, the copy has no
// value.
func (b *Backend) inForce(k format.Key[Servers]) format.Key[Servers] {
	get := k.Get
	k.Get = func(s *Servers) format.Value {
		if s.Backend != b.Kind {
			return format.Value{}
		}
		return get(s)
	}
	return k
}

// ownSettings lists the names of the settings in the "servers" mapping that only this kind of server accepts.
func (b *Backend) ownSettings() []string {
	names := slices.Clone(b.fields)
	for _, k := range b.Settings {
		names = append(names, k.Path)
	}
	return names
}

// KeysOnPaths reports whether libraries derive a lock's keys from the lock's name by appending text or prepending a
// path.
func (s *Servers) KeysOnPaths() bool { return s.backend().Paths }

// lasts returns how long a lock with these settings can block other clients after the servers have received its
// holder's last message.
func (s *Servers) lasts(c *locks.Config) time.Duration {
	d, b := locks.Define(c.Protocol), s.backend()
	switch {
	case d == nil:
		return c.TTL
	case d.Name == locks.FromLibrary && b != nil && b.Lasts != nil:
		return b.Lasts(c.TTL)
	}
	return d.Lasts(c)
}

// FixedTimes reports whether some of these servers' times cannot be scaled. If so, a scenario with such servers cannot
// be made faster by dividing all times by the same number.
func (s *Servers) FixedTimes() bool { return s.backend().Fixed }

// RedisNodes reports whether the servers are Redis nodes.
func (s *Servers) RedisNodes() bool { b := s.backend(); return b != nil && b.Redis }

// OneLog reports whether servers of this kind replicate one log. Otherwise each server is independent.
func OneLog(kind locks.Backend) bool { return (&Servers{Backend: kind}).consensus() }

// Persists reports whether a scenario file can set when servers of this kind write to disk.
func Persists(kind locks.Backend) bool {
	return slices.Contains((&Servers{Backend: kind}).backend().ownSettings(), "persistence")
}

// key returns the setting in the "servers" mapping that specifies the number of servers of this kind.
func (b *Backend) key() format.Key[Servers] {
	k := format.Number(string(b.Kind), func(s *Servers) *int { return &s.N }, 0, 1, b.Most,
		b.Meaning).Depending("none").Showing("1")
	k.Set = func(s *Servers, v format.Value) { s.Backend, s.N = b.Kind, int(v.N) }
	return b.inForce(k)
}
