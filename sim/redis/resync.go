package redis

import "strconv"

// image is the data as effects that make it anew: what a full resync sends.
func (n *Node) image() []effect {
	s := n.data.snapshot()
	list := make([]effect, 0, len(s.keys))
	for i := range s.keys {
		list = s.keys[i].remake(list)
	}
	return list
}

// replaceBy replaces the data by an image, the file too: Redis rewrites it after a full resync.
func (n *Node) replaceBy(image []effect) {
	n.data.dropAll()
	n.data.quietly(func() { n.replay(image) })
	if n.cfg.Persistence == None {
		return
	}
	n.aof.replace(image, n.mono)
	n.aof.start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, n.mono, n.data.wall)
}

// replid is a replication id as Redis writes it: forty hexadecimal digits.
func (s streamID) replid() string { return sha1Hex(string(s.master) + "/" + strconv.Itoa(s.number)) }
