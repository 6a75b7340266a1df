package trace

// table is a map whose values can be changed in place after a single lookup. Its memory is reused.
type table[K comparable, V any] struct {
	number map[K]int32 // index in all
	all    []V
}

func (t *table[K, V]) reset() {
	if t.number == nil {
		t.number = make(map[K]int32)
	}
	clear(t.number)
	t.all = t.all[:0]
}

// pointer returns a pointer to a key's value. A new key has the zero value. The pointer is valid until the next call.
func (t *table[K, V]) pointer(key K) *V { return &t.all[t.numberOf(key)] }

// numberOf returns the index of a key's value in the list of all values.
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
