package redis

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// twinCase is a test case that executes scripts with twins (twins.go) on data of all kinds. It is generated from a
// seed, so that a fuzzer can control it with a single number.
type twinCase struct {
	vocabulary
	cfg Config
}

func drawTwinCase(seed uint64) twinCase {
	c := twinCase{vocabulary: vocabulary{rand.New(rand.NewPCG(seed, 7))}}
	c.cfg.Persistence = []store.Policy{store.None, store.Everysec, store.Always}[c.IntN(3)]
	return c
}

// prepare returns a random command that creates data for scripts.
func (c twinCase) prepare() []string {
	return c.spell(c.one("SET K a", "SET K b PX 5|1000", "SET K V", "LPUSH K a", "HSET K f v", "DEL K",
		"SET K 9007199254740993|9223372036854775807|x",
		"PEXPIRE K 1|500", "SET K a PXAT 1", "INCR K", "PERSIST K", "SET K a PX T"))
}

// arguments returns random keys and arguments for a script. They are usually valid, but sometimes there are too few or
// too many, or they are not numbers.
func (c twinCase) arguments() (keys, argv []string) {
	for range c.one("1", "2", "2", "2", "0", "3")[0] - '0' {
		keys = append(keys, c.key())
	}
	argv = []string{c.one("a", "a", "a", "b", ""),
		c.one("1000", "5", "1", "0", "-1", "x", "", "+5", "1.5", "9223372036854775807", "9223372036854775"),
		c.one("yes", "no", "YES")}
	return keys, argv[:c.IntN(4)]
}

// runTwinCase executes a case, with the scripts' twins or in Lua, and returns everything that can be observed from
// outside.
func runTwinCase(seed uint64, withTwins bool) string {
	c := drawTwinCase(seed)
	m := newMachine(c.cfg)
	var report strings.Builder
	for range 12 {
		for range c.IntN(3) {
			m.send("client-1/1", c.prepare()...)
		}
		m.sleep(time.Duration(c.IntN(3)) * time.Millisecond)
		w := WellKnown[c.IntN(len(WellKnown))]
		t := m.node.scripts.load(w.Text)
		t.Twin = nil
		if withTwins {
			t.Twin = w.Twin
		}
		keys, argv := c.arguments()
		args := append([]string{"EVAL", w.Text, fmt.Sprint(len(keys))}, slices.Concat(keys, argv)...)
		if c.IntN(5) == 0 {
			m.send("client-9/9", "MULTI")
			m.send("client-9/9", args...)
			args = []string{"EXEC"}
		}
		fmt.Fprintf(&report, "%s %q: %q\n", w.Name, args[1:], *m.send("client-2/1", args...))
		report.WriteString(m.story())
		fmt.Fprintf(&report, "%v\n%v\n", m.node.Keys(), m.node.Log())
	}
	return report.String()
}

func compareTwins(t *testing.T, seed uint64) {
	t.Helper()
	if in, as := runTwinCase(seed, false), runTwinCase(seed, true); in != as {
		a, b := strings.Split(in, "\n"), strings.Split(as, "\n")
		for i := range a {
			if i >= len(b) || a[i] != b[i] {
				t.Fatalf("seed %d, line %d:\n Lua %s\ntwin %s", seed, i, a[i], b[min(i, len(b)-1)])
			}
		}
	}
}

// TestTwinsEqualLua checks that every twin, which implements a script in Go, produces the same replies, data, records
// and log as the Lua script.
func TestTwinsEqualLua(t *testing.T) {
	for seed := range uint64(testkit.Size(50, 50, 1500)) {
		compareTwins(t, seed)
	}
}

func FuzzTwinEqualsLua(f *testing.F) {
	f.Add(uint64(1))
	f.Add(uint64(1 << 40))
	f.Fuzz(compareTwins)
}

// TestTwinsTakeOnWhatLocksDo checks that twins handle the usual cases. This is necessary because twins that refused
// every case would always agree with Lua.
func TestTwinsTakeOnWhatLocksDo(t *testing.T) {
	for _, w := range WellKnown {
		for _, held := range []string{"a", "b", ""} {
			m := newMachine(Config{})
			if held != "" {
				m.do("client-1/1", "SET lock "+held+" PX 10000")
			}
			m.node.data.Attempt = "client-1/1"
			check(t, fmt.Sprintf("%s is taken on with %q held", w.Name, held),
				w.Twin(m.node.data, []string{"lock", "fence"}, []string{"a", "1000", "yes"}), true)
		}
	}
}

func TestWellKnownScriptsAreRecognised(t *testing.T) {
	for _, w := range WellKnown {
		check(t, w.Name, FindTwin("-- "+w.Name+"\n"+strings.ReplaceAll(w.Text, `"`, "'")) != nil, true)
	}
	renewal := "if redis.call(\"get\",KEYS[1]) == ARGV[1] then\n    return redis.call(\"expire\",KEYS[1], " +
		"ARGV[2])\nelse\n    return 0\nend"
	check(t, "Tair's renewal", FindTwin(renewal) != nil, true)
}

func TestOtherScriptsAreNotTakenForWellKnown(t *testing.T) {
	for _, text := range []string{
		`if redis.call("get", KEYS[1]) == ARGV[2] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call("get", KEYS[1]) ~= ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[2]) else return 0 end`,
		`if redis.pcall("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 00 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return0 end`,
		`if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else; return 0 end`,
		`--[[ if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end ]]`,
		`if redis.call("get", "KEYS[1]") == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call("get\0", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if redis.call(get, KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		`if REDIS.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`,
		"", "--", `"`, "\x00",
	} {
		check(t, text, FindTwin(text) == nil, true)
	}
}
