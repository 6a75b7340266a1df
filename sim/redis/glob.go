package redis

// match reports whether s is of a glob-style pattern, as Redis's stringmatchlen (util.c) has it: '*', '?', '[a-z]', '[^a]' and
// '\' before a character that is to stand for itself. A set that is not closed ends with the pattern.
func match(pattern, s string) bool {
	for ; pattern != "" && s != ""; s = s[1:] {
		switch pattern[0] {
		case '*':
			for len(pattern) > 1 && pattern[1] == '*' {
				pattern = pattern[1:]
			}
			for i := 0; i <= len(s); i++ {
				if match(pattern[1:], s[i:]) {
					return true
				}
			}
			return false
		case '?':
		case '[':
			var in bool
			in, pattern = matchSet(pattern[1:], s[0])
			if !in {
				return false
			}
			continue
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
	}
	for s == "" && pattern != "" && pattern[0] == '*' {
		pattern = pattern[1:]
	}
	return pattern == "" && s == ""
}

// matchSet reports whether c is in the set that a pattern begins with, after its '[', and gives what follows it.
func matchSet(set string, c byte) (in bool, rest string) {
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
	if set != "" {
		set = set[1:]
	}
	return in != not, set
}
