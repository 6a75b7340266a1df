package lua

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/sim"
)

// store is a data set with only SET and GET commands. Its engine runs scripts that use the data.
type store struct {
	*Engine
	data map[string]string
}

func newStore() *store {
	s := &store{data: map[string]string{}}
	s.Engine = New("7.0.15", s.call)
	return s
}

func (s *store) call(args []string, _ bool) (reply []byte, trouble string) {
	switch {
	case args[0] == "set" && len(args) == 3:
		s.data[args[1]] = args[2]
		return []byte("+OK\r\n"), ""
	case args[0] == "get" && len(args) == 2:
		return sim.AppendBulk(nil, s.data[args[1]]), ""
	}
	return nil, "ERR Unknown Redis command called from script"
}

// eval runs a script and returns its reply as one line.
func (s *store) eval(text string) string {
	script, err := s.Compile(text, "SHA")
	if err != nil {
		return "-ERR Error compiling script (new function): " + err.Error()
	}
	return strings.ReplaceAll(strings.TrimSuffix(string(s.Run(script, nil, nil, false)), "\r\n"), "\r\n", " ")
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %s\nwant %s", what, got, want)
	}
}

// TestScriptsLeaveNothingBehind checks that scripts cannot change state that later scripts would see, even if they try.
func TestScriptsLeaveNothingBehind(t *testing.T) {
	probe :=
		`return {'no x', type(redis.call), type(string.format), type(table.insert), type(math.random), ("a"):upper(),
		#KEYS, tostring(rawget(_G, 'x')), type(tostring), type(pcall), type(getmetatable('')), tostring((1)),
		tostring(redis[1])}`
	s := newStore()
	want := s.eval(probe)
	for _, attack := range []string{
		"x = 1", "_G.x = 1", "rawset(_G, 'x', 1)", "redis.call = nil", "rawset(redis, 'call', 1)",
		"string.format = nil",
		"table.insert(redis, 1)", "table.insert(_G, 1)", "table.remove(redis)", "table.sort(string)",
		"setmetatable(_G, {})",
		"setmetatable(redis, {})", "getmetatable('').__index = {}", "setmetatable('', {__index = {}})",
		"setmetatable(1, {__tostring = function() return 'one' end})", "getmetatable(_G).__index = nil",
		"getmetatable(redis).__index.call = nil", "string.__index.upper = nil", "local s = '' s.upper = nil",
		"setfenv(1, {})", "getfenv(0).x = 1", "_G._G = 1", "KEYS = {1, 2}", "for k in pairs(_G) do _G[k] = nil end",
		"tostring = nil", "loadstring('x = 1')()", "load(function() end)", "require('os')", "module('x')", "newproxy()",
		"dofile('/etc/passwd')", "io.open('x')", "os.exit()", "debug.getregistry()", "coroutine.create(print)",
		"collectgarbage()", "string.dump(tostring)", "error({})", "error(nil)", "math.random = 4",
		"pcall(function() redis.call = nil end)", "xpcall(error, function() x = 1 end)", "KEYS[1] = 'x' ARGV.y = 2",
		"setmetatable(KEYS, {__index = function() return 'x' end})", "redis.call('set', 'k', 'v') redis.call('nosuch')",
	} {
		s.eval(attack)
		check(t, "after "+attack, s.eval(probe), want)
	}
}

func TestScriptThatNeverEndsIsStopped(t *testing.T) {
	s := newStore()
	const want = "-ERR fencepost: the script ran more than 5000000 instructions; Redis would answer BUSY " +
		"until SCRIPT KILL script: "
	for _, text := range []string{"while true do end", "while true do pcall(function() while true do end end) end",
		"local function f() return f() end f()", "redis.call('set', 'k', 'v') repeat until false"} {
		if got := s.eval(text); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", text, got)
		}
	}
	check(t, "what it wrote stays", s.eval("return redis.call('get', 'k')"), "$1 v")
	check(t, "the next script", s.eval("return 1"), ":1")
}

func TestScriptsThatWantTooMuchAreRefused(t *testing.T) {
	s := newStore()
	for _, text := range []string{
		"local t = {} t[1] = t return t", "local t = {1} for i = 1, 90 do t = {t, t} end return t",
		"return string.rep('x', 1e9)", "return string.format('%099999d', 1)",
		"local function f() return 1 + f() end return f()", "return unpack({}, 1, 1e8)",
		"return #string.rep('ab', 2^53)",
		"return " + strings.Repeat("(", 300) + "1", "#!lua flags=no-writes\nreturn 1",
	} {
		if got := s.eval(text); !strings.Contains(got, "-ERR") {
			t.Errorf("%.60s: %.200s", text, got)
		}
	}
	check(t, "the next script", s.eval("return 'well'"), "$4 well")
}

func TestLibrariesThatAreMissingSaySo(t *testing.T) {
	for library, names := range notProvided {
		for _, name := range names {
			whole := strings.TrimPrefix(library+"."+name, ".")
			got := newStore().eval("return " + whole + "(1)")
			if !strings.Contains(got, "fencepost: "+whole+" is not provided to scripts") {
				t.Error(got)
			}
		}
	}
}

func TestNothingOfTheMachineShowsInScripts(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"return tostring({}) .. tostring(print and 1) ",
			"-ERR user_script:1: Script attempted to access nonexistent global variable 'print'"},
		{"return tostring({})", "$10 table: 0x0"},
		{"return string.format('%s', tostring(tostring))", "$13 function: 0x0"},
		// the same numbers as in Redis 7.0.15 right after its start
		{"return {math.random(100), math.random(100)}", "*2 :40 :85"},
		{"return tostring(setmetatable({}, {__tostring = function() return 'me' end}))", "$2 me"},
	} {
		got, _, _ := strings.Cut(newStore().eval(c.text), " script: ")
		check(t, c.text, got, c.want)
	}
}

func TestRandomNumbersGoOnUntilTheProcessEnds(t *testing.T) {
	s := newStore()
	first, second := s.eval("return math.random(1000000)"), s.eval("return math.random(1000000)")
	if first == second {
		t.Errorf("twice %s", first)
	}
	s.EndLife()
	check(t, "after a restart", s.eval("return math.random(1000000)"), first)
}
