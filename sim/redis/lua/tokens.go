package lua

import "strings"

// Tokens returns a script's tokens, separated by spaces, so that equivalent variants of a script have the same result.
// It knows only the lexical rules of Lua that lock scripts need. For any other text, it returns "".
func Tokens(text string) string {
	var b strings.Builder
	calling := 0 // how many tokens of `redis . call (` have just been read
	last := ""
	for i := 0; i < len(text); {
		size := tokenSize(text[i:])
		if size == 0 {
			return ""
		}
		t := text[i : i+size]
		i += size
		switch {
		case strings.IndexByte(" \t\r\n", t[0]) >= 0, strings.HasPrefix(t, "--"):
			continue
		case t == ";":
			if last != ")" && last != "0" && last != "1" {
				return "" // this is invalid in Lua, or may have a meaning
			}
			last = t
			continue
		case t[0] == '"' || t[0] == '\'':
			t = `"` + t[1:len(t)-1] + `"`
			if calling == 4 {
				t = strings.ToLower(t)
			}
		}
		calling, last = readCall(calling, t), t
		b.WriteString(t)
		b.WriteByte(' ')
	}
	return b.String()
}

// readCall recognizes the token sequence `redis . call (`. matched says how many of its tokens directly precede the
// given token. If the token continues the sequence, readCall returns matched+1; otherwise it returns 0.
func readCall(matched int, token string) int {
	want := [...]string{"redis", ".", "call", "("}
	if matched < len(want) && token == want[matched] {
		return matched + 1
	}
	return 0
}

// tokenSize returns the length of the token at the start of s, or 0 if it is not a known kind of token.
func tokenSize(s string) int {
	word := func(c byte) bool {
		return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
	}
	switch c := s[0]; {
	case word(c):
		n := 1
		for n < len(s) && word(s[n]) {
			n++
		}
		return n
	case c == '"' || c == '\'':
		for n := 1; n < len(s); n++ {
			switch s[n] {
			case c:
				return n + 1
			case '\\', '\n', '"', '\'':
				return 0
			}
		}
		return 0
	case strings.HasPrefix(s, "--["):
		return 0 // it may be a long comment, which is not supported
	case strings.HasPrefix(s, "--"):
		if end := strings.IndexByte(s, '\n'); end >= 0 {
			return end + 1
		}
		return len(s)
	case strings.HasPrefix(s, "=="), strings.HasPrefix(s, "~="):
		return 2
	case strings.IndexByte(" \t\r\n;.,()[]#+-=", c) >= 0 && !strings.HasPrefix(s, "[[") && !strings.HasPrefix(s, "[="):
		return 1
	}
	return 0
}
