package redis

import (
	"math"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// removeAsked deletes an existing key as requested by the current command.
func removeAsked(d *store.Data, name string) { d.Remove(name, history.Deleted, d.Attempt) }

// expireOptions are the NX, XX, GT and LT options of EXPIRE and similar commands.
type expireOptions struct{ nx, xx, gt, lt bool }

func parseExpireOptions(args []string) (o expireOptions, trouble string) {
	rest := readFlags(args, map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt})
	switch {
	case len(rest) > 0:
		return o, "ERR Unsupported option " + rest[0]
	case o.nx && (o.xx || o.gt || o.lt):
		return o, "ERR NX and XX, GT or LT options at the same time are not compatible"
	case o.gt && o.lt:
		return o, "ERR GT and LT options at the same time are not compatible"
	}
	return o, ""
}

// admits reports whether the options allow a command to replace a key's current deadline with the requested one. A key
// without a deadline is treated as if its deadline were infinite.
func (o expireOptions) admits(current, requested int64) bool {
	switch {
	case o.nx && current != store.Never, o.xx && current == store.Never:
		return false
	case o.gt && (current == store.Never || requested <= current),
		o.lt && requested >= current && current != store.Never:
		return false
	}
	return true
}

// expire implements EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. If the new deadline is not in the future, the key is
// deleted immediately.
func expire(command string, seconds, absolute bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		var o expireOptions
		if len(args) > 3 {
			var trouble string
			if o, trouble = parseExpireOptions(args[3:]); trouble != "" {
				d.ReplyError(trouble)
				return
			}
			d.Depends(history.CheckedPresence)
		}
		when, ok := resp.ParseInt(args[2])
		if !ok {
			d.ReplyError(resp.ErrNotInt)
			return
		}
		base := d.Now
		if absolute {
			base = 0
		}
		if seconds && (when > math.MaxInt64/1000 || when < math.MinInt64/1000) {
			d.ReplyError(badExpire(command))
			return
		}
		if seconds {
			when *= 1000
		}
		if base > 0 && when > math.MaxInt64-base || base < 0 && when < math.MinInt64-base {
			d.ReplyError(badExpire(command))
			return
		}
		k := d.Find(args[1])
		if k == nil || !o.admits(k.When, when+base) {
			d.ReplyBool(false)
			return
		}
		giveDeadline(d, args[1], k, when+base, absolute)
		d.ReplyBool(true)
	}
}

// giveDeadline sets an existing key's deadline. If the deadline is not in the future, giveDeadline deletes the key. A
// TTL of zero or less is a request to delete the key, so this is recorded as a deletion. An absolute time that is not
// in the future is recorded as an expiry, because the sender's clock was slow or the request arrived late.
func giveDeadline(d *store.Data, name string, k *store.Entry, when int64, absolute bool) {
	switch {
	case when > d.Now:
		d.MoveDeadline(name, k, when)
	case absolute:
		d.Overdue(name, when)
	default:
		removeAsked(d, name)
	}
}

func persist(d *store.Data, args []string) {
	k := d.Find(args[1])
	timed := k != nil && k.When != store.Never
	if timed {
		d.MoveDeadline(args[1], k, store.Never)
	}
	d.ReplyBool(timed)
}

// ttl implements TTL, PTTL, EXPIRETIME and PEXPIRETIME. The reply is -2 if the key does not exist, and -1 if the key
// has no deadline. Seconds are rounded.
func ttl(seconds, absolute bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		k := d.Find(args[1])
		switch {
		case k == nil:
			d.ReplyInt(-2)
			return
		case k.When == store.Never:
			d.ReplyInt(-1)
			return
		}
		v := k.When
		if !absolute {
			v = max(v-d.Now, 0)
		}
		if seconds {
			v = v/1000 + (v%1000+500)/1000
		}
		d.ReplyInt(v)
	}
}
