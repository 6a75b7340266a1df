package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements commands that compare a value before they act, as lock scripts do: Tair's CAD and CAS, and Redis
// 8.4's DELEX and SET … IFEQ.

// compareAndDelete implements Tair's CAD. The reply is 1 if the key was deleted, 0 if the key has a different value,
// and -1 if the key does not exist.
func compareAndDelete(d *store.Data, args []string) {
	switch k, ok := findText(d, args[1]); {
	case !ok:
	case k == nil:
		d.ReplyInt(-1)
	case k.Value != args[2]:
		d.ReplyInt(0)
	default:
		removeAsked(d, args[1])
		d.ReplyInt(1)
	}
}

// compareAndSet implements Tair's CAS key old new [EX|PX|EXAT|PXAT time | KEEPTTL]. The reply is 1 if the key was set,
// 0 if the key has a different value, and -1 if the key does not exist. With no option, the key loses its expiry.
func compareAndSet(d *store.Data, args []string) {
	o, ok := parseSetOptions(args[4:], false, false)
	if !ok || o.nx || o.xx || o.get {
		d.ReplyError(resp.ErrSyntax)
		return
	}
	when, trouble := deadlineOf(d, o.unit, o.amount, "cas")
	if trouble != "" {
		d.ReplyError(resp.ErrSyntax) // Tair has no other error text
		return
	}
	name := args[1]
	k, ok := findText(d, name)
	switch {
	case !ok:
		return
	case k == nil:
		d.ReplyInt(-1)
		return
	case k.Value != args[2]:
		d.ReplyInt(0)
		return
	}
	if o.keepTTL {
		when = k.When
	}
	d.SetString(name, args[3], when)
	d.ReplyInt(1)
}

// delex implements Redis 8.4's DELEX key [IFEQ value | IFNE value]. It replies with 1 if the key was deleted, and with
// 0 otherwise. Digests are not simulated.
func delex(d *store.Data, args []string) {
	if len(args) == 2 {
		del(d, args)
		return
	}
	if len(args) != 4 {
		d.ReplyError(wrongArity("delex"))
		return
	}
	name := args[1]
	k := d.Find(name)
	if k == nil {
		d.ReplyInt(0)
		return
	}
	if !k.Text {
		d.ReplyError("ERR Key should be of string type if conditions are specified")
		return
	}
	d.Depends(history.CheckedValue)
	equal := k.Value == args[3]
	switch strings.ToUpper(args[2]) {
	case "IFEQ":
	case "IFNE":
		equal = !equal
	case "IFDEQ", "IFDNE":
		d.ReplyError(errDigest)
		return
	default:
		d.ReplyError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
		return
	}
	if equal {
		removeAsked(d, name)
	}
	d.ReplyBool(equal)
}

const errDigest = "ERR fencepost: IFDEQ and IFDNE are not simulated: locks do not use digests"

// condition is SET's IFEQ or IFNE option.
type condition struct {
	name  string // in upper case; empty: no condition
	value string
}

func (o *setOptions) compares() bool { return o.only.name != "" }

// met reports whether SET may proceed. If the key has a different type, met replies with an error and sets answered.
func met(d *store.Data, c condition, k *store.Entry) (ok, answered bool) {
	switch {
	case k == nil:
		return c.name == "IFNE", false
	case !k.Text:
		d.ReplyError(resp.ErrWrongType)
		return false, true
	}
	return (k.Value == c.value) == (c.name == "IFEQ"), false
}
