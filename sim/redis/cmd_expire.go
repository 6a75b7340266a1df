package redis

import (
	"math"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// removeAsked deletes an existing key because the current request says so.
func (n *Node) removeAsked(name string) { n.remove(name, history.Deleted, n.attempt) }

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
func expire(command string, seconds, absolute bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		var o expireOptions
		if len(args) > 3 {
			var trouble string
			if o, trouble = parseExpireOptions(args[3:]); trouble != "" {
				n.replyError(trouble)
				return
			}
		}
		when, ok := parseInt(args[2])
		if !ok {
			n.replyError(errNotInt)
			return
		}
		base := n.ms
		if absolute {
			base = 0
		}
		if seconds && (when > math.MaxInt64/1000 || when < math.MinInt64/1000) {
			n.replyError(badExpire(command))
			return
		}
		if seconds {
			when *= 1000
		}
		if base > 0 && when > math.MaxInt64-base || base < 0 && when < math.MinInt64-base {
			n.replyError(badExpire(command))
			return
		}
		n.replyBool(n.giveDeadline(args[1], when+base, o))
	}
}

// giveDeadline gives a key a deadline if it exists and the options admit it.
func (n *Node) giveDeadline(name string, when int64, o expireOptions) bool {
	k := n.find(name)
	if k == nil || !o.admits(k.when, when) {
		return false
	}
	if when <= n.ms {
		n.removeAsked(name)
	} else {
		n.moveDeadline(name, k, when)
	}
	return true
}

func persist(n *Node, args []string) {
	k := n.find(args[1])
	timed := k != nil && k.when != never
	if timed {
		n.moveDeadline(args[1], k, never)
	}
	n.replyBool(timed)
}

// ttl is TTL, PTTL, EXPIRETIME and PEXPIRETIME: −2 without the key, −1 without a deadline, seconds are rounded.
func ttl(seconds, absolute bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		k := n.find(args[1])
		switch {
		case k == nil:
			n.replyInt(-2)
			return
		case k.when == never:
			n.replyInt(-1)
			return
		}
		v := k.when
		if !absolute {
			v = max(v-n.ms, 0)
		}
		if seconds {
			v = v/1000 + (v%1000+500)/1000
		}
		n.replyInt(v)
	}
}
