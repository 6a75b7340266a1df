package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestStoriesNameTheTrueReason holds the stories of runs that are easily misread to what happened in them.
func TestStoriesNameTheTrueReason(t *testing.T) {
	const slow = "holder outlived its lease (slow work)"
	for _, test := range []struct {
		why      string
		scenario string // of the catalogue, or a file
		seed     uint64
		faults   []string // in place of a catalogue scenario's own
		law      checker.Law
		cause    string
		names    []string // the faults that the story names
	}{
		{"the fault ended the session; no clock was wrong", "etcd-lease-rechecked", 4,
			[]string{"expire session of client-1 after acquired"},
			checker.LeaseExclusion, "session expired", []string{"expire session of client-1 after acquired"}},
		{"the session had been ended before the key was set", "consensus-under-faults", 3,
			[]string{"expire session of client-1 at 4.001s"},
			checker.LeaseExclusion, "session expired", []string{"expire session of client-1 at 4.001s"}},
		{"a cut that begins after the overlap is no reason of it", "two-locks-opposite-order", 3,
			[]string{"cut resource | client-1 client-2 after before-release by client-2",
				"cut client-1 | redis-1 resource at 4.39s for 12.104s"},
			checker.MutualExclusion, "waited for another lock",
			[]string{"cut client-1 | redis-1 resource at 4.39s for 12.104s"}},
		{"the master lost the key; a replica's record is of no account", "failover-wait-other-replica", 6,
			[]string{"crash redis-1 losing unsynced writes after acquire-start by client-2, restart after 196ms"},
			checker.LeaseExclusion, "lost in crash (unsynced)",
			[]string{"crash redis-1 losing unsynced writes after acquire-start by client-2, restart after 196ms"}},
		{"its second lock was not to be had while the server was down", "two-locks-opposite-order", 19,
			[]string{"shut down redis-1 at 5.152s, restart after 12.225s"},
			checker.MutualExclusion, "waited for another lock",
			[]string{"shut down redis-1 at 5.152s, restart after 12.225s"}},
		{"a break for which nobody waited", "zookeeper-session-expiry", 13,
			[]string{"expire session of client-1 at 988ms", "break client-1 | zookeeper-3 before reply 5"},
			checker.ResourceSafety, "superseded holder took effect", nil},
		{"a pause after the clash", short("work: {cycles: 1, hold: 6s}\nfaults:\n  - pause client-1 for 100ms at 5s"),
			1, nil, checker.MutualExclusion, slow, nil},
		{"of two pauses the one that took the time",
			short("faults:\n  - pause client-1 for 4s at 50ms\n  - pause client-1 for 500ms at 3s"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (pause)", []string{"pause client-1 for 4s at 50ms"}},
		{"two pauses at once, each of which alone would do",
			short("faults:\n  - pause client-1 for 4s at 50ms\n  - pause client-1 for 3.9s at 60ms"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (pause)",
			[]string{"pause client-1 for 4s at 50ms", "pause client-1 for 3.9s at 60ms"}},
		{"two pauses at once, of which the longer one would do alone",
			short("faults:\n  - pause client-1 for 4s at 50ms\n  - pause client-1 for 1s at 3.2s"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (pause)", []string{"pause client-1 for 4s at 50ms"}},
		{"a pause in two parts, of which the second began when it was too late",
			short("faults:\n  - pause client-1 for 3s at 50ms\n  - pause client-1 for 3s at 3.05s"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (pause)", []string{"pause client-1 for 3s at 50ms"}},
		{"two cuts at once, each of which alone keeps the writes away",
			short("work: {writes: 1}\nresource: {timeout: 10s}\nfaults:\n  - cut client-1 | resource at 1ms for 4s\n " +
				" - cut client-1 | resource at 2ms for 4s"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (late packet)",
			[]string{"cut client-1 | resource at 1ms for 4s", "cut client-1 | resource at 2ms for 4s"}},
		{"two cuts at once, each of which alone keeps the extensions away",
			"name: renewed\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 2s, extension: {}}\n" +
				"work: {cycles: 1, hold: 6s, stop-when-lost: off}\nfaults:\n  - cut client-1 | redis-1 at 500ms for " +
				"4s\n  - cut redis-1 | client-1 at 520ms for 4s\n", 1, nil,
			checker.MutualExclusion, "holder outlived its lease (late packet)",
			[]string{"cut client-1 | redis-1 at 500ms for 4s", "cut redis-1 | client-1 at 520ms for 4s"}},
		{"its key expired, which nobody publishes; the probe must not hide that by its own release",
			"name: silent\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 2s, retry: {wake: message}}\nwork: " +
				"{hold: 1s}\nfaults:\n  - crash client-1 after acquired\n", 1, nil,
			checker.DeadlockFreedom, "stuck although nobody holds", []string{"crash client-1 after acquired"}},
		{"a cut from a resource that nobody uses",
			short("work: {cycles: 1, hold: 6s, writes: 0}\nfaults:\n  - cut client-1 | resource at 1s for 2s"),
			1, nil, checker.MutualExclusion, slow, nil},
		{"a cut while nothing was under way",
			short("work: {cycles: 1, hold: 6s}\nfaults:\n  - cut client-1 | redis-1 at 1s for 2s"), 1, nil,
			checker.MutualExclusion, slow, nil},
		{"clocks that run fast by a thousandth are not why a client believes in a lock for twelve seconds too long",
			`name: no-elapsed-check
servers: {redis: 5}
lock: {protocol: redlock, ttl: 10s, contact: parallel, elapsed-check: off}
work: {hold: 4s}
faults:
  - drift redis-1 clock by +1000ppm from 0s
  - drift redis-2 clock by +1000ppm from 0s
  - drift redis-3 clock by +1000ppm from 0s
  - drift redis-4 clock by +1000ppm from 0s
  - drift redis-5 clock by +1000ppm from 0s
  - pause client-1 for 12s at 300us
`, 1, nil, checker.LeaseExclusion, "validity miscounted", []string{"pause client-1 for 12s at 300us"}},
		{"a client that hears its member is not suspended, although its own pings arrive nowhere (ClientCnxn counts " +
			"what it receives)",
			"name: one-way\nservers: {zookeeper: 3}\nclients: 2\nlock: {protocol: zookeeper, ttl: 4s, listener: " +
				"on}\nwork: {cycles: 2, hold: 7s, think: 0s..500ms}\nfaults:\n  - cut client-2 -> zookeeper-2 after " +
				"before-release by client-1 for 4s\n  - cut client-2 | zookeeper-2 after before-release by client-1 " +
				"for 2s\n", 5, nil,
			checker.MutualExclusion, "validity miscounted", nil},
	} {
		s, err := Named(test.scenario)
		if strings.Contains(test.scenario, "\n") {
			s, err = Parse("story.yaml", []byte(test.scenario))
		}
		if err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		plan := s.Plan(test.seed)
		if test.faults != nil {
			plan.Faults = parsed(t, test.faults)
		}
		result, err := NewRunner(s).Run(plan)
		if err != nil {
			t.Fatalf("%s: %v", test.why, err)
		}
		f := checker.Check(result.History).Of(test.law)
		var named []string
		for _, at := range f.Faults {
			named = append(named, result.History.Events[at].Value)
		}
		if f.Outcome != checker.Violated || f.Cause.String() != test.cause || !slices.Equal(named, test.names) {
			t.Errorf("%s:\n%s by %s, naming %q, want %s, naming %q\n%s", test.why, f.Outcome, f.Cause, named,
				test.cause, test.names, f.Explanation)
		}
	}
}

// short is a lock that is held for longer than its lease, if the rest does not say otherwise.
func short(rest string) string {
	return "name: short\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 2s}\n" + rest + "\n"
}

func parsed(t *testing.T, lines []string) []nemesis.Fault {
	var faults []nemesis.Fault
	for _, l := range lines {
		f, err := nemesis.Parse(l)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	return faults
}
