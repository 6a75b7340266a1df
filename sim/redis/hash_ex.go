package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements HSETEX, HGETEX and HGETDEL, which were added in Redis 8.0. Besides reading or writing a hash's
// fields, these commands set the fields' deadlines or delete the fields.

// timing describes how HSETEX and HGETEX handle deadlines.
type timing struct {
	option   string // EX, PX, EXAT, PXAT, KEEPTTL or PERSIST; empty if there is none
	when     int64  // the given time or duration in ms, if sets is true
	sets     bool
	absolute bool // the request gives a time, not a duration
}

// parse parses the option in words[0]. If the option takes an argument, it is words[1].
func (t *timing) parse(d *store.Data, command string, words []string) (trouble string) {
	t.option = strings.ToUpper(words[0])
	if t.sets = isOneOf(t.option, "EX", "PX", "EXAT", "PXAT"); !t.sets {
		return ""
	}
	base := d.Now
	if t.absolute = strings.HasSuffix(t.option, "AT"); t.absolute {
		base = 0
	}
	t.when, trouble = fieldTime(command, words[1], t.option[0] == 'E', base)
	return trouble
}

// setEx is a parsed HSETEX.
type setEx struct {
	timing
	condition string // FNX or FXX; empty if there is none
	pairs     []string
}

// parseSetEx parses HSETEX's arguments.
func parseSetEx(d *store.Data, args []string) (o setEx, trouble string) {
	for i := 2; i < len(args); i++ {
		switch word := strings.ToUpper(args[i]); word {
		case "FIELDS":
			if i >= len(args)-3 {
				return o, wrongArity("hsetex")
			}
			o.pairs, trouble = fieldPairs(args, i)
			return o, trouble
		case "EX", "PX", "EXAT", "PXAT", "KEEPTTL":
			switch {
			case o.option != "":
				return o, "ERR Only one of EX, PX, EXAT, PXAT or KEEPTTL arguments can be specified"
			case word != "KEEPTTL" && i == len(args)-1:
				return o, "ERR missing expire time"
			}
			if trouble = o.parse(d, "hsetex", args[i:]); trouble != "" {
				return o, trouble
			}
			if o.sets {
				i++
			}
		case "FXX", "FNX":
			if o.condition != "" {
				return o, "ERR Only one of FXX or FNX arguments can be specified"
			}
			o.condition = word
		default:
			return o, "ERR unknown argument: " + args[i]
		}
	}
	return o, wrongArity("hsetex")
}

// fieldPairs parses the arguments after FIELDS: a count, and that many field-value pairs. at is the index of the
// argument FIELDS.
func fieldPairs(args []string, at int) (pairs []string, trouble string) {
	count, err := strconv.ParseInt(args[at+1], 10, 32)
	pairs = args[at+2:]
	switch {
	case err != nil || count < 1:
		return nil, "ERR invalid number of fields"
	case len(pairs)%2 != 0 || int(count) != len(pairs)/2:
		return nil, wrongArity("hsetex")
	}
	return pairs, ""
}

// fields returns the names of the fields.
func (o *setEx) fields() (fields []string) {
	for i := 0; i < len(o.pairs); i += 2 {
		fields = append(fields, o.pairs[i])
	}
	return fields
}

// met reports whether the condition is met. It also deletes the expired fields that it finds; expired reports whether
// there were any.
func (o *setEx) met(d *store.Data, name string, k *store.Entry) (met, expired bool) {
	if o.condition == "" {
		return true, false
	}
	d.Depends(history.CheckedPresence)
	for _, field := range o.fields() {
		expired = d.FindField(name, k, field) || expired
		if exists := k != nil && k.HasField(field); exists != (o.condition == "FXX") {
			return false, expired
		}
	}
	return true, expired
}

func hsetex(d *store.Data, args []string) {
	name := args[1]
	o, trouble := parseSetEx(d, args)
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	if isNoHash(d, name) {
		return
	}
	k := d.Peek(name)
	met, expired := o.met(d, name, k)
	d.ReplyBool(met)
	if met {
		o.apply(d, name, k, expired)
	} else if expired {
		d.Notify(store.Hash, "hexpired", name)
		endFields(d, name, k)
	}
}

// apply sets the fields. k is nil if the hash does not exist.
func (o *setEx) apply(d *store.Data, name string, k *store.Entry, expired bool) {
	write, fields := []string{"HSET", name}, []string(nil)
	for i := 0; i < len(o.pairs); i += 2 {
		field, value := o.pairs[i], o.pairs[i+1]
		switch {
		case k == nil:
		case o.option == "KEEPTTL" && k.IsPast(field):
			d.SetPastValue(k, field, value)
			continue
		case o.option != "KEEPTTL":
			d.ReplaceField(name, k, field)
		}
		write, fields = append(write, field, value), append(fields, field)
	}
	change := store.Change{Set: fields}
	overdue := o.sets && o.when <= d.Now && !d.Obeys()
	if !overdue {
		log := []string{"hsetex", name}
		if change.When = o.when; o.sets {
			log = append(log, "PXAT", strconv.FormatInt(o.when, 10))
		} else if o.option != "" {
			log = append(log, o.option)
		}
		d.LogCommand(slices.Concat(log, []string{"FIELDS", strconv.Itoa(len(o.pairs) / 2)}, o.pairs))
	}
	if len(fields) > 0 {
		d.Ask(write...)
		d.Settle(name, change)
	}
	if expired {
		d.Notify(store.Hash, "hexpired", name)
	}
	d.Notify(store.Hash, "hset", name)
	k = d.Peek(name)
	if overdue {
		for _, field := range fields {
			if k.HasField(field) { // false if the request names the field twice
				d.DropField(name, k, field, o.when, true) // it expires as soon as it is set
			}
		}
		d.Notify(store.Hash, "hdel", name)
	} else if o.sets {
		d.Notify(store.Hash, "hexpire", name)
	}
	endFields(d, name, k)
}

// value replies with a field's value, or with null if the field does not exist. exists reports whether it exists. If
// the field had expired, value deletes it, and expired is true.
func value(d *store.Data, name string, k *store.Entry, field string) (exists, expired bool) {
	expired = d.FindField(name, k, field)
	if exists = k != nil && k.HasField(field); exists {
		d.ReplyBulk(d.DB.HGet(name, field))
	} else {
		d.ReplyNull()
	}
	return exists, expired
}

func hgetex(d *store.Data, args []string) {
	name := args[1]
	if isNoHash(d, name) {
		return
	}
	t, at, trouble := timing{}, 2, ""
	if isOneOf(args[2], "EX", "PX", "EXAT", "PXAT", "PERSIST") {
		trouble = t.parse(d, "hgetex", args[2:])
		if at++; t.sets {
			at++
		}
	}
	fields := []string(nil)
	if trouble == "" {
		fields, trouble = fieldList(args, at, errFieldCount)
	}
	if trouble != "" {
		d.ReplyError(trouble)
		return
	}
	t.get(d, name, fields)
}

// get executes HGETEX for the given fields. As in Redis, PERSIST changes only the fields that have a deadline.
func (t *timing) get(d *store.Data, name string, fields []string) {
	k := d.Peek(name)
	anyExpired, dropped := false, false
	var moved []string
	d.ReplyLen(len(fields))
	for _, field := range fields {
		exists, expired := value(d, name, k, field)
		anyExpired = anyExpired || expired
		switch {
		case !exists || t.option == "", t.option == "PERSIST" && k.FieldDeadline(field) == store.Never:
		case t.option == "PERSIST":
			d.MoveFieldDeadline(name, k, field, store.Never)
			moved = append(moved, field)
		case timeField(d, name, k, field, t.when, t.absolute):
			dropped = true
		default:
			moved = append(moved, field)
		}
	}
	if anyExpired {
		d.Notify(store.Hash, "hexpired", name)
	}
	switch {
	case len(moved) > 0 && t.option == "PERSIST":
		logFields(d, []string{"hpersist", name}, moved)
		d.Notify(store.Hash, "hpersist", name)
	case len(moved) > 0:
		logFields(d, []string{"hpexpireat", name, strconv.FormatInt(t.when, 10)}, moved)
		d.Notify(store.Hash, "hexpire", name)
	case dropped:
		d.Notify(store.Hash, "hdel", name)
	case !anyExpired:
		return
	}
	endFields(d, name, k)
}

func hgetdel(d *store.Data, args []string) {
	name := args[1]
	k, fields, ok := hashAndFields(d, args)
	if !ok {
		return
	}
	anyExpired := false
	var found []string
	d.ReplyLen(len(fields))
	for _, field := range fields {
		if slices.Contains(found, field) {
			d.ReplyNull()
			continue
		}
		exists, expired := value(d, name, k, field)
		if anyExpired = anyExpired || expired; exists {
			found = append(found, field)
		}
	}
	if anyExpired {
		d.Notify(store.Hash, "hexpired", name)
	}
	switch {
	case len(found) > 0:
		removeFields(d, name, k, found)
	case anyExpired:
		endFields(d, name, k)
	}
}
