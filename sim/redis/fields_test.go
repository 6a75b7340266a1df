package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// redis8 configures a server that has the field deadline commands.
var redis8 = Config{Version: Redis8, Persistence: store.Everysec, FsyncTime: store.DefaultFsyncTime}

func TestAFieldHasADeadlineAndRecordsOfItsOwn(t *testing.T) {
	m := newMachine(redis8)
	for _, step := range []struct{ attempt, command, report string }{
		{"client-1/1", "HSETEX lock FNX PX 5000 FIELDS 1 a 1", "key-set lock.a of client-1/1 by client-1/1 = 1 until " +
			"5.0006 s"},
		{"client-2/1", "HSETEX lock FNX PX 9000 FIELDS 1 a 2", ""},
		{"client-2/1", "HSETEX lock FNX PX 9000 FIELDS 1 b 2", "key-set lock.b of client-2/1 by client-2/1 = 2 until " +
			"9.0006 s"},
		{"client-1/1", "HPEXPIRE lock 6000 FIELDS 1 a", "key-prolonged lock.a of client-1/1 by client-1/1 until " +
			"6.0006 s"},
		{"client-3/1", "HPEXPIRE lock 1000 FIELDS 2 a b", "key-prolonged lock.a of client-1/1 by client-3/1 until " +
			"1.0006 s; key-prolonged lock.b of client-2/1 by client-3/1 until 1.0006 s"},
		{"client-1/1", "HPERSIST lock FIELDS 1 a", "key-prolonged lock.a of client-1/1 by client-1/1 until never"},
		{"client-1/1", "PEXPIRE lock 4000", "key-prolonged lock.a of client-1/1 by client-1/1 until 4.0006 s"},
		{"client-1/1", "PEXPIRE lock 500", "key-prolonged lock.a of client-1/1 by client-1/1 until 0.5006 s; " +
			"key-prolonged lock.b of client-2/1 by client-1/1 until 0.5006 s"},
		{"client-1/1", "PERSIST lock", "key-prolonged lock.a of client-1/1 by client-1/1 until never; key-prolonged " +
			"lock.b of client-2/1 until 1.0006 s"},
		{"client-2/1", "HGETEX lock PX 2000 FIELDS 1 b", "key-prolonged lock.b of client-2/1 by client-2/1 until " +
			"2.0006 s"},
		{"client-3/1", "HGETDEL lock FIELDS 1 a", "key-gone lock.a of client-1/1 by client-3/1: deleted"},
		{"client-3/1", "HPEXPIREAT lock 1 FIELDS 1 b", "key-prolonged lock.b of client-2/1 by client-3/1 until " +
			"0.000 s; key-gone lock.b of client-2/1: expired"},
		{"client-3/2", "HSET lock c 1", "key-set lock.c of client-3/2 by client-3/2 = 1 until never"},
		{"client-1/2", "HPEXPIRE lock 0 FIELDS 1 c", "key-gone lock.c of client-3/2 by client-1/2: deleted"},
		{"client-3/2", "EXISTS lock", ""},
	} {
		m.do(history.Attempt(step.attempt), step.command)
		check(t, step.command+" of "+step.attempt, m.recent(), step.report)
	}
}

func TestAFieldExpiresByTheClockOfTheServer(t *testing.T) {
	m := newMachine(redis8)
	m.do("client-1/1", "HSETEX lock PX 10000 FIELDS 1 a 1")
	m.do("client-2/1", "HSET lock b 1")
	m.recent()
	m.sleep(11 * time.Second)
	check(t, "at its deadline", m.story(), "10.0006 s key-gone lock.a of client-1/1: expired\n")
	check(t, "the rest", m.do("client-2/1", "HGETALL lock"), "[b 1]")

	m.do("client-1/2", "HSETEX lock PX 10000 FIELDS 1 a 1")
	m.recent()
	m.jump(30 * time.Second)
	check(t, "after a jump", m.recent(), "key-gone lock.a of client-1/2: expired")
	check(t, "until the background cycle", m.do("client-2/1", "HLEN lock"), "2")
	m.jump(-30 * time.Second)
	check(t, "after a jump back", m.recent(), "key-set lock.a of client-1/2 = 1 until 21.0006 s")
	m.sleep(11 * time.Second)
	check(t, "it ends once more", m.recent(), "key-gone lock.a of client-1/2: expired")
	check(t, "after the background cycle", m.do("client-2/1", "HLEN lock"), "1")
}

func TestFieldsOutliveARestartWithTheirDeadlines(t *testing.T) {
	m := newMachine(redis8)
	m.do("client-1/1", "HSETEX lock PX 10000 FIELDS 1 a 1")
	m.do("client-2/1", "HSETEX lock PX 2000 FIELDS 1 b 1")
	m.do("client-2/1", "PEXPIRE lock 60000")
	check(t, "records", m.restart(sim.ShutDown, 4*time.Second), "key-gone lock.b of client-2/1: expired")
	check(t, "time left", m.do("client-1/1", "HPTTL lock FIELDS 2 a b"), "[6000 -2]")
	m.sleep(2 * time.Second)
	check(t, "a crash", m.restart(sim.LoseAllState, time.Second),
		"key-gone lock.a of client-1/1: lost in crash (disk lost)")
}

// TestReplicasGetDeadlinesOfFieldsAsTimes checks that replicas get deadlines as absolute times. A relative time would
// result in a different deadline on a replica.
func TestReplicasGetDeadlinesOfFieldsAsTimes(t *testing.T) {
	m := newMachine(redis8)
	for _, command := range []string{"HSETEX lock FNX PX 5000 FIELDS 2 a 1 b 2", "HEXPIRE lock 7 FIELDS 2 a x",
		"HPEXPIRE lock 8000 XX FIELDS 1 b", "HGETEX lock EX 9 FIELDS 2 a b", "HGETEX lock PERSIST FIELDS 1 a",
		"HPERSIST lock FIELDS 2 a b", "HSETEX lock KEEPTTL FIELDS 1 a 3", "HGETDEL lock FIELDS 2 a x",
		"HPEXPIRE lock 0 FIELDS 1 b", "HSETEX lock PX 5 FIELDS 1 c 3"} {
		m.do("client-1/1", command)
	}
	m.freeze(time.Second)
	m.do("client-2/1", "HGET lock c")
	check(t, "the log", strings.Join(m.node.Log(), "\n"), strings.Join([]string{
		"hsetex lock PXAT " + epochPlus(5*time.Second) + " FIELDS 2 a 1 b 2",
		"hpexpireat lock " + epochPlus(7*time.Second) + " FIELDS 1 a",
		"hpexpireat lock " + epochPlus(8*time.Second) + " FIELDS 1 b",
		"hpexpireat lock " + epochPlus(9*time.Second) + " FIELDS 2 a b",
		"hpersist lock FIELDS 1 a",
		"hpersist lock FIELDS 1 b",
		"hsetex lock KEEPTTL FIELDS 1 a 3",
		"hdel lock a", "hdel lock b",
		"hsetex lock PXAT " + epochPlus(5*time.Millisecond) + " FIELDS 1 c 3",
		"hdel lock c"}, "\n"))
}
