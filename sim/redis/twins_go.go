package redis

import "math"

// compared is what GET and a comparison with a value come to.
type compared uint8

const (
	declined compared = iota // not for a twin
	absent
	foreign
	owned
)

// compareValue compares the value of a key as `redis.call("get", KEYS[1]) == ARGV[1]` does.
func (n *Node) compareValue(keys, argv []string) (*key, compared) {
	if len(keys) == 0 || len(argv) == 0 {
		return nil, declined
	}
	k := n.find(keys[0])
	switch {
	case k == nil:
		return nil, absent
	case !k.text:
		return k, declined
	case n.data.get(keys[0]) != argv[0]:
		return k, foreign
	}
	return k, owned
}

// ttlOf reads the argument of PX or PEXPIRE. Twins take on positive ones only.
func (n *Node) ttlOf(argv []string, unit int64) (when int64, ok bool) {
	if len(argv) < 2 {
		return 0, false
	}
	v, ok := parseInt(argv[1])
	if !ok || v <= 0 || v > math.MaxInt64/1000 || v*unit > math.MaxInt64-max(n.ms, 0) {
		return 0, false
	}
	return n.ms + v*unit, true
}

func twinRelease(n *Node, keys, argv []string) bool {
	switch _, c := n.compareValue(keys, argv); c {
	case declined:
		return false
	case owned:
		n.removeAsked(keys[0])
		n.replyInt(1)
	default:
		n.replyInt(0)
	}
	return true
}

func twinReleaseTold(n *Node, keys, argv []string) bool {
	switch _, c := n.compareValue(keys, argv); c {
	case declined:
		return false
	case owned:
		n.removeAsked(keys[0])
		n.replyInt(1)
	case absent:
		n.replyInt(-1)
	default:
		n.replyInt(0)
	}
	return true
}

func twinRenew(unit int64) twin {
	return func(n *Node, keys, argv []string) bool {
		k, c := n.compareValue(keys, argv)
		if c == declined {
			return false
		}
		if c != owned {
			n.replyInt(0)
			return true
		}
		when, ok := n.ttlOf(argv, unit)
		if ok {
			n.moveDeadline(keys[0], k, when)
			n.replyInt(1)
		}
		return ok
	}
}

func twinRenewOrAcquire(n *Node, keys, argv []string) bool {
	k, c := n.compareValue(keys, argv)
	when, ok := n.ttlOf(argv, 1)
	if c == declined || !ok {
		return false
	}
	switch c {
	case owned:
		n.moveDeadline(keys[0], k, when)
		n.replyInt(1)
	case absent:
		n.setString(keys[0], argv[0], when)
		n.replyInt(1)
	default:
		n.replyInt(0)
	}
	return true
}

func twinAcquireOrExtend(n *Node, keys, argv []string) bool {
	_, c := n.compareValue(keys, argv)
	when, ok := n.ttlOf(argv, 1)
	if c == declined || !ok {
		return false
	}
	if c == owned || c == absent && len(argv) > 2 && argv[2] == "yes" {
		n.setString(keys[0], argv[0], when)
		n.replyOK()
	} else {
		n.replyNull()
	}
	return true
}

func twinExtendAll(n *Node, keys, argv []string) bool {
	when, ok := n.ttlOf(argv, 1)
	if !ok {
		return false
	}
	for i := range keys {
		switch _, c := n.compareValue(keys[i:i+1], argv); c {
		case declined:
			return false
		case absent, foreign:
			n.replyInt(0)
			return true
		}
	}
	n.setAll(keys, argv[0], when)
	return true
}

// setAll sets the keys in turn and answers with their number.
func (n *Node) setAll(keys []string, value string, when int64) {
	for _, name := range keys {
		n.setString(name, value, when)
	}
	n.replyInt(int64(len(keys)))
}

func twinAcquireAll(n *Node, keys, argv []string) bool {
	when, ok := n.ttlOf(argv, 1)
	if !ok {
		return false
	}
	for _, name := range keys {
		if n.find(name) != nil {
			n.replyInt(0)
			return true
		}
	}
	n.setAll(keys, argv[0], when)
	return true
}

func twinReleaseAll(n *Node, keys, argv []string) bool {
	for _, name := range keys { // without coming across them before their turn
		if k := n.data.keys[name]; len(argv) == 0 || k != nil && !k.text {
			return false
		}
	}
	count := int64(0)
	for i, name := range keys {
		if _, c := n.compareValue(keys[i:i+1], argv); c == owned {
			n.removeAsked(name)
			count++
		}
	}
	n.replyInt(count)
	return true
}

func twinFencedAcquire(n *Node, keys, argv []string) bool {
	if len(keys) < 2 || len(argv) == 0 || keys[0] == keys[1] {
		return false
	}
	when, ok := n.ttlOf(argv, 1)
	if !ok {
		return false
	}
	if n.find(keys[0]) != nil {
		n.replyInt(0)
		return true
	}
	if k := n.data.keys[keys[1]]; k != nil { // come across after the first key is set
		v, ok := parseInt(n.data.get(keys[1]))
		if !k.text || !ok || v >= 1<<53 {
			return false // an error in Lua, or a number that Lua would round
		}
	}
	n.setString(keys[0], argv[0], when)
	n.increase([]string{"incr", keys[1]}, 1)
	return true
}
