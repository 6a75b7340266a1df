package linear

import "strings"

// holders is the state of a lock that admits several sections at once: the numbers of the sections that are inside, in
// ascending order, four bytes each. The first bit of a section that shares the lock is 0, otherwise 1. A count would
// not do: if a section may have ended before its enter returned, a count would let it leave before it has entered.
type holders string

// sectionBytes is the number of bytes of a section's number in holders.
const sectionBytes = 4

// alone is the first bit of a section that does not share the lock, in the first of its bytes.
const alone = 0x80

// holdersStep returns the step of a lock that admits several sections at once. With one permit, a section that shares
// the lock is entered while all others that are inside share it, too, and any other section while nobody is inside.
// With several permits, a section is entered while fewer sections than permits are inside, whether it shares the lock
// or not. A section is left after it was entered.
func holdersStep(permits int) step[holders, MutexOp] {
	return func(s holders, op *MutexOp) (holders, bool) {
		n := op.Section
		first, shared := byte(n>>24), op.Shared && permits <= 1
		if !shared {
			first |= alone
		}
		own := holders([]byte{first, byte(n >> 16), byte(n >> 8), byte(n)})
		at := 0
		for at < len(s) && s[at:at+sectionBytes] < own {
			at += sectionBytes
		}
		switch {
		case op.Enter && shared:
			return s[:at] + own + s[at:], len(s) == 0 || s[len(s)-sectionBytes] < alone
		case op.Enter:
			return s[:at] + own + s[at:], len(s) < max(permits, 1)*sectionBytes
		case at == len(s) || s[at:at+sectionBytes] != own:
			return s, false
		}
		return s[:at] + s[at+sectionBytes:], true
	}
}

func (s holders) describe(ops []MutexOp) string {
	if s == "" {
		return "free"
	}
	verb := "shared by "
	var names []string
	for ; s != ""; s = s[sectionBytes:] {
		if s[0] >= alone {
			verb = "held by "
		}
		names = append(names, nameOf(ops, int(s[0]&^alone)<<24|int(s[1])<<16|int(s[2])<<8|int(s[3])))
	}
	return verb + strings.Join(names, ", ")
}
