package redis

import "strings"

// The scripts that locks live on are so well known that the node carries them out in Go, some ten times faster than in
// Lua. A script is recognised by its tokens: spaces, comments, quotes, semicolons and the case of command names do not
// matter, everything else does. FuzzTwinEqualsLua holds each twin equal to its Lua.

// twin carries out a script. It declines, before it has changed anything, whatever it does not do exactly as Lua does:
// missing arguments, keys of other types, numbers that Redis refuses.
type twin func(n *Node, keys, argv []string) (done bool)

// wellKnown are the texts and their twins. Users: the documents' releases and renewals, Redis's own manual, redis-py,
// redsync, redlock-rb, node-redlock, and Fencepost's fenced acquisition.
var wellKnown = []struct {
	name string
	text string
	twin twin
}{
	{"release", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		twinRelease},
	{"release, redsync 4", `local val = redis.call("GET", KEYS[1]) if val == ARGV[1] then return redis.call("DEL", KEYS[1])
		elseif val == false then return -1 else return 0 end`, twinReleaseTold},
	{"renew, seconds", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("expire", KEYS[1], ARGV[2]) else return 0 end`,
		twinRenew(1000)},
	{"renew, milliseconds", `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("pexpire", KEYS[1], ARGV[2]) else return 0 end`,
		twinRenew(1)},
	{"renew or acquire, redsync", `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("PEXPIRE", KEYS[1], ARGV[2])
		elseif redis.call("SET", KEYS[1], ARGV[1], "PX", ARGV[2], "NX") then return 1 else return 0 end`, twinRenewOrAcquire},
	{"acquire or extend, redlock-rb", `if (redis.call("exists", KEYS[1]) == 0 and ARGV[3] == "yes") or redis.call("get", KEYS[1]) == ARGV[1] then
		return redis.call("set", KEYS[1], ARGV[1], "PX", ARGV[2]) end`, twinAcquireOrExtend},
	{"acquire all, node-redlock 5", `for i, key in ipairs(KEYS) do if redis.call("exists", key) == 1 then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`, twinAcquireAll},
	{"release all, node-redlock 5", `local count = 0 for i, key in ipairs(KEYS) do if redis.call("get", key) == ARGV[1] then
		redis.pcall("del", key) count = count + 1 end end return count`, twinReleaseAll},
	{"extend all, node-redlock 5", `for i, key in ipairs(KEYS) do if redis.call("get", key) ~= ARGV[1] then return 0 end end
		for i, key in ipairs(KEYS) do redis.call("set", key, ARGV[1], "PX", ARGV[2]) end return #KEYS`, twinExtendAll},
	{"fenced acquire", `if redis.call("set", KEYS[1], ARGV[1], "NX", "PX", ARGV[2]) then return redis.call("incr", KEYS[2]) else return 0 end`,
		twinFencedAcquire},
}

var twins = func() map[string]twin {
	m := map[string]twin{}
	for _, w := range wellKnown {
		m[tokens(w.text)] = w.twin
	}
	return m
}()

// findTwin is the twin of a script, or nil.
func findTwin(text string) twin { return twins[tokens(text)] }

// tokens writes a script as its tokens, one space between, so that spellings which mean the same are the same string.
// Of Lua's lexical rules it knows what scripts of locks use; of a text beyond that it says "".
func tokens(text string) string {
	var b strings.Builder
	calling := 0 // how much of `redis . call (` has just been read
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
				return "" // Lua allows none there, or it might mean something
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

// readCall follows `redis . call (` token by token.
func readCall(read int, token string) int {
	want := [...]string{"redis", ".", "call", "("}
	if read < len(want) && token == want[read] {
		return read + 1
	}
	return 0
}

// tokenSize is the length of the token at the start of s; 0 if it is none of those that are known.
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
		return 0 // may be a long comment
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
