package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// snapshot is the data at one moment, hidden keys included, sorted by name, and why what the next life does not find is lost.
type snapshot struct {
	keys []Key
	lost history.Why
}

// wholeOf is the command that reads all of a value of a type.
var wholeOf = map[string][]string{
	"hash": {"HGETALL", ""},
	"list": {"LRANGE", "", "0", "-1"},
	"set":  {"SMEMBERS", ""},
	"zset": {"ZRANGE", "", "0", "-1", "WITHSCORES"},
}

func (n *Node) snapshot() *snapshot {
	s := &snapshot{keys: make([]Key, 0, len(n.data.keys)+len(n.data.hidden))}
	for name := range n.data.keys {
		s.keys = append(s.keys, n.look(name))
	}
	for i := range n.data.hidden {
		s.keys = append(s.keys, n.data.hidden[i].Key)
	}
	slices.SortFunc(s.keys, func(a, b Key) int { return strings.Compare(a.Name, b.Name) })
	return s
}

// look reads one existing key.
func (n *Node) look(name string) Key {
	k := n.data.keys[name]
	l := Key{Name: name, Type: n.data.db.Type(name), Owner: k.of, Deadline: k.when}
	if k.text {
		l.Value = n.data.get(name)
		return l
	}
	if whole := slices.Clone(wholeOf[l.Type]); whole != nil {
		whole[1] = name
		from := len(n.out)
		n.data.pass(whole)
		l.Value = string(n.out[from:])
		n.out = n.out[:from]
	}
	return l
}

// load replays the file. Nothing expires meanwhile.
func (n *Node) load() {
	n.loading = true
	n.replay(n.aof.effects)
	n.loading = false
}

// compare hides what the wall clock has ended while the node was down, and records how the data differs from what it
// was at the stop. A replica does neither: it takes all its data from its master.
func (n *Node) compare() {
	was := n.before
	n.before = nil
	switch {
	case was == nil:
	case n.repl.master == "":
		was.keys = slices.DeleteFunc(was.keys, n.lostBefore)
		n.compareWith(was)
	case n.repl.told != nil && n.repl.had == nil:
		n.repl.had = was
	}
}

// compareWith hides what has expired, and records how the data differs from what it was. A key that is gone and that would
// have expired meanwhile has expired. A key that is there in another state (other value, owner or deadline) is lost and set.
func (n *Node) compareWith(was *snapshot) {
	n.loading = true // the records depend on what was
	n.expireDue()
	n.loading = false
	is := n.snapshot()
	i, j := 0, 0
	for i < len(was.keys) || j < len(is.keys) {
		order := 0
		switch {
		case i == len(was.keys):
			order = 1
		case j == len(is.keys):
			order = -1
		default:
			order = strings.Compare(was.keys[i].Name, is.keys[j].Name)
		}
		var before, after *Key
		if order <= 0 {
			before = &was.keys[i]
			i++
		}
		if order >= 0 {
			after = &is.keys[j]
			j++
		}
		n.compareKey(before, after, was.lost)
	}
	n.data.ended()
}

// compareKey does it for one key; before or after is nil where there is none.
func (n *Node) compareKey(before, after *Key, lost history.Why) {
	if before != nil && before.ended {
		before = nil
	}
	if after != nil && n.ms > after.Deadline {
		if before == nil && n.divergent(after) {
			before = after // set while the node was deposed
		}
		after = nil
	}
	if before != nil && after != nil && *before == *after {
		return
	}
	if before != nil {
		why := lost
		if n.ms > before.Deadline {
			why = history.Expired
		}
		n.cfg.Group.note(before, why)
		n.record(history.Event{F: history.KeyGone, Lock: history.Lock(before.Name), Of: before.Owner, Why: why})
	}
	if after != nil {
		value := after.Value
		if after.Type != "string" {
			value = ""
		}
		n.recordSet(after.Name, value, n.data.keys[after.Name])
	}
}
