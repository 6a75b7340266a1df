package redis

import (
	"math"
	"strings"
)

// Where miniredis answers otherwise than Redis 7.0, a check in front of it gives Redis's answer. Each was found by
// TestNodeAnswersAsRedis.

// checkType refuses a key of another type, and answers for an absent one if ifAbsent is not nil.
func checkType(d *dataset, name, kind string, ifAbsent func()) (answered bool) {
	if d.find(name) == nil {
		if ifAbsent == nil {
			return false
		}
		ifAbsent()
		return true
	}
	if d.DB.Type(name) != kind {
		d.replyError(errWrongType)
		return true
	}
	return false
}

// setrangeFirst: an empty value changes nothing, and the offset is read strictly.
func setrangeFirst(d *dataset, args []string) bool {
	offset, ok := parseInt(args[2])
	switch {
	case !ok:
		d.replyError(errNotInt)
	case offset < 0:
		d.replyError("ERR offset is out of range")
	case checkType(d, args[1], "string", nil):
	case args[3] == "":
		strlen(d, args[:2])
	case offset+int64(len(args[3])) > 512<<20 || offset > 512<<20:
		d.replyError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	default:
		return false
	}
	return true
}

// hincrbyFirst: the message about the field, and strict integers.
func hincrbyFirst(d *dataset, args []string) bool {
	by, ok := parseInt(args[3])
	if !ok {
		d.replyError(errNotInt)
		return true
	}
	if d.find(args[1]) == nil {
		return false
	}
	if checkType(d, args[1], "hash", nil) {
		return true
	}
	old := d.ask("HGET", args[1], args[2])
	if old == "$-1\r\n" {
		return false
	}
	_, old, _ = strings.Cut(old, "\r\n")
	v, ok := parseInt(strings.TrimSuffix(old, "\r\n"))
	switch {
	case !ok:
		d.replyError("ERR hash value is not an integer")
	case by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by:
		d.replyError(errOverflow)
	default:
		return false
	}
	return true
}

// scan is SCAN: it comes across the expired keys of its pattern.
func scan(d *dataset, args []string) {
	reply := d.ask(args...)
	d.out = append(d.out, reply...)
	if reply[0] == '-' {
		return
	}
	pattern := "*"
	for i := 2; i+1 < len(args); i += 2 {
		if strings.EqualFold(args[i], "MATCH") {
			pattern = args[i+1]
		}
	}
	d.findHidden(func(name string) bool { return pattern == "*" || match(pattern, name) })
}

// findSets comes across the keys of a command about sets, up to one that is none.
func findSets(d *dataset, names []string) {
	for _, name := range names {
		if d.find(name) != nil && d.DB.Type(name) != "set" {
			return
		}
	}
}

// readSets is SUNION and its kin.
func readSets(d *dataset, args []string) bool {
	findSets(d, args[1:])
	return false
}

// popFirst: the count of LPOP and RPOP.
func popFirst(d *dataset, args []string) bool {
	if len(args) > 3 {
		d.replyError(wrongArity(strings.ToLower(args[0])))
		return true
	}
	if len(args) == 3 {
		if v, ok := parseInt(args[2]); !ok || v < 0 {
			d.replyError("ERR value is out of range, must be positive")
			return true
		}
	}
	return false
}

// lindexFirst: the key is looked up before the index is read.
func lindexFirst(d *dataset, args []string) bool { return checkType(d, args[1], "list", d.replyNull) }

func lsetFirst(d *dataset, args []string) bool {
	return checkType(d, args[1], "list", func() { d.replyError(errNoKey) })
}

// lmoveFirst: the words are read before the keys are looked up.
func lmoveFirst(d *dataset, args []string) bool {
	if !isOneOf(args[3], "LEFT", "RIGHT") || !isOneOf(args[4], "LEFT", "RIGHT") {
		d.replyError(errSyntax)
		return true
	}
	return false
}

// smoveFirst: without a source the destination does not matter.
func smoveFirst(d *dataset, args []string) bool {
	d.find(args[2])
	return checkType(d, args[1], "set", func() { d.replyInt(0) })
}

// zpopFirst: the count of ZPOPMIN and ZPOPMAX.
func zpopFirst(d *dataset, args []string) bool {
	if len(args) > 3 {
		d.replyError(errSyntax)
		return true
	}
	if len(args) < 3 {
		return false
	}
	v, ok := parseInt(args[2])
	switch {
	case !ok || v < 0:
		d.replyError("ERR value is out of range, must be positive")
	case checkType(d, args[1], "zset", func() { d.replyLen(0) }):
	case v == 0:
		d.replyLen(0)
	default:
		return false
	}
	return true
}

// storeSet is SUNIONSTORE and its kin: miniredis stores empty sets, and then stumbles over them.
func storeSet(read string) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		findSets(d, args[2:])
		reply := d.ask(append([]string{read}, args[2:]...)...)
		if reply[0] == '-' {
			d.out = append(d.out, reply...)
			return
		}
		members := bulks(reply)
		name := args[1]
		d.find(name)
		d.DB.Del(name)
		if len(members) > 0 {
			d.ask(append([]string{"SADD", name}, members...)...)
		} else if d.find(name) == nil {
			d.replyInt(0)
			return
		}
		d.logCommand(args)
		d.settle(name, change{replaced: true})
		d.replyInt(int64(len(members)))
	}
}
