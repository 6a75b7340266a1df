package redis

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// numberTexts lists strings that a script may receive instead of a number.
var numberTexts = []string{"0", "1", "-1", "+1", "007", "010", "08", "-0", "12", "1.5", "-2.5", ".5", "5.", "1e2",
	"1E2", "1e15", "1e+15", "5e-3", "1.5e2", "1e400", "-1e400", "1e-400", "1e", "e1", "0x10", "0X1F", "0x", "0x1p4",
	"0x1.8p1", "0x1.8", "-0x10", "1_0", "0b11", "0o17", "inf", "-inf", "Infinity", "INF", "infinit", "nan", "-nan",
	"NaN(1)", "nan(", " 5", "5 ", "\t5\n", "\v5\f", "5 x", "5x", "", " ", "--5", "+-5", "- 5", "z", "ff",
	"7fffffffffffffff", "9007199254740993", "9223372036854775807", "18446744073709551615", "18446744073709551616",
	"1700000000000000", "1.7e15", "5\x00", "5\x006", "\x005", "1,5", "½", "0x1g", "1e5 ", "1e5.5"}

// TestScriptsReadNumbersAsRedis tries many strings in every way that a script can convert a string to a number.
func TestScriptsReadNumbersAsRedis(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	compared := 0
	for _, text := range []string{
		"tonumber(ARGV[1])", "tonumber(ARGV[1], 10)", "tonumber(ARGV[1], 16)", "tonumber(ARGV[1], 2)",
		"tonumber(ARGV[1], 36)", "tonumber(ARGV[1], 37)", "tonumber(5, 16)", "tonumber({})", "tonumber()",
		"ARGV[1] + 0", "0 + ARGV[1]", "ARGV[1] - '1'", "ARGV[1] * 2", "1 / ARGV[1]", "ARGV[1] / 3", "ARGV[1] % 7",
		"7 % ARGV[1]", "ARGV[1] ^ 2", "-ARGV[1]", "ARGV[1] + nil", "nil + ARGV[1]", "{} + ARGV[1]",
		"ARGV[1] + setmetatable({}, {__add = function(a, b) return 'added' end})",
		"setmetatable({}, {__sub = function(a, b) return 'subtracted' end}) - ARGV[1]",
		"math.floor(ARGV[1])", "math.max(3, ARGV[1])", "math.abs(ARGV[1])", "string.rep('x', ARGV[1] % 99)",
		"string.sub('abcdef', '02')", "string.byte('abcdef', '02')", "string.rep('x', '010')",
		"tonumber(ARGV[1]) == 10", "(tonumber(ARGV[1]) or 0) < 11", "string.format('%s', ARGV[1] * 1)",
		"redis.call('set', KEYS[1], ARGV[1] * 1) and redis.call('get', KEYS[1])",
	} {
		for _, number := range numberTexts {
			args := []string{"EVAL", "return tostring(" + text + ")", "1", "k", number}
			want, got := real.do(args...), *m.send("client-1/1", args...)
			if strings.Contains(text, "^") { // whether pow keeps the sign of NaN depends on the C library
				want = strings.Replace(want, "$4\r\n-nan", "$3\r\nnan", 1)
			}
			// Lua's own errors also name the variable that has the wrong type.
			failed := strings.HasPrefix(want, "-ERR user_script") && strings.HasPrefix(got, "-ERR user_script")
			if compared++; got != want && !failed {
				t.Errorf("%s of %q:\n node %q\nRedis %q", text, number, got, want)
			}
		}
	}
	t.Logf("%d scripts compared", compared)
}

// TestScriptsMissNothingSilently lists everything that a script can use on a real Redis server. The node must provide
// each item, or report that it does not.
func TestScriptsMissNothingSilently(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	look := func(name string) (theirs, ours string) {
		text := fmt.Sprintf("local v = %s if type(v) == 'number' or type(v) == 'string' then return tostring(v) end "+
			"return type(v)", name)
		return readable(real.do("EVAL", text, "0")), m.args("client-1/1", "EVAL", text, "0")
	}
	seen := 0
	for _, library := range []string{"_G", "redis", "string", "table", "math", "cjson"} {
		list := readable(real.do("EVAL",
			"local names = {} for name in pairs("+library+") do names[#names + 1] = name end return names", "0"))
		for _, name := range strings.Fields(strings.Trim(list, "[]")) {
			if name == "__redis__err__handler" {
				continue // used by the server itself
			}
			whole := library + "." + name
			theirs, ours := look(whole)
			if seen++; theirs != ours && !strings.Contains(ours, "fencepost: "+name+" is not provided to scripts") {
				t.Errorf("%s: node %s, Redis %s", whole, ours, theirs)
			}
		}
	}
	if seen < 80 {
		t.Errorf("only %d names were compared", seen)
	}
}

// TestWhatTablesOfScriptsBecomeInRESP3 checks that Lua tables that represent RESP3 types give the same replies as on a
// real Redis server.
func TestWhatTablesOfScriptsBecomeInRESP3(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	for _, protocol := range []string{"2", "3"} {
		real.do("HELLO", protocol)
		m.args("client-1/1", "HELLO", protocol)
		for _, table := range []string{"{double = 1.5}", "{map = {a = 1}}", "{set = {a = true}}", "{big_number = '12'}",
			"{big_number = 12}", "{big_number = 'a\\r\\nb'}", "{verbatim_string = {format = 'txt', string = 'x'}}",
			"{verbatim_string = {format = 'long', string = 'x'}}", "{verbatim_string = {string = 'x'}}",
			"{verbatim_string = 'x'}", "{verbatim_string = {format = 'a', string = 'x'}}", "{err = 'a', ok = 'b'}",
			"{ok = 'a\\r\\nb'}", "{err = 'My a\\r\\nb'}", "{double = 'x'}"} {
			args := []string{"EVAL", "return " + table, "0"}
			if want, got := real.do(args...), *m.send("client-1/1", args...); got != want {
				t.Errorf("RESP%s, %s:\n node %q\nRedis %q", protocol, table, got, want)
			}
		}
	}
}

// TestScriptsFormatAsRedis combines string.format's flags, widths, precisions and verbs with many values.
func TestScriptsFormatAsRedis(t *testing.T) {
	real := startRealRedis(t).dial()
	m := newMachine(Config{})
	values := "0 1 -1 5 255 -12345 0.5 -0.5 1.5 1234567.5 0.0001 0.00001 1e20 -1e-10 1e300 1e19 1.7e19 1e20 1/0 -1/0 " +
		"0/0 -0/1 'a' 'ä' 'long' 'a\\0b' '' '0x10' string.rep('x',120) string.rep('x',60)..'\\0'..string.rep('y',60)"
	specs, compared := 0, 0
	for _, flags := range []string{"", "-", "+", " ", "#", "0", "-0", "+ ", "#0", "+0"} {
		for _, size := range []string{"", "1", "7", "12", ".", ".0", ".1", ".3", ".20", "7.2", "12.5"} {
			for _, verb := range "diuoxXcsgGeEf" {
				spec := "%" + flags + size + string(verb)
				if specs++; specs%testkit.Size(5, 1, 1) > 0 {
					continue
				}
				var calls []string
				for value := range strings.FieldsSeq(values) {
					if verb == 's' && strings.Contains(flags, "0") {
						continue // C does not define the flag 0 of %s
					}
					calls = append(calls, fmt.Sprintf("f('%s|', %s)", spec, value))
				}
				args := []string{"EVAL", "local function f(...) local ok, text = pcall(string.format, ...) " +
					"return ok and text or 'error' end return {" + strings.Join(calls, ", ") + "}", "0"}
				want, got := readable(real.do(args...)), m.args("client-1/1", args...)
				if compared += len(calls); got != want {
					t.Errorf("%s:\n node %q\nRedis %q", spec, got, want)
				}
			}
		}
	}
	t.Logf("%d values compared", compared)
}
