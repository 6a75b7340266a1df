package store

import "github.com/fencepost-sim/fencepost/sim/redis/resp"

// Remake appends the effects that make the key anew.
func (k *Key) Remake(list []Effect) []Effect {
	if k.Type == "string" {
		return append(list, Effect{Op: OpSet, Key: k.Name, Value: k.Value, When: k.Deadline, Attempt: k.Owner})
	}
	if k.Type == "list" {
		list = append(list, Effect{Op: OpCommand, Args: append([]string{"rpush", k.Name}, resp.Bulks(k.Value)...),
			Attempt: k.Owner})
	}
	for _, m := range k.Members {
		list = append(list, Effect{Op: OpCommand, Args: k.add(m), Attempt: m.Owner})
	}
	if k.Deadline != Never {
		list = append(list, Effect{Op: OpExpire, Key: k.Name, When: k.Deadline, Attempt: k.Owner})
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
