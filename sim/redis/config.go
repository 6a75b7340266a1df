package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Defaults of replication: those of redis.conf, and one second for the fall-back of semi-synchronous replication.
const (
	DefaultMinReplicasMaxLag = 10 * time.Second
	DefaultSemiSyncTimeout   = time.Second
)

// Config is what a run may choose about a node.
type Config struct {
	Persistence store.Policy
	// FsyncTime is how long one fsync takes. Zero is immediate; negative counts as zero.
	FsyncTime time.Duration

	// Version decides which commands and texts there are.
	Version Version
	// NotifyKeyspaceEvents says of which events of keys messages are published, as redis.conf writes it
	// ([store.ParseEvents]); empty of none. CONFIG SET changes it until the process ends.
	NotifyKeyspaceEvents string

	// Password is what clients must give before anything else, by AUTH or HELLO, as user default (requirepass in
	// redis.conf). Empty asks for none.
	Password string

	// Replicates names the master of a replica; empty for a master. It must be a process of the run.
	Replicates sim.ProcessID
	// Replicas are a master's own. They are in sync from the start of the run; others may join with REPLICAOF.
	Replicas []sim.ProcessID
	// MinReplicasToWrite refuses writes with -NOREPLICAS unless so many replicas have acknowledged anything within
	// MinReplicasMaxLag. Zero asks for none.
	MinReplicasToWrite int
	// MinReplicasMaxLag is compared with whole seconds of the node's wall clock. Zero is DefaultMinReplicasMaxLag.
	MinReplicasMaxLag time.Duration
	// SemiSync holds the reply to a write back until one replica has acknowledged it.
	SemiSync bool
	// SemiSyncTimeout is how long a reply is held back before the node falls back to asynchronous replication, until a
	// replica has caught up. Zero is DefaultSemiSyncTimeout.
	SemiSyncTimeout time.Duration
	// Group keeps the records of a group's failovers; nil leaves what a failover loses unrecorded. It changes nothing
	// that a node does.
	Group *Group
}

// VersionOf is the version of a name: 8, tair, or else 7.0.
func VersionOf(name string) Version {
	switch name {
	case "8":
		return Redis8
	case "tair":
		return Tair
	}
	return Redis7
}

// AreEvents reports whether a text can be the value of notify-keyspace-events.
func AreEvents(text string) bool {
	_, trouble := store.ParseEvents(text)
	return trouble == ""
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	if c.MinReplicasMaxLag == 0 {
		c.MinReplicasMaxLag = DefaultMinReplicasMaxLag
	}
	if c.SemiSyncTimeout == 0 {
		c.SemiSyncTimeout = DefaultSemiSyncTimeout
	}
	return c
}

// Version is a Redis that a node behaves as: it decides which commands and options there are, and some of their texts.
// The zero Version is Redis 7.0.
type Version uint8

const (
	Redis7 Version = iota // 7.0.15, with which tests compare the node
	Redis8                // 8.4.0, from its documentation and its source
	Tair                  // Redis 7.0 with Tair's CAD and CAS, from their documentation
	versions
)

// String is the number by which the server gives its version to clients.
func (v Version) String() string {
	if v == Redis8 {
		return "8.4.0"
	}
	return "7.0.15"
}

// versionRange are some of them: bit v is set if Version v is one. The zero versionRange are all.
type versionRange uint8

const (
	only8    versionRange = 1 << Redis8
	before8  versionRange = 1<<Redis7 | 1<<Tair
	onlyTair versionRange = 1 << Tair
)

// has reports whether v is one of them.
func (s versionRange) has(v Version) bool { return s == 0 || s>>v&1 != 0 }
