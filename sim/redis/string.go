package redis

import (
	"math"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// setOptions are the options of SET and GETEX.
type setOptions struct {
	nx, xx, get, keepTTL, persist bool
	unit                          string // the expiry option in upper case: EX, PX, EXAT or PXAT; empty: none
	amount                        string // the argument of the expiry option
	only                          condition
}

// upper converts an option to upper case. It does not allocate memory for the usual spellings.
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

// parseSetOptions parses the options of SET or GETEX. Any other option is an error. IFEQ and IFNE are errors unless
// compare is true.
func parseSetOptions(args []string, getex, compare bool) (o setOptions, ok bool) {
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
			if !compare || o.compares() || i+1 == len(args) {
				return o, false
			}
			i++
			o.only = condition{name, args[i]}
		case "EX", "PX", "EXAT", "PXAT":
			if o.unit != "" && o.unit != name || i+1 == len(args) {
				return o, false
			}
			i++ // if there are several, the last one counts
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
		foreign = o.nx || o.xx || o.get || o.keepTTL
	}
	return o, timed <= 1 && !(o.nx && o.xx) && !(o.compares() && (o.nx || o.xx)) && !foreign
}

// deadlineOf returns the deadline, in ms, that an expiry option sets, or store.Never if unit is empty. trouble is an
// error message if the amount is invalid.
func deadlineOf(d *store.Data, unit, amount, command string) (when int64, trouble string) {
	if unit == "" {
		return store.Never, ""
	}
	v, ok := resp.ParseInt(amount)
	if !ok {
		return 0, resp.ErrNotInt
	}
	seconds := unit == "EX" || unit == "EXAT"
	if v <= 0 || seconds && v > math.MaxInt64/1000 {
		return 0, badExpire(command)
	}
	if seconds {
		v *= 1000
	}
	if unit == "EX" || unit == "PX" {
		if v > math.MaxInt64-d.Now {
			return 0, badExpire(command)
		}
		v += d.Now
	}
	return v, ""
}

func badExpire(command string) string { return "ERR invalid expire time in '" + command + "' command" }

// set implements SET. setComparing implements SET as it is in Redis 8.4 and later.
func set(d *store.Data, args []string)          { setWith(d, args, false) }
func setComparing(d *store.Data, args []string) { setWith(d, args, true) }

func setWith(d *store.Data, args []string, compare bool) {
	name, value := args[1], args[2]
	o, ok := parseSetOptions(args[3:], false, compare)
	if !ok {
		d.ReplyError(resp.ErrSyntax)
		return
	}
	when, trouble := deadlineOf(d, o.unit, o.amount, "set")
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	k := d.Find(name)
	refused := o.nx && k != nil || o.xx && k == nil
	if o.nx || o.xx {
		d.Depends(history.CheckedPresence)
	}
	if o.compares() {
		d.Depends(history.CheckedValue)
		met, answered := met(d, o.only, k)
		if answered {
			return
		}
		refused = !met
	}
	if o.get {
		if !replyText(d, k) {
			return
		}
	}
	if refused {
		if !o.get {
			d.ReplyNull()
		}
		return
	}
	if o.keepTTL && k != nil {
		when = k.When
	}
	d.SetString(name, value, when)
	if o.unit != "" {
		d.Notify(store.Generic, "expire", name)
	}
	if !o.get {
		d.ReplyOK()
	}
}

// findText looks up a string. k is nil if the key does not exist. If the key has another type, findText replies with an
// error, and ok is false.
func findText(d *store.Data, name string) (k *store.Entry, ok bool) {
	if k = d.Find(name); k != nil && !k.Text {
		d.ReplyError(resp.ErrWrongType)
		return nil, false
	}
	return k, true
}

// replyText replies with a string, or with null. If the key has another type, it replies with an error and returns
// false.
func replyText(d *store.Data, k *store.Entry) bool {
	switch {
	case k == nil:
		d.ReplyNull()
	case !k.Text:
		d.ReplyError(resp.ErrWrongType)
		return false
	default:
		d.ReplyBulk(k.Value)
	}
	return true
}

func get(d *store.Data, args []string) { replyText(d, d.Find(args[1])) }

func setnx(d *store.Data, args []string) {
	absent := d.Find(args[1]) == nil
	if absent {
		d.SetString(args[1], args[2], store.Never)
	}
	d.ReplyBool(absent)
}

// setex implements SETEX and PSETEX.
func setex(unit, command string) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		when, trouble := deadlineOf(d, unit, args[2], command)
		if trouble != "" {
			d.ReplyError(trouble)
			return
		}
		d.SetString(args[1], args[3], when)
		d.Notify(store.Generic, "expire", args[1])
		d.ReplyOK()
	}
}

func getset(d *store.Data, args []string) {
	if replyText(d, d.Find(args[1])) {
		d.SetString(args[1], args[2], store.Never)
	}
}

func getdel(d *store.Data, args []string) {
	k := d.Find(args[1])
	if replyText(d, k) && k != nil {
		removeAsked(d, args[1])
	}
}

func getex(d *store.Data, args []string) {
	o, ok := parseSetOptions(args[2:], true, false)
	if !ok {
		d.ReplyError(resp.ErrSyntax)
		return
	}
	name := args[1]
	k := d.Find(name)
	if k == nil || !k.Text {
		replyText(d, k)
		return
	}
	when, trouble := deadlineOf(d, o.unit, o.amount, "getex")
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	replyText(d, k)
	switch {
	case o.unit != "":
		giveDeadline(d, name, k, when, strings.HasSuffix(o.unit, "AT"))
	case o.persist && k.When != store.Never:
		d.MoveDeadline(name, k, when)
	}
}

func mget(d *store.Data, args []string) {
	d.ReplyLen(len(args) - 1)
	for _, name := range args[1:] {
		if k := d.Find(name); k == nil || !k.Text {
			d.ReplyNull()
		} else {
			d.ReplyBulk(k.Value)
		}
	}
}

// mset implements MSET and, if onlyNew is true, MSETNX, which sets the keys only if none of them exists.
func mset(onlyNew bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		pairs := args[1:]
		if len(pairs)%2 != 0 {
			d.ReplyError(wrongArity(strings.ToLower(args[0])))
			return
		}
		for i := 0; onlyNew && i < len(pairs); i += 2 {
			if d.Find(pairs[i]) != nil {
				d.ReplyInt(0)
				return
			}
		}
		for i := 0; i < len(pairs); i += 2 {
			d.SetString(pairs[i], pairs[i+1], store.Never)
		}
		if onlyNew {
			d.ReplyInt(1)
		} else {
			d.ReplyOK()
		}
	}
}

// incr implements INCR if sign is positive, and DECR if it is negative. incrBy implements INCRBY and DECRBY in the same
// way.
func incr(sign int64) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) { increase(d, args, sign) }
}

func incrBy(sign int64) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		by, ok := resp.ParseInt(args[2])
		switch {
		case !ok:
			d.ReplyError(resp.ErrNotInt)
		case sign < 0 && by == math.MinInt64:
			d.ReplyError("ERR decrement would overflow")
		default:
			increase(d, args, sign*by)
		}
	}
}

// increase adds a number to a counter. An existing counter keeps its owner and deadline, and the change is not
// recorded.
func increase(d *store.Data, args []string, by int64) {
	name := args[1]
	k, ok := findText(d, name)
	if !ok {
		return
	}
	var v int64
	if k != nil {
		if v, ok = resp.ParseInt(k.Value); !ok {
			d.ReplyError(resp.ErrNotInt)
			return
		}
	}
	if by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by {
		d.ReplyError(resp.ErrOverflow)
		return
	}
	v += by
	d.LogCommand(args)
	d.SetNumber(name, strconv.FormatInt(v, 10), k)
	d.Notify(store.String, "incrby", name)
	d.ReplyInt(v)
}

func strlen(d *store.Data, args []string) {
	switch k, ok := findText(d, args[1]); {
	case !ok:
	case k == nil:
		d.ReplyInt(0)
	default:
		d.ReplyInt(int64(len(k.Value)))
	}
}

// getrange implements GETRANGE: it returns the bytes from one index to another, inclusive. Negative indices count from
// the end.
func getrange(d *store.Data, args []string) {
	from, ok := resp.ParseInt(args[2])
	to, ok2 := resp.ParseInt(args[3])
	if !ok || !ok2 {
		d.ReplyError(resp.ErrNotInt)
		return
	}
	k, ok := findText(d, args[1])
	switch {
	case !ok:
		return
	case k == nil:
		d.ReplyBulk("")
		return
	}
	s := k.Value
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
		d.ReplyBulk("")
		return
	}
	d.ReplyBulk(s[from : to+1])
}
