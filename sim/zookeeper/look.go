package zookeeper

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// look answers a read from this member's own state, which may be behind the leader's.
func (s *server) look(m *raft.Member, c *connection, args []string) []byte {
	switch args[0] {
	case ReqPing:
		return AppendOK(s.out[:0])
	case ReqWatches:
		if len(args)%2 == 0 {
			return s.setWatches(m, c, args)
		}
	case ReqExists, ReqGetData, ReqChildren:
		if len(args) == 3 {
			return s.lookAt(c, args)
		}
	}
	return AppendCode(s.out[:0], BadArguments)
}

// lookAt reads one znode, and sets a watch if one is requested and there is something to watch.
func (s *server) lookAt(c *connection, args []string) []byte {
	path, watch := args[1], args[2] == "1"
	n := s.node(path)
	if watch && (n != nil || args[0] == ReqExists) {
		if args[0] == ReqChildren {
			s.watches.child.add(path, c.id, oneEvent)
		} else {
			s.watches.data.add(path, c.id, oneEvent)
		}
	}
	if n == nil {
		return AppendCode(s.out[:0], NoNode)
	}
	return appendNode(s.out[:0], args[0], n)
}

func appendNode(b []byte, request string, n *znode) []byte {
	switch request {
	case ReqExists:
		return AppendStat(sim.AppendArray(b, StatLength), n.stat())
	case ReqGetData:
		return AppendStat(sim.AppendBulk(sim.AppendArray(b, 1+StatLength), n.data), n.stat())
	default:
		b = AppendStat(sim.AppendArray(b, StatLength+len(n.children)), n.stat())
		for _, name := range n.children {
			b = sim.AppendBulk(b, name)
		}
		return b
	}
}

// setWatches sets the watches of a client that has reconnected, kind by kind. A watch that missed its event while the
// client was away fires at once (DataTree.setWatches).
func (s *server) setWatches(m *raft.Member, c *connection, args []string) []byte {
	number, _ := strconv.ParseInt(args[1], 10, 64)
	for _, kind := range []string{WatchData, WatchExists, WatchChild} {
		for i := 2; i+1 < len(args); i += 2 {
			if args[i] == kind {
				s.setWatch(m, c, kind, args[i+1], Zxid(number))
			}
		}
	}
	return AppendOK(s.out[:0])
}

func (s *server) setWatch(m *raft.Member, c *connection, kind, path string, seen Zxid) {
	n := s.node(path)
	switch {
	case kind == WatchExists && n != nil:
		s.notify(m, c.id, Event{NodeCreated, path})
	case kind == WatchExists:
		s.watches.data.add(path, c.id, oneEvent)
	case n == nil:
		s.notify(m, c.id, Event{NodeDeleted, path})
	case kind == WatchData && n.mzxid > seen:
		s.notify(m, c.id, Event{NodeDataChanged, path})
	case kind == WatchData:
		s.watches.data.add(path, c.id, oneEvent)
	case n.pzxid > seen:
		s.notify(m, c.id, Event{NodeChildrenChanged, path})
	default:
		s.watches.child.add(path, c.id, oneEvent)
	}
}
