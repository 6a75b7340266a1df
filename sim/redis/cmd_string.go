package redis

import (
	"math"
	"strconv"
	"strings"
)

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keepTTL, persist bool
	unit                          string // the expiry option in upper case: EX, PX, EXAT, PXAT; empty without
	amount                        string // its argument
	only                          condition
}

// upper gives a known option in upper case, without allocating for the usual spellings.
func upper(s string) string {
	switch s {
	case "NX", "PX", "EX", "XX":
		return s
	case "nx":
		return "NX"
	case "px":
		return "PX"
	case "ex":
		return "EX"
	}
	return strings.ToUpper(s)
}

// parseSetOptions reads the options of SET, or of GETEX; nothing else may stand among them.
func parseSetOptions(args []string, getex bool) (o setOptions, ok bool) {
	for i := 0; i < len(args); i++ {
		switch name := upper(args[i]); name {
		case "NX":
			o.nx = true
		case "XX":
			o.xx = true
		case "GET":
			o.get = true
		case "KEEPTTL":
			o.keepTTL = true
		case "PERSIST":
			o.persist = true
		case "IFEQ", "IFNE":
			if o.compares() || i+1 == len(args) {
				return o, false
			}
			i++
			o.only = condition{name, args[i]}
		case "EX", "PX", "EXAT", "PXAT":
			if o.unit != "" && o.unit != name || i+1 == len(args) {
				return o, false
			}
			i++ // the last of several wins
			o.unit, o.amount = name, args[i]
		default:
			return o, false
		}
	}
	timed := 0
	for _, given := range [...]bool{o.unit != "", o.keepTTL, o.persist} {
		if given {
			timed++
		}
	}
	foreign := o.persist
	if getex {
		foreign = o.nx || o.xx || o.get || o.keepTTL || o.compares()
	}
	return o, timed <= 1 && !(o.nx && o.xx) && !(o.compares() && (o.nx || o.xx)) && !foreign
}

// deadlineOf turns an expiry option into a deadline in ms; trouble is the error if it is none.
func deadlineOf(d *dataset, unit, amount, command string) (when int64, trouble string) {
	v, ok := parseInt(amount)
	if !ok {
		return 0, errNotInt
	}
	seconds := unit == "EX" || unit == "EXAT"
	if v <= 0 || seconds && v > math.MaxInt64/1000 {
		return 0, badExpire(command)
	}
	if seconds {
		v *= 1000
	}
	if unit == "EX" || unit == "PX" {
		if v > math.MaxInt64-d.ms {
			return 0, badExpire(command)
		}
		v += d.ms
	}
	return v, ""
}

func badExpire(command string) string { return "ERR invalid expire time in '" + command + "' command" }

func set(d *dataset, args []string) {
	name, value := args[1], args[2]
	o, ok := parseSetOptions(args[3:], false)
	if !ok {
		d.replyError(errSyntax)
		return
	}
	when := never
	if o.unit != "" {
		var trouble string
		if when, trouble = deadlineOf(d, o.unit, o.amount, "set"); trouble != "" {
			d.replyError(trouble)
			return
		}
	}
	k := d.find(name)
	refused := o.nx && k != nil || o.xx && k == nil
	if o.compares() {
		met, answered := met(d, o.only, name, k)
		if answered {
			return
		}
		refused = !met
	}
	if o.get {
		if !replyText(d, name, k) {
			return
		}
	}
	if refused {
		if !o.get {
			d.replyNull()
		}
		return
	}
	if o.keepTTL && k != nil {
		when = k.when
	}
	d.setString(name, value, when)
	if !o.get {
		d.replyOK()
	}
}

// replyText answers with a string, or null; it answers with an error and reports false if the key holds another type.
func replyText(d *dataset, name string, k *key) bool {
	switch {
	case k == nil:
		d.replyNull()
	case !k.text:
		d.replyError(errWrongType)
		return false
	default:
		d.replyBulk(d.get(name))
	}
	return true
}

func get(d *dataset, args []string) { replyText(d, args[1], d.find(args[1])) }

func setnx(d *dataset, args []string) {
	absent := d.find(args[1]) == nil
	if absent {
		d.setString(args[1], args[2], never)
	}
	d.replyBool(absent)
}

// setex is SETEX and PSETEX.
func setex(unit, command string) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		when, trouble := deadlineOf(d, unit, args[2], command)
		if trouble != "" {
			d.replyError(trouble)
			return
		}
		d.setString(args[1], args[3], when)
		d.replyOK()
	}
}

func getset(d *dataset, args []string) {
	if replyText(d, args[1], d.find(args[1])) {
		d.setString(args[1], args[2], never)
	}
}

func getdel(d *dataset, args []string) {
	k := d.find(args[1])
	if replyText(d, args[1], k) && k != nil {
		removeAsked(d, args[1])
	}
}

func getex(d *dataset, args []string) {
	o, ok := parseSetOptions(args[2:], true)
	if !ok {
		d.replyError(errSyntax)
		return
	}
	name := args[1]
	k := d.find(name)
	if k == nil || !k.text {
		replyText(d, name, k)
		return
	}
	when := never
	if o.unit != "" {
		var trouble string
		if when, trouble = deadlineOf(d, o.unit, o.amount, "getex"); trouble != "" {
			d.replyError(trouble)
			return
		}
	}
	replyText(d, name, k)
	switch {
	case o.unit != "" && when <= d.ms && strings.HasSuffix(o.unit, "AT"):
		removeAsked(d, name)
	case o.unit != "", o.persist && k.when != never:
		d.moveDeadline(name, k, when)
	}
}

func mget(d *dataset, args []string) {
	d.replyLen(len(args) - 1)
	for _, name := range args[1:] {
		if k := d.find(name); k == nil || !k.text {
			d.replyNull()
		} else {
			d.replyBulk(d.get(name))
		}
	}
}

// mset is MSET and, if it must find none of the keys, MSETNX.
func mset(onlyNew bool) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		pairs := args[1:]
		if len(pairs)%2 != 0 {
			d.replyError(wrongArity(strings.ToLower(args[0])))
			return
		}
		for i := 0; onlyNew && i < len(pairs); i += 2 {
			if d.find(pairs[i]) != nil {
				d.replyInt(0)
				return
			}
		}
		for i := 0; i < len(pairs); i += 2 {
			d.setString(pairs[i], pairs[i+1], never)
		}
		if onlyNew {
			d.replyInt(1)
		} else {
			d.replyOK()
		}
	}
}

// incr is INCR and DECR (sign), incrBy the two with an amount.
func incr(sign int64) func(d *dataset, args []string) {
	return func(d *dataset, args []string) { increase(d, args, sign) }
}

func incrBy(sign int64) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		by, ok := parseInt(args[2])
		switch {
		case !ok:
			d.replyError(errNotInt)
		case sign < 0 && by == math.MinInt64:
			d.replyError("ERR decrement would overflow")
		default:
			increase(d, args, sign*by)
		}
	}
}

// increase adds to a counter. A counter that is there keeps its owner and deadline, and has no record.
func increase(d *dataset, args []string, by int64) {
	name := args[1]
	k := d.find(name)
	var v int64
	if k != nil {
		if !k.text {
			d.replyError(errWrongType)
			return
		}
		var ok bool
		if v, ok = parseInt(d.get(name)); !ok {
			d.replyError(errNotInt)
			return
		}
	}
	if by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by {
		d.replyError(errOverflow)
		return
	}
	v += by
	d.logCommand(args)
	d.setNumber(name, strconv.FormatInt(v, 10), k)
	d.replyInt(v)
}

func strlen(d *dataset, args []string) {
	k := d.find(args[1])
	switch {
	case k == nil:
		d.replyInt(0)
	case !k.text:
		d.replyError(errWrongType)
	default:
		d.replyInt(int64(len(d.get(args[1]))))
	}
}

// getrange gives the bytes from one index to another, both included; negative ones count from the end.
func getrange(d *dataset, args []string) {
	from, ok := parseInt(args[2])
	to, ok2 := parseInt(args[3])
	if !ok || !ok2 {
		d.replyError(errNotInt)
		return
	}
	k := d.find(args[1])
	if k == nil {
		d.replyBulk("")
		return
	}
	if !k.text {
		d.replyError(errWrongType)
		return
	}
	s := d.get(args[1])
	size := int64(len(s))
	backwards := from < 0 && to < 0 && from > to
	if from < 0 {
		from = max(from+size, 0)
	}
	if to < 0 {
		to = max(to+size, 0)
	}
	to = min(to, size-1)
	if backwards || from > to {
		d.replyBulk("")
		return
	}
	d.replyBulk(s[from : to+1])
}
