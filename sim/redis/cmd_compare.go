package redis

import "strings"

// The commands that compare before they act, natively what the scripts of locks do: CAD and CAS of Tair, DELEX and
// SET … IFEQ of Redis 8.4, DELIFEQ of Valkey 9.

// compareAndDelete is CAD: 1 deleted, 0 another value, -1 no such key (Tair).
func compareAndDelete(d *dataset, args []string) {
	k := d.find(args[1])
	switch {
	case k == nil:
		d.replyInt(-1)
	case !k.text:
		d.replyError(errWrongType)
	case d.get(args[1]) != args[2]:
		d.replyInt(0)
	default:
		removeAsked(d, args[1])
		d.replyInt(1)
	}
}

// compareAndSet is CAS key old new [EX|PX|EXAT|PXAT time | KEEPTTL]: 1 set, 0 another value, -1 no such key (Tair). Without
// an option the key has no expiry any more.
func compareAndSet(d *dataset, args []string) {
	o, ok := parseSetOptions(args[4:], false)
	if !ok || o.nx || o.xx || o.get || o.compares() {
		d.replyError(errSyntax)
		return
	}
	when := never
	if o.unit != "" {
		var trouble string
		if when, trouble = deadlineOf(d, o.unit, o.amount, "cas"); trouble != "" {
			d.replyError(errSyntax) // Tair has no other
			return
		}
	}
	name := args[1]
	k := d.find(name)
	switch {
	case k == nil:
		d.replyInt(-1)
		return
	case !k.text:
		d.replyError(errWrongType)
		return
	case d.get(name) != args[2]:
		d.replyInt(0)
		return
	}
	if o.keepTTL {
		when = k.when
	}
	d.setString(name, args[3], when)
	d.replyInt(1)
}

// deleteIfEqual is DELIFEQ: 1 deleted, 0 not (Valkey 9).
func deleteIfEqual(d *dataset, args []string) {
	k := d.find(args[1])
	switch {
	case k == nil:
		d.replyInt(0)
	case !k.text:
		d.replyError(errWrongType)
	case d.get(args[1]) != args[2]:
		d.replyInt(0)
	default:
		removeAsked(d, args[1])
		d.replyInt(1)
	}
}

// delex is DELEX key [IFEQ value | IFNE value]: 1 deleted, 0 not (Redis 8.4). Digests are not simulated.
func delex(d *dataset, args []string) {
	if len(args) == 2 {
		del(d, args)
		return
	}
	if len(args) != 4 {
		d.replyError(wrongArity("delex"))
		return
	}
	name := args[1]
	k := d.find(name)
	if k == nil {
		d.replyInt(0)
		return
	}
	if !k.text {
		d.replyError("ERR Key should be of string type if conditions are specified")
		return
	}
	equal := d.get(name) == args[3]
	switch strings.ToUpper(args[2]) {
	case "IFEQ":
	case "IFNE":
		equal = !equal
	case "IFDEQ", "IFDNE":
		d.replyError(errDigest)
		return
	default:
		d.replyError("ERR Invalid condition. Use IFEQ, IFNE, IFDEQ, or IFDNE")
		return
	}
	if equal {
		removeAsked(d, name)
	}
	d.replyBool(equal)
}

const errDigest = "ERR fencepost: IFDEQ and IFDNE are not simulated: locks do not use digests"

// condition is IFEQ or IFNE of SET.
type condition struct {
	name  string // in upper case; empty without
	value string
}

func (o *setOptions) compares() bool { return o.only.name != "" }

// met reports whether SET may go on; it answers with an error and reports false if the key holds another type.
func met(d *dataset, c condition, name string, k *key) (ok, answered bool) {
	switch {
	case k == nil:
		return c.name == "IFNE", false
	case !k.text:
		d.replyError(errWrongType)
		return false, true
	}
	return (d.get(name) == c.value) == (c.name == "IFEQ"), false
}
