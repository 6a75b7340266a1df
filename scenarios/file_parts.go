package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Upper limits for counts in a scenario file. Larger values serve no purpose, and could make sums of times overflow an
// int64 of nanoseconds.
const (
	maxServers  = 99
	maxReplicas = 9
	maxMembers  = 9
	maxClients  = 99
	maxCount    = 10_000 // maximum number of cycles, and of writes per section
)

// serverKeys returns the settings in the "servers" mapping, except those that have their own parsing code. The first
// settings select the kind of server.
func serverKeys() (keys []format.Key[Servers]) {
	for _, b := range backends {
		keys = append(keys, b.key())
	}
	keys[0].Meaning += fmt.Sprintf(". A file has exactly one of `%s`", strings.Join(backendNames(), "`, `"))
	return append(keys, serverSettings()...)
}

// serverSettings returns the settings in the "servers" mapping: those that all kinds of servers have, and those
// specific to each kind.
func serverSettings() []format.Key[Servers] {
	keys := []format.Key[Servers]{fsyncKey}
	for _, b := range backends {
		keys = append(keys, b.Settings...)
	}
	return keys
}

// fsyncKey is the fsync setting, which all kinds of servers have.
var fsyncKey = format.Time("fsync", func(s *Servers) *time.Duration { return &s.Fsync }, store.DefaultFsyncTime,
	"how long one fsync takes; servers with a replicated log fsync each entry before they acknowledge it")

func (f *file) serverFields() []field {
	t := table[Servers]{Reader: f.Reader, name: "servers", keys: serverKeys(), to: &f.scenario.Servers,
		of: func(s *Scenario, _ *Client) *Servers { return &s.Servers }}
	fields := append(t.fields(""), field{name: "notify-keyspace-events", read: f.readNotifications,
		doc: doc{values: "classes as in redis.conf: `KEA`, `Ex`", standard: "none",
			meaning: "the key events for which Redis publishes messages, " +
				"to `__keyspace@0__:KEY` (`K`) and `__keyevent@0__:EVENT` (`E`). " +
				"Only lock code of your own needs them; CONFIG SET changes the classes"}},
		field{name: "maxmemory-policy", instead: "servers never run out of memory on their own: " +
			"an eviction is a fault, such as `evict key of LOCK on redis-1 at 3s` under faults"})
	return slices.Insert(fields, len(backends),
		field{name: "persistence", read: f.readPersistence, fields: f.persistenceFields,
			kind: format.Word, number: wordOf,
			doc: doc{values: "`none`, or a mapping", standard: "see below", words: []string{"none"},
				meaning: "`none` turns the append-only file off: a server is empty after every restart"}})
}

func (f *file) readNotifications(n ast.Node) {
	text, ok := format.ScalarText(n)
	if !ok || !redis.AreEvents(text) {
		f.Problem(format.StartOf(n), "", "expected letters that stand for classes of events in redis.conf, "+
			"such as KEA, found %s", format.Found(text))
		return
	}
	f.scenario.Servers.NotifyKeyspaceEvents = text
}

func (f *file) persistenceFields() []field {
	t := table[Servers]{Reader: f.Reader, name: "servers.persistence", to: &f.scenario.Servers,
		of: func(s *Scenario, _ *Client) *Servers { return &s.Servers },
		keys: []format.Key[Servers]{format.Choice("append-fsync",
			func(s *Servers) *store.Policy { return &s.Persistence }, "when written data reaches the disk, "+
				"like Redis's appendfsync",
			format.Option[store.Policy]{Word: "everysec", Value: store.Everysec},
			format.Option[store.Policy]{Word: "always", Value: store.Always},
			format.Option[store.Policy]{Word: "no", Value: store.No})}}
	fields := t.fields("")
	fields[0].required = true
	return fields
}

func (f *file) readPersistence(n ast.Node) {
	s := &f.scenario.Servers
	if text, _ := format.ScalarText(n); text == "none" {
		s.Persistence = store.None
		return
	}
	mapping(f.Reader, n, "servers.persistence", f.persistenceFields(), "none")
}

// checkServers reports servers that the protocol never uses, and settings that this kind of server does not have.
func (f *file) checkServers() {
	s, kinds := &f.scenario.Servers, 0
	for _, key := range backendNames() {
		if place, given := f.inServers[key]; given {
			if kinds++; kinds > 1 {
				f.Problem(place, "", "`servers` names more than one kind of server: keep only one of %s",
					strings.Join(backendNames(), ", "))
			}
		}
	}
	if kinds == 0 && f.serversAt != (format.Place{}) {
		f.Problem(f.serversAt, "", "`servers` needs one of %s", strings.Join(backendNames(), ", "))
	}
	if kinds != 1 {
		return
	}
	f.checkProtocol()
	own := s.backend()
	for _, b := range backends {
		for _, key := range b.ownSettings() {
			if place, given := f.inServers[key]; given && own != nil && b != own {
				f.Problem(place, "", "%s is a setting of %s: remove it", key, b.Called)
			}
		}
	}
	if own != nil && own.check != nil {
		own.check(f)
	}
}

// checkProtocol checks that the protocol can use the servers.
func (f *file) checkProtocol() {
	d, s := locks.Define(f.lock.config.Protocol), &f.scenario.Servers
	switch {
	case d == nil || len(s.asked()) == 0: // the protocol or the servers are missing or wrong, which was reported before
	case d.Name == locks.FromLibrary && s.Front() == nil:
		f.Problem(f.inServers[string(s.Backend)], "", "libraries cannot connect to simulated %s servers", s.Backend)
	case d.Name == locks.FromLibrary:
	case d.Backend != s.Backend:
		f.Problem(f.inServers[string(s.Backend)], "", "%s needs %s servers, not %s", d.Name, d.Backend, s.Backend)
	case d.Several && s.Cluster:
		f.Problem(f.inServers["cluster"], "", "%s needs independent masters, "+
			"but in a Cluster, only one master serves a key: write `cluster: off`, or use set-nx-px", d.Name)
	case !d.Several && s.N > 1 && !s.Cluster:
		f.Problem(f.inServers[string(s.Backend)], "",
			"%s uses one Redis server, but there are %d: use redlock, or a Cluster (`cluster: on`)", d.Name,
			s.N)
	}
}

var networkKeys = []format.Key[Network]{
	format.Spread("delay", func(n *Network) *sim.Delay { return &n.Delay },
		sim.Delay{Lo: 200 * time.Microsecond, Hi: 2 * time.Millisecond}, "how long each message travels, "+
			"in one direction").
		Showing("200us..2ms"),
	{Path: "tail", Form: format.Form{Kind: format.Share, Words: []string{"none"}},
		Standard: format.Value{Word: "none"},
		Meaning: "the long tail: " +
			"with `1% 10ms..50ms`, one message in a hundred has that delay instead, on each link",
		Set: func(n *Network, v format.Value) {
			n.Tail = sim.Tail{PPM: v.N, Delay: sim.Delay{Lo: time.Duration(v.From), Hi: time.Duration(v.To)}}
		},
		Get: func(n *Network) format.Value {
			if n.Tail == (sim.Tail{}) {
				return format.Value{Word: "none"}
			}
			return format.Value{N: n.Tail.PPM, From: int64(n.Tail.Delay.Lo), To: int64(n.Tail.Delay.Hi)}
		}},
}

func (f *file) networkFields() []field {
	t := table[Network]{Reader: f.Reader, name: "network", keys: networkKeys, to: &f.scenario.Network,
		of: func(s *Scenario, _ *Client) *Network { return &s.Network }}
	return append(t.fields(""), field{name: "links", read: func(n ast.Node) { f.links = n },
		doc: doc{values: "mapping of link to delay", standard: "none", meaning: "links that have their own delay: " +
			"`client-1 -> redis-1: 5ms` is one direction, `client-1 \\| redis-1: 5ms` both"}})
}

// readLinks parses the delays of individual links. It checks the process names only if the run's processes are known.
func (f *file) readLinks(names *nemesis.Names) {
	if f.links == nil {
		return
	}
	list := &f.scenario.Network.Links
	const example = "{client-1 -> redis-1: 5ms}"
	f.Entries(f.links, "network.links", example, func(key string, place format.Place, value ast.Node) {
		ends := f.link(key, place, names)
		delay, ok := f.Delay(value)
		if !ok {
			return
		}
		for _, e := range ends {
			if slices.ContainsFunc(*list, func(l sim.LinkDelay) bool { return l.From == e[0] && l.To == e[1] }) {
				f.Problem(place, "", "the delay of %s -> %s is given twice", e[0], e[1])
			}
			*list = append(*list, sim.LinkDelay{From: e[0], To: e[1], Delay: delay})
		}
	})
}

// link parses the name of an entry in the "links" mapping: "client-1 -> redis-1" names one direction of the link,
// "client-1 | redis-1" names both.
func (f *file) link(key string, place format.Place, names *nemesis.Names) (ends [][2]sim.ProcessID) {
	words := strings.Fields(key)
	if len(words) != 3 || words[1] != "->" && words[1] != "|" {
		f.Problem(place, "", `expected a link such as "client-1 -> redis-1" or "client-1 | redis-1", found %s`,
			format.Found(key))
		return nil
	}
	if names == nil {
		return nil
	}
	all := slices.Concat(names.Clients, names.Servers(), []sim.ProcessID{names.Resource})
	a, b := sim.ProcessID(words[0]), sim.ProcessID(words[2])
	client := func(p sim.ProcessID) bool { return slices.Contains(names.Clients, p) }
	for i, p := range []sim.ProcessID{a, b} {
		if !slices.Contains(all, p) {
			other := []sim.ProcessID{b, a}[i]
			fit := slices.DeleteFunc(slices.Clone(all),
				func(q sim.ProcessID) bool { return slices.Contains(all, other) && client(q) == client(other) })
			f.Problem(f.WordIn(place, words, 2*i), nearestProcess(p, fit), "no process of this run is called %s",
				format.Found(string(p)))
			return nil
		}
	}
	if client(a) == client(b) {
		f.Problem(place, "", "%s and %s never exchange messages: name a link with a client at one end", a, b)
		return nil
	}
	ends = append(ends, [2]sim.ProcessID{a, b})
	if words[1] == "|" {
		ends = append(ends, [2]sim.ProcessID{b, a})
	}
	return ends
}

func nearestProcess(p sim.ProcessID, all []sim.ProcessID) string {
	list := make([]string, len(all))
	for i, q := range all {
		list[i] = string(q)
	}
	return nearest.Word(string(p), list)
}

var resourceKeys = []format.Key[ResourceConfig]{
	format.Choice("fencing", func(c *ResourceConfig) *Fencing { return &c.Fencing },
		"`on` refuses reads and writes with a token lower than the highest seen; "+
			"`refuse-equal` refuses writes whose token is not higher than the last write's; "+
			"both need a protocol with fencing tokens",
		format.Option[Fencing]{Word: "off", Value: FencingOff}, format.Option[Fencing]{Word: "on", Value: FencingOn},
		format.Option[Fencing]{Word: "refuse-equal", Value: FencingRefuseEqual}).Showing("off"),
	format.Choice("writes", func(c *ResourceConfig) *WriteMode { return &c.Writes },
		"`blind`: the last write wins; "+
			"`compare-and-set`: a write succeeds only if the value is still the one that the writer read; "+
			"`idempotent`: each operation is applied once, and all clients run the same operations",
		format.Option[WriteMode]{Word: "blind", Value: BlindWrites},
		format.Option[WriteMode]{Word: "compare-and-set", Value: CompareAndSet},
		format.Option[WriteMode]{Word: "idempotent", Value: Idempotent}),
	format.Positive("timeout", func(c *ResourceConfig) *time.Duration { return &c.Timeout }, time.Second,
		"how long a client waits for the resource's reply"),
}

func (f *file) resourceFields() []field {
	t := table[ResourceConfig]{Reader: f.Reader, name: "resource", keys: resourceKeys, to: &f.scenario.Resource,
		of: func(s *Scenario, _ *Client) *ResourceConfig { return &s.Resource }}
	return t.fields("")
}

// checkResource reports an error if fencing is on, but the protocol does not issue tokens or allows several holders at
// once.
func (f *file) checkResource() {
	d := locks.Define(f.lock.config.Protocol)
	place, given := f.inResource["fencing"]
	switch several := f.lock.config.Permits > 1; {
	case d == nil || d.Tokens && !several || f.scenario.Resource.Fencing == FencingOff || !given:
	case several:
		f.Problem(place, "", "with %d permits, several clients use the resource at once, "+
			"and fencing would refuse all but the latest: write `fencing: off`", f.lock.config.Permits)
	default:
		f.Problem(place, "", "%s issues no fencing tokens that the resource could compare: write `fencing: "+
			"off`, or use %s",
			d.Name, format.Listed(tokenGivers(), "or"))
	}
}

func tokenGivers() (names []locks.Protocol) {
	for _, d := range locks.Definitions() {
		if d.Tokens {
			names = append(names, d.Name)
		}
	}
	return names
}
