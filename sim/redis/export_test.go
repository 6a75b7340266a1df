package redis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Connections returns the number of connections for which a node is keeping any state.
func Connections(n *Node) int { return len(n.conns) }

// Keys lists the data, sorted by name. It does not delete expired keys.
func (n *Node) Keys() []store.Key { return n.data.Snapshot().Keys }

// Log returns the append-only file's content as commands, one per line. It includes effects that are not on disk yet.
func (n *Node) Log() []string {
	list := n.aof.All()
	lines := make([]string, len(list))
	for i := range list {
		lines[i] = strings.Join(written(&list[i]), " ")
	}
	return lines
}

// Master returns the node that n follows, or "" if n is a master.
func (n *Node) Master() sim.ProcessID { return n.repl.master }

// Degraded reports whether semi-synchronous replication has fallen back to asynchronous.
func (n *Node) Degraded() bool { return n.repl.degraded }

// written returns an effect in the form of the command that Redis would write to its append-only file.
func written(e *store.Effect) []string {
	switch e.Op {
	case store.OpSet:
		if e.When == store.Never {
			return []string{"SET", e.Key, e.Value}
		}
		return []string{"SET", e.Key, e.Value, "PXAT", strconv.FormatInt(e.When, 10)}
	case store.OpDel:
		return []string{"DEL", e.Key}
	case store.OpExpire:
		return []string{"PEXPIREAT", e.Key, strconv.FormatInt(e.When, 10)}
	case store.OpPersist:
		return []string{"PERSIST", e.Key}
	case store.OpFlush:
		return []string{"FLUSHALL"}
	case store.OpPublish:
		return []string{"PUBLISH", e.Key, e.Value}
	case store.OpShardPublish:
		return []string{"SPUBLISH", e.Key, e.Value}
	}
	return e.Args
}
