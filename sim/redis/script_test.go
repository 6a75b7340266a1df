package redis

import (
	"fmt"
	"strings"
	"testing"
)

func (m *machine) eval(text string, args ...string) string {
	if len(args) == 0 {
		args = []string{"0"}
	}
	return m.args("client-1/1", append([]string{"EVAL", text}, args...)...)
}

func TestScriptsLearnWhatIsNotSimulated(t *testing.T) {
	got := newMachine(Config{}).eval("return redis.call('geoadd', 'a', 1, 2, 'b')")
	if !strings.Contains(got, "fencepost: GEOADD is not simulated") {
		t.Error(got)
	}
}

func TestScriptCacheIsBounded(t *testing.T) {
	m := newMachine(Config{})
	first := m.args("client-1/1", "SCRIPT", "LOAD", "return 'first'")
	for i := range 3 * MaxScripts {
		m.eval(fmt.Sprint("return ", i))
	}
	check(t, "loaded by this life", m.args("client-1/1", "EVALSHA", strings.ToUpper(first), "0"), "first")
	if n := m.node.scripts.compiled; n > MaxCompiled {
		t.Errorf("%d scripts are kept compiled", n)
	}
	m.do("client-1/1", "SCRIPT FLUSH")
	check(t, "after SCRIPT FLUSH", m.args("client-1/1", "EVALSHA", first, "0"),
		"-NOSCRIPT No matching script. Please use EVAL.")
	if n := len(m.node.scripts.bySHA); n > MaxScripts {
		t.Errorf("%d scripts are kept after SCRIPT FLUSH", n)
	}
}

// TestRepliesOfScriptsAreBoundedOneByOne checks that the maximum length applies to each reply separately. Together, the
// five 16 MB replies are longer than a single reply may be.
func TestRepliesOfScriptsAreBoundedOneByOne(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "MULTI")
	for range 5 {
		check(t, "queued", m.eval("return string.rep('x', 2^24)"), "QUEUED")
	}
	reply := m.do("client-1/1", "EXEC")
	check(t, "bytes of all", len(reply), len("[")+5*(1<<24)+len("    ")+len("]"))
}

func TestBrokenScriptIsNotLoaded(t *testing.T) {
	m := newMachine(Config{})
	if got := m.args("client-1/1", "SCRIPT", "LOAD", "retrun 1"); !strings.HasPrefix(got,
		"-ERR Error compiling script (new function): ") {
		t.Error(got)
	}
	sum := m.eval("return redis.sha1hex('retrun 1')")
	check(t, "its SHA1", m.args("client-1/1", "SCRIPT", "EXISTS", sum), "[0]")
}

func TestTransactionsAreAbortedByWatchedKeys(t *testing.T) {
	for _, c := range []struct{ meanwhile, want string }{
		{"GET lock", "[OK]"}, {"SET other x", "[OK]"}, {"SET lock x", "null array"}, {"DEL lock", "null array"},
		{"PEXPIRE lock 5", "null array"}, {"FLUSHALL", "null array"}, {"RENAME lock other", "null array"},
		{"APPEND lock x", "null array"}, {"INCR lock", "null array"}, {"LPUSH none x", "[OK]"},
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
