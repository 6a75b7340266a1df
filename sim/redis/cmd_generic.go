package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func del(n *Node, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if n.find(name) != nil {
			n.removeAsked(name)
			count++
		}
	}
	n.replyInt(count)
}

// exists is EXISTS and TOUCH.
func exists(n *Node, args []string) {
	count := int64(0)
	for _, name := range args[1:] {
		if n.find(name) != nil {
			count++
		}
	}
	n.replyInt(count)
}

func typeOf(n *Node, args []string) {
	if n.find(args[1]) == nil {
		n.replyStatus("none")
		return
	}
	n.replyStatus(n.data.db.Type(args[1]))
}

// dbsize counts what is hidden, as Redis does.
func dbsize(n *Node, _ []string) { n.replyInt(int64(len(n.data.keys) + len(n.data.hidden))) }

// rename is RENAME and RENAMENX. The key keeps its owner and its deadline under the new name: its value still says whose
// it is.
func rename(onlyNew bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		from, to := args[1], args[2]
		k := n.find(from)
		if k == nil {
			n.replyError(errNoKey)
			return
		}
		if onlyNew && n.find(to) != nil {
			n.replyInt(0)
			return
		}
		if from != to {
			n.logCommand(args)
			n.duplicate(to, from, k)
			n.data.db.Del(from)
			n.gone(from, k, history.Deleted, n.attempt)
		}
		if onlyNew {
			n.replyInt(1)
		} else {
			n.replyOK()
		}
	}
}

// duplicate makes to what the key from is: value, owner and deadline.
func (n *Node) duplicate(to, from string, k *key) {
	t := n.find(to)
	if t != nil {
		n.overwrite(to, t, k.members != nil)
		n.data.db.Del(to)
	} else {
		t = n.data.add(to, k.of, k.text)
	}
	_ = n.data.mini.Copy(0, from, 0, to) // fails only without the source
	t.of, t.text, t.members = k.of, k.text, maps.Clone(k.members)
	n.data.expireAt(to, t, k.when)
	n.changed(to)
	n.recordSet(to, n.valueOf(to, t), t)
}

func copyKey(n *Node, args []string) {
	replace := false
	for i := 3; i < len(args); i++ {
		switch strings.ToUpper(args[i]) {
		case "REPLACE":
			replace = true
		case "DB":
			if i++; i == len(args) {
				n.replyError(errSyntax)
				return
			}
			if trouble := checkDB(args[i]); trouble != "" {
				n.replyError(trouble)
				return
			}
		default:
			n.replyError(errSyntax)
			return
		}
	}
	from, to := args[1], args[2]
	if from == to {
		n.replyError("ERR source and destination objects are the same")
		return
	}
	switch k := n.find(from); {
	case k == nil, n.find(to) != nil && !replace:
		n.replyInt(0)
	default:
		n.logCommand(args)
		n.duplicate(to, from, k)
		n.replyInt(1)
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
func flush(n *Node, args []string) {
	if len(args) > 2 || len(args) == 2 && !isOneOf(args[1], "SYNC", "ASYNC") {
		n.replyError(errSyntax)
		return
	}
	names := make([]string, 0, len(n.data.keys))
	for name := range n.data.keys {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		n.recordGone(name, n.data.keys[name], history.Flushed, n.attempt)
	}
	n.dropAll()
	n.log(effect{op: opFlush})
	n.replyOK()
}

func isOneOf(s string, words ...string) bool { return slices.Contains(words, strings.ToUpper(s)) }
