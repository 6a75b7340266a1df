package redis

import "strconv"

// image is the data as effects that make it anew: what a full resync sends.
func (n *Node) image() []effect {
	s := n.snapshot()
	list := make([]effect, 0, len(s.keys))
	for i := range s.keys {
		list = s.keys[i].remake(list)
	}
	return list
}

// remake appends the effects that make the key anew.
func (k *Key) remake(list []effect) []effect {
	if k.Type == "string" {
		return append(list, effect{op: opSet, key: k.Name, value: k.Value, when: k.Deadline, attempt: k.Owner})
	}
	if k.Type == "list" {
		list = append(list, effect{op: opCommand, args: append([]string{"rpush", k.Name}, bulks(k.Value)...), attempt: k.Owner})
	}
	for _, m := range k.Members {
		list = append(list, effect{op: opCommand, args: k.add(m), attempt: m.Owner})
	}
	if k.Deadline != never {
		list = append(list, effect{op: opExpire, key: k.Name, when: k.Deadline, attempt: k.Owner})
	}
	return list
}

// add is the command that makes a member anew.
func (k *Key) add(m Member) []string {
	switch k.Type {
	case "hash":
		return []string{"hset", k.Name, m.Name, m.Value}
	case "set":
		return []string{"sadd", k.Name, m.Name}
	}
	return []string{"zadd", k.Name, m.Value, m.Name}
}

// replaceBy replaces the data by an image, the file too: Redis rewrites it after a full resync.
func (n *Node) replaceBy(image []effect) {
	n.dropAll()
	n.loading = true
	n.replay(image)
	n.loading = false
	if n.cfg.Persistence == None {
		return
	}
	n.aof.forget()
	n.aof.effects = append(n.aof.effects, image...)
	for i := range n.aof.effects {
		n.aof.effects[i].at = n.mono
	}
	n.aof.start(n.cfg.Persistence, n.cfg.FsyncTime+n.slow, n.mono, n.wall)
}

// replid is a replication id as Redis writes it: forty hexadecimal digits.
func (s streamID) replid() string { return sha1Hex(string(s.master) + "/" + strconv.Itoa(s.number)) }
