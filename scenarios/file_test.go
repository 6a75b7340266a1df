package scenarios

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

const (
	oneRedis  = "name: x\nservers: {redis: 1}\nlock: {protocol: set-nx-px}\n"
	fiveRedis = "name: x\nservers: {redis: 5}\nlock: {protocol: redlock}\n"
)

func parseText(t *testing.T, text string) *Scenario {
	t.Helper()
	s, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%s\n%v", text, err)
	}
	return withoutText(s)
}

// withoutText removes the file's text from a scenario, so that it can be compared with scenarios that have a different
// text.
func withoutText(s *Scenario) *Scenario {
	s.text = nil
	return s
}

// The example at the start of FORMAT.md is parsed as intended.
func TestExample(t *testing.T) {
	const ms = time.Millisecond
	s := parseText(t, example(t))
	redlock := locks.Config{
		Protocol: locks.Redlock, Key: "lock", Servers: (&Servers{Backend: locks.OnRedis, N: 5}).asked(),
		TTL: 10 * time.Second, Retry: sim.Delay{Lo: 50 * ms, Hi: 250 * ms}, Timeout: 50 * ms,
		ElapsedCheck: true, Drift: locks.Allowance{PPM: 10_000, Plus: 2 * ms}, Clock: sim.Monotonic,
		TokenScope: locks.PerRequest, Reentry: locks.CountedReentry, Waits: sim.Monotonic,
		ReleaseOnFailure: true,
	}
	for _, own := range []struct {
		path string
		want format.Value
	}{
		{"contact", format.Value{Word: "sequential"}}, {"order", format.Value{Word: "listed"}},
		{"quorum", format.Value{N: 3}},
		{"release-on-failure", format.Value{Word: "on"}}, {"release-to", format.Value{Word: "all"}},
		{"ask", format.Value{Word: "all"}},
	} {
		if got := lockSetting(s, own.path); got != own.want {
			t.Errorf("%s is %v, not %v", own.path, got, own.want)
		}
	}
	redlock.Own = s.Clients[0].Lock.Own // its type is private to the protocol; the values were compared above
	second := redlock
	second.First = 2
	work := Work{Cycles: 1, Tasks: 1, Writes: 1, Hold: 100 * ms, StopWhenLost: true}
	later := work
	later.Start = sim.Delay{Lo: 10 * ms, Hi: 10 * ms}
	pause, err := nemesis.Parse("pause client-1 for 15s after acquired")
	if err != nil {
		t.Fatal(err)
	}
	want := &Scenario{
		Name:    "kleppmann-gc-pause",
		Summary: "A client pauses past its lease and writes after another client has taken over.",
		Source: `youngju.dev, "Distributed lock patterns compared: Redis Redlock, ZooKeeper, etcd", ` +
			"https://www.youngju.dev/split/architecture/" +
			"2026-03-12-distributed-lock-redis-redlock-zookeeper-etcd-comparison",
		Servers: Servers{Backend: locks.OnRedis, N: 5, Version: "7.0", Persistence: store.Everysec, Fsync: ms,
			MinReplicasMaxLag: 10 * time.Second, TickTime: 2 * time.Second, SyncLimit: 5, RaftMultiplier: 5,
			SemiSyncTimeout: time.Second, DownAfter: 30 * time.Second, ReconfigureAfter: 8 * time.Second,
			NodeTimeout: 15 * time.Second},
		Network:  Network{Delay: sim.Delay{Lo: 200 * time.Microsecond, Hi: 2 * ms}},
		Clients:  []Client{{"client-1", redlock, work}, {"client-2", second, later}},
		Resource: ResourceConfig{Timeout: time.Second},
		Faults:   []nemesis.Fault{pause},
		Mix:      draw.Default(),
		Promise: checker.Promise{Laws: []checker.Law{checker.LeaseExclusion, checker.Ownership, checker.TokenOrder,
			checker.DeadlockFreedom, checker.FaultTolerance, checker.Fairness}},
		Shown: []checker.Law{checker.LeaseExclusion},
		Limit: 60 * time.Second,
		Bound: 10 * time.Second,
		Expect: format.All{
			Laws: map[checker.Law]format.Law{
				checker.LeaseExclusion: {Outcome: checker.Holds},
				checker.MutualExclusion: {Outcome: checker.Violated,
					Cause: checker.Cause{Kind: checker.HolderOutlivedLease}},
				checker.ResourceSafety: {Outcome: checker.Violated},
			},
			Metrics: []format.Bound{{Name: "fencing_token_reject_rate", Text: "0"}},
		},
	}
	if !reflect.DeepEqual(s, want) {
		t.Errorf("got  %+v\nwant %+v", s, want)
	}
}

// Each row sets one setting to one value in a minimal file and checks one effect of that value.
var everyValue = []struct {
	base, key, value string
	got              func(*Scenario) any
	want             any
}{
	{oneRedis, "servers.persistence", "none", func(s *Scenario) any { return s.Servers.Persistence }, store.None},
	{oneRedis, "servers.persistence.append-fsync", "always", func(s *Scenario) any { return s.Servers.Persistence },
		store.Always},
	{oneRedis, "servers.persistence.append-fsync", "no", func(s *Scenario) any { return s.Servers.Persistence },
		store.No},
	{oneRedis, "servers.fsync", "0s", func(s *Scenario) any { return s.Servers.Fsync }, time.Duration(0)},
	{fiveRedis, "servers.redis", "99", func(s *Scenario) any { return lockSetting(s, "quorum") }, format.Value{N: 50}},
	{fiveRedis, "servers.redis", "1", func(s *Scenario) any { return lockSetting(s, "quorum") }, format.Value{N: 1}},
	{oneRedis, "clients", "1", func(s *Scenario) any { return len(s.Clients) }, 1},
	{oneRedis, "clients", "99", func(s *Scenario) any { return s.Clients[98].ID }, sim.ProcessID("client-99")},
	{oneRedis, "network.delay", "1.5ms", func(s *Scenario) any { return s.Network.Delay },
		sim.Delay{Lo: 1500 * time.Microsecond, Hi: 1500 * time.Microsecond}},
	{oneRedis, "network.delay", "0s..24h", func(s *Scenario) any { return s.Network.Delay },
		sim.Delay{Hi: 24 * time.Hour}},
	{oneRedis, "network.tail", "1% 10ms..50ms", func(s *Scenario) any { return s.Network.Tail },
		sim.Tail{PPM: 10_000, Delay: sim.Delay{Lo: 10 * time.Millisecond, Hi: 50 * time.Millisecond}}},
	{oneRedis, "network.tail", "0.5% 1s", func(s *Scenario) any { return s.Network.Tail },
		sim.Tail{PPM: 5_000, Delay: sim.Delay{Lo: time.Second, Hi: time.Second}}},
	{oneRedis, "lock.protocol", "setnx", func(s *Scenario) any { return firstLock(s).Release }, locks.ReleaseDel},
	{oneRedis, "lock.protocol", "setnx-expire", func(s *Scenario) any { return firstLock(s).Release },
		locks.ReleaseDel},
	{oneRedis, "lock.protocol", "fenced", func(s *Scenario) any { return firstLock(s).Release }, locks.ReleaseScript},
	{oneRedis, "lock.name", "orders:7", func(s *Scenario) any { return string(s.Locks()[0]) }, "orders:7"},
	{oneRedis, "lock.ttl", "1ms", func(s *Scenario) any { return s.Bound }, time.Millisecond},
	{oneRedis, "lock.ttl", "24h", func(s *Scenario) any { return firstLock(s).TTL }, nemesis.MaxDuration},
	{oneRedis, "lock.retry.patience", "5s", func(s *Scenario) any { return firstLock(s).Patience }, 5 * time.Second},
	{oneRedis, "lock.release", "del", func(s *Scenario) any { return firstLock(s).Release }, locks.ReleaseDel},
	{oneRedis, "lock.release", "get-then-del", func(s *Scenario) any { return firstLock(s).Release },
		locks.ReleaseGetThenDel},
	{oneRedis, "lock.timeout", "1s", func(s *Scenario) any { return firstLock(s).Timeout }, time.Second},
	{oneRedis, "lock.extension", "{}", func(s *Scenario) any { return *firstLock(s).Extension },
		locks.Extension{Mode: locks.ExtendChecked, TTL: 10 * time.Second, Every: 10 * time.Second / 3,
			Until: locks.EndsWithLast, Background: true}},
	{oneRedis, "lock.extension.in", "steps", func(s *Scenario) any { return *firstLock(s).Extension },
		locks.Extension{Mode: locks.ExtendChecked, TTL: 10 * time.Second, Every: 10 * time.Second / 3, Limit: 3,
			Until: locks.EndsWithLast}},
	{oneRedis, "lock.extension", "{in: steps, limit: none}",
		func(s *Scenario) any { return firstLock(s).Extension.Limit }, 0},
	{oneRedis, "lock.extension.limit", "10000", func(s *Scenario) any { return firstLock(s).Extension.Limit }, 10000},
	{oneRedis, "lock.extension.every", "1s", func(s *Scenario) any { return firstLock(s).Extension.Every },
		time.Second},
	{fiveRedis, "lock.extension.mode", "unchecked", func(s *Scenario) any { return firstLock(s).Extension.Mode },
		locks.ExtendUnchecked},
	{fiveRedis, "lock.extension.mode", "reacquire", func(s *Scenario) any { return firstLock(s).Extension.Mode },
		locks.ExtendReacquire},
	{oneRedis, "lock.extension", "{}", func(s *Scenario) any { return firstLock(s).ElapsedCheck }, true},
	{oneRedis, "lock.extension", "none", func(s *Scenario) any { return firstLock(s).ElapsedCheck }, false},
	{oneRedis, "work.check-validity", "on", func(s *Scenario) any { return firstLock(s).ElapsedCheck }, true},
	{oneRedis, "lock.elapsed-check", "on", func(s *Scenario) any { return firstLock(s).ElapsedCheck }, true},
	{oneRedis + "work: {check-validity: on}\n", "lock.elapsed-check", "off",
		func(s *Scenario) any { return firstLock(s).ElapsedCheck }, false},
	{oneRedis, "lock.drift-allowance", "1% + 2ms", func(s *Scenario) any { return firstLock(s).Drift },
		locks.Allowance{PPM: 10_000, Plus: 2 * time.Millisecond}},
	{oneRedis, "lock.clock", "wall", func(s *Scenario) any { return firstLock(s).Clock }, sim.Wall},
	{oneRedis, "lock.value", "per-acquire", func(s *Scenario) any { return firstLock(s).TokenScope }, locks.PerAcquire},
	{oneRedis, "lock.value", "per-client", func(s *Scenario) any { return firstLock(s).TokenScope }, locks.PerClient},
	{oneRedis, "lock.value", "fixed", func(s *Scenario) any { return firstLock(s).TokenScope }, locks.Fixed},
	{oneRedis, "lock.retry.count", "3", func(s *Scenario) any { return firstLock(s).Attempts }, 3},
	{fiveRedis, "lock.contact", "parallel", func(s *Scenario) any { return lockSetting(s, "contact") },
		format.Value{Word: "parallel"}},
	{fiveRedis, "lock.order", "rotated", func(s *Scenario) any { return lockSetting(s, "order") },
		format.Value{Word: "rotated"}},
	{fiveRedis, "lock.quorum", "1", func(s *Scenario) any { return lockSetting(s, "quorum") }, format.Value{N: 1}},
	{fiveRedis, "lock.quorum", "5", func(s *Scenario) any { return lockSetting(s, "quorum") }, format.Value{N: 5}},
	{fiveRedis, "lock.elapsed-check", "off", func(s *Scenario) any { return firstLock(s).ElapsedCheck }, false},
	{fiveRedis, "lock.drift-allowance", "off", func(s *Scenario) any { return firstLock(s).Drift }, locks.Allowance{}},
	{fiveRedis, "lock.drift-allowance", "0.5%", func(s *Scenario) any { return firstLock(s).Drift },
		locks.Allowance{PPM: 5000}},
	{fiveRedis, "lock.drift-allowance", "3ms", func(s *Scenario) any { return firstLock(s).Drift },
		locks.Allowance{Plus: 3 * time.Millisecond}},
	{fiveRedis, "lock.drift-allowance", "100% + 0s", func(s *Scenario) any { return firstLock(s).Drift },
		locks.Allowance{PPM: 1_000_000}},
	{fiveRedis, "lock.clock", "wall", func(s *Scenario) any { return firstLock(s).Clock }, sim.Wall},
	{fiveRedis, "lock.release-on-failure", "off", func(s *Scenario) any { return lockSetting(s, "release-on-failure") },
		format.Value{Word: "off"}},
	{fiveRedis, "lock.value", "per-client", func(s *Scenario) any { return firstLock(s).TokenScope }, locks.PerClient},
	{oneRedis, "work.cycles", "10000", func(s *Scenario) any { return s.Clients[1].Work.Cycles }, 10000},
	{oneRedis, "work.stagger", "0s", func(s *Scenario) any { return s.Clients[1].Work.Start }, sim.Delay{}},
	{oneRedis, "work.think", "0s..10ms", func(s *Scenario) any { return s.Clients[1].Work.Think },
		sim.Delay{Hi: 10 * time.Millisecond}},
	{oneRedis, "work.writes", "10000", func(s *Scenario) any { return s.Clients[1].Work.Writes }, 10000},
	{oneRedis, "work.compute", "1h", func(s *Scenario) any { return s.Clients[1].Work.Compute }, time.Hour},
	{oneRedis, "work.hold", "validity", func(s *Scenario) any { return s.Clients[1].Work.HoldKind }, HoldValidity},
	{oneRedis, "work.hold", "forever", func(s *Scenario) any { return s.Clients[1].Work.HoldKind }, HoldForever},
	{oneRedis, "lock.expiry", "absolute", func(s *Scenario) any { return lockSetting(s, "expiry") },
		format.Value{Word: "absolute"}},
	{oneRedis, "lock.reentrant", "overwrite", func(s *Scenario) any { return firstLock(s).Reentry },
		locks.OverwritingReentry},
	{oneRedis, "lock.extension.mode", "or-acquire", func(s *Scenario) any { return firstLock(s).Extension.Mode },
		locks.ExtendOrAcquire},
	{onFenced, "lock.read-token", "later", func(s *Scenario) any { return lockSetting(s, "read-token") },
		format.Value{Word: "later"}},
	{"name: x\nservers: {redis: 1, replicas: 1}\nlock: {protocol: set-nx-px}\n", "lock.wait.same-connection", "off",
		func(s *Scenario) any { return firstLock(s).Wait.SameConnection }, false},
	{onEtcd, "lock.compare-revision", "off", func(s *Scenario) any { return lockSetting(s, "compare-revision") },
		format.Value{Word: "off"}},
	{onZooKeeper, "lock.names", "bare", func(s *Scenario) any { return lockSetting(s, "names") },
		format.Value{Word: "bare"}},
	{onZooKeeper, "lock.check-session", "off", func(s *Scenario) any { return lockSetting(s, "check-session") },
		format.Value{Word: "off"}},
	{oneRedis, "work.tasks", "3", func(s *Scenario) any { return s.Clients[1].Work.Tasks }, 3},
	{oneRedis + "work: {tasks: 2}\n", "lock.value-in", "object",
		func(s *Scenario) any { return s.Clients[1].Lock.InObject }, true},
	{oneRedis, "lock.release-on-failure", "on",
		func(s *Scenario) any { return s.Clients[1].Lock.ReleaseOnFailure }, true},
	{onZooKeeper, "lock.release-on-failure", "off",
		func(s *Scenario) any { return s.Clients[1].Lock.ReleaseOnFailure }, false},
	{oneRedis + "work: {writes: 1}\n", "work.release-before-write", "on",
		func(s *Scenario) any { return s.Clients[1].Work.ReleaseFirst }, true},
	{oneRedis, "work.nested", "on", func(s *Scenario) any { return s.Clients[1].Work.Nested }, true},
	{oneRedis, "work.stop-when-lost", "off", func(s *Scenario) any { return s.Clients[1].Work.StopWhenLost }, false},
	{onFenced, "resource.fencing", "on", func(s *Scenario) any { return s.Resource.Fencing }, FencingOn},
	{onFenced, "resource.fencing", "refuse-equal", func(s *Scenario) any { return s.Resource.Fencing },
		FencingRefuseEqual},
	{oneRedis, "resource.writes", "compare-and-set", func(s *Scenario) any { return s.Resource.Writes }, CompareAndSet},
	{oneRedis, "resource.writes", "idempotent", func(s *Scenario) any { return s.Resource.Writes }, Idempotent},
	{oneRedis, "resource.timeout", "2s", func(s *Scenario) any { return s.Resource.Timeout }, 2 * time.Second},
	{oneRedis, "bound", "1s", func(s *Scenario) any { return s.Bound }, time.Second},
	{oneRedis, "limit", "24h", func(s *Scenario) any { return s.Limit }, nemesis.MaxDuration},
	{oneRedis, "faults", "[]", func(s *Scenario) any { return len(s.Faults) }, 0},
	{oneRedis, "summary", "|\n  two\n  lines", func(s *Scenario) any { return s.Summary }, "two\nlines"},
}

// lockSetting returns the first client's value for a setting in the "lock" mapping.
func lockSetting(s *Scenario, path string) format.Value {
	c := &s.Clients[0].Lock
	return locks.Define(c.Protocol).Setting(path).Get(c)
}

func firstLock(s *Scenario) *locks.Config { return &s.Clients[0].Lock }

func TestEveryValue(t *testing.T) {
	for _, c := range everyValue {
		s := parseText(t, withKey(t, c.base, c.key, c.value))
		if got := c.got(s); got != c.want {
			t.Errorf("%s: %s: got %v, want %v", c.key, c.value, got, c.want)
		}
	}
}

func TestLinks(t *testing.T) {
	const ms = time.Millisecond
	s := parseText(t, oneRedis+"network: {links: {client-1 -> redis-1: 5ms, client-2 | resource: 1ms..2ms}}\n")
	five, some := sim.Delay{Lo: 5 * ms, Hi: 5 * ms}, sim.Delay{Lo: ms, Hi: 2 * ms}
	want := []sim.LinkDelay{{From: "client-1", To: "redis-1", Delay: five},
		{From: "client-2", To: "resource", Delay: some}, {From: "resource", To: "client-2", Delay: some}}
	if !reflect.DeepEqual(s.Network.Links, want) {
		t.Errorf("got %v, want %v", s.Network.Links, want)
	}
}

func TestOverridesChangeOnlyWhatTheyName(t *testing.T) {
	const ms = time.Millisecond
	s := parseText(t, `name: x
servers: {redis: 3}
clients: 3
lock: {protocol: redlock, retry: {delay: 1s, patience: 9s}, extension: {every: 2s, in: steps}, quorum: 3}
work: {hold: forever, writes: 2}
overrides:
  client-3: {lock: {retry: {delay: 2s}, extension: {limit: 7}, quorum: 2}, work: {hold: 1s, start: 1s..2s}}
  client-2: {lock: {extension: none, ttl: 4s}}
`)
	first, second, third := s.Clients[0], s.Clients[1], s.Clients[2]
	same := third
	same.ID, same.Lock.Retry, same.Lock.Extension = first.ID, first.Lock.Retry, first.Lock.Extension
	quorum := locks.Define(locks.Redlock).Setting("quorum")
	quorum.Set(&same.Lock, format.Value{N: 3})
	same.Lock.First, same.Work.Hold, same.Work.HoldKind, same.Work.Start = 0, 0, HoldForever, sim.Delay{}
	if !reflect.DeepEqual(same, first) {
		t.Errorf("client-3 differs from client-1 in what its override does not name:\n%+v\n%+v", same, first)
	}
	if *third.Lock.Extension !=
		(locks.Extension{Mode: locks.ExtendChecked, TTL: third.Lock.TTL, Every: 2 * time.Second, Limit: 7,
			Until: locks.EndsWithLast}) ||
		third.Lock.Retry.Lo != 2*time.Second || third.Lock.Patience != 9*time.Second ||
		quorum.Get(&third.Lock).N != 2 || third.Lock.First != 2 ||
		!reflect.DeepEqual(third.Work, Work{Cycles: 1, Tasks: 1, Writes: 2, Hold: time.Second, StopWhenLost: true,
			Start: sim.Delay{Lo: time.Second, Hi: 2 * time.Second}}) {
		t.Errorf("client-3: %+v, extension %+v", third, third.Lock.Extension)
	}
	if first.Lock.Extension.Limit != 3 || second.Lock.Extension != nil || second.Lock.TTL != 4*time.Second {
		t.Errorf("client-1: %+v\nclient-2: %+v", first.Lock.Extension, second.Lock)
	}
	if s.Bound != 10*time.Second || second.Work.Start.Lo != 10*ms {
		t.Errorf("bound %v, client-2 starts at %v", s.Bound, second.Work.Start)
	}
}

// A file can specify whether clients check the elapsed time, for all clients or for one. By default, a client checks it
// if it checks its validity or extends its lease.
func TestElapsedCheckIsInheritedWhereItIsStated(t *testing.T) {
	for stated, want := range map[string][3]bool{"": {false, true, true}, ", elapsed-check: off": {false, false, true},
		", elapsed-check: on": {true, true, true}} {
		s := parseText(t, "name: x\nservers: {redis: 1}\nclients: 3\nlock: {protocol: set-nx-px"+stated+`}
overrides:
  client-2: {work: {check-validity: on}}
  client-3: {lock: {elapsed-check: on}}
`)
		for i := range s.Clients {
			if got := s.Clients[i].Lock.ElapsedCheck; got != want[i] {
				t.Errorf("%q: %s checks the elapsed time: %v", stated, s.Clients[i].ID, got)
			}
		}
	}
}

func TestMetricBounds(t *testing.T) {
	inf := math.Inf(1)
	for text, want := range map[string]format.Bound{
		`unavailability: ">= 9s"`:         {Min: 9, Max: inf},
		`unavailability: "<= 9s"`:         {Min: -inf, Max: 9},
		`unavailability: 2ms..10ms`:       {Min: 0.002, Max: 0.01},
		`lock_contention_rate: "> 30%"`:   {Min: math.Nextafter(0.3, 1), Max: inf},
		`lock_contention_rate: "<0.05"`:   {Min: -inf, Max: math.Nextafter(0.05, 0)},
		`lock_contention_rate: 0`:         {},
		`lock_contention_rate: 30%..100%`: {Min: 0.3, Max: 1},
		`lock_acquisition_time_p50: 1.5s`: {Min: 1.5, Max: 1.5},
	} {
		got := parseText(t, oneRedis+"expect:\n  metrics:\n    "+text+"\n").Expect.Metrics
		if len(got) != 1 || got[0].Min != want.Min || got[0].Max != want.Max || !strings.Contains(text, got[0].Text) {
			t.Errorf("%s: got %+v, want %+v", text, got, want)
		}
	}
}

// TestBoundsThatNoRunCanMeetAreRefused checks every metric: a bound that admits one of its values is accepted, and a
// bound that admits none is refused at the bound's place.
func TestBoundsThatNoRunCanMeetAreRefused(t *testing.T) {
	refused := func(metric, bound string) error {
		_, err := Parse("f.yaml", []byte(oneRedis+"expect:\n  metrics:\n    "+metric+": \""+bound+"\"\n"))
		return err
	}
	for metric, zero := range map[string]string{
		"lock_acquisition_time_p50": "0s", "lock_acquisition_time_p99": "0s", "lock_contention_rate": "0%",
		"lock_hold_duration_p99": "0s", "lock_timeout_rate": "0", "release_without_effect_rate": "0%",
		"fencing_token_reject_rate": "0%", "unavailability": "0s", "wake_ups_per_release": "0",
		"messages_per_acquire": "0", `'lock_acquisition_time_p50{process="client-1"}'`: "0s",
	} {
		good, bad := []string{zero, "<= " + zero, ">= " + zero, "> " + zero}, []string{"< " + zero}
		if strings.HasSuffix(metric, "_rate") {
			good = append(good, "100%", ">= 100%", "< 100%", "0%..100%", "1")
			bad = append(bad, "> 100%", "> 1", "100%..0%")
		}
		for _, bound := range good {
			if err := refused(metric, bound); err != nil {
				t.Errorf("%s %s: %v", metric, bound, err)
			}
		}
		for _, bound := range bad {
			err := fmt.Sprint(refused(metric, bound))
			why := strings.Contains(err, "no run can meet the bound") || strings.Contains(err, "is empty")
			if !why || !strings.Contains(err, bound) || !strings.HasPrefix(err, "f.yaml:6:") {
				t.Errorf("%s %s: %s", metric, bound, err)
			}
			if _, advice, ok := strings.Cut(err, "; write "); ok {
				advised, _, _ := strings.Cut(advice, " ")
				if err := refused(metric, advised); err != nil {
					t.Errorf("%s %s: the advice is refused, too: %v", metric, bound, err)
				}
			}
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.yaml")
	if err := os.WriteFile(good, []byte("\ufeff"+strings.ReplaceAll(oneRedis, "\n", "\r\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(good); err != nil || s.Path != good || s.Name != "x" {
		t.Errorf("with byte order mark and CRLF: %+v, %v", s, err)
	}
	if _, err := Load(filepath.Join(dir, "none.yaml")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := Load(dir); fmt.Sprint(err) != dir+": is a directory, not a scenario file" {
		t.Errorf("directory: %v", err)
	}
	huge := filepath.Join(dir, "huge.yaml")
	if err := os.WriteFile(huge, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(huge, 1<<30); err != nil {
		t.Fatal(err)
	}
	allocated := testing.AllocsPerRun(1, func() { Load(huge) })
	if _, err := Load(huge); fmt.Sprint(err) != huge+
		": the file has 1073741824 bytes; a scenario has at most 1048576 (1 MiB)" || allocated > 100 {
		t.Errorf("1 GiB: %v, after %v allocations", err, allocated)
	}
}

// example returns the first YAML block in FORMAT.md.
func example(t testing.TB) string {
	_, text, _ := strings.Cut(formatDoc(t), "```yaml\n")
	text, _, ok := strings.Cut(text, "```")
	if !ok {
		t.Fatal("FORMAT.md has no example")
	}
	return text
}

func formatDoc(t testing.TB) string {
	text, err := os.ReadFile("FORMAT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
