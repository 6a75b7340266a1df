package redis

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// This file implements the commands for hash-field deadlines, which were added in Redis 7.4 and 8.0. It also implements
// how these deadlines affect other hash commands. As in Redis, HEXPIRE and HSETEX with KEEPTTL find a field that has
// expired but has not been deleted yet.

// latestField is the latest deadline that a field can have, in ms.
const latestField = 1<<46 - 1

// Results of the deadline commands, one per field.
const (
	noField    = -2
	noDeadline = -1
	notMet     = 0
	changed    = 1
	deleted    = 2
)

// fieldTime parses a field's deadline. text is relative to base, in the unit that the command uses. base and the result
// are in ms.
func fieldTime(command, text string, seconds bool, base int64) (when int64, trouble string) {
	when, ok := resp.ParseInt(text)
	switch {
	case !ok:
		return 0, resp.ErrNotInt
	case when < 0:
		return 0, "ERR invalid expire time, must be >= 0"
	case seconds && when > latestField/1000:
		return 0, badExpire(command)
	case seconds:
		when *= 1000
	}
	if when > latestField-base {
		return 0, badExpire(command)
	}
	return when + base, ""
}

// errFieldCount is the error if the number of fields is not a positive integer.
const errFieldCount = "ERR Number of fields must be a positive integer"

// fieldList parses a command's last arguments, starting at the given position: "FIELDS count field …".
func fieldList(args []string, at int, badCount string) (fields []string, trouble string) {
	if !strings.EqualFold(args[at], "fields") {
		return nil, "ERR Mandatory argument FIELDS is missing or not at the right position"
	}
	if at+1 == len(args) {
		return nil, wrongArity(strings.ToLower(args[0]))
	}
	count, ok := resp.ParseInt(args[at+1])
	fields = args[at+2:]
	switch {
	case !ok || count < 1:
		return nil, badCount
	case count != int64(len(fields)):
		return nil, "ERR The `numfields` parameter must match the number of arguments"
	}
	return fields, ""
}

// isNoHash replies with an error if a key exists but is not a hash. It reports whether it has replied.
func isNoHash(d *store.Data, name string) bool { return checkType(d, name, "hash", nil) }

// replyEach applies a function to each field, and replies with an array of the results.
func replyEach(d *store.Data, fields []string, one func(field string) int64) {
	d.ReplyLen(len(fields))
	for _, field := range fields {
		d.ReplyInt(one(field))
	}
}

// hexpire implements HEXPIRE, HPEXPIRE, HEXPIREAT and HPEXPIREAT.
func hexpire(command string, seconds, absolute bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		name := args[1]
		if isNoHash(d, name) {
			return
		}
		base := d.Now
		if absolute {
			base = 0
		}
		when, trouble := fieldTime(command, args[2], seconds, base)
		at, o := 3, expireOptions{}
		if len(readFlags(args[3:4], map[string]*bool{"NX": &o.nx, "XX": &o.xx, "GT": &o.gt, "LT": &o.lt})) == 0 {
			at++
			d.Depends(history.CheckedPresence)
		}
		fields := []string(nil)
		if trouble == "" {
			fields, trouble = fieldList(args, at, "ERR Parameter `numFields` should be greater than 0")
		}
		if trouble != "" {
			d.ReplyError(trouble)
			return
		}
		k := d.Peek(name)
		var moved, dropped []string
		replyEach(d, fields, func(field string) int64 {
			switch {
			case k == nil || !k.HasField(field) && !k.IsPast(field):
				return noField
			case !o.admits(k.FieldDeadline(field), when):
				return notMet
			case timeField(d, name, k, field, when, absolute):
				dropped = append(dropped, field)
				return deleted
			}
			moved = append(moved, field)
			return changed
		})
		logFields(d, []string{"hpexpireat", name, strconv.FormatInt(when, 10)}, moved)
		switch {
		case len(dropped) > 0:
			d.Notify(store.Hash, "hdel", name)
		case len(moved) > 0:
			d.Notify(store.Hash, "hexpire", name)
		default:
			return
		}
		endFields(d, name, k)
	}
}

// timeField gives a field a deadline. If the deadline has already been reached, it deletes the field and returns true.
// On a replica, the deletion is left to the master.
func timeField(d *store.Data, name string, k *store.Entry, field string, when int64, absolute bool) (dropped bool) {
	if when <= d.Now && !d.Obeys() {
		d.DropField(name, k, field, when, absolute)
		return true
	}
	d.MoveFieldDeadline(name, k, field, when)
	return false
}

// logFields logs a command with a list of fields, unless the list is empty.
func logFields(d *store.Data, command, fields []string) {
	if len(fields) > 0 {
		d.LogCommand(slices.Concat(command, []string{"FIELDS", strconv.Itoa(len(fields))}, fields))
	}
}

// endFields is called at the end of a command that may have deleted fields. If the hash is now empty, endFields deletes
// it and publishes a notification.
func endFields(d *store.Data, name string, k *store.Entry) {
	if d.EndFields(name, k) {
		d.Notify(store.Generic, "del", name)
	}
}

// httl implements HTTL, HPTTL, HEXPIRETIME and HPEXPIRETIME. Unlike HGET, these commands do not find a field in the
// very millisecond of its deadline. In Redis, this is true of hashes with at most 512 short fields.
func httl(seconds, absolute bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		k, fields, ok := hashAndFields(d, args)
		if !ok {
			return
		}
		replyEach(d, fields, func(field string) int64 {
			if k == nil || !k.HasField(field) {
				return noField
			}
			when := k.FieldDeadline(field)
			switch {
			case when == store.Never:
				return noDeadline
			case when <= d.Now:
				return noField
			case !absolute:
				when -= d.Now
			}
			if seconds {
				when = (when + 999) / 1000
			}
			return when
		})
	}
}

// hashAndFields reads a command's arguments KEY FIELDS COUNT FIELD…. If the key is not a hash, or the list of fields is
// malformed, it replies with an error and returns false. The hash is nil if the key does not exist.
func hashAndFields(d *store.Data, args []string) (k *store.Entry, fields []string, ok bool) {
	if isNoHash(d, args[1]) {
		return nil, nil, false
	}
	fields, trouble := fieldList(args, 2, errFieldCount)
	if trouble != "" {
		d.ReplyError(trouble)
		return nil, nil, false
	}
	return d.Peek(args[1]), fields, true
}

func hpersist(d *store.Data, args []string) {
	name := args[1]
	k, fields, ok := hashAndFields(d, args)
	if !ok {
		return
	}
	var done []string
	replyEach(d, fields, func(field string) int64 {
		switch {
		case k == nil || !k.HasField(field):
			return noField
		case k.FieldDeadline(field) == store.Never:
			return noDeadline
		}
		d.MoveFieldDeadline(name, k, field, store.Never)
		done = append(done, field)
		return changed
	})
	if len(done) > 0 {
		logFields(d, []string{"hpersist", name}, done)
		d.Notify(store.Hash, "hpersist", name)
		endFields(d, name, k)
	}
}

// lookUpField looks up a field of a hash for a command. If the field has expired, lookUpField deletes it.
func lookUpField(d *store.Data, name, field string) {
	if k := d.Find(name); d.FindField(name, k, field) {
		d.Notify(store.Hash, "hexpired", name)
		endFields(d, name, k)
	}
}

// fieldFirst looks up the field before HGET, HEXISTS, HSTRLEN or HSETNX is executed.
func fieldFirst(d *store.Data, args []string) bool {
	lookUpField(d, args[1], args[2])
	return false
}

// hmgetFirst looks up the fields before HMGET is executed. As in Redis, it does not publish a notification for an
// expired field if that was the hash's last field.
func hmgetFirst(d *store.Data, args []string) bool {
	k := d.Find(args[1])
	expired, empty := false, false
	for _, field := range args[2:] {
		if !empty && d.FindField(args[1], k, field) {
			empty = d.EndFields(args[1], k)
			expired = expired || !empty
		}
	}
	if expired {
		d.Notify(store.Hash, "hexpired", args[1])
	}
	if expired && empty {
		d.Notify(store.Generic, "del", args[1])
	}
	return false
}

// hlenFirst makes HLEN include fields that have expired but have not been deleted yet.
func hlenFirst(d *store.Data, args []string) bool {
	k := d.Find(args[1])
	if k == nil || k.Past() == 0 {
		return false
	}
	d.ReplyInt(int64(len(d.Members(args[1])) + k.Past()))
	return true
}

// hsetFirst implements HSET and HMSET for hashes whose fields have deadlines. A field that has expired but has not been
// deleted yet counts as replaced, not as new.
func hsetFirst(d *store.Data, args []string) bool {
	if len(args)%2 == 1 {
		return false // miniredis replies with the error, before Redis would look for the key
	}
	name := args[1]
	k := d.Find(name)
	if k == nil || !k.Timed() {
		return false
	}
	created, fields := 0, []string(nil)
	for i := 2; i < len(args); i += 2 {
		if !d.ReplaceField(name, k, args[i]) && !k.HasField(args[i]) && !slices.Contains(fields, args[i]) {
			created++
		}
		fields = append(fields, args[i])
	}
	d.Ask(append([]string{"HSET", name}, args[2:]...)...)
	d.LogCommand(args)
	d.Settle(name, store.Change{Set: fields})
	d.Notify(store.Hash, "hset", name)
	if strings.EqualFold(args[0], "hmset") {
		d.ReplyOK()
	} else {
		d.ReplyInt(int64(created))
	}
	return true
}

// hdelFirst implements HDEL for hashes with fields that have expired but have not been deleted yet. It counts such
// fields as deleted.
func hdelFirst(d *store.Data, args []string) bool {
	name := args[1]
	k := d.Find(name)
	if k == nil || k.Past() == 0 {
		return false
	}
	count, visible := 0, []string(nil)
	for _, field := range args[2:] {
		switch {
		case d.FindField(name, k, field):
			count++
		case k.HasField(field) && !slices.Contains(visible, field):
			visible = append(visible, field)
		}
	}
	count += len(visible)
	d.ReplyInt(int64(count))
	if count > 0 {
		removeFields(d, name, k, visible)
	}
	return true
}

// removeFields removes fields on behalf of the current command, and publishes a notification.
func removeFields(d *store.Data, name string, k *store.Entry, fields []string) {
	if len(fields) > 0 {
		d.LogCommand(append([]string{"hdel", name}, fields...))
		d.Ask(append([]string{"HDEL", name}, fields...)...)
		d.Settle(name, store.Change{})
	}
	d.Notify(store.Hash, "hdel", name)
	if d.Peek(name) == nil {
		d.Notify(store.Generic, "del", name)
	} else {
		endFields(d, name, k)
	}
}
