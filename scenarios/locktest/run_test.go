package locktest

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/features"
)

// plain is a minimal lock that uses SET NX PX and DEL.
type plain struct {
	c     *Client
	conn  net.Conn
	r     *bufio.Reader
	ttl   time.Duration
	n     int
	until time.Time
	at    int // index of the server on which the lock stores its key
}

type constructor = func(*Client) (Lock, error)

// making returns a constructor that never fails.
func making(lock func(*Client) Lock) constructor {
	return func(c *Client) (Lock, error) { return lock(c), nil }
}

// wrapped returns a constructor that creates a lock by calling inner, and wraps it.
func wrapped[L Lock](inner constructor, wrap func(L) Lock) constructor {
	return func(c *Client) (Lock, error) {
		l, err := inner(c)
		if err != nil {
			return nil, err
		}
		return wrap(l.(L)), nil
	}
}

func newPlain(c *Client) (Lock, error) { return &plain{c: c, ttl: 8 * time.Second}, nil }

func (l *plain) do(ctx context.Context, args ...string) (string, error) {
	if l.conn == nil {
		ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
		defer cancel()
		conn, err := l.c.DialContext(ctx, "tcp", l.c.Addr(l.at))
		if err != nil {
			return "", err
		}
		l.conn, l.r = conn, bufio.NewReader(conn)
	}
	l.conn.SetDeadline(time.Now().Add(500 * time.Millisecond))
	text := fmt.Sprintf("*%d\r\n", len(args))
	for _, a := range args {
		text += fmt.Sprintf("$%d\r\n%s\r\n", len(a), a)
	}
	_, err := l.conn.Write([]byte(text))
	line := ""
	if err == nil {
		line, err = l.r.ReadString('\n')
	}
	if err != nil {
		l.conn.Close()
		l.conn = nil
	}
	return strings.TrimSpace(line), err
}

func (l *plain) value() string { return l.c.Name + "." + strconv.Itoa(l.n) }

func (l *plain) Lock(ctx context.Context) error {
	l.n++
	for ctx.Err() == nil {
		asked := time.Now()
		if said, err := l.do(ctx, "SET", l.c.Key, l.value(), "NX", "PX",
			strconv.FormatInt(l.ttl.Milliseconds(), 10)); err == nil && said == "+OK" {
			l.until = asked.Add(l.ttl)
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return ctx.Err()
}

func (l *plain) ValidUntil() time.Time { return l.until }

const compareAndDelete = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`

func (l *plain) Unlock(ctx context.Context) error {
	said, err := l.do(ctx, "EVAL", compareAndDelete, "1", l.c.Key, l.value())
	if err == nil && said != ":1" {
		return errors.New("not the owner")
	}
	return err
}

func (l *plain) Close() error {
	if l.conn != nil {
		return l.conn.Close()
	}
	return nil
}

// careless is a lock whose Unlock deletes the key even if another client holds the lock.
type careless struct{ plain }

func (l *careless) Unlock(ctx context.Context) error {
	_, err := l.do(ctx, "DEL", l.c.Key)
	return err
}

func found(p *parent) map[string]int {
	all := map[string]int{}
	for _, g := range p.groups() {
		all[string(g.Law)+": "+g.Cause.String()] += g.runs
	}
	return all
}

func TestALockThatHoldsItsLease(t *testing.T) {
	p := examine(t, Config{New: newPlain, Seeds: testkit.Size(8, 20, 60), Faults: Pauses,
		Laws: []checker.Law{checker.LeaseExclusion, checker.Ownership}})
	if p == nil {
		return
	}
	if len(p.runs) == 0 || len(p.failures()) > 0 {
		t.Errorf("%d runs, %v\n%s", len(p.runs), found(p), p.summary())
	}
	want := fmt.Sprintf("no violation in %d schedules: with 95%% confidence, fewer than 1 in %d schedules of this "+
		"mix breaks "+
		"a promise", len(p.runs), campaign.OneIn(len(p.runs)))
	if got := p.confidence(); got != want || !strings.Contains(strings.Join(strings.Fields(p.summary()), " "), want) {
		t.Errorf("%q, want %q in\n%s", got, want, p.summary())
	}
	if met := p.situations(); met["a key expired while its holder was in its critical section"] == 0 ||
		met["a key was overwritten by another's"] > 0 ||
		!strings.Contains(p.summary(),
			fmt.Sprintf("%d of the %d situations that a lock can get into occurred", len(met), features.Things)) {
		t.Errorf("met %v in\n%s", met, p.summary())
	}
}

// TestSilenceIsOfWhatWasJudged checks that undecided runs, and laws that were not exercised, do not tighten the
// confidence bound.
func TestSilenceIsOfWhatWasJudged(t *testing.T) {
	outcomes := func(of map[checker.Law]checker.Outcome) (all []checker.Outcome) {
		for _, l := range checker.Laws {
			all = append(all, cmp.Or(of[l], checker.Unchecked))
		}
		return all
	}
	held := ran{Outcomes: outcomes(map[checker.Law]checker.Outcome{checker.MutualExclusion: checker.Holds,
		checker.Ownership: checker.Holds})}
	violated := ran{Outcomes: outcomes(map[checker.Law]checker.Outcome{checker.MutualExclusion: checker.Violated,
		checker.Ownership: checker.Holds})}
	undecided := ran{Outcomes: outcomes(map[checker.Law]checker.Outcome{checker.Ownership: checker.Undecided})}
	guided := held
	guided.Guided = true
	unexercised, failed := ran{Outcomes: outcomes(nil)}, ran{Failure: "it panicked"}
	for _, test := range []struct {
		runs []ran
		want string
	}{
		{nil, ""},
		{[]ran{held}, ""},
		{slices.Repeat([]ran{failed, unexercised}, 100), ""},
		{slices.Repeat([]ran{held, unexercised, failed, undecided}, 100),
			"no violation in 200 schedules: with 95% confidence, fewer than 1 in 67 schedules of this mix breaks a " +
				"promise"},
		{append(slices.Repeat([]ran{held}, 200), slices.Repeat([]ran{guided}, 200)...),
			"no violation in 400 schedules: based on the 200 with purely random faults, " +
				"with 95% confidence, fewer than 1 in 67 " +
				"schedules of this mix breaks a promise"},
		{append(slices.Repeat([]ran{held}, 19), violated),
			"no violation of ownership in 20 schedules: with 95% confidence, " +
				"fewer than 1 in 7 schedules of this mix shows one"},
	} {
		p := &parent{config: &Config{}, runs: test.runs}
		if got := p.confidence(); got != test.want {
			t.Errorf("%q, want %q", got, test.want)
		}
		p.fixed = true
		want := strings.Replace(test.want, "of this mix", "with these faults", 1)
		if got := p.confidence(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestALockThatDeletesWhoeverHoldsIt(t *testing.T) {
	p := examine(t, Config{New: making(func(c *Client) Lock { return &careless{plain{c: c, ttl: 8 * time.Second}} }),
		Seeds: testkit.Size(20, 20, 60), Faults: Pauses, Laws: []checker.Law{checker.Ownership}, SkipTrial: true})
	if p == nil {
		return
	}
	if found(p)["ownership: removed by non-owner"] == 0 {
		t.Errorf("%v\n%s", found(p), p.summary())
	}
}

// TestEqualSeedsGiveEqualRuns checks that a seed's run does not depend on the order of the runs or on the process that
// executes them.
func TestEqualSeedsGiveEqualRuns(t *testing.T) {
	seeds := testkit.Size(2, 8, 40)
	p := examine(t, Config{New: newPlain, Seeds: seeds})
	if p == nil {
		return
	}
	first := map[uint64]ran{}
	var backwards, twice []uint64
	for _, r := range p.runs {
		first[r.Seed] = r
		backwards = append([]uint64{r.Seed}, backwards...)
		twice = append(twice, r.Seed/2+1, r.Seed)
	}
	p.runs = nil
	p.exploreShare(t.Context(), backwards)
	p.exploreShare(t.Context(), twice)
	if len(first) != seeds || len(p.runs) < 2*len(first) {
		t.Errorf("%d runs, then %d", len(first), len(p.runs))
	}
	for _, r := range p.runs {
		if first[r.Seed].Digest != r.Digest {
			t.Errorf("seed %d: %x, then %x", r.Seed, first[r.Seed].Digest, r.Digest)
		}
	}
}

// wrong is a lock that misbehaves in a chosen way during client-2's second attempt.
type wrong struct {
	plain
	do func(ctx context.Context) error
}

func (l *wrong) Lock(ctx context.Context) error {
	if l.c.Name == "client-2" && l.n == 1 {
		if err := l.do(ctx); err != nil {
			return err
		}
	}
	return l.plain.Lock(ctx)
}

var outside = make(chan int)

func TestWhatIsWrongWithALockIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(ctx context.Context) error
		want []string
	}{
		"panics": {func(context.Context) error { panic("no such pool") },
			[]string{"Lock of client-2: panic: no such pool", "run_test.go"}},
		"returns never": {func(context.Context) error { select {} },
			[]string{"Lock of client-2 did not return within 10m0s after its context was canceled and its " +
				"connections were broken"}},
		"spins": {func(context.Context) error {
			//lint:ignore SA5002 the loop is endless on purpose
			for {
			}
		}, []string{"the run did not end within 300ms of ", "run_test.go"}},
		"waits for a mutex that it holds": {func(context.Context) error {
			var mu sync.Mutex
			mu.Lock()
			mu.Lock()
			return nil
		}, []string{"Lock of client-2 did not return within 10m0s", "waits (sync.Mutex.Lock)", "run_test.go"}},
		"ends the process": {func(context.Context) error { os.Exit(3); return nil },
			[]string{"ended its process: exit status 3"}},
		"uses a channel from outside": {func(context.Context) error { <-outside; return nil },
			[]string{"did not end", "chan receive", "run_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			p := examine(t, Config{
				New:   making(func(c *Client) Lock { return &wrong{plain{c: c, ttl: 8 * time.Second}, test.do} }),
				Seeds: 2, Plan: []string{"pause client-1 for 1ms at 1s"}, hung: 300 * time.Millisecond})
			if p == nil {
				return
			}
			if len(p.runs) != 2 {
				t.Errorf("%d runs of 2: %q", len(p.runs), p.problems)
			}
			for _, r := range p.runs {
				for _, want := range test.want {
					if !strings.Contains(r.Failure, want) {
						t.Errorf("seed %d: %q is not in\n%s", r.Seed, want, r.Failure)
					}
				}
			}
		})
	}
}

// impatient is a lock that panics if a server takes a long time to answer.
type impatient struct{ plain }

func (l *impatient) Lock(ctx context.Context) error {
	asked := time.Now()
	if _, err := l.do(ctx, "PING"); err != nil || time.Since(asked) > 100*time.Millisecond {
		panic("the server is gone")
	}
	return l.plain.Lock(ctx)
}

// TestALockThatPanicsUnderSomeFaults checks that if a lock panics in some runs, the others are judged as usual.
func TestALockThatPanicsUnderSomeFaults(t *testing.T) {
	r, ok := Explore(t, Config{
		New:   making(func(c *Client) Lock { return &impatient{plain{c: c, ttl: 8 * time.Second}} }),
		Seeds: 10, Faults: Faults{"pause"}, Laws: []checker.Law{checker.LeaseExclusion}})
	if ok && (r.Runs != 10 || len(r.Failures) == 0 || len(r.Failures) == 10 ||
		r.Held(checker.LeaseExclusion) != 10-len(r.Failures)) {
		t.Errorf("%d runs, %d held, %v", r.Runs, r.Held(checker.LeaseExclusion), r.Failures)
	}
}

// elsewhere is a lock that connects to servers other than the ones it was given.
type elsewhere struct {
	plain
	do func(*Client) error
}

func (l *elsewhere) Lock(ctx context.Context) error {
	if err := l.do(l.c); err != nil {
		return err
	}
	return l.plain.Lock(ctx)
}

func TestALockKeepsToItsServers(t *testing.T) {
	for name, test := range map[string]struct {
		do   func(*Client) error
		want string
	}{
		"another address": {func(c *Client) error { _, err := c.Dial("tcp", "127.0.0.1:6379"); return err },
			"dialed 127.0.0.1:6379, which is not a server of the simulated world: its servers are 10.0.0.1:6379"},
		"a name": {func(*Client) error { _, err := net.LookupHost("redis.example"); return err },
			"looked up a host name"},
	} {
		t.Run(name, func(t *testing.T) {
			p := examine(t, Config{
				New:   making(func(c *Client) Lock { return &elsewhere{plain{c: c, ttl: 8 * time.Second}, test.do} }),
				Seeds: 1, Plan: []string{"pause client-1 for 1ms at 1s"}, SkipTrial: true})
			if p != nil && (len(p.runs) != 1 || !strings.Contains(p.runs[0].Failure, test.want)) {
				t.Errorf("%+v", p.runs)
			}
		})
	}
}

// leaking is a lock that leaves a goroutine behind after each Unlock.
type leaking struct{ plain }

func (l *leaking) Unlock(ctx context.Context) error {
	go func() { select {} }()
	return l.plain.Unlock(ctx)
}

func TestAScenarioIsNamedAfterItsTest(t *testing.T) {
	for test, want := range map[string]string{"TestMyLock": "my-lock", "TestALock": "a-lock",
		"TestMyLock/on_5 nodes": "my-lock-on-5-nodes",
		"TestRedisHTTPLock":     "redis-http-lock", "Test": "lock", "TestÄ": "lock", "Test_x": "x"} {
		if got := scenarioName(test); got != want {
			t.Errorf("%s: %s, want %s", test, got, want)
		}
	}
}

// TestALeakIsReported checks that the trial run reports a goroutine that the lock leaves behind. If the trial run is
// skipped, the other runs must report it. Ignored goroutines must not be reported.
func TestALeakIsReported(t *testing.T) {
	for name, test := range map[string]struct {
		skipTrial bool
		ignored   []string
		want      string
	}{
		"trial":    {false, nil, "ten minutes after 1 run: locktest.(*leaking).Unlock.func1"},
		"no trial": {true, nil, "ten minutes after"},
		"ignored":  {false, []string{"(*leaking).Unlock"}, ""},
		"another":  {false, []string{"(*other).Unlock"}, "goroutines are still there"},
	} {
		t.Run(name, func(t *testing.T) {
			p := examine(t, Config{
				New:   making(func(c *Client) Lock { return &leaking{plain{c: c, ttl: 8 * time.Second}} }),
				Seeds: 2, Plan: []string{noEffect}, SkipTrial: test.skipTrial, IgnoredGoroutines: test.ignored})
			if p == nil {
				return
			}
			reported := strings.Join(p.problems, "\n")
			if !strings.Contains(reported, test.want) || (reported != "") != (test.want != "") ||
				test.want == "" && len(p.runs) != 2 {
				t.Errorf("%d runs, %q", len(p.runs), reported)
			}
		})
	}
}

// TestCallsAreCountedInEachTest checks that the count of a test's calls restarts at 0 if -count repeats the test. The
// calls in each subtest must be counted separately.
func TestCallsAreCountedInEachTest(t *testing.T) {
	var again testing.T
	for i, c := range []struct {
		of   *testing.T
		want int
	}{{t, 0}, {t, 1}, {&again, 0}, {t, 2}, {&again, 1}} {
		if n := nextCall(c.of); n != c.want {
			t.Errorf("call %d is number %d of its test, want %d", i, n, c.want)
		}
	}
}

// TestALockThatFailsWithoutAnyFaultIsAProblemOfTheTest checks that the whole test fails if the run without faults
// fails, because plans cannot be drawn then.
func TestALockThatFailsWithoutAnyFaultIsAProblemOfTheTest(t *testing.T) {
	p := examine(t, Config{New: making(func(c *Client) Lock {
		return &wrong{plain{c: c, ttl: 8 * time.Second}, func(context.Context) error { panic("no such pool") }}
	}), Seeds: 4})
	if p == nil {
		return
	}
	if problems := strings.Join(p.problems, "\n"); len(p.runs) > 0 || !strings.Contains(problems,
		"panic: no such pool") {
		t.Errorf("%d runs, %q", len(p.runs), problems)
	}
}

// TestAClientWhoseLockCannotBeMadeGoesOn checks what happens if New returns an error. The current Lock call must fail
// with this error, and the next Lock call must call New again. It must still be possible to judge the run.
func TestAClientWhoseLockCannotBeMadeGoesOn(t *testing.T) {
	// each client acquires the lock 3 times
	for name, panics := range map[string]int{"never made": 0, "asked again": 3} {
		t.Run(name, func(t *testing.T) {
			asked := 0
			p := examine(t, Config{Seeds: 1, Plan: []string{noEffect}, SkipTrial: true,
				Laws: []checker.Law{checker.Ownership},
				New: func(c *Client) (Lock, error) {
					if c.Name != "client-1" {
						return newPlain(c)
					}
					if asked++; asked == panics {
						panic("New is called for the third time")
					}
					return nil, errors.New("no such pool")
				}})
			if p == nil {
				return
			}
			if len(p.problems) > 0 || len(p.runs) != 1 {
				t.Fatalf("%d runs, %q", len(p.runs), p.problems)
			}
			got, want := p.runs[0].Failure, "New is called for the third time"
			if (panics != 0) != strings.Contains(got, want) || panics == 0 && got != "" {
				t.Errorf("%q", got)
			}
		})
	}
}

// TestServersAreOfTheVersionThatIsAskedFor checks that the servers have the version that the Config requests, and that
// unknown versions are refused.
func TestServersAreOfTheVersionThatIsAskedFor(t *testing.T) {
	for text, want := range map[string]string{"": "7.0", "7.0": "7.0", "8": "8", "tair": "tair"} {
		c := Config{Servers: Redis(1).OfVersion(text)}
		s, err := c.scenario("x")
		if err != nil || s.Servers.Version != want {
			t.Errorf("%q: %v, %v", text, s, err)
		}
	}
	c := Config{Servers: Redis(1).OfVersion("9")}
	if _, err := c.scenario("x"); err == nil || !strings.Contains(err.Error(), "expected one of 7.0, 8, tair") {
		t.Errorf("9: %v", err)
	}
}

// stranded is a lock that, before its first Lock, dials a server whose host is down.
type stranded struct {
	*plain
	dialed bool
}

// Lock panics if a dial does not end when it should, which makes the run fail.
func (l *stranded) Lock(ctx context.Context) error {
	if l.c.Name != "probe" && !l.dialed { // the server is up again by the time the probe acquires the lock
		l.dialed = true
		time.Sleep(10 * time.Millisecond)
		for _, limit := range []time.Duration{0, 2 * time.Second, 8 * time.Second} {
			of, want, cancel := context.Background(), DialTimeout, func() {}
			if limit > 0 {
				want = limit
				of, cancel = context.WithTimeout(of, limit)
			}
			begin := time.Now()
			_, err := l.c.DialContext(of, "tcp", l.c.Addr(0))
			if took := time.Since(begin); err == nil || took != want {
				panic(fmt.Sprintf("a dial with a limit of %v took %v: %v", limit, took, err))
			}
			cancel()
		}
		time.Sleep(30 * time.Second) // until the server is up again
	}
	return l.plain.Lock(ctx)
}

// TestDialsGiveUp checks that dialing a host that is down fails after DialTimeout or at the context's deadline, as it
// does with libraries' dialers.
func TestDialsGiveUp(t *testing.T) {
	r, ok := Explore(t, Config{Seeds: 2, Clients: 1, Cycles: 1, SkipTrial: true,
		Laws: []checker.Law{checker.MutualExclusion},
		Plan: []string{"crash redis-1 losing everything at 1ms, restart after 30s"},
		New:  making(func(c *Client) Lock { return &stranded{plain: &plain{c: c, ttl: 8 * time.Second}} })})
	if ok && (r.Runs != 2 || len(r.Failures) > 0 || len(r.Breaches) > 0) {
		t.Errorf("%d runs, failures %+v, breaches %+v", r.Runs, r.Failures, r.Breaches)
	}
}

// closing is a lock that cannot be used once it has been closed.
type closing struct {
	*plain
	closed bool
}

func (l *closing) Lock(ctx context.Context) error {
	if l.closed {
		return errors.New("the lock is closed")
	}
	return l.plain.Lock(ctx)
}

func (l *closing) Close() error {
	l.closed = true
	return l.plain.Close()
}

// TestAProbeThatAsksAgainHasALockOfItsOwn checks that the probe acquires the lock again if a fault strikes while it is
// holding the lock. To do so, it must get a new Lock from New, because it has closed the first one.
func TestAProbeThatAsksAgainHasALockOfItsOwn(t *testing.T) {
	const again = "the probe asks again"
	for name, last := range map[string]int{"asks again": 1, "with a lock of its own": 9} {
		t.Run(name, func(t *testing.T) {
			made := 0
			p := examine(t, Config{Servers: Redis(1).Replicated(1), Seeds: 1, SkipTrial: true, Cycles: 2,
				// this message tells the replica about the probe's key
				Plan: []string{"delay message 13 of redis-1 -> redis-1-replica-1 by 1s"},
				Laws: []checker.Law{checker.FaultTolerance},
				New: func(c *Client) (Lock, error) {
					if c.Name == "probe" {
						made++
					}
					if made > last {
						panic(again)
					}
					return &closing{plain: &plain{c: c, ttl: 8 * time.Second}}, nil
				}})
			if p == nil {
				return
			}
			if len(p.problems)+len(found(p)) > 0 || len(p.runs) != 1 {
				t.Fatalf("%d runs, %q, %v", len(p.runs), p.problems, found(p))
			}
			if failed := strings.Contains(p.runs[0].Failure, again); failed != (last == 1) {
				t.Errorf("the run failed: %t: %s", failed, p.runs[0].Failure)
			}
		})
	}
}
