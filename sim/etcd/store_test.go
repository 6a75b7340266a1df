package etcd

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// plainStore is a simple implementation of the store: a list of all puts and deletes that is read from the beginning
// each time.
type plainStore []change

func (p plainStore) keys() (all []keyValue) {
	for _, c := range p {
		i := slices.IndexFunc(all, func(k keyValue) bool { return k.Key == c.Key })
		switch {
		case c.deleted && i >= 0:
			all = slices.Delete(all, i, i+1)
		case i >= 0:
			all[i].Value, all[i].Mod, all[i].Version = c.Value, c.Mod, all[i].Version+1
		case !c.deleted:
			k := c.keyValue
			k.Create, k.Version = c.Mod, 1
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b keyValue) int { return strings.Compare(a.Key, b.Key) })
	return all
}

func (p plainStore) count(key string, prefix bool) (n int) {
	for _, k := range p.keys() {
		if k.Key == key || prefix && strings.HasPrefix(k.Key, key) {
			n++
		}
	}
	return n
}

func TestTheStoreAgreesWithAPlainOne(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	names := []string{"a", "a/", "a/1", "a/2", "ab", "b", "b/1"}
	for range 200 {
		var s store
		var p plainStore
		s.reset()
		for revision := int64(2); revision < 30; revision++ {
			key, prefix := names[random.IntN(len(names))], random.IntN(2) == 0
			if random.IntN(3) > 0 {
				value := fmt.Sprint(revision)
				s.put(revision, &Op{Key: key, Value: value}, "")
				p = append(p, change{revision, false,
					keyValue{KeyValue: KeyValue{Key: key, Value: value, Mod: revision}}})
			} else {
				end := ""
				if prefix {
					end = prefixEnd(key)
				}
				from, to := s.span(key, end)
				for _, k := range s.keys[from:to] {
					p = append(p, change{revision, true, keyValue{KeyValue: KeyValue{Key: k.Key, Mod: revision}}})
				}
				if n := p[:len(p)-(to-from)].count(key, prefix); n != to-from {
					t.Fatalf("%q prefix %v: %d keys, want %d", key, prefix, to-from, n)
				}
				s.remove(revision, from, to)
			}
			if !slices.Equal(s.keys, p.keys()) {
				t.Fatalf("%+v\nwant\n%+v", s.keys, p.keys())
			}
		}
		if len(s.changes) != len(p) {
			t.Fatalf("%d changes, want %d", len(s.changes), len(p))
		}
	}
}

// TestComparisonOfAnUnknownRelationHolds checks that a condition counts as true if a newer client uses a relation that
// etcd does not know, as in etcd's applyCompare.
func TestComparisonOfAnUnknownRelationHolds(t *testing.T) {
	for relation, want := range map[byte]bool{0: true, 1: false, 2: false, 3: true, 4: true, 99: true} {
		c, err := readComparison([]byte{8, relation, 16, 2, 26, 1, 'a', 48, 7}) // relation, target, key, mod revision
		if err != nil {
			t.Fatal(err)
		}
		k := &keyValue{KeyValue: KeyValue{Key: "a", Mod: 7}}
		if relation == 3 {
			k.Mod = 8
		}
		if got := c.holdsOf(k); got != want {
			t.Errorf("relation %d: %v, want %v", relation, got, want)
		}
	}
}
