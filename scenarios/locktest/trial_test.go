package locktest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
)

// trying is a plain lock with Lock and Unlock methods that can be replaced.
type trying struct {
	plain
	lock, unlock func(ctx context.Context, l *trying) error
}

func (l *trying) Lock(ctx context.Context) error {
	if l.lock != nil {
		return l.lock(ctx, l)
	}
	return l.plain.Lock(ctx)
}

func (l *trying) Unlock(ctx context.Context) error {
	if l.unlock != nil {
		return l.unlock(ctx, l)
	}
	return l.plain.Unlock(ctx)
}

// once makes one attempt to acquire the lock.
func once(ctx context.Context, l *trying) error {
	l.n++
	said, err := l.do(ctx, "SET", l.c.Key, l.value(), "NX", "PX", "8000")
	if err == nil && said != "+OK" {
		err = errors.New("lock is taken")
	}
	l.until = time.Now().Add(l.ttl)
	return err
}

// beginning is a script that deletes the key if its value begins with the caller's owner value.
const beginning = `if string.sub(redis.call("get",KEYS[1]) or "",1,string.len(ARGV[1])) == ARGV[1] then
	return redis.call("del",KEYS[1]) else return 0 end`

// own returns a constructor for locks that use the client's name as the owner value in all attempts. release is the
// script that releases the lock.
func own(release string) constructor {
	return func(c *Client) (Lock, error) {
		return &trying{plain: plain{c: c, ttl: 8 * time.Second},
			lock: func(ctx context.Context, l *trying) error {
				for ctx.Err() == nil {
					if said, err := l.do(ctx, "SET", c.Key, c.Name, "NX", "PX", "8000"); err == nil && said == "+OK" {
						return nil
					}
					time.Sleep(100 * time.Millisecond)
				}
				return ctx.Err()
			},
			unlock: func(ctx context.Context, l *trying) error {
				_, err := l.do(ctx, "EVAL", release, "1", c.Key, c.Name)
				return err
			}}, nil
	}
}

// renewing makes a lock that renews its key every two seconds until it is released.
func renewing(c *Client) (Lock, error) {
	stop := make(chan struct{})
	return &trying{plain: plain{c: c, ttl: 8 * time.Second},
		lock: func(ctx context.Context, l *trying) error {
			if err := l.plain.Lock(ctx); err != nil {
				return err
			}
			stop = make(chan struct{})
			go func(stop chan struct{}) {
				for {
					select {
					case <-stop:
						return
					case <-time.After(2 * time.Second):
						l.do(context.Background(), "PEXPIRE", c.Key, "8000")
					}
				}
			}(stop)
			return nil
		},
		unlock: func(ctx context.Context, l *trying) error {
			close(stop)
			return l.plain.Unlock(ctx)
		}}, nil
}

// made returns a constructor for plain locks with the given Lock and Unlock.
func made(lock, unlock func(ctx context.Context, l *trying) error) constructor {
	return making(func(c *Client) Lock { return &trying{plain{c: c, ttl: 8 * time.Second}, lock, unlock} })
}

// TestTheTrialRun checks that the first line of the trial's report names a faulty lock's problem, and that there is no
// report for a sound lock.
func TestTheTrialRun(t *testing.T) {
	for name, test := range map[string]struct {
		Config
		want string // beginning of the first problem; empty: no problem
	}{
		"sound":            {Config{New: newPlain}, ""},
		"renews itself":    {Config{New: renewing}, ""},
		"five servers":     {Config{New: newPlain, Servers: Redis(5)}, ""},
		"a replica":        {Config{New: newPlain, Servers: Redis(1).Replicated(1)}, ""},
		"keys":             {Config{New: newSeveral(""), Keys: threeKeys}, ""},
		"a short TTL":      {Config{New: lasting(400 * time.Millisecond), TTL: 400 * time.Millisecond}, ""},
		"asks seldom":      {Config{New: polling(7 * time.Second)}, ""},
		"asks very rarely": {Config{New: polling(40 * time.Second)}, ""},

		"no connection": {Config{New: making(func(*Client) Lock { return open{} })},
			"the lock opened no connection: pass c.DialContext"},
		"another's server": {Config{New: made(dialling("127.0.0.1:6379"), nil)},
			"worker-10 dialed 127.0.0.1:6379, which is not a server"},
		"New returns nil":           {Config{New: making(func(*Client) Lock { return nil })}, nilLock},
		"New returns a nil pointer": {Config{New: making(func(*Client) Lock { return (*plain)(nil) })}, nilLock},
		"New returns an error": {Config{New: func(*Client) (Lock, error) { return nil, errors.New("no such pool") }},
			"Config.New returned an error for worker-10: no such pool"},

		"a TTL of its own": {Config{New: newPlain, TTL: 30 * time.Second},
			`the key "lock" expires 8s after Lock has set it, but Config.TTL is 30s`},
		"a TTL that is shorter": {Config{New: lasting(500 * time.Millisecond)},
			`the key "lock" expires 500ms after Lock has set it, but Config.TTL is 8s`},
		"a key that outlives the lease": {Config{New: outliving}, ""},

		"cannot be had": {Config{New: made(failing, nil)},
			`Lock of worker-10 returned "lock is not to be had" after 6ms, although nobody has the lock`},
		"never returns": {Config{New: made(hanging, nil)},
			`Lock of worker-10 did not return within 20s, although nobody has the lock; when its context was ` +
				`canceled, it returned "context canceled"`},
		"cannot be released": {Config{New: made(nil, failing)},
			`Unlock of worker-10 returned "lock is not to be had", although the client had the lock`},
		"does not wait":         {Config{New: made(once, nil)}, `Lock of worker-1 returned "lock is taken" after `},
		"enters":                {Config{New: made(entering, nop)}, `Lock of worker-1 returned nil after `},
		"waits a second":        {Config{New: givingUp(time.Second)}, ""},
		"waits a little longer": {Config{New: givingUp(1001 * time.Millisecond)}, ""},
		"waits three seconds":   {Config{New: givingUp(3 * time.Second)}, ""},
		"waits less than a second": {Config{New: givingUp(999 * time.Millisecond)},
			`Lock of worker-1 returned "context deadline exceeded" after 999ms, while worker-10 had the lock: ` +
				"Lock must wait for at least 1s, unless ctx is done"},

		"says nil when it is cancelled": {Config{New: made(sayingNil, nil)},
			"Lock of worker-10 returned nil after its context was canceled, while worker-100 had the lock: in " +
				"that case, return an error"},
		"does not look at its context": {Config{New: made(deaf, nil)}, ""},

		"is one object for all": {Config{New: onlyOne()},
			"Config.New returned the same Lock for worker-1 as for worker-10: create one Lock for each client"},
		"panics": {Config{New: made(panicking, nil)}, "Lock of worker-10: panic: no such pool"},
		"leaves something": {Config{New: newLeaking},
			"4 goroutines are still there ten minutes after 1 run: "},
		"ignored": {Config{New: newLeaking, IgnoredGoroutines: []string{"leaking"}},
			""},
		"spins": {Config{New: made(spinning, nil), hung: 300 * time.Millisecond},
			"the trial run, which has no faults, failed: the run did not end within 300ms of "},
		"has no token": {Config{New: newPlain, Precautions: Precautions{Fences: true}},
			"Config.Precautions.Fences requires a Lock with a method FencingToken() int64"},
		"cannot be renewed": {Config{New: newPlain, Precautions: Precautions{ExtendEvery: time.Second}},
			"Config.Precautions.ExtendEvery requires a Lock with a method Extend("},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 5)
			checkTrial(t, test.Config, test.want)
		})
	}
}

// checkTrial performs the trial run. The text of the first problem must begin with want; if want is empty, there must
// be no problem.
func checkTrial(t *testing.T, c Config, want string) {
	t.Helper()
	p, _ := begin(t, c)
	if p == nil {
		return
	}
	p.try()
	switch {
	case want == "" && len(p.problems) > 0:
		t.Errorf("%q", p.problems)
	case want != "" && (len(p.problems) == 0 || !strings.HasPrefix(p.problems[0], want)):
		t.Errorf("%q\nwant %q", p.problems, want)
	}
	if want == nilLock && (len(p.problems) != 1 || p.problems[0] != want) {
		t.Errorf("%q, want one sentence", p.problems)
	}
}

const nilLock = "Config.New returned neither a Lock nor an error for worker-10: return a Lock, or the error that " +
	"explains why it cannot be made"

func failing(ctx context.Context, l *trying) error {
	l.do(ctx, "PING")
	return errors.New("lock is not to be had")
}

// onlyOne creates a single lock and returns it to all clients, like a lock in a package variable.
func onlyOne() constructor {
	var one Lock
	return wrapped(newPlain, func(l Lock) Lock {
		one = cmp.Or(one, l)
		return one
	})
}

func newLeaking(c *Client) (Lock, error) { return &leaking{plain{c: c, ttl: 8 * time.Second}}, nil }

// deleted is what the trial reports when Unlock deletes another client's key.
const deleted = `worker-1 deleted the key "lock" of worker-100, which already had the lock. Compare the owner ` +
	"value and "

func nop(context.Context, *trying) error       { return nil }
func panicking(context.Context, *trying) error { panic("no such pool") }

func hanging(ctx context.Context, l *trying) error {
	l.do(ctx, "PING")
	<-ctx.Done()
	return ctx.Err()
}

func pinging(ctx context.Context, l *trying) error {
	_, err := l.do(ctx, "PING")
	return err
}

func entering(ctx context.Context, l *trying) error {
	_, err := l.do(ctx, "SET", l.c.Key, l.c.Name)
	return err
}

func dialling(address string) func(context.Context, *trying) error {
	return func(ctx context.Context, l *trying) error {
		_, err := l.c.DialContext(ctx, "tcp", address)
		return err
	}
}

func spinning(context.Context, *trying) error {
	for began := time.Now(); time.Since(began) < time.Second; {
	}
	return nil
}

// givingUp returns a constructor for locks with a Lock method that returns an error after the given time.
func givingUp(after time.Duration) constructor {
	return made(func(ctx context.Context, l *trying) error {
		ctx, cancel := context.WithTimeout(ctx, after)
		defer cancel()
		return acquire(ctx, l, 100*time.Millisecond)
	}, nil)
}

// polling returns a constructor for locks that retry at the given interval.
func polling(every time.Duration) constructor {
	return made(func(ctx context.Context, l *trying) error { return acquire(ctx, l, every) }, nil)
}

// acquire retries until it has the lock or ctx is done.
func acquire(ctx context.Context, l *trying, every time.Duration) error {
	for {
		err := once(ctx, l)
		if err == nil {
			return nil
		}
		select {
		case <-time.After(every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func sayingNil(ctx context.Context, l *trying) error {
	_ = acquire(ctx, l, 100*time.Millisecond)
	return nil
}

// deaf is a Lock that ignores its context.
func deaf(_ context.Context, l *trying) error { return acquire(l.c.Context(), l, 100*time.Millisecond) }

// lasting returns a constructor for locks with a key that has the given TTL.
func lasting(ttl time.Duration) constructor {
	return making(func(c *Client) Lock { return &plain{c: c, ttl: ttl} })
}

// outliving makes a lock that its holder relies on for eight seconds. The key expires much later, unless it is deleted.
// A lock in a sorted set with lease end times as the scores behaves like this.
func outliving(c *Client) (Lock, error) {
	return &trying{plain: plain{c: c, ttl: time.Minute}, lock: func(ctx context.Context, l *trying) error {
		err := l.plain.Lock(ctx)
		l.until = l.until.Add(8*time.Second - time.Minute)
		return err
	}}, nil
}

// TestRunTrialIsATestOfItsOwn checks that RunTrial passes for a sound lock.
func TestRunTrialIsATestOfItsOwn(t *testing.T) { RunTrial(t, Config{New: newPlain}) }

// TestARunWithoutFaults checks that a plan that is empty but not nil means a run without faults.
func TestARunWithoutFaults(t *testing.T) {
	r, ok := Explore(t, Config{New: newPlain, Plan: []string{}, Seeds: 4,
		Laws: checker.Laws})
	if ok && (r.Runs != 4 || len(r.Breaches) > 0 || r.Held(checker.MutualExclusion) != 4) {
		t.Errorf("%+v", r)
	}
}

func TestNoSeedIsRunAfterATrialThatFailed(t *testing.T) {
	for skipTrial, want := range map[bool]int{false: 0, true: 3} {
		t.Run(fmt.Sprint(skipTrial), func(t *testing.T) {
			p := examine(t, Config{New: newCareless, Seeds: 3, SkipTrial: skipTrial})
			if p != nil && (len(p.runs) != want || p.refused == skipTrial || (len(p.problems) == 0) != skipTrial) {
				t.Errorf("%d runs, %q", len(p.runs), p.problems)
			}
		})
	}
}

// sharer is a lock that reports that its holds are shared.
type sharer struct{ *plain }

func (sharer) Shared() bool { return true }

// TestASemaphoreHasNoSharedHolds checks that a lock with several permits must not be a Sharer, and that its scenario
// must not ask for shared holds. The error says what to do.
func TestASemaphoreHasNoSharedHolds(t *testing.T) {
	p := examine(t, Config{Permits: 2, Seeds: 1, New: making(func(c *Client) Lock {
		return sharer{&plain{c: c, ttl: 8 * time.Second}}
	})})
	if p == nil {
		return
	}
	if said := fmt.Sprint(p.problems, p.failures()); !strings.Contains(said, "remove Permits") {
		t.Error(said)
	}
	const shared = "name: x\nservers: {redis: 1}\nlock: {protocol: library, shared: on}\n"
	_, err := scenarios.ParseWith("x.yaml", []byte(shared), &scenarios.Code{})
	if err == nil || !strings.Contains(err.Error(), "with a method Shared() bool") {
		t.Error(err)
	}
}

// TestWhatIsWrongWithAConfigIsSaidOfItsField checks that the message about an error in a Config names the field.
func TestWhatIsWrongWithAConfigIsSaidOfItsField(t *testing.T) {
	for want, c := range map[string]Config{
		`Config.Faults: unknown key "paus" in mix.weights: did you mean pause or client pause?`: {Faults: Faults{"paus"}},
		`Config.Plan: `:    {Plan: []string{"paus client-1 for 1s at 1s"}},
		`Config.Servers: `: {Servers: Redis(1).Persisting("sometimes")},
		`Config.Servers: a Cluster needs at least 3 masters`: {Servers: Redis(2).Clustered(0)},
		`Config.Servers: cluster is a setting of Redis`:      {Servers: Etcd(3).Clustered(0)},
		`Config.Servers: a duration must not have a sign here, found "-1s"`: {
			Servers: Redis(3).Clustered(-time.Second)},
		`Config.Laws: `:    {Laws: []checker.Law{"politeness"}},
		`Config.Clients: `: {Clients: -1},
		`Config.TTL, Timeout, Permits, PlaceTimeout, Patience or Precautions: `:               {Patience: -time.Second},
		`Config.Tasks, Locks, Cycles, Compute, Hold or Precautions: `:                         {Cycles: -1},
		`Config.Tasks, Locks, Cycles, Compute, Hold or Precautions: expected a number from 1`: {Tasks: -1},
		`Config.Tasks, Locks, Cycles, Compute, Hold or Precautions: the requests of a client's tasks ` +
			`can be told apart only on Redis`: {Tasks: 2, Servers: Etcd(3)},
		`Config.Tasks, Locks, Cycles, Compute, Hold or Precautions: fairness is checked only between ` +
			`clients with one task each`: {
			Tasks: 2, PlaceTimeout: time.Second},
		`Config.TTL, Timeout, Permits, PlaceTimeout, Patience or Precautions: with 4 permits and 4 tasks`: {
			Tasks: 2, Clients: 2, Permits: 4},
	} {
		if _, err := c.scenario("lock"); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestFindingsAreListedByRank checks the order of findings: failures in the lock's code come first, then changes to
// another client's keys, then violations of the other laws, and finally violations that no lease can prevent. Each
// entry shows the number of runs in which it occurred.
func TestFindingsAreListedByRank(t *testing.T) {
	cause := func(k checker.CauseKind) checker.Cause { return checker.Cause{Kind: k} }
	p := &parent{t: t, config: &Config{IgnoredGoroutines: []string{"known"}}}
	for i := range 10 {
		r := ran{Seed: uint64(i) + 1, Outcomes: make([]checker.Outcome, len(checker.Laws))}
		switch {
		case i < 2:
			r.Failure = "stuck for " + strconv.Itoa(i) + " s\nwith more"
		case i == 2:
			r.Failure = "in known code"
		default:
			r.Broken = []broken{
				{finding: finding{checker.MutualExclusion, cause(checker.HolderOutlivedLease), true}, Limit: pauses},
				{finding: finding{checker.DeadlockFreedom, cause(checker.TooSlow), false}},
				{finding: finding{checker.Ownership, cause(checker.RemovedByNonOwner), false}}}
		}
		p.take(r)
	}
	_, index, _ := strings.Cut(p.summary(), "findings\n")
	want := `1  stuck for 0 s, 2 runs from seed 1
2  ownership: removed by non-owner, 7 runs from seed 4
3  deadlock-freedom: not within the bound, 7 runs from seed 4

violations that no lock with a lease can prevent
4  mutual-exclusion: holder outlived its lease, 7 runs from seed 4`
	if index != want || !strings.Contains(p.summary(), "10 runs, 1 not judged (Config.IgnoredGoroutines)") {
		t.Errorf("%s", p.summary())
	}
}

// TestAMutexThatStopsARunEndsTheRuns checks that all runs end if a wait for a mutex stops virtual time in one of them,
// unless IgnoredGoroutines names the function. Otherwise, every later run would come to a standstill too.
func TestAMutexThatStopsARunEndsTheRuns(t *testing.T) {
	for failure, stops := range map[string]bool{
		remote.Standstill + ": pubsub waits (sync.Mutex.Lock)": true,
		remote.Standstill + ": known waits (sync.Mutex.Lock)":  false,
		"pubsub is waiting on a channel":                       false,
	} {
		ctx, stop := context.WithCancel(t.Context())
		p := &parent{t: t, config: &Config{IgnoredGoroutines: []string{"known"}}, stop: stop}
		p.stopFor(failure)
		if ctx.Err() != nil != stops || p.stopped != stops {
			t.Errorf("%s: stopped: %v, want %v", failure, p.stopped, stops)
		}
		stop()
	}
}

// TestOneIsSingular checks that a count of 1 is followed by a singular noun, and that no period comes before a comma.
func TestOneIsSingular(t *testing.T) {
	outcomes := make([]checker.Outcome, len(checker.Laws))
	wrong := regexp.MustCompile(`\b1 (runs|places|schedules|faults|goroutines|seeds)\b|\.,`)
	for name, p := range map[string]*parent{
		"a run":             {runs: []ran{{Seed: 1, Outcomes: outcomes}}},
		"a run that failed": {runs: []ran{{Seed: 1, Failure: "Lock returned without a key of the client."}}},
		"a fault": {finished: 1, runs: []ran{{Seed: 1, Outcomes: outcomes, Missed: make([]nemesis.Missed, 1)}},
			listed: &listed{Longest: []string{"pause client-1 for 1s at 1s"}, Differs: true, Unnamed: 1}},
		"a fault of two": {finished: 1, runs: []ran{{Seed: 1, Outcomes: outcomes}},
			listed: &listed{Longest: []string{"pause client-1 for 1s at 1s", "pause client-1 for 2s at 1s"}}},
	} {
		p.t, p.config = t, &Config{}
		if text := p.summary(); wrong.MatchString(text) {
			t.Errorf("%s: %q in\n%s", name, wrong.FindString(text), text)
		}
	}
}

// TestALawThatNoRunDecidesSaysWhy checks that, if the work takes longer than the run limit, the summary says so for
// each law that is undecided because of it.
func TestALawThatNoRunDecidesSaysWhy(t *testing.T) {
	p := examine(t, Config{New: making(func(c *Client) Lock { return &plain{c: c, ttl: 30 * time.Second} }),
		Plan: []string{noEffect}, Seeds: 2, TTL: 30 * time.Second, Hold: 25 * time.Second, Cycles: 3})
	if p == nil {
		return
	}
	summary := strings.Join(strings.Fields(p.summary()), " ")
	want := regexp.MustCompile(`deadlock-freedom is undecided in 2 runs\. With seed 1: When the run ended, \S+ .*` +
		`The run reached its limit of 2m0s: lower Config\.Hold or Config\.Cycles\.`)
	if !want.MatchString(summary) {
		t.Errorf("%s", p.summary())
	}
}

// TestWorkThatOutlivesALeaseThatNobodyRenewsIsMentioned checks that the summary says so if the work outlives a lease
// that no request renews. LeaseLaws does not promise mutual exclusion, and with SkipTrial nothing else shows that the
// lock never renews its lease.
func TestWorkThatOutlivesALeaseThatNobodyRenewsIsMentioned(t *testing.T) {
	for _, test := range []struct {
		hold      time.Duration
		mentioned bool
	}{{4 * time.Second, false}, {20 * time.Second, true}} {
		t.Run(test.hold.String(), func(t *testing.T) {
			p := examine(t, Config{New: newPlain, Plan: []string{noEffect}, Seeds: 2, Hold: test.hold, Laws: LeaseLaws,
				SkipTrial: true})
			if p == nil {
				return
			}
			summary := strings.Join(strings.Fields(p.summary()), " ")
			want := "in 2 of 2 runs, two clients were in their critical sections at once, because the work took " +
				"longer than a lease that no request renewed."
			if strings.Contains(summary, want) != test.mentioned || !strings.Contains(summary, "promises kept") {
				t.Errorf("%s", p.summary())
			}
		})
	}
}

// TestWhereAllHoldsTenLinesSaySo checks that the summary is only ten lines long if all laws hold.
func TestWhereAllHoldsTenLinesSaySo(t *testing.T) {
	p := examine(t, Config{New: newPlain, Plan: []string{noEffect}, Seeds: 2})
	if p == nil {
		return
	}
	if text := p.summary(); strings.Count(text, "\n") != 9 || !strings.Contains(text, "2 runs") ||
		!strings.Contains(text, "promises kept") || !strings.Contains(text, "share of runs") {
		t.Errorf("%s", text)
	}
}
