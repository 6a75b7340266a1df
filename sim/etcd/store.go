package etcd

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// keyValue is a key as etcd keeps it.
type keyValue struct {
	key     string
	value   string
	create  int64 // revision of the put that created it
	mod     int64 // revision of the latest put
	version int64 // puts since creation
	lease   int64 // 0 without
	// owner is the attempt that put it last. etcd knows nothing of attempts; records do.
	owner history.Attempt
}

// change is what one revision did to one key.
type change struct {
	revision int64
	deleted  bool
	keyValue // as it is since; of a deletion only the key and the mod revision
}

// store is the keys of all time, counted in revisions. Every txn that changes something is one revision.
type store struct {
	revision int64
	keys     []keyValue // by name
	changes  []change   // all, in order; watches read on from any revision
}

// firstRevision is that of an empty store.
const firstRevision = 1

func (s *store) reset() {
	clear(s.keys)
	clear(s.changes)
	*s = store{revision: firstRevision, keys: s.keys[:0], changes: s.changes[:0]}
}

// find is the position of key, or where it would stand.
func (s *store) find(key string) (i int, found bool) {
	return slices.BinarySearchFunc(s.keys, key, func(k keyValue, key string) int { return strings.Compare(k.key, key) })
}

func (s *store) get(key string) *keyValue {
	if i, found := s.find(key); found {
		return &s.keys[i]
	}
	return nil
}

// span is the keys of that name or prefix: positions [from, to).
func (s *store) span(key string, prefix bool) (from, to int) {
	from, found := s.find(key)
	if !prefix {
		if found {
			return from, from + 1
		}
		return from, from
	}
	for to = from; to < len(s.keys) && strings.HasPrefix(s.keys[to].key, key); to++ {
	}
	return from, to
}

// put writes a key at the given revision.
func (s *store) put(revision int64, o *op, owner history.Attempt) *keyValue {
	i, found := s.find(o.key)
	if !found {
		s.keys = slices.Insert(s.keys, i, keyValue{key: o.key, create: revision})
	}
	k := &s.keys[i]
	k.value, k.mod, k.lease, k.owner = o.value, revision, o.lease, owner
	k.version++
	s.changes = append(s.changes, change{revision, false, *k})
	return k
}

// remove deletes the keys at [from, to).
func (s *store) remove(revision int64, from, to int) {
	for i := from; i < to; i++ {
		s.changes = append(s.changes, change{revision, true, keyValue{key: s.keys[i].key, mod: revision}})
	}
	s.keys = slices.Delete(s.keys, from, to)
}

// query answers a range: how many keys have that name or prefix, and those asked for, in order.
func (s *store) query(o *op) (count int, found []*keyValue) {
	from, to := s.span(o.key, o.prefix)
	count = to - from
	for i := from; i < to; i++ {
		if k := &s.keys[i]; within(k.create, o.minCreate, o.maxCreate) && within(k.mod, o.minMod, o.maxMod) {
			found = append(found, k)
		}
	}
	if o.order != byKey || o.descending {
		slices.SortStableFunc(found, o.compare)
	}
	if o.limit > 0 && o.limit < len(found) {
		found = found[:o.limit]
	}
	return count, found
}

// within reports whether lo <= n <= hi, where hi = 0 is no bound.
func within(n, lo, hi int64) bool { return lo <= n && (hi == 0 || n <= hi) }

func (o *op) compare(a, b *keyValue) int {
	var c int
	switch o.order {
	case byCreate:
		c = cmp.Compare(a.create, b.create)
	case byMod:
		c = cmp.Compare(a.mod, b.mod)
	default:
		c = strings.Compare(a.key, b.key)
	}
	if o.descending {
		return -c
	}
	return c
}

// holds judges a condition. A key that is not there has create revision, mod revision, version and lease 0, and no
// value.
func (s *store) holds(c *compare) bool {
	k := s.get(c.key)
	if c.target == "VALUE" {
		return k != nil && related(strings.Compare(k.value, c.text), c.rel)
	}
	var n int64
	if k != nil {
		switch c.target {
		case "CREATE":
			n = k.create
		case "MOD":
			n = k.mod
		case "VERSION":
			n = k.version
		case "LEASE":
			n = k.lease
		}
	}
	return related(cmp.Compare(n, c.number), c.rel)
}

func related(c int, rel byte) bool {
	switch rel {
	case '=':
		return c == 0
	case '!':
		return c != 0
	case '<':
		return c < 0
	}
	return c > 0
}
