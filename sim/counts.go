package sim

// counts records how often each key was requested. It is a hash table with open addressing. A Go map would be slower,
// because it would hash the keys, which are hashes already.
type counts struct {
	slots []count // a power of two slots, at most half of them in use
	taken int
}

type count struct {
	key   uint64
	asked uint64 // number of requests; 0 if the slot is free
}

// next returns how often the key has been requested before, and counts this request.
func (c *counts) next(key uint64) uint64 {
	if 2*c.taken >= len(c.slots) {
		c.grow()
	}
	s := c.slot(key)
	if s.asked == 0 {
		s.key = key
		c.taken++
	}
	s.asked++
	return s.asked - 1
}

// slot returns the key's slot or, if the key is not in the table, the free slot where it belongs.
func (c *counts) slot(key uint64) *count {
	mask := len(c.slots) - 1
	for i := int(key) & mask; ; i = (i + 1) & mask {
		if s := &c.slots[i]; s.asked == 0 || s.key == key {
			return s
		}
	}
}

func (c *counts) grow() {
	old := c.slots
	c.slots = make([]count, max(64, 2*len(old)))
	for _, s := range old {
		if s.asked > 0 {
			*c.slot(s.key) = s
		}
	}
}

func (c *counts) reset() {
	clear(c.slots)
	c.taken = 0
}
