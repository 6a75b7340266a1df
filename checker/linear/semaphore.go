package linear

import (
	"fmt"
	"strings"
)

// holders is the state of a semaphore: the numbers of the sections that hold a permit, in ascending order, four bytes
// each. A count would not do: if a section may have ended before its enter returned, a count would let it give back a
// permit that it has not taken yet.
type holders string

// sectionBytes is the number of bytes of a section's number in holders.
const sectionBytes = 4

// semaphoreStep returns the step of a semaphore. A section is entered while fewer sections than permits are inside, and
// left after it was entered.
func semaphoreStep(permits int) step[holders, MutexOp] {
	return func(s holders, op *MutexOp) (holders, bool) {
		n := op.Section
		own := holders([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		at := 0
		for at < len(s) && s[at:at+sectionBytes] < own {
			at += sectionBytes
		}
		if op.Enter {
			return s[:at] + own + s[at:], len(s) < permits*sectionBytes
		}
		if at == len(s) || s[at:at+sectionBytes] != own {
			return s, false
		}
		return s[:at] + s[at+sectionBytes:], true
	}
}

func (s holders) describe(ops []MutexOp) string {
	if s == "" {
		return "free"
	}
	var names []string
	for ; s != ""; s = s[sectionBytes:] {
		section := int(s[0])<<24 | int(s[1])<<16 | int(s[2])<<8 | int(s[3])
		name := fmt.Sprintf("section %d", section)
		for i := range ops {
			if ops[i].Section == section {
				name = ops[i].name()
			}
		}
		names = append(names, name)
	}
	return "held by " + strings.Join(names, ", ")
}
