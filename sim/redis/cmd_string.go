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
func (n *Node) deadlineOf(unit, amount, command string) (when int64, trouble string) {
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
		if v > math.MaxInt64-n.ms {
			return 0, badExpire(command)
		}
		v += n.ms
	}
	return v, ""
}

func badExpire(command string) string { return "ERR invalid expire time in '" + command + "' command" }

func set(n *Node, args []string) {
	name, value := args[1], args[2]
	o, ok := parseSetOptions(args[3:], false)
	if !ok {
		n.replyError(errSyntax)
		return
	}
	when := never
	if o.unit != "" {
		var trouble string
		if when, trouble = n.deadlineOf(o.unit, o.amount, "set"); trouble != "" {
			n.replyError(trouble)
			return
		}
	}
	k := n.find(name)
	refused := o.nx && k != nil || o.xx && k == nil
	if o.compares() {
		met, answered := n.met(o.only, name, k)
		if answered {
			return
		}
		refused = !met
	}
	if o.get {
		if !n.replyText(name, k) {
			return
		}
	}
	if refused {
		if !o.get {
			n.replyNull()
		}
		return
	}
	if o.keepTTL && k != nil {
		when = k.when
	}
	n.setString(name, value, when)
	if !o.get {
		n.replyOK()
	}
}

// replyText answers with a string, or null; it answers with an error and reports false if the key holds another type.
func (n *Node) replyText(name string, k *key) bool {
	switch {
	case k == nil:
		n.replyNull()
	case !k.text:
		n.replyError(errWrongType)
		return false
	default:
		n.replyBulk(n.data.get(name))
	}
	return true
}

func get(n *Node, args []string) { n.replyText(args[1], n.find(args[1])) }

func setnx(n *Node, args []string) {
	absent := n.find(args[1]) == nil
	if absent {
		n.setString(args[1], args[2], never)
	}
	n.replyBool(absent)
}

// setex is SETEX and PSETEX.
func setex(unit, command string) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		when, trouble := n.deadlineOf(unit, args[2], command)
		if trouble != "" {
			n.replyError(trouble)
			return
		}
		n.setString(args[1], args[3], when)
		n.replyOK()
	}
}

func getset(n *Node, args []string) {
	if n.replyText(args[1], n.find(args[1])) {
		n.setString(args[1], args[2], never)
	}
}

func getdel(n *Node, args []string) {
	k := n.find(args[1])
	if n.replyText(args[1], k) && k != nil {
		n.removeAsked(args[1])
	}
}

func getex(n *Node, args []string) {
	o, ok := parseSetOptions(args[2:], true)
	if !ok {
		n.replyError(errSyntax)
		return
	}
	name := args[1]
	k := n.find(name)
	if k == nil || !k.text {
		n.replyText(name, k)
		return
	}
	when := never
	if o.unit != "" {
		var trouble string
		if when, trouble = n.deadlineOf(o.unit, o.amount, "getex"); trouble != "" {
			n.replyError(trouble)
			return
		}
	}
	n.replyText(name, k)
	switch {
	case o.unit != "" && when <= n.ms && strings.HasSuffix(o.unit, "AT"):
		n.removeAsked(name)
	case o.unit != "", o.persist && k.when != never:
		n.moveDeadline(name, k, when)
	}
}

func mget(n *Node, args []string) {
	n.replyLen(len(args) - 1)
	for _, name := range args[1:] {
		if k := n.find(name); k == nil || !k.text {
			n.replyNull()
		} else {
			n.replyBulk(n.data.get(name))
		}
	}
}

// mset is MSET and, if it must find none of the keys, MSETNX.
func mset(onlyNew bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		pairs := args[1:]
		if len(pairs)%2 != 0 {
			n.replyError(wrongArity(strings.ToLower(args[0])))
			return
		}
		for i := 0; onlyNew && i < len(pairs); i += 2 {
			if n.find(pairs[i]) != nil {
				n.replyInt(0)
				return
			}
		}
		for i := 0; i < len(pairs); i += 2 {
			n.setString(pairs[i], pairs[i+1], never)
		}
		if onlyNew {
			n.replyInt(1)
		} else {
			n.replyOK()
		}
	}
}

// incr is INCR and DECR (sign), incrBy the two with an amount.
func incr(sign int64) func(n *Node, args []string) {
	return func(n *Node, args []string) { n.increase(args, sign) }
}

func incrBy(sign int64) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		by, ok := parseInt(args[2])
		switch {
		case !ok:
			n.replyError(errNotInt)
		case sign < 0 && by == math.MinInt64:
			n.replyError("ERR decrement would overflow")
		default:
			n.increase(args, sign*by)
		}
	}
}

// increase adds to a counter. A counter that is there keeps its owner and deadline, and has no record.
func (n *Node) increase(args []string, by int64) {
	name := args[1]
	k := n.find(name)
	var v int64
	if k != nil {
		if !k.text {
			n.replyError(errWrongType)
			return
		}
		var ok bool
		if v, ok = parseInt(n.data.get(name)); !ok {
			n.replyError(errNotInt)
			return
		}
	}
	if by > 0 && v > math.MaxInt64-by || by < 0 && v < math.MinInt64-by {
		n.replyError(errOverflow)
		return
	}
	v += by
	n.logCommand(args)
	n.setNumber(name, strconv.FormatInt(v, 10), k)
	n.replyInt(v)
}

// setNumber gives a counter its value; the effect has been logged.
func (n *Node) setNumber(name, value string, k *key) {
	n.replaceText(name, value)
	if k == nil {
		n.recordSet(name, value, n.data.add(name, n.attempt, true))
	}
}

func strlen(n *Node, args []string) {
	k := n.find(args[1])
	switch {
	case k == nil:
		n.replyInt(0)
	case !k.text:
		n.replyError(errWrongType)
	default:
		n.replyInt(int64(len(n.data.get(args[1]))))
	}
}

// getrange gives the bytes from one index to another, both included; negative ones count from the end.
func getrange(n *Node, args []string) {
	from, ok := parseInt(args[2])
	to, ok2 := parseInt(args[3])
	if !ok || !ok2 {
		n.replyError(errNotInt)
		return
	}
	k := n.find(args[1])
	if k == nil {
		n.replyBulk("")
		return
	}
	if !k.text {
		n.replyError(errWrongType)
		return
	}
	s := n.data.get(args[1])
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
		n.replyBulk("")
		return
	}
	n.replyBulk(s[from : to+1])
}
