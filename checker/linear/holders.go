package linear

import (
	"sort"
	"strings"
)

// holders is the state of a lock that can have several open critical sections (that is, several holders). It contains
// the open sections' numbers in ascending order, four bytes each. The first bit is 0 if the section shares the lock,
// and 1 otherwise. The number of open sections would not be enough: a client may leave a section before its enter
// operation has returned, and a wrong order, in which this section is left before it is entered, would then look
// correct.
type holders string

// sectionBytes is how many bytes a section's number takes up in holders.
const sectionBytes = 4

// alone is set in the first byte of a section that does not share the lock.
const alone = 0x80

// holdersStep returns the step function for a lock that can have several open sections. With one permit, a section that
// shares the lock can be entered if all open sections share it too. Any other section can be entered only if no section
// is open. With several permits, any section can be entered if fewer sections are open than there are permits. A
// section can be left once it has been entered.
func holdersStep(permits int) step[holders, MutexOp] {
	return func(s holders, op *MutexOp) (holders, bool) {
		n := op.Section
		first, shared := byte(n>>24), op.Shared && permits <= 1
		if !shared {
			first |= alone
		}
		own := holders([]byte{first, byte(n >> 16), byte(n >> 8), byte(n)})
		notBefore := func(i int) bool { return s[i*sectionBytes:][:sectionBytes] >= own }
		at := sectionBytes * sort.Search(len(s)/sectionBytes, notBefore)
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
