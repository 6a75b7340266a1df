package redis

import (
	"slices"
	"strings"
)

func del(d *dataset, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if d.find(name) != nil {
			removeAsked(d, name)
			count++
		}
	}
	d.replyInt(count)
}

// exists is EXISTS and TOUCH.
func exists(d *dataset, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if d.find(name) != nil {
			count++
		}
	}
	d.replyInt(count)
}

func typeOf(d *dataset, args []string) {
	if d.find(args[1]) == nil {
		d.replyStatus("none")
		return
	}
	d.replyStatus(d.DB.Type(args[1]))
}

// dbsize counts what is hidden, as Redis does.
func dbsize(d *dataset, _ []string) { d.replyInt(int64(d.size())) }

// rename is RENAME and RENAMENX. The key keeps its owner and its deadline under the new name: its value still says whose
// it is.
func rename(onlyNew bool) func(d *dataset, args []string) {
	return func(d *dataset, args []string) {
		from, to := args[1], args[2]
		k := d.find(from)
		if k == nil {
			d.replyError(errNoKey)
			return
		}
		if onlyNew && d.find(to) != nil {
			d.replyInt(0)
			return
		}
		if from != to {
			d.logCommand(args)
			d.rename(to, from, k)
		}
		if onlyNew {
			d.replyInt(1)
		} else {
			d.replyOK()
		}
	}
}

func copyKey(d *dataset, args []string) {
	replace := false
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i == len(args) {
				d.replyError(errSyntax)
				return
			}
			if trouble := checkDB(args[i]); trouble != "" {
				d.replyError(trouble)
				return
			}
		default:
			d.replyError(errSyntax)
			return
		}
	}
	from, to := args[1], args[2]
	if from == to {
		d.replyError("ERR source and destination objects are the same")
		return
	}
	switch k := d.find(from); {
	case k == nil, d.find(to) != nil && !replace:
		d.replyInt(0)
	default:
		d.logCommand(args)
		d.duplicate(to, from, k)
		d.replyInt(1)
	}
}

// checkDB refuses every database but 0.
func checkDB(s string) (trouble string) {
	switch v, ok := parseInt(s); {
	case !ok:
		return errNotInt
	case v < 0 || v > 15:
		return "ERR DB index is out of range"
	case v > 0:
		return "ERR fencepost: only database 0 is simulated"
	}
	return ""
}

// flush is FLUSHALL and FLUSHDB.
func flush(d *dataset, args []string) {
	if len(args) > 2 || len(args) == 2 && !isOneOf(args[1], "SYNC", "ASYNC") {
		d.replyError(errSyntax)
		return
	}
	d.flush()
	d.replyOK()
}

func isOneOf(s string, words ...string) bool { return slices.Contains(words, strings.ToUpper(s)) }
