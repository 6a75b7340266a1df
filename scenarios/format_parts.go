package scenarios

import (
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// Bounds on what is counted. More would take a run beyond any use, and its sums beyond an int64 of nanoseconds.
const (
	maxServers  = 99
	maxReplicas = 9
	maxMembers  = 9
	maxClients  = 99
	maxCount    = 10_000 // cycles, writes of a section, extensions
)

func (f *file) serverFields() []field {
	s := &f.scenario.Servers
	return []field{
		{name: "redis", read: into(&s.Redis, f.whole(1, maxServers))},
		{name: "etcd", read: into(&s.Etcd, f.whole(1, maxMembers))},
		{name: "zookeeper", read: into(&s.ZooKeeper, f.whole(1, maxMembers))},
		{name: "persistence", read: f.readPersistence},
		{name: "fsync", read: into(&s.Fsync, f.duration)},
		{name: "replicas", read: into(&s.Replicas, f.whole(0, maxReplicas))},
		{name: "min-replicas-to-write", read: into(&s.MinReplicasToWrite, f.whole(0, maxReplicas))},
		{name: "min-replicas-max-lag", read: into(&s.MinReplicasMaxLag, f.positive)},
		{name: "semi-sync", read: into(&s.SemiSync, f.onOff)},
		{name: "semi-sync-timeout", read: into(&s.SemiSyncTimeout, f.positive)},
		{name: "down-after", read: into(&s.DownAfter, f.period)},
		{name: "reconfigure-after", read: into(&s.ReconfigureAfter, f.duration)},
	}
}

func (f *file) readPersistence(n ast.Node) {
	s := &f.scenario.Servers
	if text, ok := scalarText(n); ok {
		if text == "none" {
			s.Persistence = redis.None
			return
		}
		f.problem(startOf(n), nemesis.Nearest(text, []string{"none"}),
			"expected none, or a mapping such as {append-fsync: always}, found %s", found(text))
		return
	}
	f.mapping(n, "servers.persistence", []field{
		{name: "append-fsync", required: true, read: into(&s.Persistence, choose(f.reader,
			[]choice[redis.Persistence]{{"everysec", redis.AppendEverysec}, {"always", redis.AppendAlways}, {"no", redis.AppendNo}}))},
	})
}

// serverKinds are the keys that say what servers there are; a file gives one of them.
var serverKinds = []string{"redis", "etcd", "zookeeper"}

// redisKeys and replicaKeys are settings of Redis nodes, the latter of replicated ones.
var (
	redisKeys   = []string{"persistence", "replicas"}
	replicaKeys = []string{"min-replicas-to-write", "min-replicas-max-lag", "semi-sync", "semi-sync-timeout", "down-after", "reconfigure-after"}
)

// checkServers refuses servers that the protocol would never ask, and settings that none of them has.
func (f *file) checkServers() {
	s, kinds := &f.scenario.Servers, 0
	for _, key := range serverKinds {
		if place, given := f.inServers[key]; given {
			if kinds++; kinds > 1 {
				f.problem(place, "", "a lock is on one sort of servers: give one of %s", strings.Join(serverKinds, ", "))
			}
		}
	}
	if kinds == 0 && f.serversAt != (at{}) {
		f.problem(f.serversAt, "", "servers needs one of %s", strings.Join(serverKinds, ", "))
	}
	if kinds != 1 {
		return
	}
	f.checkProtocol()
	for _, key := range slices.Concat(redisKeys, replicaKeys) {
		place, given := f.inServers[key]
		switch {
		case given && s.consensus():
			f.problem(place, "", "%s is a setting of Redis", key)
		case given && s.Replicas == 0 && slices.Contains(replicaKeys, key):
			f.problem(place, "", "%s is about replicas, but there are none", key)
		}
	}
	if s.MinReplicasToWrite > s.Replicas && s.Replicas > 0 {
		f.problem(f.inServers["min-replicas-to-write"], "", "min-replicas-to-write asks for more replicas (%d) than there are (%d)", s.MinReplicasToWrite, s.Replicas)
	}
	if w := f.lock.config.Wait; w != nil && w.Replicas > s.Replicas && !s.consensus() && f.lock.config.Protocol != locks.Redlock {
		f.problem(f.lock.given["wait"], "", "wait asks for more replicas (%d) than there are (%d)", w.Replicas, s.Replicas)
	}
}

// checkProtocol holds the protocol against the servers.
func (f *file) checkProtocol() {
	p, s := f.lock.config.Protocol, &f.scenario.Servers
	needs, key := "redis", "redis"
	switch {
	case s.Etcd > 0:
		key = "etcd"
	case s.ZooKeeper > 0:
		key = "zookeeper"
	}
	if p.Leased() {
		needs = string(p)
	}
	switch {
	case p == "" || len(s.asked()) == 0: // missing or wrong, and told so
	case needs != key:
		f.problem(f.inServers[key], "", "%s locks on %s servers, not on %s", p, needs, key)
	case needs == "redis" && p != locks.Redlock && s.Redis > 1:
		f.problem(f.inServers["redis"], "", "%s locks on one Redis, but there are %d; several are for redlock", p, s.Redis)
	}
}

func (f *file) networkFields() []field {
	return []field{
		{name: "delay", read: into(&f.scenario.Network.Delay, f.delay)},
		{name: "tail", read: into(&f.scenario.Network.Tail, f.tail)},
		{name: "links", read: func(n ast.Node) { f.links = n }},
	}
}

// readLinks reads the delays of single links. The names' own mistakes are told only if the names are known.
func (f *file) readLinks(names *nemesis.Names) {
	if f.links == nil {
		return
	}
	list := &f.scenario.Network.Links
	f.entries(f.links, "network.links", func(key string, place at, value ast.Node) {
		ends := f.link(key, place, names)
		delay, ok := f.delay(value)
		if !ok {
			return
		}
		for _, e := range ends {
			if slices.ContainsFunc(*list, func(l sim.LinkDelay) bool { return l.From == e[0] && l.To == e[1] }) {
				f.problem(place, "", "the delay of %s -> %s is given twice", e[0], e[1])
			}
			*list = append(*list, sim.LinkDelay{From: e[0], To: e[1], Delay: delay})
		}
	})
}

// link reads "client-1 -> redis-1" as one direction, and "client-1 | redis-1" as both.
func (f *file) link(key string, place at, names *nemesis.Names) (ends [][2]sim.ProcessID) {
	words := strings.Fields(key)
	if len(words) != 3 || words[1] != "->" && words[1] != "|" {
		f.problem(place, "", `expected a link such as "client-1 -> redis-1" or "client-1 | redis-1", found %s`, found(key))
		return nil
	}
	if names == nil {
		return nil
	}
	all := slices.Concat(names.Clients, names.Redis, names.Consensus, []sim.ProcessID{names.Resource})
	a, b := sim.ProcessID(words[0]), sim.ProcessID(words[2])
	for _, p := range []sim.ProcessID{a, b} {
		if !slices.Contains(all, p) {
			f.problem(place, nearestProcess(p, all), "no process of this run is called %s", found(string(p)))
			return nil
		}
	}
	if slices.Contains(names.Clients, a) == slices.Contains(names.Clients, b) {
		f.problem(place, "", "%s and %s never talk to each other: a link has a client at one end", a, b)
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
	return nemesis.Nearest(string(p), list)
}

func (f *file) resourceFields() []field {
	c := &f.scenario.Resource
	return []field{
		{name: "fencing", read: into(&c.Fencing, choose(f.reader,
			[]choice[Fencing]{{"on", FencingOn}, {"off", FencingOff}, {"refuse-equal", FencingRefuseEqual}}))},
		{name: "writes", read: into(&c.Writes, choose(f.reader,
			[]choice[WriteMode]{{"blind", BlindWrites}, {"compare-and-set", CompareAndSet}, {"idempotent", Idempotent}}))},
		{name: "timeout", read: into(&c.Timeout, f.positive)},
	}
}
