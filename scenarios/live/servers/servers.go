// Package servers chooses a live run's lock servers: simulated servers; real ones that the run starts (redis-server
// processes and a Sentinel, the members of an etcd or Consul cluster, or of a ZooKeeper ensemble); or Redis servers
// that the user has started. It accesses the host through scenarios/live/realtime.
//
// Goals: each choice is one word on the command line; a run that the chosen servers cannot carry out is refused before
// anything is started.
//
// Non-goals: knowledge of how servers work (sim/redis, sim/etcd, sim/zookeeper, sim/consul, and in scenarios/live
// redisserver, etcdserver, zkserver and consulserver).
package servers

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/consulserver"
	"github.com/fencepost-sim/fencepost/scenarios/live/etcdserver"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/redisserver"
	"github.com/fencepost-sim/fencepost/scenarios/live/zkserver"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// Words that choose the lock servers. Anything else is a list of addresses.
const (
	Simulated = "simulated"
	redis     = "redis"
	etcd      = "etcd"
	zooKeeper = "zookeeper"
	consul    = "consul"
)

// kind is a kind of real server that a run can start.
type kind struct {
	word    string
	backend locks.Backend // the backend of the scenarios that these servers can run
	fleet   func(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error)
}

// kinds lists all kinds of real servers.
var kinds = []kind{
	{redis, locks.OnRedis, redisFleet},
	{etcd, locks.OnEtcd, etcdFleet},
	{zooKeeper, locks.OnZooKeeper, zooKeeperFleet},
	{consul, locks.OnConsul, consulFleet},
}

// Real lists the words that choose real servers, which a run starts.
func Real() (list []string) {
	for i := range kinds {
		list = append(list, kinds[i].word)
	}
	return list
}

// words lists the words that choose servers.
func words() []string { return append([]string{Simulated}, Real()...) }

// Choice says which lock servers a run uses.
type Choice struct {
	kind      *kind    // nil: the servers are simulated, or are the user's
	addresses []string // addresses of the user's servers
	variable  string   // environment variable with the addresses; empty: they are not in a variable
}

// Prefixes that say whether the addresses, which are separated by white space, are in an environment variable or in a
// file.
const (
	inVariable = "env:"
	inFile     = "file:"
)

// Parse parses a choice: "simulated", a word for real servers, or the addresses of Redis servers. The addresses are
// given as HOST:PORT, separated by commas, or as the variable or file that contains them. Only a variable or file may
// contain passwords, because every user of a machine can read the command lines of its processes. Errors do not contain
// any addresses.
func Parse(text string) (Choice, error) {
	if text == Simulated {
		return Choice{}, nil
	}
	for i := range kinds {
		if kinds[i].word == text {
			return Choice{kind: &kinds[i]}, nil
		}
	}
	problem := fmt.Sprintf("--servers takes %s, the addresses of Redis servers as HOST:PORT,HOST:PORT, "+
		"or where to find these addresses, as %sVARIABLE or %sPATH", strings.Join(words(), ", "), inVariable, inFile)
	name, held := strings.CutPrefix(text, inVariable)
	path, filed := strings.CutPrefix(text, inFile)
	switch {
	case strings.Contains(text, "@"):
		return Choice{}, fmt.Errorf("--servers must not contain a user and a password, "+
			"because every user of this machine can read the command line: "+
			"put the addresses into a variable or a file, separated by white space, "+
			"and use --servers %sVARIABLE or %sPATH", inVariable, inFile)
	case held && !isPort(name):
		return holding(text, os.Getenv(name), name)
	case filed && !isPort(path):
		addresses, err := readAddresses(path)
		if err != nil {
			return Choice{}, fmt.Errorf("--servers: %w", err)
		}
		return holding(text, addresses, "")
	case strings.Contains(text, ":"):
		return Choice{addresses: strings.Split(text, ",")}, nil
	}
	if near := nearest.Word(text, words()); near != "" {
		problem += fmt.Sprintf(": did you mean %s?", near)
	}
	return Choice{}, errors.New(problem)
}

// mostAddresses is the maximum size of an address file in bytes.
const mostAddresses = 1 << 20

func readAddresses(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostAddresses+1))
	if err == nil && len(text) > mostAddresses {
		err = fmt.Errorf("%s is larger than %d bytes, so it cannot be an address file", path, mostAddresses)
	}
	return string(text), err
}

// isPort reports whether text is a port number. If it is, as in "env:6379", then env is a host name, and not the prefix
// for an environment variable.
func isPort(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// holding chooses the servers with the given addresses, which were read from an environment variable or a file.
// variable is the variable's name, or "" for a file. text is the --servers argument, for use in an error.
func holding(text, addresses, variable string) (Choice, error) {
	list := strings.Fields(addresses)
	if len(list) == 0 {
		return Choice{}, fmt.Errorf("--servers %s: it contains no addresses", text)
	}
	return Choice{addresses: list, variable: variable}, nil
}

// Started chooses real servers that a run of the scenario can start. It returns a *live.RefusedError if there are none
// for the scenario's backend.
func Started(s *scenarios.Scenario) (Choice, error) {
	for i := range kinds {
		if kinds[i].backend == s.Servers.Backend {
			return Choice{kind: &kinds[i]}, nil
		}
	}
	return Choice{}, &live.RefusedError{Reason: fmt.Sprintf("%s has %s servers, and no real ones can be started: "+
		"they are simulated only", s.Name, s.Servers.Backend)}
}

// For returns the choice unchanged, or a *live.RefusedError if these servers cannot run the scenario.
func (c Choice) For(s *scenarios.Scenario) (Choice, error) {
	b, fits := s.Servers.Backend, Simulated
	if !c.Real() || c.kind != nil && c.kind.backend == b || c.kind == nil && s.Servers.RedisNodes() {
		return c, nil
	}
	if real, err := Started(s); err == nil {
		fits = real.kind.word + " or " + Simulated
	}
	return c, &live.RefusedError{Reason: fmt.Sprintf("%s has %s servers: set --servers to %s", s.Name, b, fits)}
}

// Real reports whether the servers are real.
func (c Choice) Real() bool { return c.kind != nil || len(c.addresses) > 0 }

// On the user's servers, a run's keys have a prefix that consists of prefixBegin, some random letters and digits, and a
// slash.
const (
	prefixBegin  = "fencepost/"
	prefixRandom = 16
)

// Scenario returns s in a form that the servers can run. On the user's servers, all lock names get a prefix that no
// other run uses.
func (c Choice) Scenario(s *scenarios.Scenario) (*scenarios.Scenario, error) {
	if _, err := c.For(s); err != nil || len(c.addresses) == 0 {
		return s, err
	}
	d, err := format.ParseDocument(s.Name+".yaml", s.Text())
	if err != nil {
		return nil, err
	}
	prefix := prefixBegin + strings.ToLower(rand.Text()[:prefixRandom]) + "/"
	for i := range s.Clients {
		k := &s.Clients[i]
		names := k.Work.Locks
		if len(names) == 0 {
			names = append(names, k.Lock.Key)
		}
		var prefixed []string
		for _, name := range names {
			prefixed = append(prefixed, prefix+string(name))
		}
		d.SetList("overrides."+string(k.ID)+".work.locks", prefixed)
	}
	return scenarios.Parse(s.Name+".yaml", []byte(d.String()))
}

// prefixOf returns the prefix of all keys in a scenario returned by Choice.Scenario.
func prefixOf(s *scenarios.Scenario) string {
	return string(s.Locks()[0])[:len(prefixBegin)+prefixRandom+len("/")]
}

// Run carries out the plan on the servers. The plan's scenario must come from Choice.Scenario. When Run returns, all
// processes that it started have ended. They also end if this process is killed. If the plan cannot be carried out, Run
// returns a *live.RefusedError before anything starts. If the host delays the start, Run starts again.
func (c Choice) Run(o live.Options, plan nemesis.Plan) (*live.Result, error) {
	return begun(&o, func() (*live.Result, error) { return c.run(o, plan) })
}

// run is like Run, but tries to start the servers only once.
func (c Choice) run(o live.Options, plan nemesis.Plan) (result *live.Result, err error) {
	k, err := process.Start()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, k.Close()) }()
	o.Keeper, o.Hidden = k, c.variable
	if o.Fleet, err = c.fleet(o.Scenario, plan, k); err != nil {
		return nil, err
	}
	if result, err = live.Run(o, plan); result != nil && len(c.addresses) > 0 {
		result.Notes = append(result.Notes,
			"you started the servers yourself: "+
				"what happens to their keys is not recorded, so laws that depend on these records are unchecked")
	}
	return result, err
}

// fleet returns the servers for a run of s with the plan. They start when the run does.
func (c Choice) fleet(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error) {
	switch {
	case !c.Real():
		return live.Simulated{}, nil
	case c.kind != nil:
		return c.kind.fleet(s, plan, k)
	}
	return c.users(s, plan)
}

// users returns the user's own servers for a run of s.
func (c Choice) users(s *scenarios.Scenario, plan nemesis.Plan) (live.Fleet, error) {
	if err := unsupported(s); err != nil {
		return nil, err
	}
	names := s.Targets()
	if len(names.Redis) != len(c.addresses) || len(names.Groups) > 0 {
		return nil, fmt.Errorf("%s has %d servers, but --servers gives %d addresses", s.Name, len(names.Redis),
			len(c.addresses))
	}
	f := &lockServers{plan: plan.Faults}
	of := redisserver.Foreign{Servers: names.Redis, Addresses: c.addresses, Prefix: prefixOf(s), Failed: f.failed,
		Lasts: 2*s.Limit + time.Hour}
	f.can, f.end = of.Can, of.Sweep
	f.launch = of.Attach
	return f, nil
}

// redisFleet returns redis-server processes, and a Sentinel if there are replicas.
func redisFleet(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error) {
	if err := unsupported(s); err != nil {
		return nil, err
	}
	names := s.Targets()
	f := &lockServers{plan: plan.Faults}
	of := &redisserver.Config{Keeper: k, Groups: names.Groups, Persistence: s.Servers.Persistence,
		MinReplicasToWrite: s.Servers.MinReplicasToWrite, MinReplicasMaxLag: s.Servers.MinReplicasMaxLag,
		Sentinel: names.Sentinel, DownAfter: s.Servers.DownAfter, ReconfigureAfter: s.Servers.ReconfigureAfter,
		Promoted: f.promoted, Failed: f.failed}
	if len(of.Groups) == 0 {
		for _, name := range names.Redis {
			of.Groups = append(of.Groups, []sim.ProcessID{name})
		}
	}
	f.can = of.Can
	f.launch = func() (*fleet.Fleet, error) { return redisserver.Launch(*of, plan.Faults) }
	return f, nil
}

// etcdFleet returns the etcd members for a scenario.
func etcdFleet(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error) {
	f := &lockServers{plan: plan.Faults}
	names := s.Targets()
	f.front = etcdserver.Bytes{}
	of := &etcdserver.Config{Keeper: k, Members: names.Servers(), Failed: f.failed}
	f.can = of.Can
	f.launch = func() (*fleet.Fleet, error) { return etcdserver.Launch(*of) }
	return f, nil
}

// zooKeeperFleet returns the members of a ZooKeeper ensemble.
func zooKeeperFleet(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error) {
	f := &lockServers{plan: plan.Faults}
	of := &zkserver.Config{Keeper: k, Members: s.Targets().Consensus, TickTime: s.Servers.TickTime,
		SyncLimit: s.Servers.SyncLimit, Failed: f.failed}
	f.can = of.Can
	f.launch = func() (*fleet.Fleet, error) { return zkserver.Launch(*of, plan.Faults) }
	return f, nil
}

// consulFleet returns the servers of a Consul cluster.
func consulFleet(s *scenarios.Scenario, plan nemesis.Plan, k *process.Keeper) (live.Fleet, error) {
	f := &lockServers{plan: plan.Faults}
	of := &consulserver.Config{Keeper: k, Members: s.Targets().Consensus, Multiplier: s.Servers.RaftMultiplier,
		Failed: f.failed}
	f.can = of.Can
	f.launch = func() (*fleet.Fleet, error) {
		real, err := consulserver.Launch(*of)
		if errors.Is(err, consulserver.ErrNoServer) { // few machines have one, and --agree should do without
			err = &live.RefusedError{Reason: err.Error()}
		}
		return real, err
	}
	return f, nil
}

// unsupported returns an error if a scenario needs a feature that real Redis servers do not support in live runs.
func unsupported(s *scenarios.Scenario) error {
	refuse := func(what string) error {
		return &live.RefusedError{Reason: fmt.Sprintf("%s uses %s: it runs only in the simulator", s.Name, what)}
	}
	if s.Servers.SemiSync {
		return refuse("semi-synchronous replication, which Redis does not offer")
	}
	switch {
	case s.Servers.Version == "tair":
		return refuse("Tair, whose commands redis-server does not know")
	case s.Servers.Version == "8":
		return refuse("Redis 8, whose commands older servers do not know")
	case s.Servers.NotifyKeyspaceEvents != "":
		return refuse("notify-keyspace-events, which fencepost itself sets to record keys")
	}
	return nil
}
