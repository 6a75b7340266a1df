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
	list = append(list, effect{op: opCommand, args: k.rebuild(), attempt: k.Owner})
	if k.Deadline != never {
		list = append(list, effect{op: opExpire, key: k.Name, when: k.Deadline, attempt: k.Owner})
	}
	return list
}

// rebuild is the command that makes a key that is no string.
func (k *Key) rebuild() []string {
	all := bulks(k.Value)
	switch k.Type {
	case "hash":
		return append([]string{"hset", k.Name}, all...)
	case "list":
		return append([]string{"rpush", k.Name}, all...)
	case "set":
		return append([]string{"sadd", k.Name}, all...)
	}
	args := []string{"zadd", k.Name}
	for i := 0; i+1 < len(all); i += 2 {
		args = append(args, all[i+1], all[i]) // members come before their scores
	}
	return args
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
