package redis

import (
	"math"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// miniredis does not always reply as Redis 7.0 does. Where it differs, a check runs first and replies as Redis would.
// TestNodeAnswersAsRedis found all of these differences.

// checkType replies with an error if the key has a type other than kind. If the key does not exist, it calls ifAbsent
// to reply, unless ifAbsent is nil. It reports whether it has replied.
func checkType(d *store.Data, name, kind string, ifAbsent func()) (answered bool) {
	if d.Find(name) == nil {
		if ifAbsent == nil {
			return false
		}
		ifAbsent()
		return true
	}
	if d.Type(name) != kind {
		d.ReplyError(resp.ErrWrongType)
		return true
	}
	return false
}

// indices returns a function that checks that the arguments at positions first to last are integers in Redis's strict
// syntax. If any later argument is not one of the given options, the function leaves the check to miniredis, because
// Redis checks the options first.
func indices(first, last int, options ...string) func(d *store.Data, args []string) bool {
	return func(d *store.Data, args []string) bool {
		for _, option := range args[last+1:] {
			if len(options) > 0 && !isOneOf(option, options...) {
				return false
			}
		}
		for _, text := range args[first : last+1] {
			if _, ok := resp.ParseInt(text); !ok {
				d.ReplyError(resp.ErrNotInt)
				return true
			}
		}
		return false
	}
}

// setrangeFirst handles an empty value, which changes nothing, and parses the offset as strictly as Redis does.
func setrangeFirst(d *store.Data, args []string) bool {
	offset, ok := resp.ParseInt(args[2])
	switch {
	case !ok:
		d.ReplyError(resp.ErrNotInt)
	case offset < 0:
		d.ReplyError("ERR offset is out of range")
	case checkType(d, args[1], "string", nil):
	case args[3] == "":
		strlen(d, args[:2])
	case offset+int64(len(args[3])) > 512<<20 || offset > 512<<20:
		d.ReplyError("ERR string exceeds maximum allowed size (proto-max-bulk-len)")
	default:
		return false
	}
	return true
}

// hincrbyFirst replies with Redis's error messages, and parses integers as strictly as Redis does.
func hincrbyFirst(d *store.Data, args []string) bool {
	by, ok := resp.ParseInt(args[3])
	if !ok {
		d.ReplyError(resp.ErrNotInt)
		return true
	}
	if d.Find(args[1]) == nil {
		return false
	}
	if checkType(d, args[1], "hash", nil) {
		return true
	}
	lookUpField(d, args[1], args[2])
	old := d.Ask("HGET", args[1], args[2])
	if old == "$-1\r\n" {
		return false
	}
	_, old, _ = strings.Cut(old, "\r\n")
	v, ok := resp.ParseInt(strings.TrimSuffix(old, "\r\n"))
	switch {
	case !ok:
		d.ReplyError("ERR hash value is not an integer")
	case by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by:
		d.ReplyError(resp.ErrOverflow)
	default:
		return false
	}
	return true
}

// scan implements SCAN, which deletes the expired keys that match its pattern.
func scan(d *store.Data, args []string) {
	reply := d.Ask(args...)
	d.Out = append(d.Out, reply...)
	if reply[0] == '-' {
		return
	}
	pattern := "*"
	for i := 2; i+1 < len(args); i += 2 {
		if strings.EqualFold(args[i], "MATCH") {
			pattern = args[i+1]
		}
	}
	d.FindHidden(func(name string) bool { return pattern == "*" || resp.Match(pattern, name) })
}

// findSets looks up a set command's keys. It stops at the first key that is not a set.
func findSets(d *store.Data, names []string) {
	for _, name := range names {
		if d.Find(name) != nil && d.Type(name) != "set" {
			return
		}
	}
}

// readSets looks up the keys of SUNION and similar commands.
func readSets(d *store.Data, args []string) bool {
	findSets(d, args[1:])
	return false
}

// popFirst checks LPOP's and RPOP's count argument. It returns true if it has replied with an error.
func popFirst(d *store.Data, args []string) bool {
	if len(args) > 3 {
		d.ReplyError(wrongArity(strings.ToLower(args[0])))
		return true
	}
	if len(args) == 3 {
		if v, ok := resp.ParseInt(args[2]); !ok || v < 0 {
			d.ReplyError("ERR value is out of range, must be positive")
			return true
		}
	}
	return false
}

// lindexFirst looks up the key before it checks the index.
func lindexFirst(d *store.Data, args []string) bool {
	return checkType(d, args[1], "list", d.ReplyNull) || indices(2, 2)(d, args)
}

func lsetFirst(d *store.Data, args []string) bool {
	return checkType(d, args[1], "list", func() { d.ReplyError(resp.ErrNoKey) }) || indices(2, 2)(d, args)
}

// lmoveFirst checks the words LEFT and RIGHT before the keys are looked up.
func lmoveFirst(d *store.Data, args []string) bool {
	if !isOneOf(args[3], "LEFT", "RIGHT") || !isOneOf(args[4], "LEFT", "RIGHT") {
		d.ReplyError(resp.ErrSyntax)
		return true
	}
	return false
}

// smoveFirst handles some special cases as Redis does. If the source does not exist, the destination does not matter.
// Moving from a set to the same set changes nothing. A destination that already contains the member does not change.
func smoveFirst(d *store.Data, args []string) bool {
	d.Find(args[2])
	if checkType(d, args[1], "set", func() { d.ReplyInt(0) }) {
		return true
	}
	switch {
	case args[1] == args[2]:
		d.Out = append(d.Out, d.Ask("SISMEMBER", args[1], args[3])...)
	case d.Ask("SISMEMBER", args[2], args[3]) == ":1\r\n":
		passOn(d, dataCommands["srem"], []string{"SREM", args[1], args[3]})
	default:
		return false
	}
	return true
}

// zpopFirst checks ZPOPMIN's and ZPOPMAX's count argument. It reports whether it has replied.
func zpopFirst(d *store.Data, args []string) bool {
	if len(args) > 3 {
		d.ReplyError(resp.ErrSyntax)
		return true
	}
	if len(args) < 3 {
		return false
	}
	v, ok := resp.ParseInt(args[2])
	switch {
	case !ok || v < 0:
		d.ReplyError("ERR value is out of range, must be positive")
	case checkType(d, args[1], "zset", func() { d.ReplyLen(0) }):
	case v == 0:
		d.ReplyLen(0)
	default:
		return false
	}
	return true
}

// storeSet implements SUNIONSTORE and similar commands. An empty result must not reach miniredis, which would store an
// empty set, although it cannot handle those.
func storeSet(read string) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		findSets(d, args[2:])
		reply := d.Ask(append([]string{read}, args[2:]...)...)
		if reply[0] == '-' {
			d.Out = append(d.Out, reply...)
			return
		}
		members := resp.Bulks(reply)
		name := args[1]
		if len(members) == 0 && (d.RemoveHidden(name) || d.Find(name) == nil) {
			d.ReplyInt(0)
			return
		}
		d.Find(name)
		d.Vacate(name)
		if len(members) > 0 {
			d.Ask(append([]string{"SADD", name}, members...)...)
		}
		d.LogCommand(args)
		d.Settle(name, store.Change{Replaced: true})
		if len(members) > 0 {
			d.Notify(store.Set, strings.ToLower(args[0]), name)
		} else {
			d.Notify(store.Generic, "del", name)
		}
		d.ReplyInt(int64(len(members)))
	}
}
