package redis

import "strings"

// slotCount is the number of hash slots in a Redis Cluster. Each key belongs to one of them.
const slotCount = 16384

// KeySlot returns a key's hash slot: the CRC16 of the key, modulo 16384. If the key contains a hash tag, such as
// {user1}, only the text between the braces counts.
func KeySlot(key string) int {
	if _, rest, open := strings.Cut(key, "{"); open {
		if tag, _, closed := strings.Cut(rest, "}"); closed && tag != "" {
			key = tag
		}
	}
	var crc uint16 // CRC-16/XMODEM
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc) % slotCount
}

// SlotOwner returns the index of the master that serves a slot in a new cluster with the given number of masters.
func SlotOwner(slot, masters int) int {
	for i := range masters {
		if shareOf(i, masters).has(slot) {
			return i
		}
	}
	return -1
}

// slotSet is a set of hash slots, stored as ranges in ascending order that are not adjacent. It is never changed in
// place, because messages refer to it.
type slotSet []slotRange

// slotRange contains the slots from first to last, inclusive.
type slotRange struct{ first, last int }

// shareOf returns the slots that redis-cli --cluster create assigns to the master with index i out of n.
func shareOf(i, n int) slotSet {
	from := func(i int) int { return (2*i*slotCount + n) / (2 * n) } // i*slotCount/n, rounded to the nearest integer
	return slotSet{{from(i), from(i+1) - 1}}
}

func (s slotSet) has(slot int) bool {
	for _, r := range s {
		if r.first <= slot && slot <= r.last {
			return true
		}
	}
	return false
}

// overlaps reports whether the set contains any slot of r.
func (s slotSet) overlaps(r slotRange) bool {
	for _, o := range s {
		if r.first <= o.last && o.first <= r.last {
			return true
		}
	}
	return false
}

func (s slotSet) count() (n int) {
	for _, r := range s {
		n += r.last - r.first + 1
	}
	return n
}

// slotsFor returns the set of all slots that the callback selects.
func slotsFor(in func(slot int) bool) (s slotSet) {
	for slot := range slotCount {
		switch last := len(s) - 1; {
		case !in(slot):
		case last >= 0 && s[last].last == slot-1:
			s[last].last = slot
		default:
			s = append(s, slotRange{slot, slot})
		}
	}
	return s
}

func (s slotSet) union(o slotSet) slotSet {
	return slotsFor(func(slot int) bool { return s.has(slot) || o.has(slot) })
}

func (s slotSet) minus(o slotSet) slotSet {
	return slotsFor(func(slot int) bool { return s.has(slot) && !o.has(slot) })
}
