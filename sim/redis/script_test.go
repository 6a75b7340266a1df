package redis

import (
	"strings"
	"testing"
)

func (m *machine) eval(text string, args ...string) string {
	if len(args) == 0 {
		args = []string{"0"}
	}
	return m.args("client-1/1", append([]string{"EVAL", text}, args...)...)
}

// TestScriptsLeaveNothingBehind lets scripts attack the state that later scripts share.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	probe := `return {tostring(x), type(redis.call), type(string.format), type(table.insert), type(math.random), ("a"):upper(),
		#KEYS, tostring(rawget(_G, 'x')), type(tostring), type(pcall), type(getmetatable('')), tostring((1)), tostring(redis[1])}`
	probe = strings.Replace(probe, "tostring(x)", "'no x'", 1)
	m := newMachine(Config{})
	want := m.eval(probe)
	for _, attack := range []string{
		"x = 1", "_G.x = 1", "rawset(_G, 'x', 1)", "redis.call = nil", "rawset(redis, 'call', 1)", "string.format = nil",
		"table.insert(redis, 1)", "table.insert(_G, 1)", "table.remove(redis)", "table.sort(string)", "setmetatable(_G, {})", "setmetatable(redis, {})",
		"getmetatable('').__index = {}", "setmetatable('', {__index = {}})", "setmetatable(1, {__tostring = function() return 'one' end})",
		"getmetatable(_G).__index = nil", "getmetatable(redis).__index.call = nil", "string.__index.upper = nil", "local s = '' s.upper = nil",
		"setfenv(1, {})", "getfenv(0).x = 1", "_G._G = 1", "KEYS = {1, 2}", "for k in pairs(_G) do _G[k] = nil end", "tostring = nil",
		"loadstring('x = 1')()", "load(function() end)", "require('os')", "module('x')", "newproxy()", "dofile('/etc/passwd')", "io.open('x')",
		"os.exit()", "debug.getregistry()", "coroutine.create(print)", "collectgarbage()", "string.dump(tostring)", "error({})", "error(nil)",
		"math.random = 4", "pcall(function() redis.call = nil end)", "xpcall(error, function() x = 1 end)", "KEYS[1] = 'x' ARGV.y = 2",
		"setmetatable(KEYS, {__index = function() return 'x' end})", "redis.call('set', 'k', 'v') redis.call('nosuch')",
	} {
		m.eval(attack, "0")
		check(t, "after "+attack, m.eval(probe), want)
	}
}

func TestScriptThatNeverEndsIsStopped(t *testing.T) {
	m := newMachine(Config{})
	want := "-ERR fencepost: the script ran more than 5000000 instructions; Redis would answer BUSY until SCRIPT KILL script: "
	for _, text := range []string{"while true do end", "while true do pcall(function() while true do end end) end",
		"local function f() return f() end f()", "redis.call('set', 'k', 'v') repeat until false"} {
		if got := m.eval(text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	check(t, "what it wrote stays", m.do("client-1/1", "GET k"), "v")
	check(t, "the next script", m.eval("return 1"), "1")
}

func TestScriptsThatWantTooMuchAreRefused(t *testing.T) {
	m := newMachine(Config{})
	for _, text := range []string{
		"local t = {} t[1] = t return t", "local t = {1} for i = 1, 90 do t = {t, t} end return t", "return string.rep('x', 1e9)",
		"return string.format('%099999d', 1)", "local function f() return 1 + f() end return f()", "return unpack({}, 1, 1e8)",
		"return #string.rep('ab', 2^53)", "return " + strings.Repeat("(", 300) + "1", "#!lua flags=no-writes\nreturn 1",
	} {
		got := m.eval(text)
		if !strings.Contains(got, "-ERR") {
			t.Errorf("%.60s: %.200s", text, got)
		}
	}
	check(t, "the next script", m.eval("return 'well'"), "well")
}

func TestLibrariesThatAreMissingSaySo(t *testing.T) {
	m := newMachine(Config{})
	if got := m.eval("return cjson.encode({})"); !strings.Contains(got, "fencepost: cjson is not provided to scripts") {
		t.Error(got)
	}
	if got := m.eval("return redis.call('xadd', 'a', '*', 'b', 'c')"); !strings.Contains(got, "fencepost: XADD is not simulated") {
		t.Error(got)
	}
}

func TestNothingOfTheMachineShowsInScripts(t *testing.T) {
	for text, want := range map[string]string{
		"return tostring({}) .. tostring(print and 1) ":                                "-ERR user_script:1: Script attempted to access nonexistent global variable 'print'",
		"return tostring({})":                                                          "table: 0x0",
		"return string.format('%s', tostring)":                                         "function: 0x0",
		"return {math.random(100), math.random(100)}":                                  "[40 85]", // as a freshly started Redis 7.0.15
		"return tostring(setmetatable({}, {__tostring = function() return 'me' end}))": "me",
	} {
		got := newMachine(Config{}).eval(text)
		if i := strings.Index(got, " script: "); i >= 0 {
			got = got[:i]
		}
		check(t, text, got, want)
	}
}

func TestScriptCacheIsBounded(t *testing.T) {
	m := newMachine(Config{})
	first := m.args("client-1/1", "SCRIPT", "LOAD", "return 'first'")
	for i := range 3 * maxScripts {
		m.eval("return " + strings.Repeat("1 + ", i) + "1")
	}
	check(t, "loaded by this life", m.args("client-1/1", "EVALSHA", strings.ToUpper(first), "0"), "first")
	if n := m.node.scripts.compiled; n > maxCompiled {
		t.Errorf("%d scripts are kept compiled", n)
	}
	m.do("client-1/1", "SCRIPT FLUSH")
	check(t, "after SCRIPT FLUSH", m.args("client-1/1", "EVALSHA", first, "0"), "-NOSCRIPT No matching script. Please use EVAL.")
	if n := len(m.node.scripts.bySHA); n > maxScripts {
		t.Errorf("%d scripts are kept after SCRIPT FLUSH", n)
	}
}

func TestBrokenScriptIsNotLoaded(t *testing.T) {
	m := newMachine(Config{})
	if got := m.args("client-1/1", "SCRIPT", "LOAD", "retrun 1"); !strings.HasPrefix(got, "-ERR Error compiling script (new function): ") {
		t.Error(got)
	}
	sum := m.eval("return redis.sha1hex('retrun 1')")
	check(t, "its SHA1", m.args("client-1/1", "SCRIPT", "EXISTS", sum), "[0]")
}

func TestTransactionsAreAbortedByWatchedKeys(t *testing.T) {
	for _, c := range []struct{ meanwhile, want string }{
		{"GET lock", "[OK]"}, {"SET other x", "[OK]"}, {"SET lock x", "null array"}, {"DEL lock", "null array"},
		{"PEXPIRE lock 5", "null array"}, {"FLUSHALL", "null array"}, {"RENAME lock other", "null array"}, {"APPEND lock x", "null array"},
		{"INCR lock", "null array"}, {"LPUSH none x", "[OK]"},
	} {
		m := newMachine(Config{})
		m.do("client-1/1", "SET lock 1 PX 1000")
		m.do("client-1/1", "WATCH lock")
		m.do("client-1/1", "MULTI")
		check(t, "queued", m.do("client-1/1", "SET done yes"), "QUEUED")
		m.conn = 2
		m.do("client-2/1", c.meanwhile)
		m.conn = 1
		check(t, c.meanwhile, m.do("client-1/1", "EXEC"), c.want)
		check(t, "watching is over", m.node.watchers, 0)
	}
}

func TestWatchedKeyThatExpiresAbortsToo(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock 1 PX 1000")
	m.do("client-1/1", "WATCH lock")
	m.do("client-1/1", "MULTI")
	m.do("client-1/1", "SET lock 2")
	m.sleep(2 * 1e9)
	check(t, "exec", m.do("client-1/1", "EXEC"), "null array")
}

func TestDeadlinesInATransactionCountFromExec(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "MULTI")
	m.do("client-1/1", "SET lock a PX 1000")
	m.sleep(5 * 1e9)
	check(t, "exec", m.do("client-1/1", "EXEC"), "[OK]")
	check(t, "time left", m.do("client-1/1", "PTTL lock"), "1000")
}
