package sim

// counts holds how often each key was asked for. It is a map with open addressing, written out because its keys are
// hashes already: Go's map would hash them once more.
type counts struct {
	slots []count // a power of two of them, at most half of them in use
	taken int
}

type count struct {
	key   uint64
	asked uint64 // 0: the slot is free
}

// next returns how often the key was asked for before, and counts this time.
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

// slot finds the slot of a key, or a free one for it.
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
