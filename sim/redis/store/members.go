package store

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// A hash, a set, a sorted set or a list may be held by several owners at once, as in read-write locks and semaphores; a
// list may contain one token for each client that may enter. Therefore each field, member or element has its own owner,
// which is the attempt that set it last, and its own records. The key itself has no records.
//
// This has three consequences. First, a deadline belongs to the key, so a holder that moves it moves it for all.
// The records of the other holders name the client that moved it only if the deadline became earlier, or if that client
// holds nothing in the key. Second, when an owner releases a field of a hash, everything else that it has set there,
// such as the mode of a read-write lock, loses its owner. This is recorded as setting it again without an owner. Third,
// members that are removed by their score, as semaphores remove holders whose time is over, count as expired.

// Member is a field of a hash, an element of a list, or a member of a set or a sorted set.
type Member struct {
	Name, Value string // the value of a field, or the score of a sorted set's member
	Owner       history.Attempt
}

// hasMembers reports whether keys of a type have members.
func hasMembers(kind string) bool {
	return kind == "hash" || kind == "zset" || kind == "set" || kind == "list"
}

// members returns the members of a key with their values, sorted by name.
func (d *Data) members(name string, k *Entry) []Member {
	kind := d.Type(name)
	if !hasMembers(kind) {
		return nil
	}
	var list []Member
	switch all := resp.Bulks(d.whole(name, kind)); kind {
	case "set":
		for _, m := range all {
			list = append(list, Member{m, "", k.members[m]})
		}
	case "list":
		for _, name := range elements(all) {
			list = append(list, Member{name, "", k.members[name]})
		}
	case "zset":
		for i := 0; i+1 < len(all); i += 2 {
			f, _ := resp.ParseDouble(all[i+1])
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

// Elements returns the elements of a list with the given values as Members without owners.
func Elements(values []string) (list []Member) {
	for _, name := range elements(values) {
		list = append(list, Member{Name: name})
	}
	return list
}

// elements returns the names of the elements of a list. An element is named by its value; further elements with the
// same value are named "value#2" and so on. If one of several equal elements is removed, it cannot be seen which one:
// the last is assumed.
func elements(values []string) (names []string) {
	seen := map[string]int{}
	for _, v := range values {
		name := v
		if seen[v]++; seen[v] > 1 {
			name += "#" + strconv.Itoa(seen[v])
		}
		names = append(names, name)
	}
	return names
}

// Change says what a command has done to a key, as far as a comparison cannot show it.
type Change struct {
	Replaced bool     // the key was replaced by a new one
	Set      []string // members that were set, even if they existed before
	Expired  bool     // removed members were removed by their score
}

// settleMembers updates the owners of a key's members to the data in miniredis, and records the changes.
func (d *Data) settleMembers(name string, k *Entry, c Change) {
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
		h := Holding{Name: name, Member: m, Owner: k.members[m]}
		gone := h.Gone(history.Expired)
		if !c.Expired {
			gone.By, gone.Why = d.Attempt, history.Deleted
			gone.Checked = d.checked(gone.By, name, m, gone.Of)
		}
		gaveBack = gaveBack || gone.By != "" && gone.By == gone.Of && d.DB.Type(name) == "hash"
		d.Record(gone)
		delete(k.members, m)
	}
	for _, m := range is {
		if _, known := k.members[m.Name]; known && !c.Replaced && !slices.Contains(c.Set, m.Name) {
			if gaveBack && m.Owner == d.Attempt {
				k.members[m.Name], m.Owner = "", ""
				d.recordMember(name, m, k, d.Attempt)
			}
			continue
		}
		was := m.Owner
		k.members[m.Name], m.Owner = d.Attempt, d.Attempt
		d.recordMember(name, m, k, was)
	}
}

// overwrite ends a key for its owners because a command replaces it. If neither the old key nor the new one has
// members, the record of the new key suffices.
func (d *Data) overwrite(name string, k *Entry, byMembers bool) {
	if k.members != nil || byMembers {
		d.recordGone(name, k, history.Deleted, d.Attempt)
		k.members = nil
	}
}

// recordMember records that a member was created, or set again; was is its owner before.
func (d *Data) recordMember(name string, m Member, k *Entry, was history.Attempt) {
	if d.silent() {
		return
	}
	d.write(&history.Event{F: history.KeySet, Lock: history.Lock(name), Member: m.Name, Of: m.Owner, By: d.Attempt,
		Checked: d.checked(d.Attempt, name, m.Name, was), Value: m.Value, Until: d.Until(k.When)})
}

// recordGone records that a key was removed, or all its members.
func (d *Data) recordGone(name string, k *Entry, why history.Why, by history.Attempt) {
	if d.silent() {
		return
	}
	gone := history.Event{F: history.KeyGone, Lock: history.Lock(name), Of: k.of, By: by, Why: why}
	if k.members == nil {
		gone.Checked = d.checked(by, name, "", k.of)
		d.write(&gone)
		return
	}
	for _, m := range slices.Sorted(maps.Keys(k.members)) {
		gone.Member, gone.Of = m, k.members[m]
		gone.Checked = d.checked(by, name, m, gone.Of)
		d.write(&gone)
	}
}

// recordProlonged records that a deadline was moved from one time to another.
func (d *Data) recordProlonged(name string, k *Entry, from, to int64) {
	if d.silent() {
		return
	}
	moved := history.Event{F: history.KeyProlonged, Lock: history.Lock(name), Of: k.of, By: d.Attempt,
		Until: d.Until(to)}
	if k.members == nil {
		moved.Checked = d.checked(moved.By, name, "", k.of)
		d.write(&moved)
		return
	}
	holder := false
	for _, of := range k.members {
		holder = holder || of == d.Attempt
	}
	for _, m := range slices.Sorted(maps.Keys(k.members)) {
		moved.Member, moved.Of, moved.By = m, k.members[m], d.Attempt
		if holder && moved.Of != d.Attempt && to >= from {
			moved.By = ""
		}
		moved.Checked = d.checked(moved.By, name, m, moved.Of)
		d.write(&moved)
	}
}

// Holding is something that one owner holds: a key, or a member of a key.
type Holding struct {
	Name, Member string
	Owner        history.Attempt
	Value        string // for a list, the values of all elements
	Text         bool   // the value is written into records
	Deadline     int64
	Ended        bool
}

// Title identifies a key, or a member of a key, held by one owner.
type Title struct {
	Name, Member string
	Of           history.Attempt
}

// Title returns the key or member together with its owner.
func (h *Holding) Title() Title { return Title{h.Name, h.Member, h.Owner} }

// Gone returns the record of the holding's end.
func (h *Holding) Gone(why history.Why) history.Event {
	return history.Event{F: history.KeyGone, Lock: history.Lock(h.Name), Member: h.Member, Of: h.Owner, Why: why}
}

// holdings appends the holdings of a key.
func (k *Key) holdings(list []Holding) []Holding {
	if !hasMembers(k.Type) {
		return append(list, Holding{k.Name, "", k.Owner, k.Value, k.Type == "string", k.Deadline, k.ended})
	}
	for _, m := range k.Members {
		list = append(list, Holding{k.Name, m.Name, m.Owner, m.Value, true, k.Deadline, k.ended})
	}
	return list
}

// Holdings returns the holdings of a snapshot, sorted by name and member.
func (s *Snapshot) Holdings() []Holding {
	var list []Holding
	for i := range s.Keys {
		list = s.Keys[i].holdings(list)
	}
	return list
}

// compare orders holdings by name and member.
func (h *Holding) compare(o *Holding) int {
	if c := strings.Compare(h.Name, o.Name); c != 0 {
		return c
	}
	return strings.Compare(h.Member, o.Member)
}

// Pair calls take for each key or member in either of two lists, which are sorted by name and member. before or after
// is nil if it is missing in that list.
func Pair(before, after []Holding, take func(before, after *Holding)) {
	for len(before) > 0 || len(after) > 0 {
		order := 0
		switch {
		case len(before) == 0:
			order = 1
		case len(after) == 0:
			order = -1
		default:
			order = before[0].compare(&after[0])
		}
		var old, now *Holding
		if order <= 0 {
			old, before = &before[0], before[1:]
		}
		if order >= 0 {
			now, after = &after[0], after[1:]
		}
		take(old, now)
	}
}

// OwnerOf returns the current owner of a key or a member. there is false if it does not exist or is hidden.
func (d *Data) OwnerOf(h *Holding) (of history.Attempt, there bool) {
	k := d.keys[h.Name]
	switch {
	case k == nil:
		return "", false
	case k.members == nil:
		return k.of, h.Member == ""
	}
	of, there = k.members[h.Member]
	return of, there
}

// Members returns the members of a key that is not hidden, sorted by name. A string has none.
func (d *Data) Members(name string) []Member {
	if k := d.keys[name]; k != nil {
		return d.members(name, k)
	}
	return nil
}
