package locktest

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// Config describes the lock to test, its servers and the faults. Zero fields have default values.
type Config struct {
	// New creates one client's lock. It is required. It is called in one of the client's goroutines when the client
	// first needs a lock on a key. Every connection that it opens must be dialed with the client's DialContext. If New
	// returns an error, the current call to Lock fails with this error, and the client's next call to Lock calls New
	// again. New must not return nil without an error, or the same Lock for two clients.
	New func(*Client) (Lock, error)
	// Keys returns the keys that a lock uses on a server. It is needed, for example, if a library adds a prefix to the
	// lock's name or uses several keys. If Keys is nil, the lock has a single key with the lock's name. Records of
	// other keys are not assigned to the lock.
	Keys func(lock string) []string
	// Replay is the path of a plan that was saved after an earlier failure. If it is set, Run runs only this plan, in
	// the scenario file next to it. Of the other fields, only Keys, Laws, Availability and IgnoredGoroutines are used.
	// The -locktest.plan flag does the same.
	Replay string
	// Scenario is the path of a scenario file whose lock has the protocol "library". If it is set, the fields from
	// Servers to Precautions must not be set, except that Plan may be empty but not nil: then no faults are drawn.
	Scenario string
	// Servers are the lock servers. The default is one Redis server that syncs every write.
	Servers Servers
	// Clients is the number of clients that compete for the lock. The default is 3.
	Clients int
	// Tasks is the number of tasks of each client. The default is 1. Tasks are goroutines that acquire the lock, work
	// and release it at the same time. They share the Lock that New has returned for their client (see TaskLock). The
	// lock must also exclude a client's tasks from each other. Each task acquires the lock Cycles times. Several tasks
	// are possible only for locks on Redis that are not fair (PlaceTimeout). A call must send its requests in its own
	// goroutine or in one that it has started. The trial run has one task per client.
	Tasks int
	// Locks are the names of the locks. By default there is only one lock. A client acquires all of them, in this
	// order, before it starts working. If Locks is set, New is called for each of them (Client.Key), and Shared returns
	// the object that they have in common.
	Locks []string
	// Permits is the number of clients that may hold the lock at the same time. The default is 1. If it is greater, the
	// lock is a semaphore: Lock takes a permit, and Unlock returns it. The laws then allow that many holders at once,
	// and resource-safety is not judged. The clients together must have more tasks than there are permits. The trial
	// run, which is for locks with one holder, is omitted.
	Permits int
	// PlaceTimeout, if set, says that the lock is fair: clients must get it in the order in which they ask for it
	// (checker.Fairness), unless a fault affects them. A client that is no longer waiting may remain in the lock's
	// queue for this long. 0 means that the lock does not promise any order.
	PlaceTimeout time.Duration
	// Cycles is the number of times that each client acquires the lock. The default is 3.
	Cycles int
	// TTL is the lock's time to live, as configured in the library. The default is 8 s.
	TTL time.Duration
	// Compute is how long a client computes between reading and writing the resource. The default is 0.
	Compute time.Duration
	// Hold is how long a client holds the lock after the write. The default is half the TTL, or 1 ms if Compute is set.
	// If Compute and Hold together are longer than the TTL, the lock must be extended while it is held.
	Hold time.Duration
	// Timeout is how long the library waits for one server. The default is 500 ms. It determines how soon waiting
	// clients must get the lock.
	Timeout time.Duration
	// Patience is how long a client waits for the lock before it gives up. After this time, the context passed to Lock
	// is done. By default a client waits until the run ends. What a Lock leaves on the servers when it gives up is
	// judged like everything else.
	Patience time.Duration
	// Faults are the kinds of faults that are drawn at random. By default, these are all kinds that can affect the
	// servers, except four kinds that are caused by a lack of memory or by operators: "evict key", "delete key",
	// "flush" and "client pause".
	Faults Faults
	// Without lists faults that are never drawn, because the lock does not promise to survive them. The syntax is that
	// of mix.without in a scenario file: "jump of servers", "crash losing everything".
	Without []string
	// Plan lists faults that strike in every run, one per line, instead of random ones. If it is empty but not nil, no
	// faults strike.
	Plan []string
	// Precautions are what the client does to protect itself. By default, it does nothing.
	Precautions Precautions

	// IgnoredGoroutines lists functions in which the lock's code is known to leave goroutines running or to stop
	// virtual time. Each is identified by a part of its name in a stack trace ("mylock.(*Mutex).watch"). A goroutine
	// that is running in such a function, or was created by one, is not a failure. If it keeps a run from ending, the
	// run is counted but not judged.
	IgnoredGoroutines []string
	// SkipTrial omits the trial run. The trial run comes before all others, has no faults and must succeed (see
	// RunTrial).
	SkipTrial bool
	// Seeds is the number of runs. The default is 512, or 20 with -short. If there are fewer than 512, a run's plan
	// does not depend on earlier runs.
	Seeds int
	// EachFault makes the test try single faults one after another instead of random faults. They strike the fault-free
	// run with seed 1. In separate runs, each request and each answer is lost or delayed, each client and each server
	// is paused or crashed after each of its events, and so on. The log lists the faults. This takes a few thousand
	// runs if clients rarely retry. EachFault cannot be combined with Seeds or Plan.
	EachFault bool
	// Laws are the laws that the lock must uphold. By default, these are all laws that a run can exercise, except
	// lease-exclusion. LeaseLaws, FencedLaws and EfficiencyLaws are what three kinds of sound locks can uphold.
	Laws []checker.Law
	// Availability makes the test fail on a violation of deadlock-freedom even if too few servers remain for a quorum
	// and the servers that are down never come back. No lock can survive that.
	Availability bool

	plan     *nemesis.Plan // the faults of every run; nil: random faults, or those of the scenario
	keys     *keys         // the keys that Config.Keys returns for the scenario's locks
	deadline *time.Time    // replaces the test's own deadline
	hung     time.Duration // how much processor time a worker may use without a report; 0: a minute
}

// Servers are a run's lock servers.
type Servers struct {
	kind                 locks.Backend // default Redis
	n, replicas          int
	cluster              bool
	nodeTimeout          time.Duration
	persistence, version string
}

// Redis describes n independent Redis servers.
func Redis(n int) Servers { return Servers{kind: locks.OnRedis, n: n} }

// Etcd describes an etcd cluster of n members.
func Etcd(n int) Servers { return Servers{kind: locks.OnEtcd, n: n} }

// ZooKeeper describes a ZooKeeper ensemble of n members.
func ZooKeeper(n int) Servers { return Servers{kind: locks.OnZooKeeper, n: n} }

// Kubernetes describes a control plane of n nodes, each with an API server and an etcd member.
func Kubernetes(n int) Servers { return Servers{kind: locks.OnKubernetes, n: n} }

// Consul describes a cluster of n Consul servers.
func Consul(n int) Servers { return Servers{kind: locks.OnConsul, n: n} }

// text returns the value of the "servers" key in the scenario file.
func (s Servers) text() string {
	kind := cmp.Or(s.kind, locks.OnRedis)
	text := fmt.Sprintf("%s: %d", kind, cmp.Or(s.n, 1))
	if s.replicas > 0 {
		text += fmt.Sprintf(", replicas: %d", s.replicas)
	}
	if s.cluster {
		text += ", cluster: on"
	}
	if s.nodeTimeout != 0 {
		text += fmt.Sprintf(", node-timeout: %v", s.nodeTimeout)
	}
	if s.version != "" {
		text += ", version: " + s.version
	}
	switch {
	case s.persistence == "none":
		text += ", persistence: none"
	case s.persistence != "" || scenarios.Persists(kind):
		text += fmt.Sprintf(", persistence: {append-fsync: %s}", cmp.Or(s.persistence, "always"))
	}
	return "{" + text + "}"
}

// Replicated gives each Redis server n replicas, and a Sentinel that can promote one of them. A Cluster has no
// Sentinel.
func (s Servers) Replicated(n int) Servers {
	s.replicas = n
	return s
}

// Clustered makes the Redis servers the masters of a Redis Cluster, each of which serves a share of the keys. There
// must be at least three masters. When a master has been silent for nodeTimeout, the other masters elect a replica to
// replace it; 0 means 15 s, Redis's default. Keys that a lock uses in one script or transaction must be in one slot:
// write their common part in braces, as in "{lock}:token".
func (s Servers) Clustered(nodeTimeout time.Duration) Servers {
	s.cluster, s.nodeTimeout = true, nodeTimeout
	return s
}

// Persisting sets when each Redis server syncs its writes: always, everysec, no, or none for servers that store nothing
// on disk.
func (s Servers) Persisting(when string) Servers {
	s.persistence = when
	return s
}

// OfVersion sets the Redis version: "7.0", the default; "8", which has DELEX and SET … IFEQ; or "tair", which has CAD
// and CAS.
func (s Servers) OfVersion(version string) Servers {
	s.version = version
	return s
}

// Faults lists kinds of faults by the names that a scenario's mix uses: "pause", "cut".
type Faults []string

// These are families of faults that break locks in similar ways. They are values for Config.Faults.
var (
	Pauses    = Faults{"pause"}                                  // processes are paused
	Network   = Faults{"cut", "delay", "delay message", "break"} // links fail, messages are late, connections break
	Restarts  = Faults{"crash", "shut down"}                     // processes end, and servers restart
	Failovers = Faults{"fail over", "crash", "cut"}              // replicas take over from their masters
	Clocks    = Faults{"jump", "drift"}                          // clocks are set, and run too fast or too slow
	Sessions  = Faults{"expire session"}                         // etcd and ZooKeeper end sessions of their clients
)

// These are the sets of laws that different kinds of locks can uphold. They are values for Config.Laws. No lock with a
// lease upholds mutual-exclusion under Pauses, since a paused holder cannot know that its lease has ended.
//
// A lock with a lease upholds LeaseLaws under Pauses, Network and Restarts under these conditions:
//
//   - Its servers have no replicas and sync every write.
//   - Each attempt uses its own value. The release compares that value and deletes the key in one step (a script).
//   - It reports how long it is valid ([Expiring], [LossNotifier]).
//
// A pause exposes locks that compare the value in one request and delete the key in another. A lock whose tokens the
// resource compares upholds FencedLaws under the same faults, and also under Clocks. Restarts includes faults in which
// a server loses its data. No lease and no token counter survives such a loss; put ServerDataLoss into Config.Without
// to exclude it.
//
// A lease is not reliable if servers' clocks jump or drift. Neither leases nor token counters are reliable if a
// Sentinel or a Cluster replaces a master with a replica that has not received all of the master's writes. Under such
// faults, and under all others, a lock can uphold EfficiencyLaws: it avoids duplicate work, but does not protect the
// data.
var (
	LeaseLaws      = checker.LawsKeptBy(checker.Leased)
	FencedLaws     = checker.LawsKeptBy(checker.Fenced)
	EfficiencyLaws = checker.LawsKeptBy(checker.Efficient)
)

// ServerDataLoss lists the faults in which a server loses everything that it has stored. It is a value for
// Config.Without.
var ServerDataLoss = []string{"crash losing everything of servers"}

// Precautions are what a client does to protect itself while it holds its lock. With the zero value, the client does
// not take any precautions.
type Precautions struct {
	// ChecksValidity makes the client check before each write whether its lock is still valid.
	ChecksValidity bool
	// StopsWhenLost makes the client stop its work when the library reports that the lock has been lost, either through
	// a LossNotifier or through a failed Extend.
	StopsWhenLost bool
	// Fences makes the resource refuse a token that is lower than one that it has already seen (see Fenced).
	Fences bool
	// ExtendEvery is the interval at which the client calls Extend (see Extender). 0 means never.
	ExtendEvery time.Duration
}

// draws reports whether s's runs have random faults.
func (c *Config) draws(s *scenarios.Scenario) bool {
	return !c.EachFault && len(s.Faults) == 0 && c.plan == nil && c.Plan == nil
}

// fieldsRefused returns an error message if the number of seeds is negative, or if c sets both Scenario and a field
// that Scenario replaces. Otherwise it returns "".
func (c *Config) fieldsRefused() string {
	if c.Seeds < 0 {
		return fmt.Sprintf("Config.Seeds must not be negative: it is %d", c.Seeds)
	}
	all := reflect.ValueOf(*c)
	first, _ := all.Type().FieldByName("Servers")
	last, _ := all.Type().FieldByName("Precautions")
	for i := first.Index[0]; c.Scenario != "" && i <= last.Index[0]; i++ {
		name := all.Type().Field(i).Name
		if !all.Field(i).IsZero() && (name != "Plan" || len(c.Plan) > 0) {
			return fmt.Sprintf("Config.%s cannot be used with Scenario: write it in the scenario file, %s", name,
				c.Scenario)
		}
	}
	return ""
}

// scenario returns the scenario that a Config describes. It does not contain the lock's code.
func (c *Config) scenario(name string) (*scenarios.Scenario, error) {
	if c.Scenario != "" {
		text, err := os.ReadFile(c.Scenario)
		if err != nil {
			return nil, err
		}
		return scenarios.ParseWith(c.Scenario, text, &scenarios.Code{})
	}
	text := c.text(name)
	s, err := scenarios.ParseWith(name+".yaml", []byte(text), &scenarios.Code{})
	if wrong := (*format.Error)(nil); errors.As(err, &wrong) {
		for i := range wrong.Problems {
			wrong.Problems[i].Path, wrong.Problems[i].Line = fieldOf(text, wrong.Problems[i].Line), 0
		}
	}
	return s, err
}

// fieldOf returns the names of the Config fields from which a line of the scenario text was generated.
func fieldOf(text string, line int) string {
	words := strings.Fields(strings.Split(text, "\n")[max(line-1, 0)])
	of := map[string]string{"servers:": "Servers", "clients:": "Clients",
		"lock:":    "TTL, Timeout, Permits, PlaceTimeout, Patience or Precautions",
		"work:":    "Tasks, Locks, Cycles, Compute, Hold or Precautions",
		"promise:": "Laws", "-": "Plan", "mix:": "Faults"}[words[0]]
	return strings.TrimSuffix("Config."+of, ".")
}

// text returns the scenario file that corresponds to the Config's fields.
func (c *Config) text(name string) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("name: %s", name)
	line("servers: %s", c.Servers.text())
	line("clients: %d", cmp.Or(c.Clients, 3))
	ttl := cmp.Or(c.TTL, 8*time.Second)
	lock := fmt.Sprintf("protocol: library, ttl: %v, timeout: %v", ttl, cmp.Or(c.Timeout, 500*time.Millisecond))
	if c.Permits != 0 {
		lock += fmt.Sprintf(", permits: %d", c.Permits)
	}
	if c.Patience != 0 {
		lock += fmt.Sprintf(", retry: {patience: %v}", c.Patience)
	}
	if c.PlaceTimeout != 0 {
		lock += fmt.Sprintf(", place-timeout: %v", c.PlaceTimeout)
	}
	if c.Precautions.ExtendEvery > 0 {
		lock += fmt.Sprintf(", extension: {every: %v, limit: none}", c.Precautions.ExtendEvery)
	}
	line("lock: {%s}", lock)
	work := fmt.Sprintf("cycles: %d, hold: %v, think: 0s..500ms, writes: 1", cmp.Or(c.Cycles, 3), c.hold(ttl))
	if c.Tasks != 0 {
		work += fmt.Sprintf(", tasks: %d", c.Tasks)
	}
	if len(c.Locks) > 0 {
		work += fmt.Sprintf(", locks: [%s]", strings.Join(c.Locks, ", "))
	}
	if c.Compute > 0 {
		work += fmt.Sprintf(", compute: %v", c.Compute)
	}
	if c.Precautions.ChecksValidity {
		work += ", check-validity: on"
	}
	work += fmt.Sprintf(", stop-when-lost: %s", map[bool]string{true: "on", false: "off"}[c.Precautions.StopsWhenLost])
	line("work: {%s}", work)
	if c.Precautions.Fences {
		line("resource: {fencing: on}")
	}
	line("promise: [%s]", c.promised())
	if len(c.Plan) > 0 {
		line("faults:")
		for _, f := range c.Plan {
			line("  - %s", f)
		}
	}
	if len(c.Faults)+len(c.Without) > 0 {
		line("mix: {%s}", c.mix())
	}
	return b.String()
}

// promised returns the promised laws in the syntax of a scenario file.
func (c *Config) promised() string {
	var list []string
	for _, l := range c.promise().Laws {
		list = append(list, string(l))
	}
	if c.Availability {
		list = append(list, checker.Availability)
	}
	return strings.Join(list, ", ")
}

// mix returns the mix from which the runs draw their faults, in the syntax of scenario files.
func (c *Config) mix() string {
	var parts []string
	if len(c.Faults) > 0 {
		weights := make([]string, len(c.Faults))
		for i, f := range c.Faults {
			weights[i] = f + ": 1"
		}
		parts = append(parts, fmt.Sprintf("weights: {%s}", strings.Join(weights, ", ")))
	}
	if len(c.Without) > 0 {
		without := make([]string, len(c.Without))
		for i, x := range c.Without {
			without[i] = strconv.Quote(x) // quoted, because a kind may contain a comma
		}
		parts = append(parts, fmt.Sprintf("without: [%s]", strings.Join(without, ", ")))
	}
	return strings.Join(parts, ", ")
}

func (c *Config) hold(ttl time.Duration) time.Duration {
	if c.Compute > 0 {
		return cmp.Or(c.Hold, time.Millisecond)
	}
	return cmp.Or(c.Hold, ttl/2)
}

// promise returns the laws that must hold, as a checker.Promise.
func (c *Config) promise() checker.Promise {
	p := checker.Promise{Laws: c.Laws, Availability: c.Availability}
	if len(p.Laws) == 0 {
		p.Laws = slices.DeleteFunc(slices.Clone(checker.Laws),
			func(l checker.Law) bool { return l == checker.LeaseExclusion })
	}
	return p
}
