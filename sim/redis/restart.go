package redis

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// snapshot is the data at one moment, hidden keys included, sorted by name.
type snapshot struct{ keys []Key }

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
	l.Value, l.Members = n.whole(name, l.Type), n.members(name, k)
	if hasMembers(l.Type) {
		l.Owner = ""
	}
	return l
}

// whole is all of a value that is no string, in RESP.
func (n *Node) whole(name, kind string) string {
	whole := slices.Clone(wholeOf[kind])
	whole[1] = name
	return n.ask(whole...)
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
		n.compareWith(n.stood, n.lost)
		n.stood = nil
	case n.repl.told != nil && n.repl.had == nil:
		n.repl.had = was
	}
}

// compareWith hides what has expired, and records how the data differs from what stands by the records. A key that is
// gone and that would have expired meanwhile has expired. A key that is there in another state (other value, owner or
// deadline) is lost and set.
func (n *Node) compareWith(before []holding, lost history.Why) {
	n.loading = true // the records depend on what was
	n.expireDue()
	n.loading = false
	is := n.snapshot().holdings()
	for len(before) > 0 || len(is) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(is) == 0:
			order = -1
		default:
			order = before[0].compare(&is[0])
		}
		var old, now *holding
		if order <= 0 {
			old, before = &before[0], before[1:]
		}
		if order >= 0 {
			now, is = &is[0], is[1:]
		}
		n.compareOne(old, now, lost)
	}
	n.data.ended()
}

// compareOne does it for a key or a member; before or after is nil where there is none.
func (n *Node) compareOne(before, after *holding, lost history.Why) {
	if before != nil && before.ended {
		before = nil
	}
	if after != nil && n.ms > after.deadline {
		if (before == nil || before.owner != after.owner) && n.stands(after) { // set while the node was deposed
			n.record(after.gone(history.Expired))
		}
		after = nil
	}
	if before != nil && after != nil && *before == *after {
		return
	}
	if before != nil {
		why := lost
		if n.ms > before.deadline {
			why = history.Expired
		}
		if !n.lostBefore(before) {
			n.cfg.Group.note(before, why)
		}
		n.record(before.gone(why))
	}
	if after != nil {
		set := history.Event{F: history.KeySet, Lock: history.Lock(after.name), Member: after.member, Of: after.owner,
			By: n.attempt, Until: n.until(after.deadline)}
		if after.text {
			set.Value = after.value
		}
		n.record(set)
	}
}
