package zookeeper_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

const (
	ms      = time.Millisecond
	timeout = 6 * time.Second
)

var members = []sim.ProcessID{"zookeeper-1", "zookeeper-2", "zookeeper-3"}

// service is a world with a three-member ensemble.
type service struct {
	*sim.World
	t        testing.TB
	ensemble *zookeeper.Ensemble
	header   history.Header
	report   []string
}

// varied is a range of delays, so that each message takes a different time.
var varied = sim.Delay{Lo: 200 * time.Microsecond, Hi: 2 * ms}

// newService starts a run on a network with varying delays.
func newService(t testing.TB, seed uint64) *service {
	s := &service{World: sim.New(0, sim.Options{}), t: t, ensemble: zookeeper.NewEnsemble(zookeeper.Config{}, members)}
	s.rerun(seed)
	return s
}

// newCalm starts a run on a network where every message takes 1 ms.
func newCalm(t testing.TB, c zookeeper.Config) *service {
	s := &service{World: sim.New(0, sim.Options{}), t: t, ensemble: zookeeper.NewEnsemble(c, members)}
	s.begin(1, sim.Delay{Lo: ms, Hi: ms}, c)
	return s
}

// rerun starts another run with the same ensemble, reusing the ensemble's memory.
func (s *service) rerun(seed uint64) { s.begin(seed, varied, zookeeper.Config{}) }

func (s *service) begin(seed uint64, delay sim.Delay, c zookeeper.Config) {
	s.Reset(seed, sim.Options{Delay: delay})
	s.ensemble.Reset(c)
	s.ensemble.AddTo(s.World.AddServer)
	s.report = nil
	s.header = history.Header{Servers: members, Groups: [][]sim.ProcessID{members}, Quorum: 2,
		Locks: []history.Lock{"order"},
		TTL:   history.Of(timeout), Hold: history.Of(time.Minute), Slack: history.Of(20 * time.Second),
		Bound: history.Of(time.Second)}
}

// config returns the configuration for a client that first connects to the member with the given number.
func config(member int) zookeeper.ClientConfig {
	return zookeeper.ClientConfig{Members: members, First: member - 1, Timeout: timeout}
}

// locker adds a client that acquires the lock "order". The client first connects to the member with the client's own
// number.
func (s *service) locker(number int, at time.Duration, change func(*worker)) *worker {
	k := &worker{recipe: recipe{name: "order", kind: "lock"}, client: config(number), cycles: 1, hold: 100 * ms}
	if change != nil {
		change(k)
	}
	id := sim.ProcessID(fmt.Sprintf("client-%d", number))
	s.header.Clients = append(s.header.Clients, id)
	s.AddClient(id, history.Of(at), k.main)
	return k
}

// strike schedules the beginning and end of a fault. Both are recorded.
func (s *service) strike(kind history.F, line string, at, d time.Duration, on []sim.ProcessID, begin, end func()) {
	struck := &history.Fault{On: on, Ends: true}
	if kind == history.Cut {
		struck.On, struck.To = on[:1], on[1:]
	}
	s.At(history.Of(at), func() {
		s.Record(history.Nemesis, history.Event{Type: history.Invoke, F: kind, Value: line, Fault: struck})
		begin()
	})
	s.At(history.Of(at+d), func() {
		end()
		s.Record(history.Nemesis, history.Event{Type: history.OK, F: kind, Value: line, Fault: struck})
	})
}

// isolate cuts the links between one process and the others, in both directions, for a while.
func (s *service) isolate(one sim.ProcessID, others []sim.ProcessID, at, d time.Duration) {
	line := fmt.Sprintf("cut %s | ", one)
	for _, o := range others {
		line += string(o) + " "
	}
	line += fmt.Sprintf("at %v for %v", at, d)
	each := func(f func(a, b sim.ProcessID)) {
		for _, o := range others {
			f(one, o)
			f(o, one)
		}
	}
	s.strike("cut", line, at, d, append([]sim.ProcessID{one}, others...), func() { each(s.Cut) },
		func() { each(s.Heal) })
}

func (s *service) pause(id sim.ProcessID, at, d time.Duration) {
	s.strike("pause", fmt.Sprintf("pause %s for %v at %v", id, d, at), at, d, []sim.ProcessID{id},
		func() { s.Pause(id) }, func() { s.Resume(id) })
}

// losePower makes a member lose power for a while, unless it is already down.
func (s *service) losePower(id sim.ProcessID, at, d time.Duration) {
	struck := false
	s.strike("crash", fmt.Sprintf("crash %s losing unsynced writes at %v, restart after %v", id, at, d), at, d,
		[]sim.ProcessID{id}, func() { struck = s.Stop(id, sim.PowerLoss) },
		func() {
			if struck {
				s.Restart(id)
			}
		})
}

// run runs the world until the clients are done or the limit is reached, and returns the history.
func (s *service) run(limit time.Duration) *history.History {
	s.t.Helper()
	s.Run(history.Of(limit), func() bool { return !s.Busy() })
	h := s.Finish()
	if s.Err() != nil {
		s.t.Fatal(s.Err())
	}
	s.header.Seed, s.header.End = h.Header.Seed, h.Header.End
	h.Header = s.header
	return h
}

// client adds a client that runs main and first connects to the member with the given number. The client's state
// changes are logged.
func (s *service) client(number int, change func(*zookeeper.ClientConfig), main func(env sim.Env,
	c *zookeeper.Client)) {
	id := sim.ProcessID(fmt.Sprintf("client-%d", number))
	s.AddClient(id, 0, func(env sim.Env) {
		k := config(number)
		k.Backoff = sim.Delay{Lo: 100 * ms, Hi: 100 * ms}
		k.Listener = func(_ sim.Env, state zookeeper.ClientState) { s.say("%s %s", id, state) }
		if change != nil {
			change(&k)
		}
		c := zookeeper.OpenClient(env, k)
		c.Await(env, sim.Forever)
		main(env, c)
	})
}

// say logs a line with the true time in seconds, to one decimal place.
func (s *service) say(format string, args ...any) {
	s.report = append(s.report, fmt.Sprintf("%.1f ", s.Now().Duration().Seconds())+fmt.Sprintf(format, args...))
}

func want[T comparable](t testing.TB, got []T, want ...T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("got\n  %v\nwant\n  %v", got, want)
	}
}

// expect compares each law's verdict with the one that is wanted. Laws that are not listed must not be violated.
func expect(t testing.TB, h *history.History, wanted map[checker.Law]string) {
	t.Helper()
	v := checker.Check(h)
	for i := range v.Findings {
		f := &v.Findings[i]
		got := f.Outcome.String()
		if f.Outcome == checker.Violated {
			got += " by " + f.Cause.String()
		}
		w, named := wanted[f.Law]
		if named && got != w || !named && f.Outcome == checker.Violated {
			t.Errorf("seed %d: %s %s, want %s\n%s", h.Header.Seed, f.Law, got, w, f.Explanation)
		}
	}
}
