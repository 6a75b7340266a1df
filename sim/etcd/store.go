package etcd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// keyValue is a key as this package stores it.
type keyValue struct {
	KeyValue
	// owner is the attempt that last put the key. etcd does not know about attempts, but the records need them.
	owner history.Attempt
	// due is the true time at which the term of a Lease object's holder ends if clocks are accurate. It is used only
	// for records.
	due history.Time
}

// change describes how one revision changed one key.
type change struct {
	revision int64
	deleted  bool
	keyValue // the key after the change; for a deletion, only its name and mod revision
}

// store contains all keys that have ever existed, with their revisions. Each txn that changes at least one key creates
// one revision.
type store struct {
	revision int64
	// compacted is the lowest revision that can still be read, or -1 if the store has never been compacted.
	compacted int64
	keys      []keyValue // sorted by name
	changes   []change   // all changes in order, so that watches can start at any revision
}

// firstRevision is the revision of an empty store.
const firstRevision = 1

func (s *store) reset() {
	clear(s.keys)
	clear(s.changes)
	*s = store{revision: firstRevision, compacted: -1, keys: s.keys[:0], changes: s.changes[:0]}
}

// find returns the index of key, or the index where it would be inserted.
func (s *store) find(key string) (i int, found bool) { return find(s.keys, key) }

func find(keys []keyValue, key string) (i int, found bool) {
	return slices.BinarySearchFunc(keys, key, func(k keyValue, key string) int { return strings.Compare(k.Key, key) })
}

func (s *store) get(key string) *keyValue {
	if i, found := s.find(key); found {
		return &s.keys[i]
	}
	return nil
}

// span returns the indexes of the keys in a range, as [from, to).
func (s *store) span(key, end string) (from, to int) { return span(s.keys, key, end) }

func span(keys []keyValue, key, end string) (from, to int) {
	from, found := find(keys, key)
	switch {
	case end == "\x00":
		return from, len(keys)
	case end != "":
		to, _ = find(keys, end)
		return from, max(from, to)
	case found:
		return from, from + 1
	}
	return from, from
}

// asOf returns the keys as they were at the given revision.
func (s *store) asOf(revision int64) (keys []keyValue) {
	for i := range s.changes {
		c := &s.changes[i]
		if c.revision > revision {
			break
		}
		switch at, found := find(keys, c.Key); {
		case c.deleted && found:
			keys = slices.Delete(keys, at, at+1)
		case c.deleted:
		case found:
			keys[at] = c.keyValue
		default:
			keys = slices.Insert(keys, at, c.keyValue)
		}
	}
	return keys
}

// put writes a key at the given revision.
func (s *store) put(revision int64, o *Op, owner history.Attempt) *keyValue {
	i, found := s.find(o.Key)
	if !found {
		s.keys = slices.Insert(s.keys, i, keyValue{KeyValue: KeyValue{Key: o.Key, Create: revision}})
	}
	k := &s.keys[i]
	if !o.KeepValue {
		k.Value = o.Value
	}
	if !o.KeepLease {
		k.Lease = o.Lease
	}
	k.Mod, k.owner = revision, owner
	k.Version++
	s.changes = append(s.changes, change{revision, false, *k})
	return k
}

// remove deletes the keys at indexes [from, to).
func (s *store) remove(revision int64, from, to int) {
	for i := from; i < to; i++ {
		s.changes = append(s.changes,
			change{revision, true, keyValue{KeyValue: KeyValue{Key: s.keys[i].Key, Mod: revision}}})
	}
	s.keys = slices.Delete(s.keys, from, to)
}

// query executes a range. count is the number of keys in the range, and found contains the requested keys in the
// requested order. hasMore reports whether the limit left some keys out.
func (s *store) query(o *Op) (count int, found []*keyValue, hasMore bool) {
	keys := s.keys
	if o.Revision > 0 {
		keys = s.asOf(o.Revision)
	}
	from, to := span(keys, o.Key, o.End)
	count = to - from
	if o.CountOnly {
		return count, nil, false
	}
	for i := from; i < to; i++ {
		if k := &keys[i]; within(k.Create, o.MinCreate, o.MaxCreate) && within(k.Mod, o.MinMod, o.MaxMod) {
			found = append(found, k)
		}
	}
	if o.Order != ByKey || o.Descending {
		slices.SortStableFunc(found, func(a, b *keyValue) int { return compare(o, a, b) })
	}
	if o.Limit > 0 && o.Limit < len(found) {
		found, hasMore = found[:o.Limit], true
	}
	return count, found, hasMore
}

// within reports whether lo <= n <= hi, where hi = 0 means no upper bound.
func within(n, lo, hi int64) bool { return lo <= n && (hi == 0 || n <= hi) }

func compare(o *Op, a, b *keyValue) int {
	var c int
	switch o.Order {
	case ByCreate:
		c = cmp.Compare(a.Create, b.Create)
	case ByMod:
		c = cmp.Compare(a.Mod, b.Mod)
	case ByVersion:
		c = cmp.Compare(a.Version, b.Version)
	case ByValue:
		c = strings.Compare(a.Value, b.Value)
	default:
		c = strings.Compare(a.Key, b.Key)
	}
	if o.Descending {
		return -c
	}
	return c
}

// holds reports whether a condition holds. If the key does not exist, its revisions, version and lease count as 0, and
// a condition on its value does not hold.
func (s *store) holds(c *Compare) bool {
	from, to := s.span(c.Key, c.End)
	if from == to {
		return c.holdsOf(nil)
	}
	for i := from; i < to; i++ {
		if !c.holdsOf(&s.keys[i]) {
			return false
		}
	}
	return true
}

func (c *Compare) holdsOf(k *keyValue) bool {
	if c.Target == "VALUE" {
		return k != nil && related(strings.Compare(k.Value, c.Text), c.Rel)
	}
	var n int64
	if k != nil {
		switch c.Target {
		case "CREATE":
			n = k.Create
		case "MOD":
			n = k.Mod
		case "VERSION":
			n = k.Version
		case "LEASE":
			n = k.Lease
		}
	}
	return related(cmp.Compare(n, c.Number), c.Rel)
}

func related(c int, rel byte) bool {
	switch rel {
	case '=':
		return c == 0
	case '!':
		return c != 0
	case '<':
		return c < 0
	case '>':
		return c > 0
	}
	return true // as in etcd, a condition with an unknown relation holds
}
