package zookeeper

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consensus"
)

// look answers a read from this member's own state, which may lie behind the leader's.
func (s *server) look(m *consensus.Member, c *connection, args []string) []byte {
	switch args[0] {
	case reqPing:
		return appendOK(s.out[:0])
	case reqWatches:
		if len(args)%2 == 0 {
			return s.setWatches(m, c, args)
		}
	case reqExists, reqGetData, reqChildren:
		if len(args) == 3 {
			return s.lookAt(c, args)
		}
	}
	return appendCode(s.out[:0], BadArguments)
}

// lookAt reads one znode, and leaves a watch where it is asked for and there is something to wait for.
func (s *server) lookAt(c *connection, args []string) []byte {
	path, watch := args[1], args[2] == "1"
	n := s.nodes[path]
	if watch && (n != nil || args[0] == reqExists) {
		if args[0] == reqChildren {
			add(s.watches.child, path, c.id)
		} else {
			add(s.watches.data, path, c.id)
		}
	}
	if n == nil {
		return appendCode(s.out[:0], NoNode)
	}
	return appendNode(s.out[:0], args[0], n)
}

func appendNode(b []byte, request string, n *znode) []byte {
	switch request {
	case reqExists:
		return appendStat(sim.AppendArray(b, statLength), n.stat())
	case reqGetData:
		return appendStat(sim.AppendBulk(sim.AppendArray(b, 1+statLength), n.data), n.stat())
	default:
		b = appendStat(sim.AppendArray(b, statLength+len(n.children)), n.stat())
		for _, name := range n.children {
			b = sim.AppendBulk(b, name)
		}
		return b
	}
}

// setWatches sets a reconnected client's watches again. One that missed its event while the client was away fires at
// once (DataTree.setWatches).
func (s *server) setWatches(m *consensus.Member, c *connection, args []string) []byte {
	number, _ := strconv.ParseInt(args[1], 10, 64)
	seen := Zxid(number)
	for i := 2; i+1 < len(args); i += 2 {
		kind, path := args[i], args[i+1]
		n := s.nodes[path]
		switch {
		case kind == watchExists && n != nil:
			s.notify(m, c.id, Event{NodeCreated, path})
		case kind == watchExists:
			add(s.watches.data, path, c.id)
		case n == nil:
			s.notify(m, c.id, Event{NodeDeleted, path})
		case kind == watchData && n.mzxid > seen:
			s.notify(m, c.id, Event{NodeDataChanged, path})
		case kind == watchData:
			add(s.watches.data, path, c.id)
		case n.pzxid > seen:
			s.notify(m, c.id, Event{NodeChildrenChanged, path})
		default:
			add(s.watches.child, path, c.id)
		}
	}
	return appendOK(s.out[:0])
}
