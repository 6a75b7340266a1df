package zkserver

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// xidLook is the request number of this package's own requests that read the state of the member.
const xidLook int32 = 0

// modes are ZooKeeper's numbers of the kinds of znodes (CreateMode).
var modes = map[zookeeper.Mode]int32{zookeeper.Persistent: 0, zookeeper.Ephemeral: 1,
	zookeeper.PersistentSequential: 2, zookeeper.EphemeralSequential: 3}

// noMode is a number that no kind of znode has.
const noMode = 99

// codes are the errors that package zookeeper knows, by ZooKeeper's numbers (KeeperException.Code).
var codes = map[int32]zookeeper.Code{-8: zookeeper.BadArguments, -101: zookeeper.NoNode, -103: zookeeper.BadVersion,
	-108: zookeeper.NoChildrenForEphemerals, -110: zookeeper.NodeExists, -111: zookeeper.NotEmpty,
	-112: zookeeper.SessionExpired, -118: zookeeper.SessionMoved}

// eventTypes are the events of watches, by ZooKeeper's numbers (Watcher.Event.EventType).
var eventTypes = map[int32]zookeeper.EventType{1: zookeeper.NodeCreated, 2: zookeeper.NodeDeleted,
	3: zookeeper.NodeDataChanged, 4: zookeeper.NodeChildrenChanged}

// request encodes a client's request in ZooKeeper's protocol. A malformed request becomes one that every member
// refuses, since the simulated members refuse it, too.
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
	head := func(op jute.Op) jute.Record { return jute.Head(xid, op) }
	look := map[string]jute.Op{zookeeper.ReqExists: jute.Exists, zookeeper.ReqGetData: jute.GetData,
		zookeeper.ReqChildren: jute.GetChildren2}
	switch args[0] {
	case zookeeper.ReqPing:
		return head(jute.Ping).Framed()
	case zookeeper.ReqClose:
		return head(jute.CloseSession).Framed()
	case zookeeper.ReqSync:
		return head(jute.Sync).Text("/").Framed()
	case zookeeper.ReqDelete:
		return head(jute.Delete).Text(arg(1)).Int(int32(number(2))).Framed()
	case zookeeper.ReqSetData:
		return head(jute.SetData).Text(arg(1)).Text(arg(2)).Int(int32(number(3))).Framed()
	case zookeeper.ReqExists, zookeeper.ReqGetData, zookeeper.ReqChildren:
		if len(args) == 3 {
			return head(look[args[0]]).Text(args[1]).Flag(args[2] == "1").Framed()
		}
	case zookeeper.ReqWatches:
		if len(args)%2 == 0 {
			return setWatches(head(jute.SetWatches), number(1), args[2:])
		}
	case zookeeper.ReqCreate:
		flags, known := modes[zookeeper.Mode(number(3))]
		if !known {
			flags = noMode
		}
		return nobody(head(jute.Create2).Text(arg(1)).Text(arg(2))).Int(flags).Framed()
	}
	return nobody(head(jute.Create2).Text("").Text("")).Int(0).Framed()
}

func setWatches(r jute.Record, seen int64, pairs []string) []byte {
	lists := map[string][]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		lists[pairs[i]] = append(lists[pairs[i]], pairs[i+1])
	}
	return r.Long(seen).Texts(lists[zookeeper.WatchData]).Texts(lists[zookeeper.WatchExists]).
		Texts(lists[zookeeper.WatchChild]).Framed()
}

// xidOf returns the number to send with a request: a fixed one for pings and for setting watches, else count.
func xidOf(args []string, count int32) int32 {
	switch args[0] {
	case zookeeper.ReqPing:
		return jute.XidPing
	case zookeeper.ReqWatches:
		return jute.XidWatches
	}
	return count
}

// readStat reads a Stat, and drops the fields that the protocol of package zookeeper lacks.
func readStat(f *jute.Fields) (s zookeeper.Stat) {
	s.Czxid, s.Mzxid = zookeeper.Zxid(f.Long()), zookeeper.Zxid(f.Long())
	f.Long() // ctime
	f.Long() // mtime
	s.Version, s.Cversion = int64(f.Int()), int64(f.Int())
	f.Int() // aversion
	s.EphemeralOwner = zookeeper.SessionID(f.Long())
	f.Int() // dataLength
	s.NumChildren = int64(f.Int())
	s.Pzxid = zookeeper.Zxid(f.Long())
	return s
}

// answer returns the body of a reply in the form in which the simulated member sends it.
func answer(args []string, code int32, f *jute.Fields) []byte {
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
		path := f.Text()
		return zookeeper.AppendStat(sim.AppendBulk(list(1), path), readStat(f))
	case zookeeper.ReqSetData:
		return zookeeper.AppendStat(sim.AppendBulk(list(1), args[1]), readStat(f))
	case zookeeper.ReqExists:
		return zookeeper.AppendStat(list(0), readStat(f))
	case zookeeper.ReqGetData:
		data := f.Text()
		return zookeeper.AppendStat(sim.AppendBulk(list(1), data), readStat(f))
	case zookeeper.ReqChildren:
		names := f.Texts()
		slices.Sort(names)
		b := zookeeper.AppendStat(list(len(names)), readStat(f))
		for _, name := range names {
			b = sim.AppendBulk(b, name)
		}
		return b
	}
	return zookeeper.AppendOK(nil)
}
