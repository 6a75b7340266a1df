package history

import "slices"

var typeNames = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

// String gives the type's name in Jepsen's words; "" for a value that is no type.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return ""
	}
	return typeNames[t]
}

// functions lists what processes other than the nemesis may do.
var functions = []F{Acquire, Extend, Release, Lost, Read, Write, Woken, Crashed, Apply, KeySet, KeyProlonged, KeyGone, KeyCopied, CopyGone}

// isKeyDeadline reports whether events of f carry Event.Until.
func isKeyDeadline(f F) bool { return f == KeySet || f == KeyProlonged }

// isKey reports whether events of f are a server's records of a key.
func isKey(f F) bool { return isKeyDeadline(f) || f == KeyGone || f.IsCopy() }

// IsCopy reports whether events of f say how far the members of a service that acts as one have come. They decide nothing:
// what the service has done stands in the other records of keys.
func (f F) IsCopy() bool { return f == KeyCopied || f == CopyGone }

// nearest returns the choice that is fewest edits away from word, the first of equals, or "" if none is near: more
// than a third of the word's letters (and more than one) would have to change.
func nearest(word string, choices []string) string {
	best, at := "", max(1, len(word)/3)+1
	for _, c := range choices {
		if d := edits(word, c); d < at {
			best, at = c, d
		}
	}
	return best
}

// edits is the number of single-byte insertions, deletions, changes and swaps of neighbours that turn a into b
// (optimal string alignment).
func edits(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		two, one, row := rows[(i+2)%3], rows[i%3], rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			change := 1
			if a[i-1] == b[j-1] {
				change = 0
			}
			row[j] = min(one[j]+1, row[j-1]+1, one[j-1]+change)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], two[j-2]+1)
			}
		}
	}
	return rows[(len(a)+1)%3][len(b)]
}

func parseType(s string) (Type, bool) {
	i := slices.Index(typeNames[1:], s)
	return Type(i + 1), i >= 0
}
