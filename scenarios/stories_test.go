package scenarios

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// TestStoriesNameTheTrueReason checks the explanations of violations in runs that are easily misread. Each explanation
// must agree with what happened in its run.
func TestStoriesNameTheTrueReason(t *testing.T) {
	const never, slow = "never renewed", "holder outlived its lease (slow work)"
	for _, test := range []struct {
		why      string
		scenario string // a scenario of the catalog, or the text of a file
		seed     uint64
		faults   []string // these replace the faults of a scenario of the catalog
		law      checker.Law
		cause    string
		names    []string // the faults that the story must name
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
			1, nil, checker.MutualExclusion, never, nil},
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
			1, nil, checker.MutualExclusion, never, nil},
		{"a cut while nothing is known to have been under way: a renewal, for one, may have been",
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
  - pause client-1 for 12s after quorum-reached
`, 1, nil, checker.LeaseExclusion, "validity miscounted", []string{"pause client-1 for 12s after quorum-reached"}},
		{"a disk that was lost, on a server that syncs every write",
			kept("always", "  - crash redis-1 losing everything at 2s, restart after 100ms"), 1, nil,
			checker.LeaseExclusion, "lost in crash (disk lost)",
			[]string{"crash redis-1 losing everything at 2s, restart after 100ms"}},
		{"a shut-down that the key survived",
			kept("always", "  - shut down redis-1 at 1s, restart after 100ms\n"+
				"  - crash redis-1 losing everything at 2s, restart after 100ms"), 1, nil,
			checker.LeaseExclusion, "lost in crash (disk lost)",
			[]string{"crash redis-1 losing everything at 2s, restart after 100ms"}},
		{"a read that was held up while the lease still ran",
			short("work: {cycles: 1, hold: 1s, writes: 1}\nresource: {timeout: 2s}\nfaults:\n" +
				"  - cut client-1 | resource after acquired for 1500ms"), 1, nil,
			checker.MutualExclusion, "holder outlived its lease (late packet)",
			[]string{"cut client-1 | resource after acquired for 1.5s"}},
		{"an extension that was counted after the two had met is no reason of it",
			"name: any-answer\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 2s, extension: " +
				"{mode: any-answer, in: background}}\nwork: {cycles: 1, hold: 4s}\nfaults:\n" +
				"  - pause client-1 for 3s at 100ms\nlimit: 60s\n", 1, nil,
			checker.MutualExclusion, "holder outlived its lease (pause)", []string{"pause client-1 for 3s at 100ms"}},
		{"an extension of a key that was gone",
			"name: any-answer\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 2s, extension: " +
				"{mode: any-answer, in: background}}\nwork: {cycles: 1, hold: 4s}\nfaults:\n" +
				"  - pause client-1 for 3s at 100ms\nlimit: 60s\n", 1, nil,
			checker.LeaseExclusion, "validity miscounted (gone key extended)", nil},
		{"a quorum of four, of five servers of which two are gone",
			"name: four\nservers: {redis: 5}\nclients: 2\nlock: {protocol: redlock, ttl: 5s, quorum: 4}\nfaults:\n" +
				"  - crash client-2 at 0s\n  - crash redis-1 losing unsynced writes at 0s\n" +
				"  - crash redis-2 losing unsynced writes at 0s\n", 1, nil,
			checker.DeadlockFreedom, "no quorum left", []string{"crash redis-1 losing unsynced writes at 0s",
				"crash redis-2 losing unsynced writes at 0s"}},
		{"of three servers that are gone for good, of which two are enough, the first two",
			"name: three\nservers: {redis: 3}\nclients: 2\nlock: {protocol: redlock, ttl: 5s}\nfaults:\n" +
				"  - shut down redis-1 at 1ms\n  - shut down redis-2 at 2ms\n  - shut down redis-3 at 3ms\n", 1, nil,
			checker.DeadlockFreedom, "no quorum left",
			[]string{"shut down redis-1 at 1ms", "shut down redis-2 at 2ms"}},
		{"one lock, of which a client waits for its own hold",
			"name: again\nservers: {zookeeper: 3}\nclients: 2\nlock: {protocol: zookeeper, listener: reacquire, ttl: " +
				"6s}\nwork: {cycles: 1, hold: 12s}\nlimit: 60s\nfaults:\n" +
				"  - cut client-1 | zookeeper-1 zookeeper-2 zookeeper-3 at 2s for 4s\n", 1, nil,
			checker.DeadlockFreedom, "stuck behind its own hold", nil},
		{"a cut on the link to a replica that was not counted; another made WAIT take long",
			"name: waits\nservers: {redis: 1, replicas: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 3s, wait: " +
				"{timeout: 500ms, obey: off}, retry: {delay: 20ms..60ms}}\nwork: {cycles: 1, hold: 3400ms}\nlimit: " +
				"60s\nfaults:\n  - cut redis-1 | redis-1-replica-1 at 0s for 2s\n" +
				"  - cut client-1 -> redis-1-replica-1 at 0s for 2s\n", 1, nil,
			checker.LeaseExclusion, "validity miscounted", []string{"cut redis-1 | redis-1-replica-1 at 0s for 2s"}},
		{"a counter that a server without persistence forgot when it was shut down",
			"name: forgets\nservers: {redis: 1, persistence: none}\nclients: 2\nlock: {protocol: fenced, ttl: 5s}" +
				"\nwork: {cycles: 3, hold: 500ms}\nresource: {fencing: on}\nfaults:\n" +
				"  - shut down redis-1 at 800ms, restart after 100ms\n", 1, nil,
			checker.TokenOrder, "token repeated", []string{"shut down redis-1 at 800ms, restart after 100ms"}},
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

// short returns a scenario in which a client holds the lock for longer than its lease. rest contains additional
// settings, which may replace others.
func short(rest string) string {
	return "name: short\nservers: {redis: 1}\nclients: 2\nlock: {protocol: set-nx-px, ttl: 2s}\n" + rest + "\n"
}

// kept returns a scenario with the given faults and with a lock on one Redis server that writes an append-only file.
func kept(fsync, faults string) string {
	return "name: kept\nservers: {redis: 1, persistence: {append-fsync: " + fsync + "}}\nclients: 2\nlock: " +
		"{protocol: set-nx-px, ttl: 5s, retry: {delay: 50ms..250ms}}\nwork: {cycles: 1, hold: 3s, writes: 1}\n" +
		"faults:\n" + faults + "\n"
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
