package redis

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// epochPlus returns the time d after the tests' epoch, in ms since 1970, as a string.
func epochPlus(d time.Duration) string { return strconv.FormatInt((epoch+int64(d))/1_000_000, 10) }

func TestKeyIsAliveThroughTheMillisecondOfItsDeadline(t *testing.T) {
	m := newMachine(Config{})
	check(t, "acquired", m.do("client-1/1", "SET lock a NX PX 10"), "OK")
	m.freeze(10*time.Millisecond + 599_999) // the clock is at the last nanosecond of the deadline's millisecond
	check(t, "at the deadline", m.do("client-2/1", "GET lock"), "a")
	check(t, "its time left", m.do("client-2/1", "PTTL lock"), "0")
	m.freeze(1)
	check(t, "just after", m.do("client-2/1", "GET lock"), "null")
	check(t, "taken over", m.do("client-2/1", "SET lock b NX PX 10"), "OK")
}

func TestKeyGoesAtTheInstantItDies(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a NX PX 10000")
	m.sleep(11 * time.Second)
	check(t, "records", m.story(), "0.000 s key-set lock of client-1/1 by client-1/1 = a until 10.0006 s\n"+
		"10.0006 s key-gone lock of client-1/1: expired\n")
	check(t, "timers fired", m.fired, 2) // one for the key, and one for the background cycle after it
}

func TestTimersAreNotSetForEveryKey(t *testing.T) {
	m := newMachine(Config{})
	for range 1000 {
		m.do("client-1/1", "SET lock a NX PX 10000")
		m.do("client-1/1", "DEL lock")
		m.sleep(5 * time.Millisecond)
	}
	check(t, "timers fired in five seconds", m.fired, 0)
	m.sleep(10 * time.Second)
	if m.fired > 2 || len(m.timers) > 1 {
		t.Errorf("%d timers fired and %d are set for a key that is long gone", m.fired, len(m.timers))
	}
}

func TestPausedNodeExpiresAtTheNextAccess(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a NX PX 1000")
	m.do("client-1/1", "SET other a PX 500")
	m.story()
	m.freeze(5 * time.Second)
	check(t, "after the pause", m.do("client-2/1", "SET lock b NX PX 1000"), "OK")
	check(t, "records", m.story(), "5.000 s key-gone other of client-1/1: expired\n"+
		"5.000 s key-gone lock of client-1/1: expired\n5.000 s key-set lock of client-2/1 by client-2/1 = b until "+
		"6.0006 s\n")
}

func TestForwardJumpEndsKeysEarly(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a NX PX 10000")
	m.story()
	m.sleep(time.Second)
	m.jump(30 * time.Second)
	check(t, "records", m.story(), "1.000 s key-gone lock of client-1/1: expired\n")
}

func TestBackwardJumpLetsKeysLiveLonger(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a NX PX 1000")
	m.jump(-5 * time.Second)
	check(t, "time left", m.do("client-1/1", "PTTL lock"), "6000")
	m.sleep(5 * time.Second)
	check(t, "past the first deadline", m.do("client-1/1", "GET lock"), "a")
	m.story()
	m.sleep(5 * time.Second)
	check(t, "records", m.story(), "6.0006 s key-gone lock of client-1/1: expired\n")
}

// TestExpiredKeyThatNobodyCameAcrossIsAliveAgainWhenTheClockGoesBack checks that an expired key is alive again if the
// clock is set back before the key has been deleted, and that the records show this. An expired key is deleted when a
// command accesses it, or by the background cycle every 100 ms.
func TestExpiredKeyThatNobodyCameAcrossIsAliveAgainWhenTheClockGoesBack(t *testing.T) {
	for _, c := range []struct {
		name, meanwhile string
		pass            time.Duration
		alive           bool
	}{
		{"nobody came across it", "PING", 0, true},
		{"a read of another key", "GET other", 0, true},
		{"a command that fails before it looks", "SET lock b foo", 0, true},
		{"the keys are listed", "KEYS *", 0, true},
		{"it is read", "GET lock", 0, false},
		{"its type is asked", "TYPE lock", 0, false},
		{"a list is asked for", "LLEN lock", 0, false},
		{"a script compares it", "release", 0, false},
		{"just before the background cycle", "PING", 99 * time.Millisecond, true},
		{"after the background cycle", "PING", 100 * time.Millisecond, false},
	} {
		m := newMachine(everysec)
		m.do("client-1/1", "SET lock a NX PX 1000")
		m.jump(2 * time.Second)
		check(t, c.name+": gone", m.story(), "0.000 s key-set lock of client-1/1 by client-1/1 = a until 1.0006 "+
			"s\n0.000 s key-gone lock of client-1/1: expired\n")
		if c.meanwhile == "release" {
			m.args("client-2/1", "EVAL", releaseScript, "1", "lock", "b")
		} else {
			m.do("client-2/1", c.meanwhile)
		}
		m.sleep(c.pass)
		m.jump(-2 * time.Second)
		records, value, log := "", "null", "; DEL lock"
		if c.alive {
			records, value, log = seconds(history.Time(c.pass))+" key-set lock of client-1/1 = a until 1.0006 s\n", "a",
				""
		}
		check(t, c.name+": records", m.story(), records)
		check(t, c.name+": the key", m.do("client-3/1", "GET lock"), value)
		check(t, c.name+": the log", strings.Join(m.node.Log(), "; "), "SET lock a PXAT "+epochPlus(time.Second)+log)
	}
}

// TestWatchedKeyThatExpiresStopsTheTransaction checks that WATCH behaves as in Redis 7.0. EXEC fails if the clock shows
// that the key was alive at WATCH but has expired at EXEC.
func TestWatchedKeyThatExpiresStopsTheTransaction(t *testing.T) {
	for back, want := range map[time.Duration]string{0: "null array", -2 * time.Second: "[PONG]"} {
		m := newMachine(Config{})
		m.do("client-1/1", "SET lock a NX PX 1000")
		m.do("client-1/1", "WATCH lock")
		m.jump(2 * time.Second)
		m.jump(back)
		m.do("client-1/1", "MULTI")
		m.do("client-1/1", "PING")
		check(t, "EXEC", m.do("client-1/1", "EXEC"), want)
	}
}

// TestWatchedKeyThatHadExpiredMayBeSetAnew compares the node with a real Redis server: a key had expired when WATCH was
// called, but still existed. It is then deleted in several ways, and possibly set.
func TestWatchedKeyThatHadExpiredMayBeSetAnew(t *testing.T) {
	r := newRig(t, 2)
	for _, deletion := range []string{"FLUSHALL", "FLUSHDB", "DEL k", "GET k", "SET k c", "PING"} {
		for _, after := range []string{"SET k d", "SET other d", "FLUSHALL"} {
			steps := []step{{args: strings.Fields("SET k a PX 1")}, {move: 5 * time.Millisecond}}
			for _, s := range []string{"0 WATCH k", "1 " + deletion, "1 " + after, "0 MULTI", "0 PING", "0 EXEC"} {
				steps = append(steps, step{conn: int(s[0] - '0'), args: strings.Fields(s[2:])})
			}
			r.differ(steps)
		}
	}
}

// TestSetWithADeadlineThatIsNow and the test after it check that two miniredis bugs are not visible. With a PXAT that
// is exactly now, miniredis creates a key that never expires. A PXAT in the past leaves a TTL behind, so that a later
// SET's key expires.
func TestSetWithADeadlineThatIsNow(t *testing.T) {
	m := newMachine(Config{})
	check(t, "reply", m.do("client-1/1", "SET lock a PXAT "+epochPlus(0)), "OK")
	check(t, "in this millisecond", m.do("client-1/1", "GET lock"), "a")
	m.sleep(time.Millisecond)
	check(t, "in the next", m.do("client-1/1", "GET lock"), "null")
}

func TestSetWithAPastDeadline(t *testing.T) {
	m := newMachine(Config{})
	check(t, "reply", m.do("client-1/1", "SET lock a PXAT "+epochPlus(-time.Second)), "OK")
	check(t, "at the next access", m.do("client-1/1", "GET lock"), "null")
	check(t, "set anew", m.do("client-1/1", "SET lock b"), "OK")
	m.sleep(time.Hour)
	check(t, "an hour later", m.do("client-1/1", "GET lock"), "b")
}

func TestPastDeadlineKillsWithoutBeingAsked(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a PXAT "+epochPlus(-time.Second))
	m.sleep(0)
	check(t, "records", m.story(), "0.000 s key-set lock of client-1/1 by client-1/1 = a until 0.000 s\n"+
		"0.000 s key-gone lock of client-1/1: expired\n")
}

// TestExpireNotAfterNowDeletesAtOnce checks that a TTL of zero or less counts as a request to delete the key, and that
// an absolute time in the past is recorded as a deadline that has passed.
func TestExpireNotAfterNowDeletesAtOnce(t *testing.T) {
	asked := "0.000 s key-gone lock of client-1/1 by client-2/7: deleted\n"
	late := func(until string) string {
		return "0.000 s key-prolonged lock of client-1/1 by client-2/7 until " + until + "\n" +
			"0.000 s key-gone lock of client-1/1: expired\n"
	}
	for command, record := range map[string]string{"EXPIRE lock 0": asked, "PEXPIRE lock -1": asked,
		"EXPIREAT lock 1": late("0.000 s"), "PEXPIREAT lock " + epochPlus(0): late("0.0006 s"),
		"GETEX lock PXAT " + epochPlus(0): late("0.0006 s")} {
		m := newMachine(Config{Persistence: store.Always})
		m.do("client-1/1", "SET lock a")
		m.story()
		if got := m.do("client-2/7", command); got != "1" && got != "a" {
			t.Errorf("%s: %s", command, got)
		}
		check(t, command, m.story(), record)
		check(t, "the log after "+command, m.node.Log()[1], "DEL lock")
	}
}

// ticking is a host whose wall clock moves by 5 ms whenever it is read.
type ticking struct{ *machine }

func (h ticking) Wall() int64 {
	h.wall += int64(5 * time.Millisecond)
	return h.wall
}

func TestClockStandsStillInAScript(t *testing.T) {
	m := newMachine(Config{})
	m.node.host = ticking{m}
	got := m.args("client-1/1", "EVAL", `local a = redis.call('time') redis.call('set', KEYS[1], 'v', 'px', 1)
		local b = redis.call('time') return {a[1] == b[1] and a[2] == b[2], redis.call('get', KEYS[1])}`, "1", "k")
	check(t, "in the script", got, "[1 v]")
}

func TestRenewalsAreRecordedWithOwnerAndRenewer(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "SET lock a PX 1000")
	m.story()
	for _, step := range []struct{ command, reply, record string }{
		{"PEXPIRE lock 2000", "1", "until 2.0006 s"},
		{"PEXPIRE lock 500 GT", "0", ""},
		{"PEXPIRE lock 500 LT", "1", "until 0.5006 s"},
		{"PEXPIRE lock 500", "1", ""}, // the deadline does not change
		{"PERSIST lock", "1", "until never"},
		{"PERSIST lock", "0", ""},
		{"GETEX lock PX 700", "a", "until 0.7006 s"},
		{"EXPIRE lock 1 NX", "0", ""},
		{"EXPIRE lock 1 XX", "1", "until 1.0006 s"},
	} {
		check(t, step.command, m.do("client-2/1", step.command), step.reply)
		want := step.record
		if want != "" {
			want = "0.000 s key-prolonged lock of client-1/1 by client-2/1 " + want + "\n"
		}
		check(t, "record of "+step.command, m.story(), want)
	}
}

func TestOwnerIsWhoSetTheKey(t *testing.T) {
	m := newMachine(Config{})
	for _, step := range []struct{ attempt, command, record string }{
		{"client-1/1", "SET lock a PX 1000", "key-set lock of client-1/1 by client-1/1 = a until 1.0006 s\n"},
		{"client-2/1", "SET lock b NX PX 1000", ""},
		{"client-2/1", "SET lock b KEEPTTL", "key-set lock of client-2/1 by client-2/1 = b until 1.0006 s\n"},
		{"client-3/1", "RENAME lock moved", "key-set moved of client-2/1 by client-3/1 = b until 1.0006 s\n" +
			"key-gone lock of client-2/1 by client-3/1: deleted\n"},
		{"client-3/1", "COPY moved lock", "key-set lock of client-2/1 by client-3/1 = b until 1.0006 s\n"},
		{"client-1/2", "DEL lock moved none", "key-gone lock of client-2/1 by client-1/2: deleted\n" +
			"key-gone moved of client-2/1 by client-1/2: deleted\n"},
		{"client-1/3", "INCR fence", "key-set fence of client-1/3 by client-1/3 = 1 until never\n"},
		{"client-2/2", "INCR fence", ""},
		{"client-2/2", "HSET h f v", "key-set h.f of client-2/2 by client-2/2 = v until never\n"},
		{"client-1/4", "HDEL h f", "key-gone h.f of client-2/2 by client-1/4: deleted\n"},
		{"client-1/4", "FLUSHALL", "key-gone fence of client-1/3 by client-1/4: flushed\n"},
	} {
		m.do(history.Attempt(step.attempt), step.command)
		got := ""
		for line := range strings.Lines(m.story()) {
			got += strings.TrimPrefix(line, "0.000 s ")
		}
		check(t, step.command, got, step.record)
	}
}

func TestDeadlinesBeyondTheClockAreKeptAsGiven(t *testing.T) {
	m := newMachine(Config{})
	check(t, "set", m.do("client-1/1", "SET lock a PXAT 9223372036854775806"), "OK")
	check(t, "kept", m.do("client-1/1", "PEXPIRETIME lock"), "9223372036854775806")
	check(t, "record", m.story(), "0.000 s key-set lock of client-1/1 by client-1/1 = a until never\n")
	check(t, "timers", len(m.timers), 0)
}

func TestResetLeavesNothingBehind(t *testing.T) {
	m := newMachine(Config{Persistence: store.Everysec})
	sha := m.args("client-1/1", "SCRIPT", "LOAD", releaseScript)
	m.do("client-1/1", "SET lock a PX 1000")
	m.do("client-1/1", "HSET h f v")
	check(t, "miniredis", len(m.node.data.DB.Keys()), 2)
	m.do("client-1/1", "MULTI")
	m.do("client-1/1", "GET lock")
	m.slowFsync(time.Second, true)
	m.node.Reset(Config{})
	*m = machine{wall: epoch, node: m.node, up: true, conn: 1}
	m.node.Start(m)
	check(t, "keys", len(m.node.Keys()), 0)
	check(t, "log", len(m.node.Log()), 0)
	check(t, "transaction", m.do("client-1/1", "EXEC"), "-ERR EXEC without MULTI")
	check(t, "script", m.args("client-1/1", "EVALSHA", sha, "0"), "-NOSCRIPT No matching script. Please use EVAL.")
	check(t, "miniredis", len(m.node.data.DB.Keys()), 0)
	m.sleep(5 * time.Second)
	check(t, "records", m.story(), "")
}
