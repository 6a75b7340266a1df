package compare

import (
	"fmt"
	"slices"
	"strings"
)

// Contender is one lock protocol in the comparison, with its servers and settings.
type Contender struct {
	Name    string // prefix of the names of the contender's scenarios
	Title   string
	Text    string // description, one sentence
	Claimed string // the lock's column in the article's table; empty if it has none
	Servers string // contents of the servers mapping, without persistence
	Lock    string // contents of the lock mapping, without ttl
	Nodes   []string
	CutOff  []string // servers to cut off from the holder, so the lock is granted by as few servers as possible
	Lagging []string // members to cut off from the others before a server fault, for the same purpose
	Struck  string   // the server that server faults strike; the lock depends on this server
	Spare   []string // servers that the service can lose without stopping: a minority, or the master of a pair
	Most    []string // servers whose loss stops the service: a majority, or the whole pair
	Synced  bool     // a Redis that always fsyncs before it answers
	Tokens  bool     // the lock issues fencing tokens
	Agreed  bool     // the servers replicate a log, and each fsyncs before it answers
	Paced   bool     // the protocol has its own retry intervals
}

// renewed is a setting that makes a Redis client renew its lock every third of the TTL, as etcd and ZooKeeper clients
// renew their sessions.
const renewed = "extension: {}"

// Servers of a Redlock with five masters (two, three), and of a master with one replica (pair).
var (
	two   = []string{"redis-4", "redis-5"}
	three = []string{"redis-3", "redis-4", "redis-5"}
	pair  = []string{"redis-1", "redis-1-replica-1"}
)

// cluster is the setting for a Redis Cluster with three masters. The key "lock" is in one of redis-2's slots.
const cluster = "redis: 3, replicas: 1, cluster: on"

var (
	slotOwners = []string{"redis-2", "redis-2-replica-1"}
	members    = append(slices.Clone(slotOwners), "redis-1", "redis-1-replica-1", "redis-3", "redis-3-replica-1")
)

// contenders lists the locks to compare. Each is a row of the comparison.
var contenders = []Contender{
	{Name: "redis", Title: "Redis", Text: "SET NX PX on a single Redis server.", Servers: "redis: 1",
		Lock:  "protocol: set-nx-px, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Most: []string{"redis-1"}},
	{Name: "replica", Title: "Redis, replica", Text: "The same with one asynchronous replica, " +
		"which a Sentinel promotes.", Servers: "redis: 1, replicas: 1", Lock: "protocol: set-nx-px, " + renewed,
		Nodes: []string{"redis-1", "redis-1-replica-1", "sentinel-1"}, Struck: "redis-1",
		Spare: []string{"redis-1"}, Most: pair},
	{Name: "wait", Title: "Redis, WAIT 1", Text: "The same with WAIT 1 after the SET; " +
		"the client acts on the reply to WAIT.",
		Servers: "redis: 1, replicas: 1", Lock: "protocol: set-nx-px, wait: {timeout: 100ms}, " + renewed,
		Nodes: []string{"redis-1", "redis-1-replica-1", "sentinel-1"}, Struck: "redis-1",
		Spare: []string{"redis-1"}, Most: pair},
	{Name: "cluster", Title: "Redis Cluster",
		Text:    "SET NX PX on a Redis Cluster of three masters with one replica each.",
		Servers: cluster, Lock: "protocol: set-nx-px, " + renewed, Nodes: members, Struck: "redis-2",
		Spare: []string{"redis-2"}, Most: slotOwners},
	{Name: "cluster-wait", Title: "Cluster, WAIT 1", Text: "The same with WAIT 1 after the SET; " +
		"the client acts on the reply to WAIT.",
		Servers: cluster, Lock: "protocol: set-nx-px, wait: {timeout: 100ms}, " + renewed, Nodes: members,
		Struck: "redis-2", Spare: []string{"redis-2"}, Most: slotOwners},
	{Name: "fenced", Title: "Redis, fenced", Text: "SET NX PX and INCR of a token counter, " +
		"in one script on a single Redis server.",
		Servers: "redis: 1", Lock: "protocol: fenced, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Tokens: true, Most: []string{"redis-1"}},
	{Name: "fair", Title: "Redis, fair", Text: "A queue on a single Redis server; " +
		"the first client in line gets the lock.",
		Servers: "redis: 1", Lock: "protocol: fair, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Most: []string{"redis-1"}},
	{Name: "hash", Title: "Redis, reentrant", Text: "A hash on a single Redis server, " +
		"in which the owner's field counts its holds, as in Redisson's RLock.",
		Servers: "redis: 1", Lock: "protocol: hash-counter, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Most: []string{"redis-1"}},
	{Name: "read-write", Title: "Redis, read-write", Text: "A read-write lock on a single Redis server; " +
		"all clients write.",
		Servers: "redis: 1", Lock: "protocol: read-write, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Most: []string{"redis-1"}},
	{Name: "semaphore", Title: "Redis, semaphore", Text: "A semaphore on a single Redis server, with one permit.",
		Servers: "redis: 1", Lock: "protocol: semaphore, permits: 1, " + renewed,
		Nodes: []string{"redis-1"}, Struck: "redis-1", Most: []string{"redis-1"}},
	{Name: "redlock", Title: "Redlock", Text: "Five masters, asked one after another; all five grant the lock.",
		Claimed: "redlock", Servers: "redis: 5", Lock: "protocol: redlock, " + renewed,
		Nodes: numbered("redis", 5), Struck: "redis-3",
		Spare: two, Most: three},
	{Name: "redlock-synced", Title: "Redlock, fsync", Claimed: "redlock",
		Text:    "Five masters, asked one after another, each with an fsync before it answers.",
		Servers: "redis: 5, persistence: {append-fsync: always}", Lock: "protocol: redlock, " + renewed,
		Nodes: numbered("redis", 5), Struck: "redis-3", Spare: two, Most: three, Synced: true},
	{Name: "redlock-parallel", Title: "Redlock, at once",
		Text: "Five masters, asked all at once; all five grant the lock.", Claimed: "redlock", Servers: "redis: 5",
		Lock: "protocol: redlock, contact: parallel, " + renewed, Nodes: numbered("redis", 5), Struck: "redis-3",
		Spare: two, Most: three},
	{Name: "redlock-bare", Title: "Redlock, 3 of 5", Text: "Five masters, asked one after another; " +
		"two cannot be reached, so all of the other three must grant the lock.",
		Claimed: "redlock", Servers: "redis: 5",
		Lock: "protocol: redlock, " + renewed, Nodes: numbered("redis", 5), Struck: "redis-3", Spare: two, Most: three,
		CutOff: []string{"redis-4", "redis-5"}},
	{Name: "etcd", Title: "etcd", Text: "A key with a lease on three members; only two of them know of the lock, " +
		"and a fault strikes one of these two.", Claimed: "etcd", Servers: "etcd: 3", Lock: "protocol: etcd",
		Nodes:  numbered("etcd", 3),
		Struck: "etcd-1", Spare: []string{"etcd-3"}, Most: []string{"etcd-2", "etcd-3"}, Lagging: []string{"etcd-3"},
		Tokens: true, Agreed: true},
	{Name: "zookeeper", Title: "ZooKeeper", Text: "A session's znode on three members; " +
		"only two of them know of the lock, and a fault strikes one of these two.",
		Claimed: "zookeeper", Servers: "zookeeper: 3",
		Lock: "protocol: zookeeper, listener: on", Nodes: numbered("zookeeper", 3),
		Struck: "zookeeper-1", Spare: []string{"zookeeper-3"}, Most: []string{"zookeeper-2", "zookeeper-3"},
		Lagging: []string{"zookeeper-3"},
		Tokens:  true, Agreed: true},
	{Name: "kubernetes", Title: "Kubernetes",
		Text: "The leader election of Kubernetes: " +
			"a record on three nodes, each with an API server and a member of etcd; " +
			"only two of them know of it, and a fault strikes one of these two.", Servers: "kubernetes: 3",
		Lock:  "protocol: lease-object, renew-deadline: 6s, retry-period: 1s, timeout: 3s, release-on-cancel: on",
		Nodes: numbered("kubernetes", 3), Struck: "kubernetes-1", Spare: []string{"kubernetes-3"},
		Most: []string{"kubernetes-2", "kubernetes-3"}, Lagging: []string{"kubernetes-3"}, Tokens: true, Agreed: true,
		Paced: true},
	{Name: "consul", Title: "Consul", Text: "A session's key on three servers; " +
		"only two of the servers know of it, and a fault strikes one of these two. " +
		"After a session has ended, nobody gets the lock for 15 s.", Servers: "consul: 3",
		Lock: "protocol: consul", Nodes: numbered("consul", 3), Struck: "consul-1",
		Spare: []string{"consul-3"}, Most: []string{"consul-2", "consul-3"}, Lagging: []string{"consul-3"},
		Tokens: true, Agreed: true},
}

// Add adds a contender, which becomes a row in the comparison.
func Add(c Contender) { contenders = append(contenders, c) }

// numbered returns the names of n servers of the same kind.
func numbered(sort string, n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("%s-%d", sort, i+1))
	}
	return names
}

// Trouble is an adverse situation, caused by one or a few faults, that the comparison exposes every lock to.
type Trouble struct {
	Name  string // one word; the scenarios are named compare-LOCK-NAME
	Title string // column heading
	Text  string // what happens, one sentence
	// Liveness is set if the trouble tests whether clients can still acquire the lock. Otherwise, it tests whether the
	// data is safe.
	Liveness bool
}

// troubles are the columns of the survival table.
var troubles = []Trouble{
	{Name: "pause", Title: "pause",
		Text: "The holder pauses for 60 s, past its lease, between its last check of the validity and its write."},
	{Name: "jump", Title: "jump",
		Text: "The wall clock of a server that the lock depends on jumps ahead by 30 s."},
	{Name: "power", Title: "power",
		Text: "A server that the lock depends on loses power and is back immediately. " +
			"If it is a Redis server, it fsyncs every second, which is the default."},
	{Name: "power-always", Title: "power+",
		Text: "A server that the lock depends on loses power and is back immediately. " +
			"It fsyncs before each reply, as etcd and ZooKeeper always do."},
	{Name: "failover", Title: "failover",
		Text: "The master or leader is down for 5 s while one replica or follower does not yet know of the lock; " +
			"another server takes over."},
	{Name: "partition", Title: "cut off",
		Text: "The holder is cut off from all lock servers for 30 s, and its work takes longer than its lease."},
	{Name: "evict", Title: "evicted",
		Text: "A Redis server that the lock depends on runs out of memory and evicts the lock's key. " +
			"An operator who deletes the key does the same."},
	{Name: "flush", Title: "flushed",
		Text: "An operator removes all keys from a Redis server that the lock depends on (FLUSHALL)."},
	{Name: "minority", Title: "minority", Liveness: true,
		Text: "A minority of the servers, or the master of a pair, is gone for good. " +
			"A waiting client should get the lock."},
	{Name: "majority", Title: "majority", Liveness: true,
		Text: "A majority of the servers, or both of a pair, are gone for good. Nobody can get a lock anymore."},
}

// absent returns the reason why a lock is not tested under the trouble with the given name (see Trouble), or "" if it
// is.
func (c *Contender) absent(trouble string, fencing bool) string {
	replicated := c.Agreed || strings.Contains(c.Servers, "replicas")
	switch {
	case fencing && !c.Tokens:
		return "gives no token"
	case trouble == "minority" && c.Spare == nil:
		return "has only one server"
	case trouble == "power" && (c.Agreed || c.Synced):
		return "always fsyncs before it answers"
	case (trouble == "evict" || trouble == "flush") && !strings.HasPrefix(c.Servers, "redis:"):
		return "is not on Redis"
	case trouble == "failover" && !replicated:
		return "has no server to fail over to"
	}
	return ""
}

// faults returns the scenario's fault lines for the given kind of trouble, such as "pause".
func (c *Contender) faults(trouble string) []string {
	switch trouble {
	case "pause":
		return []string{"pause client-1 for 60s after before-write"}
	case "jump":
		return append(c.behind(), fmt.Sprintf("jump %s clock by +30s at 500ms", c.Struck))
	case "power", "power-always":
		return append(c.behind(),
			fmt.Sprintf("crash %s losing unsynced writes at 500ms, restart after 100ms", c.Struck))
	case "failover":
		slow := c.Nodes[1] // the replica
		if c.Agreed {
			slow = c.Lagging[0]
		}
		return []string{fmt.Sprintf("cut %s -> %s at 0s for 500ms", c.Struck, slow),
			fmt.Sprintf("crash %s losing unsynced writes at 300ms, restart after 5s", c.Struck)}
	case "evict":
		return []string{fmt.Sprintf("evict key of lock on %s at 500ms", c.Struck)}
	case "flush":
		return []string{fmt.Sprintf("flush %s at 500ms", c.Struck)}
	case "minority":
		return gone(c.Spare)
	case "majority":
		return gone(c.Most)
	default:
		return []string{fmt.Sprintf("cut client-1 | %s after acquired for 30s", strings.Join(c.Nodes, " "))}
	}
}

// gone returns faults that crash the given servers for good.
func gone(servers []string) []string {
	var lines []string
	for _, s := range servers {
		lines = append(lines, fmt.Sprintf("crash %s losing unsynced writes at 500ms", s))
	}
	return lines
}

// behind returns faults that cut the members in c.Lagging off from the others, so that they do not receive the lock's
// data.
func (c *Contender) behind() []string {
	var lines []string
	for _, member := range c.Lagging {
		others := slices.DeleteFunc(slices.Clone(c.Nodes), func(n string) bool { return n == member })
		lines = append(lines, fmt.Sprintf("cut %s | %s at 0s for 30s", member, strings.Join(others, " ")))
	}
	return lines
}

// outOfReach returns faults that cut off the given number of clients, starting with client-1, from the servers in
// CutOff.
func (c *Contender) outOfReach(clients int, lasting string) []string {
	var lines []string
	for i := range clients {
		if len(c.CutOff) > 0 {
			lines = append(lines,
				fmt.Sprintf("cut client-%d | %s at 0s for %s", i+1, strings.Join(c.CutOff, " "), lasting))
		}
	}
	return lines
}

// survival returns the scenario that measures whether the lock survives the given trouble. When the trouble strikes,
// one client is holding the lock and working on the data, and another is waiting for the lock.
func (c *Contender) survival(t Trouble, fencing bool) Written {
	servers, compute, state := c.Servers, "3s", "off"
	switch {
	case t.Name == "power-always" && !c.Agreed && !c.Synced:
		servers += ", persistence: {append-fsync: always}"
	case (t.Name == "failover" || t.Liveness) && strings.Contains(c.Servers, "cluster"):
		servers += ", node-timeout: 500ms"
	case (t.Name == "failover" || t.Liveness) && strings.Contains(c.Servers, "replicas"):
		servers += ", down-after: 500ms, reconfigure-after: 1s"
	case t.Name == "partition":
		compute = "12s"
	}
	name := fmt.Sprintf("compare-%s-%s", c.Name, t.Name)
	if fencing {
		name, state = name+"-fenced", "on"
	}
	var b strings.Builder
	c.head(&b, name, fmt.Sprintf("%s. %s", c.Title, t.Text), servers)
	fmt.Fprintf(&b, "work: {writes: 1, compute: %s, stagger: 200ms, check-validity: on}\nresource: {fencing: %s}\n",
		compute, state)
	list(&b, append(c.outOfReach(1, "30s"), c.faults(t.Name)...))
	return Written{name, b.String()}
}

// timing returns the scenario that produces the timing figures: the clients acquire and release a lock repeatedly, with
// empty critical sections.
func (c *Contender) timing(clients, cycles int) Written {
	name := fmt.Sprintf("compare-%s-%d-clients", c.Name, clients)
	what := fmt.Sprintf("%s. %d clients acquire and release one lock repeatedly, without pauses.", c.Title, clients)
	if clients == 1 {
		name = fmt.Sprintf("compare-%s-1-client", c.Name)
		what = fmt.Sprintf("%s. One client acquires and releases a lock repeatedly, without pauses.", c.Title)
	}
	var b strings.Builder
	c.head(&b, name, what, c.Servers)
	fmt.Fprintf(&b, "clients: %d\nwork: {cycles: %d, hold: 0s}\n", clients, cycles)
	if away := c.outOfReach(clients, "110s"); len(away) > 0 {
		list(&b, away)
	}
	return Written{name, b.String()}
}

// head writes the first part of a scenario, which contains the given servers and the contender's lock.
func (c *Contender) head(b *strings.Builder, name, summary, servers string) {
	fmt.Fprintf(b, "name: %s\nsummary: >-\n  %s\nservers: {%s}\nnetwork: {delay: %s}\n", name, summary, servers, delay)
	fmt.Fprintf(b, "lock: {%s, ttl: 10s", c.Lock)
	if !c.Paced {
		fmt.Fprintf(b, ", retry: {delay: %s}", retry)
	}
	b.WriteString("}\n")
}

func list(b *strings.Builder, faults []string) {
	b.WriteString("faults:\n")
	for _, line := range faults {
		fmt.Fprintf(b, "  - %s\n", line)
	}
}
