package redis

import (
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

// A hash, a set or a sorted set may be held by several at once, as read-write locks and semaphores do it. So each field or
// member has an owner of its own, who set it last, and records of its own. The key has none beside them.
//
// Three things follow from what such locks do. A deadline is the key's, so one holder moves it for all: the others' records
// say by whom only if it comes to lie earlier, or if the mover holds nothing there. Whoever gives back a field of a hash
// leaves what else it has set there, as the mode of a read-write lock, to nobody in particular. And members that are removed
// by their score, as semaphores do with those whose time is over, have expired.

// Member is a field of a hash, or a member of a set or a sorted set.
type Member struct {
	Name, Value string // the value of a field, the score of a sorted set's member
	Owner       history.Attempt
}

// hasMembers reports whether keys of a type have members.
func hasMembers(kind string) bool { return kind == "hash" || kind == "zset" || kind == "set" }

// members lists those of a key, by name, with their values.
func (d *dataset) members(name string, k *key) []Member {
	kind := d.DB.Type(name)
	if !hasMembers(kind) {
		return nil
	}
	var list []Member
	switch all := bulks(d.whole(name, kind)); kind {
	case "set":
		for _, m := range all {
			list = append(list, Member{m, "", k.members[m]})
		}
	case "zset":
		for i := 0; i+1 < len(all); i += 2 {
			f, _ := parseDouble(all[i+1])
			list = append(list, Member{all[i], lua.FormatNumber(f, 17), k.members[all[i]]})
		}
	default:
		for i := 0; i+1 < len(all); i += 2 {
			list = append(list, Member{all[i], all[i+1], k.members[all[i]]})
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// change says what a command has done to a key, as far as comparing does not show it.
type change struct {
	replaced bool     // the key was made anew
	set      []string // members that were set, whether or not they were there
	expired  bool     // what is gone was removed by its score
}

// settleMembers brings the owners of a key's members into line with what miniredis now has, and records what became of them.
func (d *dataset) settleMembers(name string, k *key, c change) {
	is := d.members(name, k)
	there := map[string]bool{}
	for _, m := range is {
		there[m.Name] = true
	}
	gaveBack := false
	for _, m := range slices.Sorted(maps.Keys(k.members)) {
		if there[m] {
			continue
		}
		h := holding{name: name, member: m, owner: k.members[m]}
		gone := h.gone(history.Expired)
		if !c.expired {
			gone.By, gone.Why = d.attempt, history.Deleted
		}
		gaveBack = gaveBack || gone.By != "" && gone.By == gone.Of && d.DB.Type(name) == "hash"
		d.record(gone)
		delete(k.members, m)
	}
	for _, m := range is {
		if _, known := k.members[m.Name]; known && !c.replaced && !slices.Contains(c.set, m.Name) {
			if gaveBack && m.Owner == d.attempt {
				k.members[m.Name] = ""
			}
			continue
		}
		k.members[m.Name] = d.attempt
		m.Owner = d.attempt
		d.recordMember(name, m, k)
	}
}

// overwrite ends what a key is to its owners, since a command puts something else in its place. Where a key as a whole
// takes the place of another, the record of the new one says it all.
func (d *dataset) overwrite(name string, k *key, byMembers bool) {
	if k.members != nil || byMembers {
		d.recordGone(name, k, history.Deleted, d.attempt)
		k.members = nil
	}
}

// recordMember records that a member came to be or was set anew.
func (d *dataset) recordMember(name string, m Member, k *key) {
	if d.silent() {
		return
	}
	d.record(history.Event{F: history.KeySet, Lock: history.Lock(name), Member: m.Name, Of: m.Owner, By: d.attempt,
		Value: m.Value, Until: d.until(k.when)})
}

// recordGone records that a key ceased to be, or that all its members did.
func (d *dataset) recordGone(name string, k *key, why history.Why, by history.Attempt) {
	if d.silent() {
		return
	}
	gone := history.Event{F: history.KeyGone, Lock: history.Lock(name), Of: k.of, By: by, Why: why}
	if k.members == nil {
		d.record(gone)
		return
	}
	for _, m := range slices.Sorted(maps.Keys(k.members)) {
		gone.Member, gone.Of = m, k.members[m]
		d.record(gone)
	}
}

// recordProlonged records that a deadline was moved from one time to another.
func (d *dataset) recordProlonged(name string, k *key, from, to int64) {
	if d.silent() {
		return
	}
	moved := history.Event{F: history.KeyProlonged, Lock: history.Lock(name), Of: k.of, By: d.attempt, Until: d.until(to)}
	if k.members == nil {
		d.record(moved)
		return
	}
	holder := false
	for _, of := range k.members {
		holder = holder || of == d.attempt
	}
	for _, m := range slices.Sorted(maps.Keys(k.members)) {
		moved.Member, moved.Of, moved.By = m, k.members[m], d.attempt
		if holder && moved.Of != d.attempt && to >= from {
			moved.By = ""
		}
		d.record(moved)
	}
}

// holding is what one owner holds: a key, or a member of one.
type holding struct {
	name, member string
	owner        history.Attempt
	value        string // of a list, all of it
	text         bool   // the value goes into records
	deadline     int64
	ended        bool
}

// gone is the record of its end.
func (h *holding) gone(why history.Why) history.Event {
	return history.Event{F: history.KeyGone, Lock: history.Lock(h.name), Member: h.member, Of: h.owner, Why: why}
}

// holdings appends what a key comes to.
func (k *Key) holdings(list []holding) []holding {
	if !hasMembers(k.Type) {
		return append(list, holding{k.Name, "", k.Owner, k.Value, k.Type == "string", k.Deadline, k.ended})
	}
	for _, m := range k.Members {
		list = append(list, holding{k.Name, m.Name, m.Owner, m.Value, true, k.Deadline, k.ended})
	}
	return list
}

// holdings lists what the keys of a snapshot come to, by name and member.
func (s *snapshot) holdings() []holding {
	var list []holding
	for i := range s.keys {
		list = s.keys[i].holdings(list)
	}
	return list
}

func (h *holding) compare(o *holding) int {
	if c := strings.Compare(h.name, o.name); c != 0 {
		return c
	}
	return strings.Compare(h.member, o.member)
}

// ownerOf is who owns a key or a member now; there is false if nobody can see it.
func (d *dataset) ownerOf(h *holding) (of history.Attempt, there bool) {
	k := d.keys[h.name]
	switch {
	case k == nil:
		return "", false
	case k.members == nil:
		return k.of, h.member == ""
	}
	of, there = k.members[h.member]
	return of, there
}
