package scenarios

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestTakingAFaultAwayLeavesTheDelaysOfAllOtherMessages runs plans with several faults, and then each plan with one
// fault removed. Messages that servers send on their own in both runs must have the same delays in both.
func TestTakingAFaultAwayLeavesTheDelaysOfAllOtherMessages(t *testing.T) {
	for _, name := range []string{"failover-wait", "semi-sync", "etcd-keepalive-lost", "consensus-under-faults",
		"zookeeper-listener", "zookeeper-under-faults"} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 3)
			t.Parallel()
			s := named(t, name)
			s.Network.Delay = sim.Delay{Lo: time.Millisecond, Hi: 9 * time.Millisecond}
			s.Servers.DownAfter = time.Second
			few := draw.For(10 * time.Second)
			few.Fewest, few.Most = 3, 4
			random, err := draw.NewGenerator(few, s.Targets(), 20*time.Second)
			if err != nil {
				t.Fatal(err)
			}
			r := NewRunner(s)
			all, again := 0, 0
			for seed := range uint64(testkit.Size(1, 4, 4)) {
				faults := random.Draw(seed)
				before := map[string]time.Duration{}
				for without := -1; without < len(faults); without++ {
					left := faults
					if without >= 0 {
						left = slices.Delete(slices.Clone(faults), without, without+1)
					}
					l := messages{travel: map[string]time.Duration{}, entries: map[string]string{}}
					r.onlooker = l.see
					if _, err := r.Run(nemesis.Plan{Seed: seed, Faults: left}); err != nil {
						t.Fatal(err)
					}
					all += len(l.travel)
					again += l.compare(t, before)
				}
			}
			if again == 0 || again < all/2 {
				t.Errorf("only %d of %d messages could be compared with one of an earlier run", again, all)
			}
		})
	}
}

// messages maps each of a run's messages, by content, to its delay.
type messages struct {
	travel  map[string]time.Duration
	entries map[string]string // entries that a leader has sent to a follower, keyed by index
}

// ambiguous is stored as a message's delay if a message with the same content was sent with another delay. For example,
// two requests may get equal replies.
const ambiguous = -1

func (l *messages) see(x sim.Sent) {
	what := fmt.Sprintf("%s to %s: %s %s", x.From, x.To, x.Phase, l.content(x))
	if d, seen := l.travel[what]; seen && d != x.Travel {
		x.Travel = ambiguous
	}
	l.travel[what] = x.Travel
}

// compare compares a run's messages with the messages in before, which are from earlier runs with the same seed. It
// returns the number of messages that were also sent in earlier runs, and reports an error for each message that had a
// different delay then. It adds new messages to before.
func (l *messages) compare(t *testing.T, before map[string]time.Duration) (again int) {
	for what, travel := range l.travel {
		d, seen := before[what]
		switch {
		case !seen:
			before[what] = travel
		case d == ambiguous || travel == ambiguous:
		case d != travel:
			t.Errorf("%s took %v, and %v with other faults", what, travel, d)
		default:
			again++
		}
	}
	return again
}

// Parts of messages that must not influence the delay: keys, and numbers of earlier events.
var (
	respInteger = regexp.MustCompile(`:\d+\r\n`)
	keyOnly     = regexp.MustCompile(`key:\d+`)
	redisCount  = regexp.MustCompile(`key:\d+|id:\{[^}]*\}|\b(offset|at|when):\d+`)
	raftEntry   = regexp.MustCompile(
		`entries:\s*\{(?:Term:\s*(\d+)\s+Index:\s*(\d+)\s*)?(?:Data:\s*"((?:[^"\\]|\\.)*)")?\}`)
	raftIndex = regexp.MustCompile(`(index|commit):\s*(\d+)`)
)

// content returns a string that identifies a message: its words and, for most messages, the time on the sender's clock.
// There are two exceptions. For data changes, and messages about such changes, the string contains neither the time nor
// the number of earlier changes. For messages between Redis servers and messages to clients, it contains only the
// second in which the message was sent.
func (l *messages) content(x sim.Sent) string {
	text := fmt.Sprintf("%+v", x.Body)
	switch x.Phase {
	case "replicate":
		return fmt.Sprint(redisCount.ReplaceAllString(text, ""), x.At/time.Second)
	case "raft MsgApp", "raft MsgAppResp", "raft MsgProp":
		return l.sent(x, text)
	case "push":
		return fmt.Sprintf("%q", respInteger.ReplaceAllString(text, "")) + fmt.Sprint(x.At/time.Second)
	}
	return fmt.Sprint(keyOnly.ReplaceAllString(text, ""), x.At)
}

// sent returns the part of a raft message that is about the log: the entries in the message, or the entries that it
// refers to by index.
func (l *messages) sent(x sim.Sent, text string) string {
	var words []string
	leader, follower := x.From, x.To
	if x.Phase == "raft MsgAppResp" {
		leader, follower = follower, leader
	}
	at := func(index string) string { return fmt.Sprintf("%s to %s: %s", leader, follower, index) }
	for _, e := range raftEntry.FindAllStringSubmatch(text, -1) {
		term, index, data := e[1], e[2], e[3]
		if data == "" {
			data = "the beginning of term " + term
		}
		l.entries[at(index)] = data
		words = append(words, data)
	}
	if len(words) > 0 {
		return fmt.Sprint(words)
	}
	for _, i := range raftIndex.FindAllStringSubmatch(text, -1) {
		entry, known := l.entries[at(i[2])]
		if !known { // the entry was sent by another leader
			return fmt.Sprint(text, x.At)
		}
		words = append(words, i[1], entry)
	}
	if strings.Contains(text, "reject:") {
		words = append(words, "rejected", fmt.Sprint(x.At))
	}
	return fmt.Sprint(words)
}
