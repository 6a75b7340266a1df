package scenarios

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestTakingAFaultAwayLeavesTheDelaysOfAllOtherLetters runs plans of several faults, and then each without one of them.
// What servers send unasked in two of these runs has travelled equally long in both.
func TestTakingAFaultAwayLeavesTheDelaysOfAllOtherLetters(t *testing.T) {
	for _, name := range []string{"failover-wait", "semi-sync", "etcd-keepalive-lost", "consensus-under-faults",
		"zookeeper-listener", "zookeeper-under-faults"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := named(t, name)
			s.Network.Delay = sim.Delay{Lo: time.Millisecond, Hi: 9 * time.Millisecond}
			s.Servers.DownAfter = time.Second
			mix := nemesis.MixFor(10 * time.Second)
			mix.Fewest, mix.Most = 3, 4
			random, err := nemesis.NewGenerator(mix, s.Targets(), 20*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r := NewRunner(s)
			all, again := 0, 0
			for seed := range uint64(4) {
				l := letters{t: t, travel: map[string]time.Duration{}}
				run := func(faults []nemesis.Fault) {
					l.entries = map[string]string{}
					if _, err := r.Run(nemesis.Plan{Seed: seed, Faults: faults}); err != nil {
						t.Fatal(err)
					}
				}
				r.onlooker = l.see
				faults := random.Draw(seed)
				run(faults)
				for i := range faults {
					run(slices.Delete(slices.Clone(faults), i, i+1))
				}
				all, again = all+l.all, again+l.again
			}
			if again < all/2 {
				t.Errorf("only %d of %d letters could be compared with one of an earlier run", again, all)
			}
		})
	}
}

// letters are the delays of all that has been sent with a seed, by what it was.
type letters struct {
	t          *testing.T
	travel     map[string]time.Duration
	entries    map[string]string // of the log in this run, by index
	all, again int
}

// see notes a letter, and complains if it took another time in an earlier run.
func (l *letters) see(x sim.Sent) {
	what := fmt.Sprintf("%s to %s: %s %s", x.From, x.To, x.Phase, l.content(x))
	before, seen := l.travel[what]
	if seen && before != x.Travel {
		l.t.Fatalf("%s took %v, and %v with other faults", what, x.Travel, before)
	}
	l.travel[what] = x.Travel
	l.all++
	if seen {
		l.again++
	}
}

// Words of letters that a draw might wrongly count by: keys, and numbers of what came before.
var (
	respInteger = regexp.MustCompile(`:\d+\r\n`)
	keyOnly     = regexp.MustCompile(`key:\d+`)
	redisCount  = regexp.MustCompile(`key:\d+|id:\{[^}]*\}|\b(offset|at|when):\d+`)
	raftEntry   = regexp.MustCompile(`entries:\s*\{(?:Term:\s*(\d+)\s+Index:\s*(\d+)\s*)?(?:Data:\s*"((?:[^"\\]|\\.)*)")?\}`)
	raftIndex   = regexp.MustCompile(`(index|commit):\s*(\d+)`)
)

// content is what a letter tells. Changes of data and what concerns them are told by them alone, however many came before,
// on Redis and to clients within a second; of the rest the time by the sender's clock is part.
func (l *letters) content(x sim.Sent) string {
	text := fmt.Sprintf("%+v", x.Body)
	switch x.Phase {
	case "replicate":
		return fmt.Sprint(redisCount.ReplaceAllString(text, ""), x.At/time.Second)
	case "raft MsgApp", "raft MsgAppResp", "raft MsgProp":
		var told []string
		for _, e := range raftEntry.FindAllStringSubmatch(text, -1) {
			term, index, data := e[1], e[2], e[3]
			if data == "" {
				data = "the beginning of term " + term
			}
			l.entries[index] = data
			told = append(told, data)
		}
		if len(told) > 0 {
			return fmt.Sprint(told)
		}
		for _, i := range raftIndex.FindAllStringSubmatch(text, -1) {
			told = append(told, i[1], cmp.Or(l.entries[i[2]], i[2]))
		}
		return fmt.Sprint(told)
	case "push":
		return fmt.Sprintf("%q", respInteger.ReplaceAllString(text, "")) + fmt.Sprint(x.At/time.Second)
	}
	return fmt.Sprint(keyOnly.ReplaceAllString(text, ""), x.At)
}
