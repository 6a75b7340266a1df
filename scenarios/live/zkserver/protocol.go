package zkserver

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// Operations, by their numbers in requests and logs (ZooDefs.OpCode).
const (
	opDelete       int32 = 2
	opExists       int32 = 3
	opGetData      int32 = 4
	opSetData      int32 = 5
	opSetACL       int32 = 7
	opSync         int32 = 9
	opPing         int32 = 11
	opChildren     int32 = 12 // getChildren2
	opCreate2      int32 = 15
	opAuth         int32 = 100
	opSetWatches   int32 = 101
	opAddWatch     int32 = 106
	opCloseSession int32 = -11
)

// Numbers of requests and replies that count nothing.
const (
	xidEvent   int32 = -1
	xidPing    int32 = -2
	xidAuth    int32 = -4
	xidWatches int32 = -8
	xidLook    int32 = 0 // of our own: where the member stands
)

// modes are the flags of znodes in ZooKeeper's order (CreateMode).
var modes = map[zookeeper.Mode]int32{zookeeper.Persistent: 0, zookeeper.Ephemeral: 1,
	zookeeper.PersistentSequential: 2, zookeeper.EphemeralSequential: 3}

// noMode is a flag that no mode has.
const noMode = 99

// codes are the errors that package zookeeper knows, by their numbers (KeeperException.Code).
var codes = map[int32]zookeeper.Code{-8: zookeeper.BadArguments, -101: zookeeper.NoNode, -103: zookeeper.BadVersion,
	-108: zookeeper.NoChildrenForEphemerals, -110: zookeeper.NodeExists, -111: zookeeper.NotEmpty,
	-112: zookeeper.SessionExpired, -118: zookeeper.SessionMoved}

// eventTypes are the events of watches by their numbers (Watcher.Event.EventType).
var eventTypes = map[int32]zookeeper.EventType{1: zookeeper.NodeCreated, 2: zookeeper.NodeDeleted,
	3: zookeeper.NodeDataChanged, 4: zookeeper.NodeChildrenChanged}

// request is a client's request in ZooKeeper's protocol. A malformed one becomes a request that every member refuses,
// as the simulated one does.
func request(xid int32, args []string) []byte {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	number := func(i int) int64 {
		n, _ := strconv.ParseInt(arg(i), 10, 64)
		return n
	}
	head := func(op int32) record { return record(nil).int(xid).int(op) }
	look := map[string]int32{zookeeper.ReqExists: opExists, zookeeper.ReqGetData: opGetData,
		zookeeper.ReqChildren: opChildren}
	switch args[0] {
	case zookeeper.ReqPing:
		return head(opPing).framed()
	case zookeeper.ReqClose:
		return head(opCloseSession).framed()
	case zookeeper.ReqSync:
		return head(opSync).text("/").framed()
	case zookeeper.ReqDelete:
		return head(opDelete).text(arg(1)).int(int32(number(2))).framed()
	case zookeeper.ReqSetData:
		return head(opSetData).text(arg(1)).text(arg(2)).int(int32(number(3))).framed()
	case zookeeper.ReqExists, zookeeper.ReqGetData, zookeeper.ReqChildren:
		if len(args) == 3 {
			return head(look[args[0]]).text(args[1]).flag(args[2] == "1").framed()
		}
	case zookeeper.ReqWatches:
		if len(args)%2 == 0 {
			return setWatches(head(opSetWatches), number(1), args[2:])
		}
	case zookeeper.ReqCreate:
		flags, known := modes[zookeeper.Mode(number(3))]
		if !known {
			flags = noMode
		}
		return head(opCreate2).text(arg(1)).text(arg(2)).nobody().int(flags).framed()
	}
	return head(opCreate2).text("").text("").nobody().int(0).framed()
}

func setWatches(r record, seen int64, pairs []string) []byte {
	lists := map[string][]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		lists[pairs[i]] = append(lists[pairs[i]], pairs[i+1])
	}
	return r.long(seen).texts(lists[zookeeper.WatchData]).texts(lists[zookeeper.WatchExists]).
		texts(lists[zookeeper.WatchChild]).framed()
}

// xidOf is the number of a request.
func xidOf(args []string, count int32) int32 {
	switch args[0] {
	case zookeeper.ReqPing:
		return xidPing
	case zookeeper.ReqWatches:
		return xidWatches
	}
	return count
}

// connectRequest asks for a session, or to resume one.
func connectRequest(seen, timeout, session int64, password string) []byte {
	return record(nil).int(0).long(seen).int(int32(timeout)).long(session).text(password).flag(false).framed()
}

// answer is the body of a reply, as the simulated member sends it.
func answer(args []string, code int32, f *fields) []byte {
	if code != 0 {
		known, is := codes[code]
		if !is {
			known = zookeeper.Code(fmt.Sprintf("CODE%d", code))
		}
		return zookeeper.AppendCode(nil, known)
	}
	list := func(n int) []byte { return sim.AppendArray(nil, zookeeper.StatLength+n) }
	switch args[0] {
	case zookeeper.ReqCreate:
		path := f.text()
		return zookeeper.AppendStat(sim.AppendBulk(list(1), path), f.stat())
	case zookeeper.ReqSetData:
		return zookeeper.AppendStat(sim.AppendBulk(list(1), args[1]), f.stat())
	case zookeeper.ReqExists:
		return zookeeper.AppendStat(list(0), f.stat())
	case zookeeper.ReqGetData:
		data := f.text()
		return zookeeper.AppendStat(sim.AppendBulk(list(1), data), f.stat())
	case zookeeper.ReqChildren:
		names := f.texts()
		slices.Sort(names)
		b := zookeeper.AppendStat(list(len(names)), f.stat())
		for _, name := range names {
			b = sim.AppendBulk(b, name)
		}
		return b
	}
	return zookeeper.AppendOK(nil)
}
