package raft

import (
	"fmt"
	"math"
	"strings"

	"go.etcd.io/raft/v3"
	"go.etcd.io/raft/v3/raftpb"
	"google.golang.org/protobuf/proto"

	"github.com/fencepost-sim/fencepost/sim"
)

// firstLeader is the raft ID of the member that is leader when the run starts.
const firstLeader = 1

// initialIndex is the index of the only entry in each member's log at time zero. This entry has been compacted.
const initialIndex = 1

// newDisk returns a member's disk at time zero. Unless the run starts without a leader (Config.ColdStart), the other
// members' disks contain a vote for the first member.
func (c *Cluster) newDisk(id uint64, config Config) *raft.MemoryStorage {
	disk := raft.NewMemoryStorage()
	index, term, vote := uint64(initialIndex), uint64(initialIndex), uint64(0)
	must(disk.ApplySnapshot(&raftpb.Snapshot{Metadata: &raftpb.SnapshotMetadata{
		ConfState: &raftpb.ConfState{Voters: c.voters}, Index: &index, Term: &term,
	}}))
	voted := term
	if !config.ColdStart && id != firstLeader {
		voted, vote = term+1, firstLeader
	}
	must(disk.SetHardState(&raftpb.HardState{Term: &voted, Vote: &vote, Commit: &index}))
	return disk
}

func newNode(id uint64, disk *raft.MemoryStorage, c *Config) *raft.RawNode {
	node, err := raft.NewRawNode(&raft.Config{
		ID:              id,
		ElectionTick:    max(c.ElectionTicks, int((c.Silence+c.Heartbeat-1)/c.Heartbeat)),
		HeartbeatTick:   1,
		Storage:         disk,
		MaxSizePerMsg:   math.MaxUint64,
		MaxInflightMsgs: 256,
		CheckQuorum:     true,
		PreVote:         true,
		Logger:          silent{},
	})
	must(err)
	return node
}

// assumeElected makes the first leader win an election without exchanging messages. The votes are already on the other
// members' disks.
func (m *Member) assumeElected() {
	must(m.node.Campaign())
	elected := func() bool { return m.node.BasicStatus().RaftState == raft.StateLeader }
	for _, t := range []raftpb.MessageType{raftpb.MsgPreVoteResp, raftpb.MsgVoteResp} {
		for m.node.HasReady() && !elected() {
			rd := m.node.Ready() // its messages would request votes, which have been given already
			m.persist(&rd)
			m.node.Advance(rd)
		}
		term := uint64(initialIndex + 1)
		for _, from := range m.cluster.voters[1:] {
			must(m.node.Step(&raftpb.Message{Type: t.Enum(), To: &m.id, From: &from, Term: &term}))
		}
	}
}

// raftMessage contains a raft message. It also stores the message's type separately, because it is read often.
type raftMessage struct {
	*raftpb.Message
	kind    raftpb.MessageType
	cluster *Cluster
}

// String returns the message in the protocol buffer text format. The entries show their commands' arguments as data.
func (m raftMessage) String() string {
	c := proto.CloneOf(m.Message)
	for _, e := range c.GetEntries() {
		if command, _ := m.cluster.command(e); command != nil {
			e.Data = []byte(strings.Join(append([]string{string(command.Attempt)}, command.Args...), " "))
		}
	}
	return c.String()
}

func (m *Member) send(messages []*raftpb.Message) {
	for _, msg := range messages {
		if m.hasHungUp(msg.GetTo()) {
			continue
		}
		kind := msg.GetType()
		m.host.Send(m.cluster.name(msg.GetTo()), phases[kind], m.keyOf(msg), raftMessage{msg, kind, m.cluster})
	}
}

// phases maps each raft message type to the phase that determines the message's delay.
var phases = func() (p [32]string) {
	for kind, name := range raftpb.MessageType_name {
		p[kind] = "raft " + name
	}
	return p
}()

// step passes a received message to raft, and records that its sender is alive.
func (m *Member) step(message raftMessage) {
	m.receivedFromFollower(message.GetFrom())
	_ = m.node.Step(message.Message) // an error only means that raft has dropped the message
	switch message.kind {
	case raftpb.MsgApp, raftpb.MsgHeartbeat, raftpb.MsgSnap:
		if message.GetTerm() >= m.term {
			m.receivedFromLeader()
		}
	}
}

// name returns the process with the given raft ID, or "" for 0.
func (c *Cluster) name(id uint64) sim.ProcessID {
	if id == 0 || id > uint64(len(c.members)) {
		return ""
	}
	return c.members[id-1].name
}

// must panics if err is not nil. Only a bug in this package can cause such an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

// silent is a logger that drops the raft library's log messages. It panics if the library reports that it has
// contradicted itself.
type silent struct{}

func (silent) Debug(...any)            {}
func (silent) Debugf(string, ...any)   {}
func (silent) Info(...any)             {}
func (silent) Infof(string, ...any)    {}
func (silent) Warning(...any)          {}
func (silent) Warningf(string, ...any) {}
func (silent) Error(...any)            {}
func (silent) Errorf(string, ...any)   {}

func (silent) Fatal(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Fatalf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
func (silent) Panic(v ...any)            { panic(fmt.Sprint(v...)) }
func (silent) Panicf(f string, v ...any) { panic(fmt.Sprintf(f, v...)) }
