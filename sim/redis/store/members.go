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

// A hash, a set, a sorted set or a list may be held by several owners at once, as in read-write locks and semaphores. A
// list may contain a token for each client that may enter. Therefore each field, member or element has its own owner,
// which is the attempt that last set it (but see [Entry.keeps]), and its own records. The key itself has no records.
//
// This has three consequences. First, a deadline belongs to the key, so when one holder moves it, it moves for all
// holders. The other holders' records name the client that moved it in only two cases: if the deadline became earlier,
// or if that client holds nothing in the key. Second, when an owner deletes a hash field, everything else that it has
// set in the hash, such as a read-write lock's mode, loses its owner. This is recorded as if it had been set again,
// without an owner. Third, members that are removed by their score are recorded as expired. Semaphores remove holders
// in this way when their time has passed.

// Member is a hash field, a list element, or a member of a set or sorted set.
type Member struct {
	Name, Value string // the value of a field, or the score of a sorted set's member
	Owner       history.Attempt
	When        int64 // deadline of a field in ms on the wall clock; 0 if it has none of its own
}

// hasMembers reports whether keys of the given type have members.
func hasMembers(kind string) bool {
	return kind == "hash" || kind == "zset" || kind == "set" || kind == "list"
}

// members returns a key's members and their values, sorted by name.
func (d *Data) members(name string, k *Entry) []Member {
	kind := d.Type(name)
	if !hasMembers(kind) {
		return nil
	}
	var list []Member
	switch all := resp.Bulks(d.wholeValue(name, kind)); kind {
	case "set":
		for _, m := range all {
			list = append(list, Member{Name: m, Owner: k.members[m]})
		}
	case "list":
		for _, name := range elements(all) {
			list = append(list, Member{Name: name, Owner: k.members[name]})
		}
	case "zset":
		for i := 0; i+1 < len(all); i += 2 {
			f, _ := resp.ParseDouble(all[i+1])
			list = append(list, Member{Name: all[i], Value: lua.FormatNumber(f, 17), Owner: k.members[all[i]]})
		}
	default:
		for i := 0; i+1 < len(all); i += 2 {
			list = append(list, Member{all[i], all[i+1], k.members[all[i]], k.timers[all[i]].when})
		}
	}
	slices.SortFunc(list, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// Elements converts list elements to Members without owners.
func Elements(values []string) (list []Member) {
	for _, name := range elements(values) {
		list = append(list, Member{Name: name})
	}
	return list
}

// elements returns names for a list's elements. An element's name is its value; other elements with the same value are
// named "value#2", "value#3" and so on. If one of several equal elements is removed, there is no way to tell which one,
// so the last one is assumed.
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

// Change describes those effects of a command on a key that a comparison of the data before and after the command does
// not show.
type Change struct {
	Replaced bool     // a new key has replaced the key
	Set      []string // members that were set, including those that existed before
	Same     []string // fields of a hash that had the same value before, whether or not they were set
	Expired  bool     // members were removed because of their score
	Early    []string // if Expired: members with a score whose time had not come yet
	When     int64    // deadline of each field in Set; 0: the deadlines do not change
}

// NotYetDue lists a sorted set's members that have future times as their scores. A score may be in seconds,
// milliseconds, microseconds or nanoseconds since 1970. NotYetDue assumes the unit that puts the score closest to now.
func (d *Data) NotYetDue(name string) (list []string) {
	k := d.keys[name]
	if k == nil || d.Type(name) != "zset" || d.Now <= 0 {
		return nil
	}
	for _, m := range d.members(name, k) {
		score, err := strconv.ParseFloat(m.Value, 64)
		if err != nil {
			continue
		}
		now, second := float64(d.Now)/1000, 1.0
		for now*30 < score && second < 1e9 { // the next unit is closer
			now, second = now*1000, second*1000
		}
		if score > now+max(1, second/1000) && score < now*30 { // times are rounded to the unit, and Now to milliseconds
			list = append(list, m.Name)
		}
	}
	return list
}

// settleMembers updates the owners of a key's members after a change in miniredis, and records the changes.
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
		if c.Expired {
			gone.Checked = history.CheckedScore
			if slices.Contains(c.Early, m) {
				gone.Checked = history.CheckedEarlyScore
			}
		} else {
			gone.By, gone.Why = d.Attempt, history.Deleted
			gone.Checked = d.checked(gone.By, name, m, gone.Of)
		}
		gaveBack = gaveBack || gone.By != "" && gone.By == gone.Of && d.DB.Type(name) == "hash"
		d.Record(gone)
		delete(k.members, m)
		delete(k.timers, m)
	}
	for _, m := range is {
		_, known := k.members[m.Name]
		if known && !c.Replaced && (!slices.Contains(c.Set, m.Name) || k.keeps(m, c)) {
			if gaveBack && m.Owner == d.Attempt {
				d.disown(name, k, m)
			}
			continue
		}
		was := m.Owner
		k.members[m.Name], m.Owner = d.Attempt, d.Attempt
		if c.When != 0 {
			d.setTimer(name, k, m.Name, c.When)
		}
		d.recordMember(name, m, k, was)
	}
}

// disown records that a member no longer has an owner. This happens when the owner gives up the lock by deleting
// another field that it has set.
func (d *Data) disown(name string, k *Entry, m Member) {
	k.members[m.Name], m.Owner = "", ""
	d.recordMember(name, m, k, d.Attempt)
}

// keeps reports whether a field keeps its owner although a command has set it to the same value again. It does if the
// owner also has another member that the command has not set. For example, each reader of a read-write lock sets the
// "mode" field to "read". If the owner has no other member, it may have lost the lock to a client that uses the same
// value.
func (k *Entry) keeps(m Member, c Change) bool {
	if m.Owner == "" || !slices.Contains(c.Same, m.Name) {
		return false
	}
	for other, of := range k.members {
		if of == m.Owner && !slices.Contains(c.Set, other) {
			return true
		}
	}
	return false
}

// overwrite records that a key's owners have lost it because a command has replaced it. byMembers says whether the new
// key has members. If neither the old nor the new key has any, the new key's record is sufficient, and overwrite does
// nothing.
func (d *Data) overwrite(name string, k *Entry, byMembers bool) {
	if k.members != nil || byMembers {
		d.recordGone(name, k, history.Deleted, d.Attempt)
		k.members = nil
		d.untimed(name, k)
	}
}

// recordMember records that a member was created or set again. previous is the member's previous owner.
func (d *Data) recordMember(name string, m Member, k *Entry, previous history.Attempt) {
	if d.isSilent() {
		return
	}
	d.write(&history.Event{F: history.KeySet, Lock: history.Lock(name), Member: m.Name, Of: m.Owner, By: d.Attempt,
		Checked: d.checked(d.Attempt, name, m.Name, previous), Value: m.Value, Until: d.Until(k.endOf(m.Name, k.When))})
}

// recordGone records that a key, or each of its members, was removed.
func (d *Data) recordGone(name string, k *Entry, why history.Why, by history.Attempt) {
	if d.isSilent() {
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

// recordProlonged records that a key's deadline was moved.
func (d *Data) recordProlonged(name string, k *Entry, from, to int64) {
	if d.isSilent() {
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
		end := k.endOf(m, to)
		if end != to && end == k.endOf(m, from) {
			continue // the field's own deadline is earlier than those of the key
		}
		moved.Until = d.Until(end)
		moved.Checked = d.checked(moved.By, name, m, moved.Of)
		d.write(&moved)
	}
}

// Holding is a key, or a member of a key, that one owner holds.
type Holding struct {
	Name, Member string
	Owner        history.Attempt
	Value        string // for a list, the values of all elements
	Text         bool   // the value is written into records
	Deadline     int64
	Ended        bool
}

// Title identifies a key or a member of a key, together with its owner.
type Title struct {
	Name, Member string
	Of           history.Attempt
}

// Title returns the holding's key name, member and owner.
func (h *Holding) Title() Title { return Title{h.Name, h.Member, h.Owner} }

// Gone returns the event that records that the lock is no longer held.
func (h *Holding) Gone(why history.Why) history.Event {
	return history.Event{F: history.KeyGone, Lock: history.Lock(h.Name), Member: h.Member, Of: h.Owner, Why: why}
}

// holdings appends a single key's holdings to the list.
func (k *Key) holdings(list []Holding) []Holding {
	if !hasMembers(k.Type) {
		return append(list, Holding{k.Name, "", k.Owner, k.Value, k.Type == "string", k.Deadline, k.ended})
	}
	from := len(list)
	for _, m := range k.Members {
		list = append(list, k.holding(m, k.ended))
	}
	for _, f := range k.Past {
		list = append(list, k.holding(f.Member, k.ended || f.ended))
	}
	slices.SortFunc(list[from:], func(a, b Holding) int { return a.compare(&b) })
	return list
}

// holding returns a member of the key as a Holding. The holding's deadline is the key's or the member's, whichever is
// earlier.
func (k *Key) holding(m Member, ended bool) Holding {
	h := Holding{k.Name, m.Name, m.Owner, m.Value, true, k.Deadline, ended}
	if m.When != 0 {
		h.Deadline = min(h.Deadline, m.When)
	}
	return h
}

// Holdings returns all holdings in a snapshot, sorted by key and member.
func (s *Snapshot) Holdings() []Holding {
	var list []Holding
	for i := range s.Keys {
		list = s.Keys[i].holdings(list)
	}
	return list
}

// compare orders holdings by key and member.
func (h *Holding) compare(o *Holding) int {
	if c := strings.Compare(h.Name, o.Name); c != 0 {
		return c
	}
	return strings.Compare(h.Member, o.Member)
}

// Pair compares two lists that are sorted by key and member. It calls visit once for each key or member that occurs in
// either list. If the key or member is missing from a list, visit's argument for that list is nil.
func Pair(before, after []Holding, visit func(before, after *Holding)) {
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
		visit(old, now)
	}
}

// OwnerOf returns the current owner of a key or member. The second result is false if the key or member does not exist
// or is hidden.
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

// Members returns a key's members, sorted by name. For a string or a hidden key, the list is empty.
func (d *Data) Members(name string) []Member {
	if k := d.keys[name]; k != nil {
		return d.members(name, k)
	}
	return nil
}
