package scenarios

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// defect is a bug in a released library, expressed as a single setting of a scenario's lock. Without this setting, the
// lock is sound.
type defect struct {
	path, value string
	law         checker.Law
	cause       checker.CauseKind
	text        string
}

// parse returns the scenario in two versions: without the defect and with it.
func (d *defect) parse(t *testing.T) (sound, broken *Scenario) {
	t.Helper()
	text := []byte("name: x" + d.text)
	doc, err := format.ParseDocument("x.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	doc.Set(d.path, d.value)
	return parseText(t, string(text)), parseText(t, doc.String())
}

var defects = []defect{
	{"lock.extension.mode", "any-answer", checker.LeaseExclusion, checker.ValidityMiscounted, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 3s, timeout: 500ms, extension: {mode: checked, every: 1s}}
work: {hold: 6s, check-validity: on}
faults: [pause client-1 for 4s after acquired]
`},
	{"lock.extension.mode", "expire", checker.Ownership, checker.ProlongedByNonOwner, `
servers: {redis: 1, version: tair}
lock: {protocol: set-nx-px, ttl: 3s, timeout: 500ms, extension: {mode: cas, every: 1s}}
work: {hold: 6s, check-validity: on}
faults: [pause client-1 for 4s after acquired]
`},
	// The extension is sent at 1 s. Its reply does not reach the client until the key has almost expired.
	{"lock.extension.mode", "ignore-elapsed", checker.LeaseExclusion, checker.ValidityMiscounted, `
servers: {redis: 1}
network: {delay: 1ms}
lock: {protocol: set-nx-px, ttl: 3s, timeout: 10s, retry: {delay: 10ms}, extension: {mode: checked, every: 1s}}
work: {hold: 6s, check-validity: on}
faults: [pause client-1 for 2900ms at 1003500us]
`},
	{"lock.extension.mode", "release", checker.LeaseExclusion, checker.RemovedByOwner, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 3s, extension: {mode: checked, every: 1s}}
work: {hold: 6s}
`},
	// Client-1's lock expires between two of its extensions. Client-2 takes the lock, writes, and releases it.
	{"lock.extension.mode", "or-acquire", checker.ResourceSafety, checker.StaleEffect, `
servers: {redis: 1}
lock: {protocol: fenced, ttl: 3s, extension: {mode: checked, every: 1s}}
work: {writes: 1, compute: 6s, check-validity: on}
resource: {fencing: on}
overrides:
  client-2: {work: {compute: 100ms, start: 100ms}}
faults: [pause client-1 for 4s at 500ms]
`},
	{"lock.reentrant", "uncounted", checker.LeaseExclusion, checker.RemovedByOwner, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 3s}
work: {writes: 1, nested: on, hold: 1s}
`},
	// The lock passes to another client between the comparison and the next command. Client-3 enters when client-1
	// releases.
	{"lock.reentrant", "overwrite", checker.LeaseExclusion, checker.RemovedByNonOwner, `
servers: {redis: 1}
network: {delay: 1ms}
clients: 3
lock: {protocol: set-nx-px, ttl: 3s, timeout: 10s}
work: {writes: 1, nested: on, hold: 2s, check-validity: on}
faults: [pause client-1 for 4s at 3500us]
`},
	{"lock.expiry", "absolute", checker.LeaseExclusion, checker.ValidityMiscounted, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 3s}
work: {hold: 2s, stagger: 4100ms}
faults: [pause client-1 for 4s at acquire-start]
`},
	// The reply to the SET waits in client-1's buffers until the key has expired.
	{"lock.elapsed-check", "off", checker.LeaseExclusion, checker.ValidityMiscounted, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 10s, timeout: 20s, elapsed-check: on}
work: {hold: 4s}
faults: [pause client-1 for 12s at 150us]
`},
	{"lock.clock", "wall", checker.LeaseExclusion, checker.ValidityMiscounted, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 10s, timeout: 20s, elapsed-check: on, clock: monotonic}
work: {hold: 4s}
faults:
  - pause client-1 for 12s at 150us
  - jump client-1 clock by -11s at 5s
`},
	{"lock.drift-allowance", "off", checker.LeaseExclusion, checker.ExpiredEarly, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 10s, retry: {delay: 20ms}, drift-allowance: 1% + 2ms}
work: {hold: validity, check-validity: on}
faults: [drift redis-1 clock by +9900ppm from 0s for 60s]
`},
	// The first hold's release arrives during the second hold. It finds its own value in the key, because both holds
	// use the same value.
	{"lock.value", "per-client", checker.Ownership, checker.RemovedByNonOwner, `
servers: {redis: 1}
clients: 1
lock: {protocol: set-nx-px, ttl: 3s, value: per-request}
work: {cycles: 2, hold: 2s}
faults: [delay message 2 of client-1 -> redis-1 by 2500ms]
`},
	// The first attempt's release arrives while a later attempt by the same acquire is holding the lock.
	{"lock.value", "per-acquire", checker.Ownership, checker.RemovedByNonOwner, `
servers: {redis: 3}
lock: {protocol: redlock, ttl: 10s, value: per-request}
work: {hold: 3s, stagger: 200ms}
faults:
  - cut client-2 | redis-1 at 0s for 30s
  - delay message 2 of client-2 -> redis-3 by 4s
`},
	// The holder was paused. When it releases, it mistakes the next holder's lock for its own.
	{"lock.value", "fixed", checker.Ownership, checker.RemovedByNonOwner, `
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 3s, value: per-client}
work: {hold: 2s}
faults: [pause client-1 for 2500ms after before-release]
`},
	{"lock.read-token", "later", checker.TokenOrder, checker.TokenRepeated, `
servers: {redis: 1}
lock: {protocol: fenced, ttl: 3s}
work: {hold: 2s, check-validity: on}
faults: [pause client-1 for 4s after validity-checked]
`},
	// When client-1 sets the lock on the old master, it does not know about the failover yet. When it sends WAIT, it
	// does. The Sentinel announces the failover 1.0 to 1.6 s after the order.
	{"lock.wait.same-connection", "off", checker.LeaseExclusion, checker.DeposedMaster, `
servers: {redis: 1, replicas: 2, reconfigure-after: 2s}
lock: {protocol: set-nx-px, ttl: 3s, wait: {replicas: 1, timeout: 500ms}}
work: {hold: 2s, stagger: 2500ms}
overrides:
  client-1: {work: {cycles: 2, hold: 100ms, think: 700ms}}
faults:
  - fail over redis-1 to redis-1-replica-1 at 700ms
  - pause client-1 for 2500ms at 500ms
`},
	// The first request to delete the key is delayed. The second one succeeds, and the key is set again before the
	// first one arrives.
	{"lock.compare-revision", "off", checker.Ownership, checker.RemovedByNonOwner, `
servers: {etcd: 3}
clients: 1
lock: {protocol: etcd, ttl: 10s}
work: {cycles: 2, hold: 5s}
faults: [delay client-1 -> etcd-1 by 3s after before-release]
`},
	// Client-2 removes the folder, so client-3's znode gets the name that client-1's znode had.
	{"lock.names", "bare", checker.Ownership, checker.RemovedByNonOwner, `
servers: {zookeeper: 3}
clients: 3
lock: {protocol: zookeeper, ttl: 4s}
work: {hold: 5s}
overrides:
  client-2: {work: {start: 1100ms, hold: 100ms}}
  client-3: {work: {start: 1500ms}}
faults:
  - expire session of client-1 at 1s
  - pause client-1 for 3s at 900ms
`},
	// Client-2 gives up its session while it is waiting. However, a new leader keeps the session alive, so the znode
	// stays for a while.
	{"lock.check-session", "off", checker.MutualExclusion, checker.ValidityMiscounted, `
servers: {zookeeper: 3}
clients: 3
lock: {protocol: zookeeper, ttl: 4s}
work: {hold: 8s, stagger: 100ms}
faults:
  - cut client-2 | zookeeper-1 zookeeper-2 zookeeper-3 at 1s for 6200ms
  - "crash zookeeper-1 losing unsynced writes at 5500ms, restart after 1s"
`},
}

func TestEachDefectBreaksALockThatIsSoundWithoutIt(t *testing.T) {
	for _, d := range defects {
		t.Run(d.path+"="+d.value, func(t *testing.T) {
			sound, broken := d.parse(t)
			for seed := range uint64(testkit.Size(4, 20, 20)) {
				if f := judged(t, sound, seed).Of(d.law); f.Outcome != checker.Holds {
					t.Errorf("seed %d, without the defect: %s is %s: %s", seed, d.law, f.Outcome, f.Explanation)
				}
				if f := judged(t, broken, seed).Of(d.law); f.Outcome != checker.Violated || f.Cause.Kind != d.cause {
					t.Errorf("seed %d: %s is %s by %s\n%s", seed, d.law, f.Outcome, f.Cause, f.Explanation)
				}
			}
		})
	}
}

func judged(t *testing.T, s *Scenario, seed uint64) checker.Verdict {
	t.Helper()
	result, err := NewRunner(s).Run(s.Plan(seed))
	if err != nil {
		t.Fatal(err)
	}
	return checker.Check(result.History)
}

// A client whose session has ended creates a new znode while its old one still exists, and does not get a reply. When
// it then looks for its own znode, both contain its mark. It must not take the old znode's place in line, because the
// old znode will disappear.
func TestAZnodeOfAnEarlierSessionIsNotOnesOwn(t *testing.T) {
	s := parseText(t, `name: x
servers: {zookeeper: 3}
clients: 3
lock: {protocol: zookeeper, ttl: 4s, listener: on}
work: {cycles: 2, hold: 4s, think: 0s..500ms, check-validity: on}
faults:
  - break client-3 | zookeeper-2 before reply 2
  - pause zookeeper-2 for 8.35s at 16.5s
  - crash zookeeper-1 losing unsynced writes at 18s, restart after 6.5s
`)
	twice := 0
	for seed := range uint64(20) {
		result, err := NewRunner(s).Run(s.Plan(seed))
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		if f := v.Of(checker.DeadlockFreedom); f.Outcome != checker.Holds {
			t.Errorf("seed %d: %s %s", seed, f.Outcome, f.Explanation)
		}
		standing := map[history.Attempt]bool{}
		for _, e := range result.History.Events {
			switch {
			case e.F == history.KeySet && standing[e.Of]:
				twice++
			case e.F == history.KeySet:
				standing[e.Of] = true
			case e.F == history.KeyGone:
				standing[e.Of] = false
			}
		}
	}
	if twice == 0 {
		t.Error("in no run has an attempt two znodes")
	}
}

func TestAReleaseWhoseAnswerIsLostIsARelease(t *testing.T) {
	const text = `name: x
servers: {%[1]s: 3}
clients: 1
lock: {protocol: %[1]s, ttl: 4s}
work: {cycles: 1, hold: 1s}
faults: [break client-1 | %[1]s-%[2]d before reply %[3]d]
`
	for _, service := range []string{"etcd", "zookeeper"} {
		broken := 0
		for server := 1; server <= 3; server++ {
			for reply := 1; reply <= 12; reply++ {
				s := parseText(t, fmt.Sprintf(text, service, server, reply))
				result, err := NewRunner(s).Run(s.Plan(1))
				if err != nil {
					t.Fatal(err)
				}
				v := checker.Check(result.History)
				if f := v.Of(checker.FaultTolerance); f.Outcome != checker.Holds {
					t.Errorf("reply %d of %s-%d: %s", reply, service, server, f.Explanation)
				}
				if struckWhileReleasing(result.History) {
					broken++
				}
			}
		}
		if broken == 0 {
			t.Errorf("%s: no fault met a release", service)
		}
	}
}

func struckWhileReleasing(h *history.History) bool {
	releasing := false
	for i := range h.Events {
		switch e := &h.Events[i]; {
		case e.F == history.Release && e.Process == "client-1":
			releasing = e.Type == history.Invoke
		case e.Process == history.Nemesis && releasing:
			return true
		}
	}
	return false
}

// Every extension mode has a defect in this list or a scenario in the catalog.
func TestEveryModeOfExtensionIsShown(t *testing.T) {
	shown := map[string]bool{"checked": true}
	for _, d := range defects {
		if d.path == "lock.extension.mode" {
			shown[d.value] = true
		}
	}
	for _, name := range Names() {
		if x := named(t, name).Clients[0].Lock.Extension; x != nil {
			shown[string(x.Mode)] = true
		}
	}
	_, list, _ := strings.Cut(formatDoc(t), "### Extensions\n")
	list, _, _ = strings.Cut(list, "\n## ")
	modes := 0
	for _, line := range strings.Split(list, "\n") {
		if mode, is := strings.CutPrefix(line, "| `"); is {
			mode, _, _ = strings.Cut(mode, "`")
			if modes++; !shown[mode] {
				t.Errorf("no run shows %s", mode)
			}
		}
	}
	if modes != 9 {
		t.Errorf("%d modes are documented", modes)
	}
}

// A write that is waiting for a slow fsync may take effect after the period of slow fsyncs. The fault does not count as
// over until that write, so no client has to make progress before then.
func TestSlowFsyncsAreOverWhenTheLastOneIs(t *testing.T) {
	s := parseText(t, `name: x
servers: {redis: 1, persistence: {append-fsync: always}}
lock: {protocol: set-nx-px, ttl: 5s}
faults: [slow fsync of redis-1 by 2s at 0s for 500ms]
`)
	result, err := NewRunner(s).Run(s.Plan(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range result.History.Events {
		if e.Process == history.Nemesis && e.Type == history.OK {
			if e.Time != history.Of(2500*time.Millisecond) {
				t.Errorf("over at %v", e.Time)
			}
			return
		}
	}
	t.Error("never over")
}

// The reply to a keepalive may sit in a paused client's buffers until the lease has ended. It must then not extend the
// lease.
func TestAnAnswerThatComesAfterItsLeaseProlongsNothing(t *testing.T) {
	const text = `name: x
servers: {etcd: 3}
network: {delay: 5ms}
lock: {protocol: etcd, ttl: 3s}
work: {hold: 4s}
faults: [pause client-1 for 6s at %dms]
`
	late := 0
	for at := 1000; at < 1060; at += 3 { // the first keepalive is in transit during some of these times
		s := parseText(t, fmt.Sprintf(text, at))
		result, err := NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		v := checker.Check(result.History)
		if f := v.Of(checker.LeaseExclusion); f.Outcome != checker.Holds {
			t.Errorf("paused at %d ms: %s", at, f.Explanation)
		}
		extended := slices.ContainsFunc(result.History.Events,
			func(e history.Event) bool { return e.F == history.Extend && e.Process == "client-1" })
		if !extended {
			late++
		}
	}
	if late == 0 || late == 20 {
		t.Errorf("the answer came late in %d of 20 runs", late)
	}
}
