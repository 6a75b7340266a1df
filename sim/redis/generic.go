package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

func del(d *store.Data, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if d.Find(name) != nil {
			removeAsked(d, name)
			count++
		}
	}
	d.ReplyInt(count)
}

// exists implements EXISTS and TOUCH.
func exists(d *store.Data, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if d.Find(name) != nil {
			count++
		}
	}
	d.ReplyInt(count)
}

func typeOf(d *store.Data, args []string) {
	if d.Find(args[1]) == nil {
		d.ReplyStatus("none")
		return
	}
	d.ReplyStatus(d.Type(args[1]))
}

// dbsize implements DBSIZE. Like Redis, it counts expired keys that still exist.
func dbsize(d *store.Data, _ []string) { d.ReplyInt(int64(d.Size())) }

// rename implements RENAME and RENAMENX. The key keeps its deadline. It also keeps its owner, because the owner is
// determined by the value, which does not change.
func rename(onlyNew bool) func(d *store.Data, args []string) {
	return func(d *store.Data, args []string) {
		from, to := args[1], args[2]
		k := d.Find(from)
		if k == nil {
			d.ReplyError(resp.ErrNoKey)
			return
		}
		// If the new name belongs to an expired key, that key is deleted here, so its DEL is logged before the RENAME.
		if d.Find(to) != nil && onlyNew {
			d.ReplyInt(0)
			return
		}
		if from != to {
			d.LogCommand(args)
			d.Rename(to, from, k)
			d.Notify(store.Generic, "rename_from", from)
			d.Notify(store.Generic, "rename_to", to)
		}
		if onlyNew {
			d.ReplyInt(1)
		} else {
			d.ReplyOK()
		}
	}
}

func copyKey(d *store.Data, args []string) {
	replace := false
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i == len(args) {
				d.ReplyError(resp.ErrSyntax)
				return
			}
			if trouble := checkDB(args[i]); trouble != "" {
				d.ReplyError(trouble)
				return
			}
		default:
			d.ReplyError(resp.ErrSyntax)
			return
		}
	}
	from, to := args[1], args[2]
	if from == to {
		d.ReplyError("ERR source and destination objects are the same")
		return
	}
	switch k := d.Find(from); {
	case k == nil, d.Find(to) != nil && !replace:
		d.ReplyInt(0)
	default:
		d.LogCommand(args)
		d.Duplicate(to, from, k)
		d.Notify(store.Generic, "copy_to", to)
		d.ReplyInt(1)
	}
}

// checkDB returns an error for any database other than 0.
func checkDB(s string) (trouble string) {
	switch v, ok := resp.ParseInt(s); {
	case !ok:
		return resp.ErrNotInt
	case v < 0 || v > 15:
		return "ERR DB index is out of range"
	case v > 0:
		return "ERR fencepost: only database 0 is simulated"
	}
	return ""
}

// flush implements FLUSHALL and FLUSHDB.
func flush(d *store.Data, args []string) {
	if len(args) > 2 || len(args) == 2 && !isOneOf(args[1], "SYNC", "ASYNC") {
		d.ReplyError(resp.ErrSyntax)
		return
	}
	d.Flush(history.Flushed)
	d.ReplyOK()
}

// isOneOf reports whether s is one of the words, ignoring case. The words must be in upper case.
func isOneOf(s string, words ...string) bool { return slices.Contains(words, strings.ToUpper(s)) }
