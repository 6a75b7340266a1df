package redisserver

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Config configures a run's servers.
type Config struct {
	Keeper *process.Keeper
	// Groups are the server groups. Each group consists of a master and its replicas, if any.
	Groups      [][]sim.ProcessID
	Persistence store.Policy
	// MinReplicasToWrite and MinReplicasMaxLag correspond to the redis.conf settings. If MinReplicasMaxLag is zero, the
	// default of 10 s applies.
	MinReplicasToWrite int
	MinReplicasMaxLag  time.Duration

	// Sentinel is the name of the Sentinel that watches the groups, or empty if there is none.
	Sentinel sim.ProcessID
	// DownAfter and ReconfigureAfter have the same meaning as for the simulated Sentinel. The defaults are 30 s and 8
	// s.
	DownAfter, ReconfigureAfter time.Duration
	// Promoted, if not nil, is called on the world's goroutine before a promotion is recorded.
	Promoted func(old, promoted sim.ProcessID)

	// Failed is called when a server has failed on its own. After that, the run cannot be judged. Any goroutine may
	// call it.
	Failed func(error)
}

// servers is one run's set of servers.
type servers struct {
	*fleet.Fleet
	Config
	all    map[sim.ProcessID]*Server
	names  *Book  // names that replace the servers' addresses; nil: no addresses are replaced
	seven  bool   // whether the program is Redis 7 or later
	secret string // password of servers that listen on a port, because every process of the machine can connect to it
}

// isServer reports whether p is one of the real servers.
func (c *Config) isServer(p sim.ProcessID) bool {
	return p != "" && p == c.Sentinel ||
		slices.ContainsFunc(c.Groups, func(g []sim.ProcessID) bool { return slices.Contains(g, p) })
}

// Can returns the reason why a fault cannot be injected into the servers. It returns nil if the fault can be injected
// or does not affect the servers. Can checks what is installed on this machine, but does not start anything.
func (c *Config) Can(f nemesis.Fault) error {
	if err := fleet.CanCount(f, c.isServer); err != nil {
		return err
	}
	if !c.isServer(f.Target) {
		return nil
	}
	switch f.Kind {
	case nemesis.EvictKey:
		return errors.New("a real server chooses by itself which key it evicts: " +
			"delete the key instead, or remove --servers")
	case nemesis.ClientPause:
		return errors.New("CLIENT PAUSE would also stop the connections through which the server is observed: " +
			"pause the server instead, or remove --servers")
	case nemesis.ExpireSession:
		return errors.New("a Redis server has no sessions that could expire")
	case nemesis.SlowFsync:
		if c.Persistence == store.None {
			return nil // without fsyncs, the fault has no effect
		}
	case nemesis.FailOver:
		if c.Sentinel == "" {
			return fmt.Errorf("no Sentinel watches %s, so nothing can order a failover", f.Target)
		}
	}
	if c.needsShim(f) {
		return process.CanShim()
	}
	return nil
}

// needsShim reports whether injecting a fault requires the library that is preloaded into the server processes.
func (c *Config) needsShim(f nemesis.Fault) bool {
	if !c.isServer(f.Target) {
		return false
	}
	switch f.Kind {
	case nemesis.Jump, nemesis.Drift, nemesis.SlowFsync:
		return true
	}
	return f.Kind.Has(nemesis.FieldLoss) && f.Loss == nemesis.LosesUnsynced && c.Persistence == store.Everysec
}
