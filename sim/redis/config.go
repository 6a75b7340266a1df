package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// Persistence says what of the data is on disk, and when.
type Persistence uint8

const (
	// None is a node without any file: it restarts empty, even after a shutdown (save "", appendonly no).
	None Persistence = iota
	// AppendEverysec writes before the reply and fsyncs in the background, once in a second of the wall clock: the first
	// write in a second without fsync is synced at once, later ones when the next second begins. While an fsync runs,
	// writes wait for it, for about two seconds, and replies go out all the same.
	AppendEverysec
	// AppendAlways fsyncs before the reply. What arrives meanwhile waits and shares the next fsync.
	AppendAlways
	// AppendNo leaves it to the operating system, which writes data back about 30 s after it was written.
	AppendNo
)

var persistenceNames = [...]string{"none", "everysec", "always", "no"}

// String gives the word of redis.conf, or "none".
func (p Persistence) String() string {
	if int(p) >= len(persistenceNames) {
		return "unknown"
	}
	return persistenceNames[p]
}

// DefaultFsyncTime is what an fsync takes on a disk that is well.
const DefaultFsyncTime = time.Millisecond

// Defaults of replication: those of redis.conf, and one second for the fall-back of semi-synchronous replication.
const (
	DefaultMinReplicasMaxLag = 10 * time.Second
	DefaultSemiSyncTimeout   = time.Second
)

// Config is what a run may choose about a node.
type Config struct {
	Persistence Persistence
	// FsyncTime is how long one fsync takes. Zero is immediate; negative counts as zero.
	FsyncTime time.Duration

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
