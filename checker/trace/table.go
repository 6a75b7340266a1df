package trace

// table is a map whose values are changed in place, in memory that is reused: a change costs one search.
type table[K comparable, V any] struct {
	number map[K]int32 // in all
	all    []V
}

func (t *table[K, V]) reset() {
	if t.number == nil {
		t.number = make(map[K]int32)
	}
	clear(t.number)
	t.all = t.all[:0]
}

// of returns the value of a key, which is valid until the next call; at first it is zero.
func (t *table[K, V]) of(key K) *V { return &t.all[t.numberOf(key)] }

// numberOf returns the place of a key's value in all.
func (t *table[K, V]) numberOf(key K) int32 {
	n, known := t.number[key]
	if !known {
		n = int32(len(t.all))
		t.number[key] = n
		var zero V
		t.all = append(t.all, zero)
	}
	return n
}
