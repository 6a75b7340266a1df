package redis

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// image is the data as effects that make it anew: what a full resync sends.
func (n *Node) image() []store.Effect {
	s := n.data.Snapshot()
	list := make([]store.Effect, 0, len(s.Keys))
	for i := range s.Keys {
		list = s.Keys[i].Remake(list)
	}
	return list
}

// replaceBy replaces the data by an image, the file too: Redis rewrites it after a full resync.
func (n *Node) replaceBy(image []store.Effect) {
	n.data.DropAll()
	n.data.Quietly(func() { n.replay(image) })
	if n.cfg.Persistence == store.None {
		return
	}
	n.aof.Replace(image, n.mono)
	n.aof.Start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, n.mono, n.data.Wall)
}

// replid is a replication id as Redis writes it: forty hexadecimal digits.
func (s streamID) replid() string {
	return lua.SHA1Hex(string(s.master) + "/" + strconv.Itoa(s.number))
}
