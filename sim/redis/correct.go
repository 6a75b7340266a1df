package redis

import (
	"math"
	"slices"
	"strings"
)

// Where miniredis answers otherwise than Redis 7.0, a check in front of it gives Redis's answer. Each was found by
// TestNodeAnswersAsRedis.

// checkType refuses a key of another type, and answers for an absent one if ifAbsent is not nil.
func (n *Node) checkType(name, kind string, ifAbsent func()) (answered bool) {
	if n.find(name) == nil {
		if ifAbsent == nil {
			return false
		}
		ifAbsent()
		return true
	}
	if n.data.db.Type(name) != kind {
		n.replyError(errWrongType)
		return true
	}
	return false
}

// setrangeFirst: an empty value changes nothing, and the offset is read strictly.
func setrangeFirst(n *Node, args []string) bool {
	offset, ok := parseInt(args[2])
	switch {
	case !ok:
		n.replyError(errNotInt)
	case offset < 0:
		n.replyError("ERR offset is out of range")
	case n.checkType(args[1], "string", nil):
	case args[3] == "":
		strlen(n, args[:2])
	case offset+int64(len(args[3])) > 512<<20 || offset > 512<<20:
		n.replyError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	default:
		return false
	}
	return true
}

// hincrbyFirst: the message about the field, and strict integers.
func hincrbyFirst(n *Node, args []string) bool {
	by, ok := parseInt(args[3])
	if !ok {
		n.replyError(errNotInt)
		return true
	}
	if n.find(args[1]) == nil {
		return false
	}
	if n.checkType(args[1], "hash", nil) {
		return true
	}
	old := n.ask("HGET", args[1], args[2])
	if old == "$-1\r\n" {
		return false
	}
	_, old, _ = strings.Cut(old, "\r\n")
	v, ok := parseInt(strings.TrimSuffix(old, "\r\n"))
	switch {
	case !ok:
		n.replyError("ERR hash value is not an integer")
	case by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by:
		n.replyError(errOverflow)
	default:
		return false
	}
	return true
}

// ask has miniredis execute a command whose reply is not for the client.
func (n *Node) ask(args ...string) string {
	from := len(n.out)
	n.data.pass(args)
	reply := string(n.out[from:])
	n.out = n.out[:from]
	return reply
}

// scan is SCAN: it comes across the expired keys of its pattern.
func scan(n *Node, args []string) {
	reply := n.ask(args...)
	n.out = append(n.out, reply...)
	if reply[0] == '-' {
		return
	}
	pattern := "*"
	for i := 2; i+1 < len(args); i += 2 {
		if strings.EqualFold(args[i], "MATCH") {
			pattern = args[i+1]
		}
	}
	for _, h := range slices.Clone(n.data.hidden) {
		if pattern == "*" || match(pattern, h.Name) {
			n.find(h.Name)
		}
	}
}

// findSets comes across the keys of a command about sets, up to one that is none.
func (n *Node) findSets(names []string) {
	for _, name := range names {
		if n.find(name) != nil && n.data.db.Type(name) != "set" {
			return
		}
	}
}

// readSets is SUNION and its kin.
func readSets(n *Node, args []string) bool {
	n.findSets(args[1:])
	return false
}

// popFirst: the count of LPOP and RPOP.
func popFirst(n *Node, args []string) bool {
	if len(args) > 3 {
		n.replyError(wrongArity(strings.ToLower(args[0])))
		return true
	}
	if len(args) == 3 {
		if v, ok := parseInt(args[2]); !ok || v < 0 {
			n.replyError("ERR value is out of range, must be positive")
			return true
		}
	}
	return false
}

// lindexFirst: the key is looked up before the index is read.
func lindexFirst(n *Node, args []string) bool { return n.checkType(args[1], "list", n.replyNull) }

func lsetFirst(n *Node, args []string) bool {
	return n.checkType(args[1], "list", func() { n.replyError(errNoKey) })
}

// lmoveFirst: the words are read before the keys are looked up.
func lmoveFirst(n *Node, args []string) bool {
	if !isOneOf(args[3], "LEFT", "RIGHT") || !isOneOf(args[4], "LEFT", "RIGHT") {
		n.replyError(errSyntax)
		return true
	}
	return false
}

// smoveFirst: without a source the destination does not matter.
func smoveFirst(n *Node, args []string) bool {
	n.find(args[2])
	return n.checkType(args[1], "set", func() { n.replyInt(0) })
}

// zpopFirst: the count of ZPOPMIN and ZPOPMAX.
func zpopFirst(n *Node, args []string) bool {
	if len(args) > 3 {
		n.replyError(errSyntax)
		return true
	}
	if len(args) < 3 {
		return false
	}
	v, ok := parseInt(args[2])
	switch {
	case !ok || v < 0:
		n.replyError("ERR value is out of range, must be positive")
	case n.checkType(args[1], "zset", func() { n.replyLen(0) }):
	case v == 0:
		n.replyLen(0)
	default:
		return false
	}
	return true
}

// storeSet is SUNIONSTORE and its kin: miniredis stores empty sets, and then stumbles over them.
func storeSet(read string) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		n.findSets(args[2:])
		reply := n.ask(append([]string{read}, args[2:]...)...)
		if reply[0] == '-' {
			n.out = append(n.out, reply...)
			return
		}
		members := bulks(reply)
		name := args[1]
		n.find(name)
		n.data.db.Del(name)
		if len(members) > 0 {
			n.ask(append([]string{"SADD", name}, members...)...)
		} else if n.find(name) == nil {
			n.replyInt(0)
			return
		}
		n.logCommand(args)
		n.settle(name, change{replaced: true})
		n.replyInt(int64(len(members)))
	}
}

// bulks are the elements of a flat array of bulk strings.
func bulks(reply string) []string {
	_, rest, _ := strings.Cut(reply, "\r\n")
	var list []string
	for rest != "" {
		size := bulkSize([]byte(rest))
		if size == 0 {
			return list
		}
		_, item, _ := strings.Cut(rest[:size-2], "\r\n")
		list = append(list, item)
		rest = rest[size:]
	}
	return list
}
