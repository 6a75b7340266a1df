package redis

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// notified lists patterns for commands that are about the notifications themselves, or that cause two notifications
// each.
var notified = []string{"CONFIG SET notify-keyspace-events N", "CONFIG SET Notify-Keyspace-Events N",
	"CONFIG GET notify-keyspace-events", "CONFIG GET NOTIFY-KEYSPACE-EVENTS",
	"CONFIG SET notify-keyspace-events KEy|foo", "CONFIG SET notify-keyspace-events KEA KEA",
	"CONFIG SET notify-keyspace-events", "CONFIG SET", "CONFIG GET", "CONFIG foo",
	"BLPOP|BRPOP K 0", "BLMOVE K K LEFT|RIGHT LEFT|RIGHT 0", "GETEX K PX P", "GETEX K PERSIST", "SET K V KEEPTTL",
	"EVAL redis.call('set',KEYS[1],'v','PX',ARGV[1])return(redis.call('rename',KEYS[1],KEYS[2])) 2 K K P",
	"MULTI", "EXEC", "DISCARD"}

// isUnordered reports whether a pattern's command notifies subscribers in no defined order: KEYS and SCAN find expired
// keys in hash table order.
func isUnordered(pattern string) bool {
	name, _, _ := strings.Cut(pattern, " ")
	return slices.Contains([]string{"KEYS", "SCAN"}, name)
}

// TestNotificationsAreThoseOfRedis sends all kinds of commands on two connections. Two other connections receive
// notifications about keys: one has subscribed to patterns, the other to channel names. Everything must arrive in the
// same order as from a real Redis server.
func TestNotificationsAreThoseOfRedis(t *testing.T) {
	r := newRig(t, 4)
	r.strict = true
	rows := testkit.Size(3, 12, 300)
	all := slices.Clone(looking)
	for _, family := range slices.Sorted(maps.Keys(families)) {
		if family != "pubsub" && family != "scripts" {
			all = append(all, slices.DeleteFunc(slices.Clone(families[family]), isUnordered)...)
		}
	}
	for _, classes := range []string{"KEA", "KEAn", "E$g", "Kl", "Ex", "KElsh", "AE", "KEzx", "Kgxn", "A", ""} {
		t.Run(classes, func(t *testing.T) {
			r.t = t
			v := vocabulary{rand.New(rand.NewPCG(20, 2))}
			for range rows {
				steps := []step{{conn: 2, args: []string{"PSUBSCRIBE", "__key*__:*"}}, {conn: 1, args: strings.Fields(
					"SUBSCRIBE __keyspace@0__:a __keyevent@0__:del __keyevent@0__:expired __keyevent@0__:lpush")},
					{conn: 3, args: []string{"CONFIG", "SET", "notify-keyspace-events", classes}}}
				for len(steps) < 60 {
					switch v.IntN(8) {
					case 0:
						steps = append(steps, step{move: v.move()})
					case 1:
						steps = append(steps, step{conn: 0, args: v.spell(v.one(notified...))})
					case 2:
						steps = append(steps, step{conn: 3, args: v.spell(v.one("RPUSH K V V", "SET K V", "DEL K",
							"LPUSH K V", "PEXPIRE K P", "EXISTS K+"))})
					default:
						steps = append(steps, step{conn: 0, args: v.spell(v.one(all...))})
					}
				}
				r.differ(steps)
			}
		})
	}
	t.Logf("%d commands compared", r.compared)
}
