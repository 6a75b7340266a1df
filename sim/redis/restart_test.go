package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

var everysec = Config{Persistence: store.Everysec, FsyncTime: store.DefaultFsyncTime}

// restart stops the node, waits for the given time, and starts the node again. It returns the records written at the
// start.
func (m *machine) restart(how sim.Stop, down time.Duration) string {
	m.stop(how)
	m.freeze(down)
	m.events = m.events[:0]
	m.start()
	var report []string
	for line := range strings.Lines(m.story()) {
		_, line, _ = strings.Cut(line, " s ")
		report = append(report, strings.TrimSuffix(line, "\n"))
	}
	return strings.Join(report, "; ")
}

func TestShutdownLosesNothingAndTheTTLRunsOn(t *testing.T) {
	m := newMachine(everysec)
	m.do("client-1/1", "SET lock a NX PX 10000")
	check(t, "records", m.restart(sim.ShutDown, 4*time.Second), "")
	check(t, "time left", m.do("client-1/1", "PTTL lock"), "6000")
	m.sleep(7 * time.Second)
	check(t, "its end", m.story(), "10.0006 s key-gone lock of client-1/1: expired\n")
}

func TestKeyThatEndedWhileTheNodeWasDownHasExpired(t *testing.T) {
	for _, how := range []sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState} {
		m := newMachine(everysec)
		m.do("client-1/1", "SET lock a NX PX 3000")
		check(t, "records", m.restart(how, 4*time.Second), "key-gone lock of client-1/1: expired")
		check(t, "the key", m.do("client-2/1", "GET lock"), "null")
	}
}

func TestNodeWithoutPersistenceForgets(t *testing.T) {
	for _, how := range []sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState} {
		m := newMachine(Config{})
		m.do("client-1/1", "SET lock a NX PX 10000")
		check(t, "records", m.restart(how, time.Second), "key-gone lock of client-1/1: lost in crash (no persistence)")
		check(t, "taken over", m.do("client-2/1", "SET lock b NX PX 10000"), "OK")
	}
	m := newMachine(everysec)
	m.do("client-1/1", "SET lock a NX PX 10000")
	check(t, "a lost disk", m.restart(sim.LoseAllState, time.Second),
		"key-gone lock of client-1/1: lost in crash (disk lost)")
}

func TestEverysecLosesTheUnsyncedSecond(t *testing.T) {
	for _, c := range []struct {
		name string
		// waiting times before the first write, before the second write, and before the power loss
		quiet, between, then          time.Duration
		firstSurvives, secondSurvives bool
	}{
		{"in the first second of a life", 0, 500 * time.Millisecond, 400 * time.Millisecond, false, false},
		{"the second is over", 0, 500 * time.Millisecond, 501 * time.Millisecond, true, true},
		{"the fsync still runs", 0, 500 * time.Millisecond, 500 * time.Millisecond, false, false},
		{"the first write after a quiet second", 2 * time.Second, 10 * time.Millisecond, 900 * time.Millisecond, true,
			false},
		{"and its second is over", 2 * time.Second, 10 * time.Millisecond, 991 * time.Millisecond, true, true},
	} {
		m := newMachine(everysec)
		m.sleep(c.quiet)
		m.do("client-1/1", "SET first a PX 60000")
		m.sleep(c.between)
		m.do("client-1/2", "SET second b PX 60000")
		m.sleep(c.then)
		m.restart(sim.PowerLoss, time.Second)
		check(t, c.name+": the first write", m.do("client-1/1", "GET first") == "a", c.firstSurvives)
		check(t, c.name+": the second write", m.do("client-1/1", "GET second") == "b", c.secondSurvives)
	}
}

// Redis 7.0 compares whole seconds (server.unixtime > server.aof_last_fsync). What matters is not how long ago the last
// fsync was, but whether the wall clock has started a new second since then.
func TestEverysecSyncsAsTheWallClockBeginsASecond(t *testing.T) {
	for _, c := range []struct {
		begin, write, loss time.Duration // after a full second of the wall clock
		survives           bool
	}{
		{300 * time.Millisecond, 900 * time.Millisecond, 1000 * time.Millisecond, false}, // the fsync has just begun
		{300 * time.Millisecond, 900 * time.Millisecond, 1001 * time.Millisecond, true},
		{300 * time.Millisecond, 1100 * time.Millisecond, 1101 * time.Millisecond, true}, // the first write in a second
		{900 * time.Millisecond, 950 * time.Millisecond, 1001 * time.Millisecond, true},
		{0, 1 * time.Millisecond, 999 * time.Millisecond, false},
	} {
		m := &machine{wall: epoch - epoch%int64(time.Second) + int64(c.begin), node: New(everysec), up: true, conn: 1}
		m.node.Start(m)
		m.sleep(c.write - c.begin)
		m.do("client-1/1", "SET lock a")
		m.sleep(c.loss - c.write)
		m.restart(sim.PowerLoss, time.Second)
		check(t, fmt.Sprintf("%+v", c), m.do("client-1/1", "GET lock") == "a", c.survives)
	}
	m := newMachine(everysec) // a backward jump of the clock delays the fsync
	m.do("client-1/1", "SET lock a")
	m.jump(-10 * time.Second)
	m.sleep(9 * time.Second)
	m.restart(sim.PowerLoss, time.Second)
	check(t, "after nine of ten seconds", m.do("client-1/1", "GET lock"), "null")
}

func TestStuckFsyncPostponesWritesWhileRepliesGoOut(t *testing.T) {
	m := newMachine(everysec)
	m.sleep(2 * time.Second)
	m.slowFsync(time.Minute, true)
	m.do("client-1/1", "SET first a")
	reply := m.send("client-1/1", "SET", "second", "b")
	check(t, "the reply does not wait", readable(*reply), "OK")
	m.sleep(10 * time.Second)
	check(t, "all is lost", m.restart(sim.PowerLoss, time.Second),
		"key-gone first of client-1/1: lost in crash (unsynced); key-gone second of client-1/1: lost in crash "+
			"(unsynced)")
}

func TestSlowFsyncEndsWithTheFault(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always, FsyncTime: time.Millisecond})
	m.slowFsync(2*time.Second, true)
	reply := m.send("client-1/1", "SET", "lock", "a")
	m.slowFsync(2*time.Second, false) // the fsync has already begun
	m.sleep(2 * time.Second)
	check(t, "inside", *reply, "")
	m.sleep(time.Millisecond)
	check(t, "after it", *reply, "+OK\r\n")
	reply = m.send("client-1/1", "SET", "lock", "a")
	m.sleep(time.Millisecond)
	check(t, "the next", *reply, "+OK\r\n")
}

func TestAlwaysRepliesAfterTheFsync(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always, FsyncTime: time.Millisecond})
	first := m.send("client-1/1", "SET", "lock", "a")
	m.sleep(500 * time.Microsecond)
	second, third := m.send("client-2/1", "GET", "lock"), m.send("client-2/1", "SET", "other", "b")
	check(t, "nothing yet", *first+*second+*third, "")
	m.sleep(500 * time.Microsecond)
	check(t, "the first", readable(*first), "OK")
	check(t, "the others share the next fsync", *second+*third, "")
	m.sleep(time.Millisecond)
	check(t, "the second", readable(*second), "a")
	check(t, "the third", readable(*third), "OK")
	read := m.send("client-2/1", "GET", "lock")
	check(t, "a read waits for nothing", readable(*read), "a")
}

func TestAlwaysLosesOnlyWhatWasNotAnswered(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always, FsyncTime: time.Millisecond})
	m.do("client-1/1", "SET first a")
	reply := m.send("client-1/2", "SET", "second", "b")
	m.sleep(999 * time.Microsecond)
	check(t, "records", m.restart(sim.PowerLoss, time.Second),
		"key-gone second of client-1/2: lost in crash (unsynced)")
	m.sleep(time.Second)
	check(t, "the reply never left", *reply, "")
	check(t, "the first", m.do("client-1/1", "GET first"), "a")
}

func TestAlwaysWithoutFsyncTimeAnswersAtOnceAndLosesNothing(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always})
	check(t, "reply", readable(*m.send("client-1/1", "SET", "lock", "a")), "OK")
	check(t, "records", m.restart(sim.PowerLoss, time.Second), "")
	check(t, "the key", m.do("client-1/1", "GET lock"), "a")
}

func TestWithoutFsyncTheOperatingSystemWritesBackLate(t *testing.T) {
	for after, want := range map[time.Duration]string{29 * time.Second: "null", 31 * time.Second: "a"} {
		m := newMachine(Config{Persistence: store.No})
		m.do("client-1/1", "SET lock a")
		m.sleep(after)
		m.restart(sim.PowerLoss, time.Second)
		check(t, "after "+after.String(), m.do("client-1/1", "GET lock"), want)
	}
}

func TestPowerLossTakesUnsyncedChangesBack(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{"DEL lock", "key-set lock of client-1/1 = a until 60.0006 s"},
		{"SET lock b PX 60000",
			"key-gone lock of client-2/1: lost in crash (unsynced); key-set lock of client-1/1 = a until 60.0006 s"},
		{"PEXPIRE lock 90000",
			"key-gone lock of client-1/1: lost in crash (unsynced); key-set lock of client-1/1 = a until 60.0006 s"},
		{"SET new c", "key-gone new of client-2/1: lost in crash (unsynced)"},
		{"RENAME lock new", "key-set lock of client-1/1 = a until 60.0006 s; key-gone new of client-1/1: lost in " +
			"crash (unsynced)"},
		{"GET lock", ""},
	} {
		m := newMachine(everysec)
		m.do("client-1/1", "SET lock a PX 60000")
		m.sleep(1500 * time.Millisecond)
		m.do("client-2/1", c.change)
		check(t, c.change, m.restart(sim.PowerLoss, time.Second), c.want)
		check(t, "value after "+c.change, m.do("client-2/1", "GET lock"), "a")
	}
}

func TestLostRenewalOfAKeyThatIsOverIsALoss(t *testing.T) {
	m := newMachine(everysec)
	m.do("client-1/1", "SET lock a PX 2000")
	m.sleep(1500 * time.Millisecond)
	m.do("client-1/1", "PEXPIRE lock 60000")
	check(t, "records", m.restart(sim.PowerLoss, time.Second), "key-gone lock of client-1/1: lost in crash (unsynced)")
}

func TestExpiryIsLoggedAsADeletion(t *testing.T) {
	m := newMachine(everysec)
	m.do("client-1/1", "SET lock a PX 10")
	m.sleep(time.Second)
	m.do("client-2/1", "SET lock b PX 10000")
	check(t, "log", strings.Join(m.node.Log(), "; "),
		"SET lock a PXAT "+epochPlus(10*time.Millisecond)+"; DEL lock; SET lock b PXAT "+epochPlus(11*time.Second))
}

func TestScriptsAndTransactionsAreLoggedAsTheirWrites(t *testing.T) {
	m := newMachine(everysec)
	m.args("client-1/1", "EVAL",
		`redis.call('set', KEYS[1], ARGV[1], 'EX', 5) redis.call('get', KEYS[1]) return redis.call('incr', 'n')`, "1",
		"lock", "a")
	m.do("client-1/1", "MULTI")
	m.do("client-1/1", "PEXPIRE lock 9000")
	m.do("client-1/1", "LPUSH list x")
	m.do("client-1/1", "EXEC")
	m.do("client-1/1", "SET lock b NX")
	m.do("client-1/1", "LPUSHX none x")
	check(t, "log", strings.Join(m.node.Log(), "; "),
		"SET lock a PXAT "+epochPlus(5*time.Second)+"; incr n; PEXPIREAT lock "+epochPlus(9*time.Second)+
			"; lpush list x")
}

func TestNothingExpiresWhileLoading(t *testing.T) {
	m := newMachine(everysec)
	m.do("client-1/1", "SET counter 5 PX 1000")
	m.do("client-1/1", "INCR counter")
	m.do("client-1/1", "PERSIST counter")
	m.restart(sim.ShutDown, time.Hour)
	check(t, "the counter", m.do("client-1/1", "GET counter"), "6")
}

func TestRestartDropsConnectionsAndScripts(t *testing.T) {
	m := newMachine(everysec)
	sha := m.args("client-1/1", "SCRIPT", "LOAD", releaseScript)
	m.do("client-1/1", "HELLO 3")
	m.do("client-1/1", "CLIENT TRACKING ON")
	m.do("client-1/1", "SUBSCRIBE free")
	m.do("client-1/1", "WATCH lock")
	m.do("client-1/1", "MULTI")
	m.restart(sim.ShutDown, 0)
	check(t, "tracking", m.do("client-1/1", "CLIENT TRACKINGINFO"), "[flags [off] redirect -1 prefixes []]")
	check(t, "subscribers", m.do("client-1/1", "PUBSUB CHANNELS"), "[]")
	check(t, "connections that watch keys", m.node.watchers, 0)
	check(t, "transaction", m.do("client-1/1", "EXEC"), "-ERR EXEC without MULTI")
	check(t, "script", m.args("client-1/1", "EVALSHA", sha, "1", "lock", "a"),
		"-NOSCRIPT No matching script. Please use EVAL.")
}

func TestRenameOntoAnExpiredKeyOutlivesARestart(t *testing.T) {
	m := newMachine(Config{Persistence: store.Always})
	m.do("client-1/1", "SET b s PX 30")
	m.do("client-1/1", "SET a 1")
	m.sleep(60 * time.Millisecond) // nobody has deleted b yet
	check(t, "renamed", m.do("client-1/1", "RENAME a b"), "OK")
	m.restart(sim.PowerLoss, time.Second)
	check(t, "the key", m.do("client-2/1", "GET b"), "1")
}
