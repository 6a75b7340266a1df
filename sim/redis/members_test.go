package redis

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// recent returns the records since the last call, without their times.
func (m *machine) recent() string {
	var lines []string
	for line := range strings.Lines(m.story()) {
		_, line, _ = strings.Cut(strings.TrimSuffix(line, "\n"), " s ")
		lines = append(lines, line)
	}
	return strings.Join(lines, "; ")
}

func TestEachMemberHasAnOwnerAndRecordsOfItsOwn(t *testing.T) {
	m := newMachine(everysec)
	for _, step := range []struct{ attempt, command, report string }{
		{"client-1/1", "HSET lock a 1", "key-set lock.a of client-1/1 by client-1/1 = 1 until never"},
		{"client-1/1", "PEXPIRE lock 5000", "key-prolonged lock.a of client-1/1 by client-1/1 until 5.0006 s"},
		{"client-2/1", "HINCRBY lock b 1", "key-set lock.b of client-2/1 by client-2/1 = 1 until 5.0006 s"},
		{"client-2/1", "HINCRBY lock b 1", ""}, // an existing counter keeps its owner
		{"client-2/1", "PEXPIRE lock 8000", "key-prolonged lock.a of client-1/1 until 8.0006 s; key-prolonged lock.b " +
			"of client-2/1 by client-2/1 until 8.0006 s"},
		{"client-2/1", "PEXPIRE lock 6000", "key-prolonged lock.a of client-1/1 by client-2/1 until 6.0006 s; " +
			"key-prolonged lock.b of client-2/1 by client-2/1 until 6.0006 s"},
		{"client-3/1", "PEXPIRE lock 9000", "key-prolonged lock.a of client-1/1 by client-3/1 until 9.0006 s; " +
			"key-prolonged lock.b of client-2/1 by client-3/1 until 9.0006 s"},
		{"client-3/1", "HSET lock a 2", "key-set lock.a of client-3/1 by client-3/1 = 2 until 9.0006 s"},
		{"client-2/1", "HDEL lock b", "key-gone lock.b of client-2/1 by client-2/1: deleted"},
		{"client-1/1", "DEL lock", "key-gone lock.a of client-3/1 by client-1/1: deleted"},
		{"client-1/2", "ZADD sem 10 x", "key-set sem.x of client-1/2 by client-1/2 = 10 until never"},
		{"client-2/2", "ZADD sem 20 y 30 z", "key-set sem.y of client-2/2 by client-2/2 = 20 until never; key-set " +
			"sem.z of client-2/2 by client-2/2 = 30 until never"},
		{"client-2/2", "ZADD sem NX 40 x", ""},
		{"client-1/2", "ZADD sem 15 x", "key-set sem.x of client-1/2 by client-1/2 = 15 until never"},
		{"client-3/2", "ZREMRANGEBYSCORE sem -inf 15", "key-gone sem.x of client-1/2: expired"},
		{"client-3/2", "ZREM sem y", "key-gone sem.y of client-2/2 by client-3/2: deleted"},
		{"client-3/2", "RENAME sem moved", "key-set moved.z of client-2/2 by client-3/2 = 30 until never; key-gone " +
			"sem.z of client-2/2 by client-3/2: deleted"},
		{"client-3/2", "SET moved v", "key-gone moved.z of client-2/2 by client-3/2: deleted; key-set moved of " +
			"client-3/2 by client-3/2 = v until never"},
		{"client-1/3", "SADD set p q", "key-set set.p of client-1/3 by client-1/3 until never; key-set set.q of " +
			"client-1/3 by client-1/3 until never"},
		{"client-2/3", "SADD set q r", "key-set set.r of client-2/3 by client-2/3 until never"},
		{"client-1/4", "RPUSH list x y x", "key-set list.x of client-1/4 by client-1/4 until never; key-set list.x#2 " +
			"of client-1/4 by client-1/4 until never; key-set list.y of client-1/4 by client-1/4 until never"},
		// One x remains in the list.
		{"client-2/4", "LPOP list", "key-gone list.x#2 of client-1/4 by client-2/4: deleted"},
		{"client-2/4", "LPUSH list z", "key-set list.z of client-2/4 by client-2/4 until never"},
		{"client-3/4", "LREM list 1 y", "key-gone list.y of client-1/4 by client-3/4: deleted"},
		{"client-1/4", "LINSERT list AFTER z z", "key-set list.z#2 of client-1/4 by client-1/4 until never"},
		{"client-3/4", "DEL list", "key-gone list.x of client-1/4 by client-3/4: deleted; key-gone list.z of " +
			"client-2/4 by client-3/4: deleted; key-gone list.z#2 of client-1/4 by client-3/4: deleted"},
		{"client-3/3", "FLUSHALL", "key-gone moved of client-3/2 by client-3/3: flushed; key-gone set.p of " +
			"client-1/3 by client-3/3: flushed; key-gone set.q of client-1/3 by client-3/3: flushed; key-gone set.r " +
			"of client-2/3 by client-3/3: flushed"},
	} {
		m.do(history.Attempt(step.attempt), step.command)
		check(t, step.command+" of "+step.attempt, m.recent(), step.report)
	}
}

// TestWhoGivesBackItsFieldLeavesTheRestToNobody checks that when an attempt removes one of its fields, its other fields
// no longer have an owner. For example, the first reader sets the mode field of a read-write lock, and the last reader
// removes it.
func TestWhoGivesBackItsFieldLeavesTheRestToNobody(t *testing.T) {
	m := newMachine(Config{})
	m.do("client-1/1", "HSET lock mode read first 1")
	m.do("client-2/1", "HSET lock second 1")
	m.recent()
	m.do("client-1/1", "HDEL lock first")
	check(t, "the first reader leaves", m.recent(),
		"key-gone lock.first of client-1/1 by client-1/1: deleted; key-set lock.mode of  by client-1/1 = read until "+
			"never")
	m.do("client-2/1", "DEL lock")
	check(t, "the last reader leaves", m.recent(),
		"key-gone lock.mode of  by client-2/1: deleted; key-gone lock.second of client-2/1 by client-2/1: deleted")
	m.do("client-1/2", "HSET lock mode read first 1")
	m.do("client-2/2", "HSET lock second 1")
	m.recent()
	m.do("client-2/2", "DEL lock")
	check(t, "while another is inside", m.recent(), "key-gone lock.first of client-1/2 by client-2/2: deleted; "+
		"key-gone lock.mode of client-1/2 by client-2/2: deleted; key-gone lock.second of client-2/2 by client-2/2: "+
		"deleted")
}

// TestAFieldThatIsSetToItsValueStaysWithItsOwner checks what happens when a command sets a field to the value it
// already has. The field keeps its owner if the owner has another field that the command does not set. For example,
// each reader of a read-write lock may set the mode. Otherwise the owner is replaced, because all clients may use the
// same value.
func TestAFieldThatIsSetToItsValueStaysWithItsOwner(t *testing.T) {
	for _, c := range []struct{ first, second, report string }{
		{"HSET lock mode read first 1", "HSET lock mode read",
			""},
		{"HSET lock mode read first 1", "HSET lock mode read second 1",
			"key-set lock.second of client-2/1 by client-2/1 = 1 until never"},
		{"HSET lock mode read first 1", "HSET lock mode write",
			"key-set lock.mode of client-2/1 by client-2/1 = write until never"},
		{"HSET lock owner worker", "HSET lock owner worker",
			"key-set lock.owner of client-2/1 by client-2/1 = worker until never"},
		{"HSET lock owner worker since 1", "HMSET lock owner worker since 1",
			"key-set lock.owner of client-2/1 by client-2/1 = worker until never; key-set lock.since of client-2/1 " +
				"by client-2/1 = 1 until never"},
	} {
		m := newMachine(Config{})
		m.do("client-1/1", c.first)
		m.recent()
		m.do("client-2/1", c.second)
		check(t, c.first+", then "+c.second, m.recent(), c.report)
	}
}

// TestMembersKeepTheirOwners checks that members keep their owners after expiry, a backward clock jump, a restart and a
// power loss.
func TestMembersKeepTheirOwners(t *testing.T) {
	m := newMachine(everysec)
	m.do("client-1/1", "HSET lock a 1")
	m.do("client-2/1", "HSET lock b 1")
	m.do("client-2/1", "PEXPIRE lock 5000")
	m.recent()
	gone := "key-gone lock.a of client-1/1: expired; key-gone lock.b of client-2/1: expired"
	back := "key-set lock.a of client-1/1 = 1 until 5.0006 s; key-set lock.b of client-2/1 = 1 until 5.0006 s"
	m.jump(6 * time.Second)
	check(t, "expired", m.recent(), gone)
	m.jump(-6 * time.Second)
	check(t, "alive again", m.recent(), back)
	check(t, "a clean restart", m.restart(sim.ShutDown, time.Second), "")
	m.do("client-1/1", "HDEL lock a")
	m.do("client-3/1", "HSET lock b 2 c 1")
	m.recent()
	check(t, "a loss of power", m.restart(sim.PowerLoss, 100*time.Millisecond),
		"key-set lock.a of client-1/1 = 1 until 5.0006 s; "+
			"key-gone lock.b of client-3/1: lost in crash (unsynced); key-set lock.b of client-2/1 = 1 until 5.0006 "+
			"s; key-gone lock.c of client-3/1: lost in crash (unsynced)")
}
