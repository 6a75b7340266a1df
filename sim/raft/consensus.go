// Package raft is a replicated log for simulated services. It uses the raft of go.etcd.io/raft/v3, driven by the
// kernel's time and network, so that crashes, pauses, cuts and clock faults affect its members like any other server.
//
// A [Cluster] holds members. A [Member] is the program of one server process and carries one [Machine], which
// implements the service. The commands that a machine receives through [Machine.Apply] are committed: every member
// receives the same commands in the same order.
//
// Goals: a run is a function of its seed; when a reply is sent, a majority has the command on disk; a cut-off leader
// steps down after at most two election timeouts or, with [Config].Connections, two heartbeats after [Config].Silence;
// a member that serves a read knows when it is up to date.
//
// Non-goals: changes of membership; snapshots and compaction of the log (a run's log is short, and a restarted member
// replays it); the transfer of leadership before an orderly shutdown.
//
// # Time
//
// The raft library draws election timeouts from the host's randomness. Therefore only a leader is ever ticked, because
// its timeouts are fixed. A follower that has received nothing for [Config].Silence forgets its leader and may vote for
// another. It campaigns within [Config].Campaign after that, at a time drawn for the term. All of this is measured on
// the monotonic clock: jumps of the wall clock have no effect, but drift and pauses do.
//
// # Disk
//
// Everything is fsynced before it is acknowledged, so a power loss destroys nothing that was acknowledged. A member
// whose disk is lost ([sim.LoseAllState]) must not come back under its old name: it may have made promises that it no
// longer knows, above all a vote, and a majority of such members could elect a leader that lacks committed commands. It
// stays out of the cluster for the rest of the run and refuses clients with [Unavailable], as etcd does ("has already
// been bootstrapped"). If a cluster has a single member, nobody could object, and the member starts again with an empty
// log, as etcd and ZooKeeper do.
package raft

import (
	"errors"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Config contains the times of a cluster. The zero value selects etcd's defaults.
type Config struct {
	// Heartbeat is the interval at which a leader sends heartbeats; 0 means 100 ms.
	Heartbeat time.Duration
	// ElectionTicks is the election timeout as a number of heartbeats, at least 2; 0 means 10.
	ElectionTicks int
	// RequestTimeout is how long a member waits until a command is committed or a read is confirmed, before it returns
	// errTimeout. 0 means 5 s plus two election timeouts, or plus twice Silence if that is longer.
	RequestTimeout time.Duration
	// Fsync is the duration of a write to disk. sim.SlowFsync adds to it.
	Fsync time.Duration
	// Connections makes the members notice when their connections to each other break, as ZooKeeper's members do and
	// etcd's do not. A leader hangs up on a follower from which it has received nothing for Silence: the follower
	// learns that it has lost its leader, and the leader sends nothing to the follower until it hears from the follower
	// again. At every second heartbeat, a leader resigns if it is not connected to a majority. When a process ends, the
	// others notice at once.
	Connections bool
	// Silence is how long a member waits for a sign of life from its leader before it abandons the leader. With
	// Connections it is also how long a leader waits for a sign of life from a follower. 0 means the election timeout.
	Silence time.Duration
	// Campaign is the time within which a member campaigns after it has abandoned its leader; 0 means the election
	// timeout. With Connections, the member campaigns after one to two times Campaign, and doubles this time after each
	// of the first failed campaigns.
	Campaign time.Duration
	// Lease is how long a leader goes on without contact to a majority before it resigns, as in hashicorp/raft
	// (LeaderLeaseTimeout). 0 means that only the election timeout limits it. It must be more than a few heartbeats.
	Lease time.Duration
	// ColdStart begins the run without a leader. Otherwise the first member has been elected before time zero.
	ColdStart bool
}

// ElectionTimeout returns the election timeout. It is how long a follower waits for a sign of life from its leader
// before it forgets the leader, unless Silence says otherwise.
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

// Unavailable is the RESP error with which a member replies after its disk was lost.
const Unavailable = "-UNAVAILABLE this member has lost its disk and stays out of the cluster\r\n"

// Command is a change of the replicated state that a member proposes. Every member applies the same Command, so nobody
// may change it, or what Value points to, once it has been proposed.
type Command struct {
	// Attempt is the attempt on whose behalf the command is proposed; it is empty if the service itself proposes the
	// command, for example to expire a key.
	Attempt history.Attempt
	// Args is defined by the machine. Its first element, or all elements if there is no Attempt, distinguish the
	// messages about this command from others.
	Args []string
	// Value is what the machine carries out, if that does not follow from Args. Members neither encode nor copy it.
	Value any
}

// key returns a key for the messages about a command: its attempt and the first of its arguments, or all arguments if
// it has no attempt.
func (c *Command) key() sim.Key {
	key := sim.Key(0).Text(string(c.Attempt))
	for _, a := range c.Args {
		key = key.Text(a)
		if c.Attempt != "" {
			break
		}
	}
	return key
}

// Entry is a committed command.
type Entry struct {
	Command
	Index uint64 // position in the log; increases, with gaps
	Term  uint64 // term of the leader that proposed it
	// First is true on the first member of the cluster that applies the entry in this run. That member writes the
	// records. It is never true in a replay.
	First bool
	// Copied is true when this member applies an entry for the first time in this run and another member has already
	// applied it. The member may then record that it has a copy. It is never true in a replay.
	Copied bool
	// Own is true if a client of this member waits for the reply. Otherwise the reply is dropped and may be nil.
	Own bool
}

// Machine is the service that a member runs. The member calls its methods one at a time. The replicated state must
// depend only on the entries that were applied; clocks and randomness may influence what is proposed.
type Machine interface {
	// Reset begins a life with an empty state and without connections. All committed entries are applied again before
	// anything else. Reset must not propose anything.
	Reset(m *Member)
	// Apply carries out a committed command and returns its reply, encoded as RESP, which is valid until the next call.
	// It may call Record if e.First is true, record its copies if e.Copied is true, and Push to clients of this member.
	// e is valid until Apply returns.
	Apply(m *Member, e *Entry) (reply []byte)
	// Serve handles a client's request. The machine must Reply to it: at once, or later from Propose, ReadIndex,
	// ReceiveFromPeer or Wake.
	Serve(m *Member, r *sim.Incoming)
	// LeaderChanged is called when Leading, Leader or Unled has changed. There may be committed commands that have not
	// been applied yet.
	LeaderChanged(m *Member)
	// Wake is called when a timer fires that was set with After in this life.
	Wake(m *Member, tag uint64)
	// Lost is called when the only member of a cluster is about to start again because its disk was lost. The machine's
	// state results from all entries that had First. The machine records that this state is lost for the given reason.
	// Reset is called next.
	Lost(m *Member, why history.Why)
	// ReceiveFromPeer handles a body that another member's machine sent with SendToPeer.
	ReceiveFromPeer(m *Member, from sim.ProcessID, body any)
	// Fault is called for each fault except SlowFsync, even while the member is down (see Up).
	Fault(m *Member, f sim.ServerFault)
}

// Cluster contains the members of one replicated log, and the state that they share outside the simulated world: the
// commands that the numbers in the log represent, and which entries some member has already applied.
type Cluster struct {
	members []*Member
	voters  []uint64 // the members' raft IDs
	first   uint64   // the highest index that any member has applied in this run
	// commands contains the commands that were proposed in this run, by the IDs of their requests.
	commands map[uint64]*Command
}

// NewCluster returns a cluster with a member for each name. It calls machine for each member's service.
func NewCluster(c Config, names []sim.ProcessID, machine func() Machine) *Cluster {
	cluster := &Cluster{commands: map[uint64]*Command{}}
	for i, name := range names {
		id := uint64(i + 1)
		cluster.members = append(cluster.members, &Member{cluster: cluster, id: id, name: name, machine: machine()})
		cluster.voters = append(cluster.voters, id)
	}
	cluster.Reset(c)
	return cluster
}

// Reset returns the cluster to its initial state, for the next run.
func (c *Cluster) Reset(config Config) {
	c.first = 0
	clear(c.commands)
	for _, m := range c.members {
		m.reset(config.withDefaults())
	}
}

// Members returns the members in the order of the names given to NewCluster.
func (c *Cluster) Members() []*Member { return c.members }

// AddTo adds the members as servers to a world, by calling add.
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
