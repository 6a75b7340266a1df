// Package raft is a replicated log for simulated services: the raft of go.etcd.io/raft/v3, driven by the kernel's time
// and network, so that crashes, pauses, cuts and clock faults act on its members as on any other server.
//
// A [Cluster] holds members; a [Member] is the program of one server process and carries one [Machine], the service.
// What a machine receives through [Machine.Apply] is committed: the same commands, in the same order, on every member.
//
// Goals: a run is a function of its seed; a reply that has left means that a majority has the command on disk; a
// cut-off leader steps down after at most two election time-outs, with [Config].Connections two heartbeats after
// [Config].Silence; a reading member knows when it is up to date.
//
// Non-goals: changes of membership, snapshots and compaction of the log (a run's log is short; a restarted member
// replays it), the transfer of leadership before an orderly shutdown.
//
// # Time
//
// raft draws election time-outs from the host's randomness. So only a leader is ever ticked, whose time-outs are fixed.
// A follower that has received nothing for [Config].Silence forgets its leader and may vote for another; it campaigns
// within [Config].Campaign of that, drawn for the term. All of this is counted on the monotonic clock: jumps of the
// wall clock have no effect, drift and pauses do.
//
// # Disk
//
// Everything is fsynced before it is acknowledged, so a power loss takes nothing that counts. A member whose disk is
// gone ([sim.LoseAllState]) must not come back under its old name: it may have promised what it no longer knows, a vote
// above all, and a majority of forgetful members could elect a leader that lacks committed commands. It stays out of
// the cluster for the rest of the run and refuses clients with [Unavailable], as etcd does ("has already been
// bootstrapped"). The only member of a cluster has nobody who could object: it begins anew with an empty log, as etcd
// and ZooKeeper do.
package raft

import (
	"errors"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config is a cluster's timing. The zero value is etcd's defaults.
type Config struct {
	// Heartbeat is how often a leader sends a sign of life; 0 means 100 ms.
	Heartbeat time.Duration
	// ElectionTicks is the election time-out in heartbeats; 0 means 10. At least 2.
	ElectionTicks int
	// RequestTimeout is how long a member waits for a command to be committed or a read to be confirmed before it gives
	// up with errTimeout; 0 means 5 s and two election time-outs, or twice Silence if that is more.
	RequestTimeout time.Duration
	// Fsync is how long it takes until what was written is on disk. sim.SlowFsync adds to it.
	Fsync time.Duration
	// Connections makes the members notice whether their connections to each other stand, as ZooKeeper's do and etcd's
	// do not. A leader hangs up on a follower from which it has received nothing for Silence: the follower learns that
	// it has lost its leader, and is sent nothing until the leader receives from it again. A leader that is connected
	// to no majority resigns at its next second heartbeat. When a process ends, the others notice at once.
	Connections bool
	// Silence is how long a member waits for a sign of life of its leader, or with Connections a leader for one of a
	// follower, before it gives the other up; 0 means the election time-out.
	Silence time.Duration
	// Campaign is the time within which a member that has given its leader up campaigns; 0 means the election time-out.
	// With Connections a member campaigns after one to two of them, and doubles the time after each of the first
	// campaigns that fail.
	Campaign time.Duration
	// ColdStart begins the run without a leader. Otherwise the first member has been elected before time zero.
	ColdStart bool
}

// ElectionTimeout is how long, unless Silence says something else, a follower waits for a sign of life of its leader
// before it forgets it.
func (c Config) ElectionTimeout() time.Duration { return time.Duration(c.ElectionTicks) * c.Heartbeat }

func (c Config) withDefaults() Config {
	if c.Heartbeat == 0 {
		c.Heartbeat = 100 * time.Millisecond
	}
	if c.ElectionTicks == 0 {
		c.ElectionTicks = 10
	}
	if c.Silence == 0 {
		c.Silence = c.ElectionTimeout()
	}
	if c.Campaign == 0 {
		c.Campaign = c.ElectionTimeout()
	}
	if c.RequestTimeout == 0 {
		c.RequestTimeout = 5*time.Second + 2*max(c.ElectionTimeout(), c.Silence)
	}
	return c
}

// errTimeout reports that a command or read was not confirmed in time. The command may still be committed later.
var errTimeout = errors.New("request timed out")

// Unavailable is the RESP error with which a member answers after its disk was lost.
const Unavailable = "-UNAVAILABLE this member has lost its disk and stays out of the cluster\r\n"

// Command is a change of the replicated state, as a member proposes it.
type Command struct {
	// Attempt is on whose behalf; empty if the service itself proposes it, as for an expiry.
	Attempt history.Attempt
	// Args are the machine's own; it may keep the strings, but not the slice.
	Args []string
}

// Entry is a committed command.
type Entry struct {
	Command
	Index uint64 // position in the log; grows, with gaps
	Term  uint64 // of the leader that proposed it
	// First is true on the first member of the cluster to apply the entry in this run: the one that makes the records.
	// It is never true in a replay.
	First bool
	// Copied is true when this member applies an entry for the first time in this run that another has applied before:
	// it may record that it now has a copy. It is never true in a replay either.
	Copied bool
	// Own is true if a client of this member waits for the reply. Otherwise the reply is dropped and may be nil.
	Own bool
}

// Machine is the service on top of a member. It is called by its member, one call at a time. The replicated state must
// depend on nothing but the entries applied; clocks and randomness may decide what is proposed.
type Machine interface {
	// Reset begins a life with empty state and without connections. Whatever had been committed is applied again,
	// before anything else. It may not propose anything.
	Reset(m *Member)
	// Apply carries out a committed command and returns its reply, encoded as RESP, valid until the next call.
	// It may Record if e.First, its copies if e.Copied, and Push to clients of this member. e is valid until it
	// returns.
	Apply(m *Member, e *Entry) (reply []byte)
	// Serve takes a client's request. It ends in a Reply: at once, or from Propose, ReadIndex, ReceiveFromPeer or Wake.
	Serve(m *Member, r *sim.Incoming)
	// LeaderChanged is called when Leading or Leader has changed. Committed commands may not have been applied yet.
	LeaderChanged(m *Member)
	// Wake is a timer that After set in this life.
	Wake(m *Member, tag uint64)
	// Lost is called when the only member of a cluster is about to begin anew since its disk is gone. The state is what
	// entries with First have made of it; the machine records that it is gone for the given reason. Reset follows.
	Lost(m *Member, why history.Why)
	// ReceiveFromPeer takes what another member's machine sent with SendToPeer.
	ReceiveFromPeer(m *Member, from sim.ProcessID, body any)
	// Fault is called for a fault that is not the disk's. It may happen while the member is down (Up).
	Fault(m *Member, f sim.ServerFault)
}

// Cluster holds the members of one replicated log and what they share outside the simulated world: who was first to
// apply.
type Cluster struct {
	members []*Member
	voters  []uint64 // the members in raft
	first   uint64   // the highest index that some member has applied in this run
}

// NewCluster makes a cluster with a member of each name. machine makes the service of each.
func NewCluster(c Config, names []sim.ProcessID, machine func() Machine) *Cluster {
	cluster := &Cluster{}
	for i, name := range names {
		id := uint64(i + 1)
		cluster.members = append(cluster.members, &Member{cluster: cluster, id: id, name: name, machine: machine()})
		cluster.voters = append(cluster.voters, id)
	}
	cluster.Reset(c)
	return cluster
}

// Reset makes the cluster as new, for the next run.
func (c *Cluster) Reset(config Config) {
	c.first = 0
	for _, m := range c.members {
		m.reset(config.withDefaults())
	}
}

// Members lists the members in the order of their names.
func (c *Cluster) Members() []*Member { return c.members }

// AddTo adds the members to a world as servers.
func (c *Cluster) AddTo(add func(sim.ProcessID, sim.Server)) {
	for _, m := range c.members {
		if m.config.Connections {
			add(m.name, &connected{m})
		} else {
			add(m.name, m)
		}
	}
}

var _ sim.Peer = (*Member)(nil)
