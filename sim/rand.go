package sim

// mix scrambles 64 bits. It is SplitMix64's finalizer (Steele, Lea and Flood 2014).
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

// hashString mixes s into the hash h, eight bytes at a time. The result is the same on every machine and in every
// process.
func hashString(h uint64, s string) uint64 {
	h ^= uint64(len(s)) * 0x9e3779b97f4a7c15
	for len(s) >= 8 {
		h = fold(h, eight(s))
		s = s[8:]
	}
	var w uint64
	switch n := len(s); { // The reads below may overlap: a byte that is read twice lands in the same bits.
	case n >= 4:
		w = four(s) | four(s[n-4:])<<(8*(n-4))
	case n > 0:
		w = uint64(s[0]) | uint64(s[n/2])<<(8*(n/2)) | uint64(s[n-1])<<(8*(n-1))
	}
	return fold(h, w)
}

// eight returns the first eight bytes of s, little-endian. It is a single expression, so it compiles to a single load.
func eight(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// four returns the first four bytes of s, little-endian.
func four(s string) uint64 {
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24
}

// fold adds one word to a running hash.
func fold(h, w uint64) uint64 {
	h = (h ^ w) * 0x9e3779b97f4a7c15
	return h ^ h>>29
}

// Key identifies a random draw. The result of the draw depends only on the run's seed and the key. Build a key from
// values that stay the same when a fault elsewhere is removed: names, attempts, terms, contents, or, for an action that
// is repeated at regular intervals, the sender's own time. Do not use a count of earlier messages, because a single
// additional message would change all later draws. Equal keys give equal draws, so a message that is sent again takes
// the same time unless its key includes the time.
type Key uint64

// Word adds a number to the key. It mixes the key first, so that small numbers cannot cancel each other out.
func (k Key) Word(w uint64) Key { return Key(fold(mix(uint64(k)), w)) }

// Text adds a string to the key.
func (k Key) Text(s string) Key { return Key(hashString(mix(uint64(k)), s)) }

// A Stream is a named source of random bits (SplitMix64). Its state is derived from the run's seed and its name, so
// reading one stream does not affect any other.
type Stream struct{ state uint64 }

func newStream(seed uint64, name string) Stream {
	return Stream{mix(hashString(mix(seed), name))}
}

// NewStream returns the stream with the given name for the given seed.
func NewStream(seed uint64, name string) *Stream {
	s := newStream(seed, name)
	return &s
}

// Uint64 draws 64 random bits.
func (s *Stream) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	return mix(s.state)
}
