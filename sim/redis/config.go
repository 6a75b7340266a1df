package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Replication defaults: the maximum lag of replicas, as in redis.conf, and the time after which semi-synchronous
// replication falls back to asynchronous.
const (
	DefaultMinReplicasMaxLag = 10 * time.Second
	DefaultSemiSyncTimeout   = time.Second
)

// Config configures a node.
type Config struct {
	Persistence store.Policy
	// FsyncTime is how long one fsync takes. If it is zero or negative, an fsync takes no time.
	FsyncTime time.Duration

	// Version determines which commands exist, and the wording of some replies.
	Version Version
	// NotifyKeyspaceEvents selects, in the notation of redis.conf, the key events for which the node publishes messages
	// ([store.ParseEvents]). If it is empty, the node does not publish any. A change made with CONFIG SET lasts until
	// the process ends.
	NotifyKeyspaceEvents string

	// Password is the password for the user "default" (requirepass in redis.conf). Clients must send it with AUTH or
	// HELLO before any other command. It is empty if no password is required.
	Password string

	// Replicates is the master's name if the node is a replica. It is empty for a master. The master must be a process
	// in the run.
	Replicates sim.ProcessID
	// Replicas are a master's replicas. They are in sync when the run starts; others may join with REPLICAOF.
	Replicas []sim.ProcessID
	// MinReplicasToWrite is how many replicas must have sent an acknowledgment within MinReplicasMaxLag. If there are
	// fewer, writes are refused with -NOREPLICAS. Zero disables the check.
	MinReplicasToWrite int
	// MinReplicasMaxLag is how old a replica's last acknowledgment may be (see MinReplicasToWrite), in whole seconds of
	// the node's wall clock. Zero means DefaultMinReplicasMaxLag.
	MinReplicasMaxLag time.Duration
	// SemiSync delays the reply to a write until one replica has acknowledged the write.
	SemiSync bool
	// SemiSyncTimeout is how long a reply is delayed before the node falls back to asynchronous replication. The node
	// returns to semi-synchronous replication once a replica has caught up. Zero means DefaultSemiSyncTimeout.
	SemiSyncTimeout time.Duration
	// Group records the failovers in the node's group. If it is nil, losses in a failover are not recorded. Group does
	// not affect how the node behaves.
	Group *Group
	// Cluster makes the node a member of a Redis Cluster (cluster-enabled yes in redis.conf). It is nil if the node is
	// not in a cluster.
	Cluster *ClusterConfig
}

// VersionOf returns the version with the given name: "8" or "tair"; any other name means 7.0.
func VersionOf(name string) Version {
	switch name {
	case "8":
		return Redis8
	case "tair":
		return Tair
	}
	return Redis7
}

// AreEvents reports whether a string is a valid value for notify-keyspace-events.
func AreEvents(text string) bool {
	_, trouble := store.ParseEvents(text)
	return trouble == ""
}

// withDefaults returns the configuration with zero values replaced by their defaults.
func (c Config) withDefaults() Config {
	if c.MinReplicasMaxLag == 0 {
		c.MinReplicasMaxLag = DefaultMinReplicasMaxLag
	}
	if c.SemiSyncTimeout == 0 {
		c.SemiSyncTimeout = DefaultSemiSyncTimeout
	}
	return c
}

// Version is the Redis version that a node simulates. It determines which commands and options exist, and the wording
// of some replies. The zero Version is Redis 7.0.
type Version uint8

const (
	Redis7 Version = iota // 7.0.15, with which tests compare the node
	Redis8                // 8.4.0, from its documentation and its source
	Tair                  // Redis 7.0 with Tair's CAD and CAS, from their documentation
	versions
)

// String returns the version number that the server reports to clients.
func (v Version) String() string {
	if v == Redis8 {
		return "8.4.0"
	}
	return "7.0.15"
}

// versionRange is a set of versions: bit v is set if it contains Version v. The zero versionRange contains all
// versions.
type versionRange uint8

const (
	only8    versionRange = 1 << Redis8
	before8  versionRange = 1<<Redis7 | 1<<Tair
	onlyTair versionRange = 1 << Tair
)

// has reports whether the set contains v.
func (s versionRange) has(v Version) bool { return s == 0 || s>>v&1 != 0 }
