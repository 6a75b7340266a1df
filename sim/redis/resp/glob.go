package resp

import "strings"

// Match reports whether s matches a glob-style pattern by the rules of Redis's stringmatchlen (util.c): '*', '?',
// '[a-z]' and '[^a]' have their usual meaning, and '\' makes the next character stand for itself. If a set is not
// closed, it extends to the end of the pattern. As in Redis, the empty string matches only the empty pattern.
func Match(pattern, s string) bool {
	for ; pattern != "" && s != ""; s = s[1:] {
		switch pattern[0] {
		case '*':
			for len(pattern) > 1 && pattern[1] == '*' {
				pattern = pattern[1:]
			}
			for i := range len(s) {
				if len(pattern) == 1 || Match(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case '?':
		case '[':
			var in bool
			if in, pattern = matchSet(pattern, s[0]); !in {
				return false
			}
		case '\\':
			if len(pattern) > 1 {
				pattern = pattern[1:]
			}
			fallthrough
		default:
			if pattern[0] != s[0] {
				return false
			}
		}
		pattern = pattern[1:]
		if len(s) == 1 {
			pattern = strings.TrimLeft(pattern, "*")
		}
	}
	return pattern == "" && s == ""
}

// matchSet reports whether c is in the set at the start of a pattern. rest is the part of the pattern that begins with
// the set's ']'.
func matchSet(pattern string, c byte) (in bool, rest string) {
	set := pattern[1:]
	not := set != "" && set[0] == '^'
	if not {
		set = set[1:]
	}
	for ; set != "" && set[0] != ']'; set = set[1:] {
		switch {
		case set[0] == '\\' && len(set) >= 2:
			set = set[1:]
			in = in || set[0] == c
		case len(set) >= 3 && set[1] == '-':
			from, to := min(set[0], set[2]), max(set[0], set[2])
			in = in || from <= c && c <= to
			set = set[2:]
		default:
			in = in || set[0] == c
		}
	}
	if set == "" {
		set = pattern[len(pattern)-1:]
	}
	return in != not, set
}
