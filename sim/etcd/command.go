package etcd

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// command is a change that members execute from the log: an *Op, a *Txn or one of the types below. All members share
// the same command, so it must not be changed.
type command interface {
	// apply executes the command. It returns the response message for the method that proposed the command.
	apply(s *server, m *raft.Member, w *write) (message []byte, err error)
	name() string
	// details returns words that distinguish the command from others with the same name, so that its messages get their
	// own random delays.
	details() []string
}

// proposal returns the command as a log entry. The random delays of its messages depend on the command's name and, if
// the command does not belong to an attempt, also on its details.
func proposal(of history.Attempt, c command) raft.Command {
	words := []string{c.name()}
	if of == "" {
		words = append(words, c.details()...)
	}
	return raft.Command{Attempt: of, Args: words, Value: c}
}

// Apply executes a command from the log.
func (s *server) Apply(m *raft.Member, e *raft.Entry) []byte {
	w := write{entry: e, revision: s.store.revision + 1, by: e.Attempt, why: history.Deleted}
	return outcome(e.Value.(command).apply(s, m, &w))
}

type grant struct{ id, ttl int64 }

func (*grant) name() string        { return "GRANT" }
func (g *grant) details() []string { return []string{format(g.id), format(g.ttl)} }

type revocation struct {
	id      int64
	expired bool // the leader ends the lease; otherwise a client does
}

func (r *revocation) name() string {
	if r.expired {
		return "EXPIRE"
	}
	return "REVOKE"
}

func (r *revocation) details() []string { return []string{format(r.id)} }

// compaction is a command that makes all revisions before the given one unreadable.
type compaction struct{ revision int64 }

func (*compaction) name() string        { return "COMPACT" }
func (c *compaction) details() []string { return []string{format(c.revision)} }

// entrance is a command that adds a key to the queue for a lock or an election. It results from a call to the lock or
// election service.
type entrance struct {
	key, value string
	lease      int64
	election   bool
}

func (*entrance) name() string        { return "ENTER" }
func (n *entrance) details() []string { return []string{n.key, format(n.lease), n.value} }

func (t *Txn) name() string      { return "TXN" }
func (t *Txn) details() []string { return []string{string(t.message())} }

func (o *Op) name() string {
	if o.Kind == Put {
		return "PUT"
	}
	return "DELETE"
}

func (o *Op) details() []string { return []string{string(o.message())} }
