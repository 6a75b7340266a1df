package locks

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// Setting is one lock setting in a scenario file: a key in the "lock" mapping.
type Setting = format.Key[Config]

// Backend is the kind of server that a protocol uses. In a scenario's "servers" mapping, the setting with the same name
// selects it.
type Backend string

// The kinds of servers.
const (
	OnRedis     Backend = "redis"
	OnEtcd      Backend = "etcd"
	OnZooKeeper Backend = "zookeeper"
	// control plane nodes, each with an API server and an etcd member
	OnKubernetes Backend = "kubernetes"
	OnConsul     Backend = "consul"
)

// Definition describes a protocol: what it is, its settings in a scenario, and how its locks are created. A protocol's
// file registers its Definition.
type Definition struct {
	Name    Protocol
	Place   int    // place in the reference, counted from 1; protocols with the same place are sorted by name
	Text    string // description in a few words
	Backend Backend
	Service history.Service // determines the advice that is given with a finding
	// Several is set if clients may ask several servers: independent ones, or the members of one coordination service.
	// If it is not set, clients ask a single Redis server or a Redis Cluster.
	Several bool
	Expires bool // a lock ends without a release, and its holder knows when
	Later   bool // the expiry is set in a second step, and the lock has none until then
	Renews  bool // the library keeps the lock alive in the background, so it may notify its client of a loss
	Tokens  bool // a holder gets a fencing token
	// Leaves is set if, by default, a client that releases the lock does not delete its key, but lets it expire.
	Leaves bool
	Shares bool // the protocol is a semaphore, which is useful only with several permits
	// Settings are the settings that the protocol accepts, each with the words that it accepts as a value and with its
	// default for this protocol.
	Settings []Setting
	// Without says, for each setting that only other protocols accept, why this protocol does not accept it, and what
	// to write instead.
	Without map[string]string
	// Alike says, for each setting that must be the same for all clients, why this is so, and what to write instead of
	// an override.
	Alike map[string]string
	// Measures returns the safety measures that a lock with these settings takes. If Measures is nil, it takes none.
	Measures func(*Config) []history.Measure
	// Lacks returns the safety measures that locks of other protocols take with the given settings, but locks of this
	// protocol do not. If Lacks is nil, there are no such measures.
	Lacks func(*Config) []history.Measure
	// Refused returns settings that contradict each other, or that are impossible with the given number of Redis
	// masters (0 if unknown). If Refused is nil, no settings are refused.
	Refused func(c *Config, masters int) []Refusal
	// Order returns how long a client that has stopped waiting for a fair lock keeps its place in the lock's queue.
	// Order is nil, or returns 0, if the lock does not promise an order.
	Order func(*Config) time.Duration
	// Foreign creates the locks of a protocol whose code is in another package. It is nil for this package's own
	// protocols.
	Foreign Foreign

	make  func(requester) protocol
	lasts func(*Config) time.Duration // see Lasts; nil: the TTL
	// quorum returns how many servers must grant a lock. If it is nil, the number is a majority of the servers if
	// Several is set, and one otherwise.
	quorum func(*Config) int
	// complete sets those of the protocol's own settings that depend on the number of servers. It is nil if there are
	// no such settings.
	complete func(c *Config, servers int)
	// badName explains why a lock cannot have a given name, and returns the most similar allowed name, if there is one.
	// If badName is nil, all names are allowed.
	badName func(history.Lock) (problem, right string)
	// clash returns an error message if the servers would treat lock b as a part of lock a, and "" otherwise. The
	// message also says what to write instead. If no two locks can clash, the function is nil.
	clash func(a, b history.Lock) string
	// secondKey returns the second key in a lock's scripts. If secondKey is nil, the scripts have only one key.
	secondKey func(history.Lock) string
}

// Refusal says that the protocol does not accept the value of a setting, and why.
type Refusal struct{ Key, Why string }

// definitions lists all protocols, and settings returns their settings, both in the order of the reference
// documentation.
var (
	definitions []*Definition
	settings    = sync.OnceValue(allSettings)
)

// Register adds a protocol. It is called by the init function in the protocol's file. The order in which the file
// format reference lists protocols does not depend on the order of these calls.
func Register(d *Definition) {
	if Define(d.Name) != nil {
		panic("locks: two protocols are called " + string(d.Name))
	}
	if d.Foreign != nil {
		d.make = func(r requester) protocol { return &borrowed{requester: r, foreign: d.Foreign} }
	}
	definitions = append(definitions, d)
	slices.SortFunc(definitions, func(a, b *Definition) int {
		return cmp.Or(a.Place-b.Place, cmp.Compare(a.Name, b.Name))
	})
	settings = sync.OnceValue(allSettings)
}

// Definitions returns the protocols in the order of the reference documentation, except FromLibrary. Callers must not
// change the slice.
func Definitions() []*Definition { return definitions }

// Define returns a protocol's definition, or nil if there is no protocol with that name.
func Define(p Protocol) *Definition {
	if p == FromLibrary {
		return library
	}
	for _, d := range definitions {
		if d.Name == p {
			return d
		}
	}
	return nil
}

// Setting returns the setting at a path, or nil if the protocol does not accept it.
func (d *Definition) Setting(path string) *Setting {
	for i := range d.Settings {
		if d.Settings[i].Path == path {
			return &d.Settings[i]
		}
	}
	return nil
}

// Settings returns the settings of all protocols, in the order of the reference documentation. If several protocols
// define a setting, it returns the first definition. Callers must not change the slice.
func Settings() []Setting { return settings() }

// allSettings collects what Settings returns.
func allSettings() []Setting {
	all := slices.Clone(common)
	for _, d := range definitions {
		for _, s := range d.Settings {
			if !slices.ContainsFunc(all, func(other Setting) bool { return other.Path == s.Path }) {
				all = append(all, s)
			}
		}
	}
	return all
}

// Taking returns the protocols that accept the setting at a path. If word is not empty, it returns only those that
// accept word as the setting's value.
func Taking(path, word string) (takers []Protocol) {
	for _, d := range definitions {
		if s := d.Setting(path); s != nil && (word == "" || slices.Contains(s.Form.Words, word)) {
			takers = append(takers, d.Name)
		}
	}
	return takers
}

// Quorum returns how many servers must grant a lock with these settings. In a Redis Cluster, this is one, because a
// single master serves the lock.
func (d *Definition) Quorum(c *Config) int {
	switch {
	case d.quorum != nil:
		return d.quorum(c)
	case d.Several && !c.Cluster:
		return len(c.Servers)/2 + 1
	}
	return 1
}

// Lasts returns how long a lock with these settings can block other clients after its holder was last in contact with
// the servers. This is the TTL, unless the servers add to it.
func (d *Definition) Lasts(c *Config) time.Duration {
	if d.lasts != nil {
		return d.lasts(c)
	}
	return c.TTL
}

// Applies reports whether a lock with these settings takes a given safety measure.
func (d *Definition) Applies(c *Config, m history.Measure) bool {
	return d.Measures != nil && slices.Contains(d.Measures(c), m)
}

// Misses reports whether a safety measure is among those that Lacks returns for a lock with these settings.
func (d *Definition) Misses(c *Config, m history.Measure) bool {
	return d.Lacks != nil && slices.Contains(d.Lacks(c), m)
}

// ReadsWall reports whether clients of a lock with these settings ever read their wall clock.
func (d *Definition) ReadsWall(c *Config) bool {
	return slices.ContainsFunc(d.Settings, func(s Setting) bool { return s.Wall != "" && s.Get(c).Word == s.Wall })
}

// Defaults sets every setting to its default, with two exceptions. The settings in an optional mapping are set when the
// mapping is present. The defaults that depend on other settings are set by Complete.
func (d *Definition) Defaults(c *Config) {
	c.Protocol = d.Name
	for i := range d.Settings {
		s := &d.Settings[i]
		mapping, _, nested := strings.Cut(s.Path, ".")
		if optional := nested && len(d.Setting(mapping).Form.Words) > 0; s.Depends == "" && !optional {
			s.Set(c, s.Standard)
		}
	}
}

// Complete sets the defaults that depend on other settings. n is the number of servers in the client's run. isSet
// reports whether the scenario file specifies a setting. careful is set if the client extends the lock or checks its
// validity.
func (d *Definition) Complete(c *Config, n int, careful bool, isSet func(path string) bool) {
	if d.complete != nil {
		d.complete(c, n)
	}
	if s := d.Setting("elapsed-check"); s != nil && s.Depends != "" && !isSet(s.Path) {
		c.ElapsedCheck = careful
	}
	if c.Extension == nil {
		return
	}
	x := *c.Extension
	if x.TTL == 0 {
		x.TTL = c.TTL
	}
	if x.Every == 0 {
		x.Every = c.TTL / 3
	}
	if x.Limit == limitNotGiven {
		// The Redlock document requires a limit, except for extensions in the background.
		x.Limit = map[bool]int{true: 0, false: 3}[x.Background]
	}
	c.Extension = &x
}
