package redis

import (
	"math"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// removeAsked deletes an existing key because the current request says so.
func removeAsked(d *dataset, name string) { d.remove(name, history.Deleted, d.attempt) }

// expireOptions are NX, XX, GT and LT of EXPIRE and its kin.
type expireOptions struct{ nx, xx, gt, lt bool }

func parseExpireOptions(args []string) (o expireOptions, trouble string) {
	for _, a := range args {
		switch strings.ToUpper(a) {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GT":
			o.gt = true
		case "LT":
			o.lt = true
		default:
			return o, "ERR Unsupported option " + a
		}
	}
	switch {
	case o.nx && (o.xx || o.gt || o.lt):
		return o, "ERR NX and XX, GT or LT options at the same time are not compatible"
	case o.gt && o.lt:
		return o, "ERR GT and LT options at the same time are not compatible"
	}
	return o, ""
}

// admits reports whether a key with deadline old may get deadline when. No deadline counts as infinitely late.
func (o expireOptions) admits(old, when int64) bool {
	switch {
	case o.nx && old != never, o.xx && old == never:
		return false
	case o.gt && (old == never || when <= old), o.lt && when >= old && old != never:
		return false
	}
	return true
}

// expire is EXPIRE, PEXPIRE, EXPIREAT and PEXPIREAT. A deadline that is not after now deletes the key at once.
func expire(command string, seconds, absolute bool) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		var o expireOptions
		if len(args) > 3 {
			var trouble string
			if o, trouble = parseExpireOptions(args[3:]); trouble != "" {
				d.replyError(trouble)
				return
			}
		}
		when, ok := parseInt(args[2])
		if !ok {
			d.replyError(errNotInt)
			return
		}
		base := d.ms
		if absolute {
			base = 0
		}
		if seconds && (when > math.MaxInt64/1000 || when < math.MinInt64/1000) {
			d.replyError(badExpire(command))
			return
		}
		if seconds {
			when *= 1000
		}
		if base > 0 && when > math.MaxInt64-base || base < 0 && when < math.MinInt64-base {
			d.replyError(badExpire(command))
			return
		}
		d.replyBool(giveDeadline(d, args[1], when+base, o))
	}
}

// giveDeadline gives a key a deadline if it exists and the options admit it.
func giveDeadline(d *dataset, name string, when int64, o expireOptions) bool {
	k := d.find(name)
	if k == nil || !o.admits(k.when, when) {
		return false
	}
	if when <= d.ms {
		removeAsked(d, name)
	} else {
		d.moveDeadline(name, k, when)
	}
	return true
}

func persist(d *dataset, args []string) {
	k := d.find(args[1])
	timed := k != nil && k.when != never
	if timed {
		d.moveDeadline(args[1], k, never)
	}
	d.replyBool(timed)
}

// ttl is TTL, PTTL, EXPIRETIME and PEXPIRETIME: −2 without the key, −1 without a deadline, seconds are rounded.
func ttl(seconds, absolute bool) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		k := d.find(args[1])
		switch {
		case k == nil:
			d.replyInt(-2)
			return
		case k.when == never:
			d.replyInt(-1)
			return
		}
		v := k.when
		if !absolute {
			v = max(v-d.ms, 0)
		}
		if seconds {
			v = v/1000 + (v%1000+500)/1000
		}
		d.replyInt(v)
	}
}
