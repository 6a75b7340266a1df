package redis

import (
	"math"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// compared is what GET and a comparison with a value come to.
type compared uint8

const (
	declined compared = iota // not for a twin
	absent
	foreign
	owned
)

// compareValue compares the value of a key as `redis.call("get", KEYS[1]) == ARGV[1]` does.
func compareValue(d *store.Data, keys, argv []string) (*store.Entry, compared) {
	if len(keys) == 0 || len(argv) == 0 {
		return nil, declined
	}
	k := d.Find(keys[0])
	switch {
	case k == nil:
		return nil, absent
	case !k.Text:
		return k, declined
	case k.Value != argv[0]:
		return k, foreign
	}
	return k, owned
}

// ttlOf reads the argument of PX or PEXPIRE. Twins take on positive ones only.
func ttlOf(d *store.Data, argv []string, unit int64) (when int64, ok bool) {
	if len(argv) < 2 {
		return 0, false
	}
	v, ok := resp.ParseInt(argv[1])
	if !ok || v <= 0 || v > math.MaxInt64/1000 || v*unit > math.MaxInt64-max(d.Now, 0) {
		return 0, false
	}
	return d.Now + v*unit, true
}

// twinRelease answers with ifAbsent where there is no key.
func twinRelease(ifAbsent int64) twin {
	return func(d *store.Data, keys, argv []string) bool {
		switch _, c := compareValue(d, keys, argv); c {
		case declined:
			return false
		case owned:
			removeAsked(d, keys[0])
			d.ReplyInt(1)
		case absent:
			d.ReplyInt(ifAbsent)
		default:
			d.ReplyInt(0)
		}
		return true
	}
}

func twinRenew(unit int64) twin {
	return func(d *store.Data, keys, argv []string) bool {
		k, c := compareValue(d, keys, argv)
		if c == declined {
			return false
		}
		if c != owned {
			d.ReplyInt(0)
			return true
		}
		when, ok := ttlOf(d, argv, unit)
		if ok {
			d.MoveDeadline(keys[0], k, when)
			d.ReplyInt(1)
		}
		return ok
	}
}

func twinRenewOrAcquire(d *store.Data, keys, argv []string) bool {
	k, c := compareValue(d, keys, argv)
	when, ok := ttlOf(d, argv, 1)
	if c == declined || !ok {
		return false
	}
	switch c {
	case owned:
		d.MoveDeadline(keys[0], k, when)
		d.ReplyInt(1)
	case absent:
		d.SetString(keys[0], argv[0], when)
		d.ReplyInt(1)
	default:
		d.ReplyInt(0)
	}
	return true
}

func twinAcquireOrExtend(d *store.Data, keys, argv []string) bool {
	_, c := compareValue(d, keys, argv)
	when, ok := ttlOf(d, argv, 1)
	if c == declined || !ok {
		return false
	}
	if c == owned || c == absent && len(argv) > 2 && argv[2] == "yes" {
		d.SetString(keys[0], argv[0], when)
		d.ReplyOK()
	} else {
		d.ReplyNull()
	}
	return true
}

func twinExtendAll(d *store.Data, keys, argv []string) bool {
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	for i := range keys {
		switch _, c := compareValue(d, keys[i:i+1], argv); c {
		case declined:
			return false
		case absent, foreign:
			d.ReplyInt(0)
			return true
		}
	}
	setAll(d, keys, argv[0], when)
	return true
}

// setAll sets the keys in turn and answers with their number.
func setAll(d *store.Data, keys []string, value string, when int64) {
	for _, name := range keys {
		d.SetString(name, value, when)
	}
	d.ReplyInt(int64(len(keys)))
}

func twinAcquireAll(d *store.Data, keys, argv []string) bool {
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	for _, name := range keys {
		if d.Find(name) != nil {
			d.ReplyInt(0)
			return true
		}
	}
	setAll(d, keys, argv[0], when)
	return true
}

func twinReleaseAll(d *store.Data, keys, argv []string) bool {
	for _, name := range keys { // without encountering them before their turn
		if k := d.Peek(name); len(argv) == 0 || k != nil && !k.Text {
			return false
		}
	}
	count := int64(0)
	for i, name := range keys {
		if _, c := compareValue(d, keys[i:i+1], argv); c == owned {
			removeAsked(d, name)
			count++
		}
	}
	d.ReplyInt(count)
	return true
}

func twinFencedAcquire(d *store.Data, keys, argv []string) bool {
	if len(keys) < 2 || len(argv) == 0 || keys[0] == keys[1] {
		return false
	}
	when, ok := ttlOf(d, argv, 1)
	if !ok {
		return false
	}
	if d.Find(keys[0]) != nil {
		d.ReplyInt(0)
		return true
	}
	if k := d.Peek(keys[1]); k != nil { // encountered after the first key is set
		v, ok := resp.ParseInt(k.Value)
		if !k.Text || !ok || v >= 1<<53 {
			return false // an error in Lua, or a number that Lua would round
		}
	}
	d.SetString(keys[0], argv[0], when)
	increase(d, []string{"incr", keys[1]}, 1)
	return true
}
