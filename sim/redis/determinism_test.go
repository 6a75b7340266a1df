package redis

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// life executes random commands, clock jumps and crashes on m, and returns everything that can be observed from
// outside.
func life(m *machine, seed uint64) string {
	v := vocabulary{rand.New(rand.NewPCG(seed, 1))}
	patterns := append(families["strings"][:len(families["strings"]):len(families["strings"])], families["generic"]...)
	for _, family := range []string{"hashes", "lists", "sets", "zsets", "transactions"} {
		patterns = append(patterns, families[family]...)
	}
	var report strings.Builder
	for i := range 300 {
		m.conn = uint64(1 + v.IntN(3))
		switch v.IntN(40) {
		case 0:
			m.jump(time.Duration(v.IntN(4000)-2000) * time.Millisecond)
		case 1:
			m.sleep(time.Duration(v.IntN(3000)) * time.Millisecond)
		case 2:
			m.stop([]sim.Stop{sim.ShutDown, sim.PowerLoss, sim.LoseAllState}[v.IntN(3)])
			m.freeze(time.Second)
			m.start()
		case 3:
			fmt.Fprintln(&report, m.eval("return {redis.call('set', KEYS[1], math.random(1000)), tostring({}), "+
				"redis.call('keys', '*')}", "1", v.key()))
		default:
			attempt := history.Attempt(fmt.Sprintf("client-%d/%d", m.conn, i))
			fmt.Fprintf(&report, "%q\n", m.args(attempt, v.spell(v.one(patterns...))...))
		}
	}
	fmt.Fprintln(&report, m.story(), m.node.Keys(), m.node.Log(), m.fired)
	return report.String()
}

func TestSameCallsGiveSameBytes(t *testing.T) {
	reused := New(Config{})
	for seed := range uint64(40) {
		cfg := Config{Persistence: store.Policy(seed % 4), FsyncTime: time.Duration(seed%3) * time.Millisecond}
		first := life(newMachine(cfg), seed)
		reused.Reset(cfg)
		m := &machine{wall: epoch, node: reused, up: true, conn: 1}
		reused.Start(m)
		if again := life(m, seed); again != first {
			a, b := strings.Split(first, "\n"), strings.Split(again, "\n")
			for i := range a {
				if i >= len(b) || a[i] != b[i] {
					t.Fatalf("seed %d, line %d:\n new node %s\nused node %s", seed, i, a[i], b[min(i, len(b)-1)])
				}
			}
		}
	}
}

// TestLogGivesTheDataBack replays the logs of random runs. The data kept by a clean shutdown must be complete and
// unchanged.
func TestLogGivesTheDataBack(t *testing.T) {
	for seed := range uint64(40) {
		m := newMachine(Config{Persistence: store.Everysec})
		life(m, seed)
		before := fmt.Sprint(m.node.Keys())
		if report := m.restart(sim.ShutDown, 0); report != "" {
			t.Errorf("seed %d: the restart recorded %s", seed, report)
		}
		check(t, fmt.Sprintf("seed %d: the data", seed), fmt.Sprint(m.node.Keys()), before)
	}
}

// TestKeysOfTheNodeAreThoseOfMiniredis checks store.Data's invariant after random runs: once the strings have been
// copied to miniredis, the node and miniredis have the same keys.
func TestKeysOfTheNodeAreThoseOfMiniredis(t *testing.T) {
	for seed := range uint64(40) {
		m := newMachine(Config{})
		life(m, seed)
		var names []string
		for _, k := range m.node.Keys() {
			if m.node.data.IsHidden(k.Name) {
				continue
			}
			names = append(names, k.Name)
			check(t, "a string is known as one", m.node.data.Peek(k.Name).Text, k.Type == "string")
		}
		d := m.node.data
		d.Ask("PING") // this copies the strings to miniredis
		check(t, fmt.Sprintf("seed %d: names", seed), fmt.Sprint(names), fmt.Sprint(d.DB.Keys()))
		for _, name := range names {
			value, _ := d.DB.Get(name) // empty if the key is not a string
			check(t, fmt.Sprintf("seed %d: %s", seed, name), d.Peek(name).Value, value)
		}
	}
}
