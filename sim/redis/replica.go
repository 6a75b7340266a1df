package redis

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// tickEvery is how often a replica sends acknowledgments, and how often a master counts its replicas.
const tickEvery = time.Second

// tickFirst is called when the process starts. It sets the timer for the once-a-second work.
func (n *Node) tickFirst() {
	n.tickAfter(time.Duration(n.host.Rand("first tick", n.second()) % uint64(tickEvery)))
}

// tickAfter sets the timer for the once-a-second work. A master needs it only if it counts its replicas.
func (n *Node) tickAfter(d time.Duration) {
	n.repl.tick++
	if n.repl.master != "" || n.cfg.MinReplicasToWrite > 0 {
		n.host.WakeAfter(d, wakeTick|n.repl.tick)
	}
}

// ticked does the work that is due once a second. A master counts the replicas that have sent an acknowledgment
// recently. A replica that is linked to its master sends it an acknowledgment; any other replica asks its master for
// all data.
func (n *Node) ticked() {
	switch {
	case n.repl.master == "":
		n.countGood()
	case n.repl.linked:
		n.acknowledge(n.second())
	default:
		n.askForAll()
	}
	n.tickAfter(tickEvery)
}

// askForAll asks the master to send all its data.
func (n *Node) askForAll() {
	key := n.second()
	n.post(n.repl.master, phasePsync, key, psync{key})
}

// acknowledge reports the replica's offset to the master. key is the key of the message that requested the report.
func (n *Node) acknowledge(key sim.Key) {
	if r := &n.repl; r.linked {
		n.post(r.master, phaseAck, key, ack{r.id, r.offset, n.fsynced()})
	}
}

// follow applies effects from the master. While it does so, nothing expires and nothing is recorded, because the master
// is responsible for both.
func (n *Node) follow(from sim.ProcessID, m effects) {
	r := &n.repl
	if from != r.master || !r.linked || m.id != r.id {
		return // from a master that the node no longer follows
	}
	r.applying = true
	n.replay(m.list)
	r.applying = false
	r.offset = m.offset
	if m.urgent {
		n.acknowledge(m.key)
	}
}

// resync replaces the replica's data with a copy of the master's data.
func (n *Node) resync(from sim.ProcessID, m fullCopy) {
	r := &n.repl
	if from != r.master {
		return
	}
	if !r.linked || m.id != r.id { // not if the replica had asked twice and already has a copy
		was := n.data.Snapshot()
		if r.ownData != nil {
			was = r.ownData
		}
		r.id, r.offset, r.linked = m.id, m.offset, true
		n.replaceBy(m.list)
		n.cfg.Group.resynced(n, was)
	}
	n.acknowledge(m.key)
}

// obey makes the node a replica of the given master or, if that is the node itself, a master. It reports whether this
// changed the node's role or master.
func (n *Node) obey(master sim.ProcessID) (changed bool) {
	was := n.repl.master
	switch master {
	case n.host.Name():
		n.promote()
	case n.repl.master:
	default:
		n.replicate(master)
	}
	return n.repl.master != was
}

// promote makes a replica a master, with the data that has reached it. The group records which data the new master
// lacks.
func (n *Node) promote() {
	r := &n.repl
	if r.master == "" {
		return
	}
	n.post(r.master, phaseLeave, n.second(), leave{})
	r.master, r.linked, r.replicas, r.good = "", false, r.replicas[:0], 0
	n.restrict()
	n.beginStream()
	n.cfg.Group.promoted(n)
	r.recorded, r.ownData, n.stood = nil, nil, nil
	n.data.NoteEnds()
}

// reinstate is called when the node is ordered to follow the given master. Usually, it does nothing. But if the node
// itself is to be the master, and it has been deposed without yet following the new master, it becomes its group's
// master again and keeps its own data. The group records this.
func (n *Node) reinstate(master sim.ProcessID) {
	if g := n.cfg.Group; g != nil && master == n.host.Name() && n.repl.master == "" && g.master != master {
		g.promoted(n)
		n.repl.recorded = nil
	}
}

// replicate makes the node a replica of another master. It continues to serve its old data until the master's data
// arrives.
func (n *Node) replicate(master sim.ProcessID) {
	r := &n.repl
	n.feed()
	if r.master != "" {
		n.post(r.master, phaseLeave, n.second(), leave{})
	}
	wasMaster := r.master == ""
	if wasMaster {
		n.stood = n.data.Snapshot().Holdings()
	}
	r.master, r.linked, r.degraded, r.replicas, r.good = master, false, false, r.replicas[:0], 0
	n.restrict()
	n.armed = store.Never
	n.timer++ // stop the timer, since only a master expires keys
	n.askForAll()
	n.tickAfter(tickEvery)
	if wasMaster {
		if r.recorded == nil {
			r.recorded = map[store.Title]bool{} // no other node was promoted, so only this node has its data
		}
		n.unblockAll("-UNBLOCKED force unblock from blocking operation, " +
			"instance state changed (master -> replica?)\r\n")
	}
}

// image returns the data as a list of effects that create it. A full resync sends these effects.
func (n *Node) image() []store.Effect {
	s := n.data.Snapshot()
	list := n.librariesImage()
	for i := range s.Keys {
		list = s.Keys[i].Remake(list)
	}
	return list
}

// replaceBy replaces the node's data with an image. It also replaces the append-only file, because Redis rewrites the
// file after a full resync.
func (n *Node) replaceBy(image []store.Effect) {
	n.data.DropAll()
	n.libraries = nil
	n.data.Quietly(func() { n.replay(image) })
	if n.cfg.Persistence == store.None {
		return
	}
	n.aof.Replace(image, n.mono)
	n.startFile()
}

// replid returns a replication ID in Redis's format: forty hexadecimal digits.
func (s streamID) replid() string {
	return lua.SHA1Hex(string(s.master) + "/" + strconv.Itoa(s.number))
}
