package raft

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
)

// workload is a lab whose clients write and read through all members while faults are injected.
type workload struct {
	*lab
	acked []string // the values whose writes were acknowledged
}

func (w *workload) begin(seed uint64, opts sim.Options, c Config) {
	w.rerun(seed, opts, c)
	w.acked = nil
}

// add adds a client that writes values and reads after each write. If a member does not answer, the client tries
// another one.
func (w *workload) add(n, writes int, pace time.Duration) {
	name := sim.ProcessID(fmt.Sprintf("c-%d", n))
	members := names(len(w.Members()))
	w.AddClient(name, sim.Time(n)*sim.Time(ms), func(env sim.Env) {
		at := n
		call := func(args ...string) (int64, bool) {
			c := sim.Conn{Server: members[at%len(members)]}
			r := env.Call(2*time.Second, nil,
				sim.Request{Conn: c, Args: args, Attempt: history.Attempt(name), Phase: args[0]})[0]
			count, ok := r.Int()
			if !ok {
				env.Close(c)
				at++
			}
			return count, ok
		}
		for i := range writes {
			value := fmt.Sprintf("%s.%d", name, i)
			if _, ok := call("write", value); ok {
				w.acked = append(w.acked, value)
			}
			before := len(w.acked)
			if count, ok := call("read"); ok && count < int64(before) {
				w.t.Errorf("seed %d: a read at %v shows %d writes where %d had been acknowledged before it began",
					w.Seed(), w.Now(), count, before)
			}
			env.Sleep(pace)
		}
	})
}

// agree checks the conditions that must hold once the faults have ended and the members have caught up.
func (w *workload) agree() {
	w.t.Helper()
	var all [][]string
	for _, m := range w.Members() {
		if m.Up() {
			all = append(all, m.machine.(*register).applied)
		}
	}
	for _, list := range all[1:] {
		if !slices.Equal(list, all[0]) {
			w.t.Errorf("seed %d: members disagree:\n%s\n%s", w.Seed(), strings.Join(all[0], ", "),
				strings.Join(list, ", "))
		}
	}
	if len(w.acked) == 0 {
		w.t.Errorf("seed %d: no write was acknowledged", w.Seed())
	}
	var values, recorded []string
	for _, line := range all[0] {
		values = append(values, line[strings.LastIndexByte(line, ' ')+1:])
	}
	for _, v := range w.acked {
		if !slices.Contains(values, v) {
			w.t.Errorf("seed %d: %s was acknowledged and is lost", w.Seed(), v)
		}
	}
	for _, e := range w.Finish().Events {
		recorded = append(recorded, e.Value)
	}
	if !slices.Equal(values, recorded) {
		w.t.Errorf("seed %d: recorded %v, applied %v", w.Seed(), recorded, values)
	}
	if slices.Sort(values); len(slices.Compact(values)) != len(all[0]) {
		w.t.Errorf("seed %d: some command was applied twice: %v", w.Seed(), all[0])
	}
	if len(w.leaders()) != 1 {
		w.t.Errorf("seed %d: leaders %v", w.Seed(), w.leaders())
	}
}

// fault is a temporary fault of one member, or between one member and the others.
type fault struct {
	kind  string
	on    int
	at    time.Duration
	lasts time.Duration
}

var kinds = []string{"power loss", "shutdown", "pause", "cut off", "cut one way", "slow disk", "drift"}

func (l *lab) inject(f fault) {
	all := names(len(l.Members()))
	me, end := all[f.on-1], f.at+f.lasts
	switch f.kind {
	case "power loss", "shutdown":
		how := map[string]sim.Stop{"power loss": sim.PowerLoss, "shutdown": sim.ShutDown}[f.kind]
		stopped := false
		l.schedule(f.at, func() { stopped = l.Stop(me, how) })
		l.schedule(end, func() {
			if stopped {
				l.Restart(me)
			}
		})
	case "pause":
		l.schedule(f.at, func() { l.Pause(me) })
		l.schedule(end, func() { l.Resume(me) })
	case "cut off", "cut one way":
		for _, other := range all {
			if other == me {
				continue
			}
			l.schedule(f.at, func() { l.Cut(me, other) })
			l.schedule(end, func() { l.Heal(me, other) })
			if f.kind == "cut off" {
				l.schedule(f.at, func() { l.Cut(other, me) })
				l.schedule(end, func() { l.Heal(other, me) })
			}
		}
	case "slow disk":
		l.schedule(f.at, func() { l.ServerFault(me, sim.ServerFault{Kind: sim.SlowFsync, By: 300 * ms, Begin: true}) })
		l.schedule(end, func() { l.ServerFault(me, sim.ServerFault{Kind: sim.SlowFsync, By: 300 * ms}) })
	case "drift":
		l.schedule(f.at, func() { l.Drift(me, 500_000) })
		l.schedule(end, func() { l.Drift(me, -500_000) })
	}
}

var network = sim.Options{Delay: sim.Delay{Lo: 200 * time.Microsecond, Hi: 5 * ms}}

// draw injects random faults within the first ten seconds.
func (l *lab) draw(members int) {
	s := l.Stream("faults")
	pick := func(n int) int { return int(s.Uint64() % uint64(n)) }
	for range 3 + pick(5) {
		l.inject(fault{kinds[pick(len(kinds))], 1 + pick(members), time.Duration(pick(10_000)) * ms,
			time.Duration(1+pick(5_000)) * ms})
	}
}

func TestMembersAgreeUnderFaults(t *testing.T) {
	for _, members := range []int{3, 5} {
		w := &workload{lab: newLab(t, members, Config{})}
		lost := 0
		for seed := range uint64(testkit.Size(30, 30, 150)) {
			w.begin(seed, network, Config{ColdStart: seed%7 == 0, Connections: seed%2 == 0,
				Silence: time.Duration(seed%4) * time.Second, Campaign: time.Duration(seed%3) * 200 * ms})
			w.draw(members)
			for c := range 3 {
				w.add(c, 30, 100*ms)
			}
			w.run(60 * time.Second)
			w.agree()
			lost += 90 - len(w.acked)
			if t.Failed() {
				return
			}
		}
		if lost == 0 {
			t.Errorf("%d members: the faults have not cost a single answer", members)
		}
	}
}

func TestMembersAgreeWhenAMinorityLosesItsDisks(t *testing.T) {
	w := &workload{lab: newLab(t, 5, Config{})}
	for seed := range uint64(testkit.Size(20, 20, 100)) {
		w.begin(seed, network, Config{})
		w.draw(5)
		for i := range 2 {
			id := names(5)[(int(seed)+2*i)%5]
			w.schedule(time.Duration(500+seed*50)*ms, func() { w.Stop(id, sim.LoseAllState) })
		}
		for c := range 3 {
			w.add(c, 20, 100*ms)
		}
		w.run(60 * time.Second)
		w.agree()
		if t.Failed() {
			return
		}
	}
}

func TestMembersAgreeUnderEverySmallFault(t *testing.T) {
	w := &workload{lab: newLab(t, 3, Config{})}
	runs := 0
	for _, kind := range kinds {
		for on := 1; on <= 3; on++ {
			for at := time.Duration(0); at < 24*ms; at += ms {
				for _, lasts := range []time.Duration{3 * ms, 400 * ms, 3 * time.Second} {
					w.begin(7, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}, Config{Connections: at%(2*ms) == 0})
					w.inject(fault{kind, on, at, lasts})
					for c := range 2 {
						w.add(c, 2, ms)
					}
					w.run(12 * time.Second)
					w.agree()
					if runs++; t.Failed() {
						t.Fatalf("%s on %d at %v for %v", kind, on, at, lasts)
					}
				}
			}
		}
	}
	t.Logf("%d runs", runs)
}

func TestARunIsAFunctionOfItsSeed(t *testing.T) {
	run := func(w *workload, seed uint64) sim.Digest {
		w.begin(seed, network, Config{ColdStart: seed%2 == 0, Connections: seed%3 == 0,
			Campaign: 200 * ms})
		w.draw(3)
		for c := range 2 {
			w.add(c, 20, 100*ms)
		}
		w.run(30 * time.Second)
		w.Finish()
		return w.Digest()
	}
	one := &workload{lab: newLab(t, 3, Config{})}
	different := map[sim.Digest]bool{}
	seeds := testkit.Size(6, 25, 100)
	for seed := range uint64(seeds) {
		first := run(one, seed)
		different[first] = true
		for range 4 {
			if again := run(one, seed); again != first {
				t.Fatalf("seed %d: %x, then %x", seed, first, again)
			}
		}
		if fresh := run(&workload{lab: newLab(t, 3, Config{})}, seed); fresh != first {
			t.Fatalf("seed %d: %x, and %x with new members", seed, first, fresh)
		}
	}
	if len(different) != seeds {
		t.Errorf("%d different runs of %d seeds", len(different), seeds)
	}
}
