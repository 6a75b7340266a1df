package redis

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
