package locks

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// bench is a test environment with five servers behind links with a 1 ms delay. It logs every request. The test
// determines the replies.
type bench struct {
	*sim.World
	t       *testing.T
	answers func(server, n int, args []string) string // n counts the server's requests from 1; "" means no reply
	heard   []string
}

type scripted struct {
	b      *bench
	number int
	served int
}

func (s *scripted) Start(sim.Host)        {}
func (s *scripted) Wake(uint64)           {}
func (s *scripted) ClockChanged()         {}
func (s *scripted) Fault(sim.ServerFault) {}
func (s *scripted) Stop(sim.Stop)         {}
func (s *scripted) Serve(r *sim.Incoming) {
	s.served++
	s.b.heard = append(s.b.heard,
		fmt.Sprintf("%v redis-%d %s %s", s.b.Now().Duration(), s.number, r.Attempt, brief(r.Args)))
	if a := s.b.answers(s.number, s.served, r.Args); a != "" {
		r.Reply([]byte(a + "\r\n"))
	}
}

// brief returns a command as short text, with scripts and owner values replaced by names.
func brief(args []string) string {
	out := slices.Clone(args)
	for i, a := range out {
		switch {
		case a == releaseScript:
			out[i] = "release"
		case a == extendScript:
			out[i] = "extend"
		case a == fencedScript:
			out[i] = "fenced"
		case len(a) > 8 && i > 0 && !strings.Contains(a, ":"):
			out[i] = "VALUE"
		}
	}
	return strings.Join(out, " ")
}

func newBench(t *testing.T, answers func(server, n int, args []string) string) *bench {
	b := &bench{World: sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}}), t: t,
		answers: answers}
	for i := range 5 {
		b.AddServer(sim.ProcessID(fmt.Sprintf("redis-%d", i+1)), &scripted{b: b, number: i + 1})
	}
	return b
}

// run runs a client, which must end within an hour.
func (b *bench) run(client func(sim.Env)) {
	b.t.Helper()
	ended := false
	b.AddClient("client-1", 0, func(env sim.Env) {
		client(env)
		ended = true
	})
	b.Run(sim.Time(time.Hour), nil)
	b.Finish()
	if b.Err() != nil || !ended {
		b.t.Fatalf("the client has ended: %v, error: %v", ended, b.Err())
	}
}

func (b *bench) wantHeard(want ...string) {
	b.t.Helper()
	if !slices.Equal(b.heard, want) {
		b.t.Errorf("heard\n  %s\nwant\n  %s", strings.Join(b.heard, "\n  "), strings.Join(want, "\n  "))
	}
}

// config returns Redlock's settings as documented, with the test's changes.
func config(change func(*Config)) Config {
	c := Config{Protocol: Redlock, Key: "lock", TTL: 10 * time.Second,
		Retry:   sim.Delay{Lo: 100 * time.Millisecond, Hi: 100 * time.Millisecond},
		Timeout: 50 * time.Millisecond, ElapsedCheck: true, ReleaseOnFailure: true,
		Drift: Allowance{PPM: 10_000, Plus: 2 * time.Millisecond}, Clock: sim.Monotonic, TokenScope: PerRequest,
		Own: redlockConfig{contact: sequential, order: listed, quorum: 3}}
	for i := range 5 {
		c.Servers = append(c.Servers, sim.ProcessID(fmt.Sprintf("redis-%d", i+1)))
	}
	if change != nil {
		change(&c)
	}
	return c
}

// newLock returns a lock for a client without other locks.
func newLock(c Config) Lock { return New(&c, &Library{}) }

// grantAll is a reply function for servers that grant everything.
func grantAll(_, _ int, args []string) string {
	if args[0] == "SET" {
		return "+OK"
	}
	return ":1"
}

func TestRedlockStatesTheValidityOfTheDocument(t *testing.T) {
	b := newBench(t, grantAll)
	b.run(func(env sim.Env) {
		h, err := newLock(config(nil)).Acquire(env)
		if err != nil {
			t.Error(err)
			return
		}
		// The validity is TTL - elapsed - (1% + 2 ms). Five round trips of 2 ms have passed.
		if got, want := h.Remaining(env), 10*time.Second-10*time.Millisecond-102*time.Millisecond; got != want {
			t.Errorf("validity %v, want %v", got, want)
		}
		if len(h.Grant.Counted) != 5 {
			t.Errorf("counted %v", h.Grant.Counted)
		}
	})
	b.wantHeard(
		"1ms redis-1 client-1/1 SET lock VALUE NX PX 10000", "3ms redis-2 client-1/1 SET lock VALUE NX PX 10000",
		"5ms redis-3 client-1/1 SET lock VALUE NX PX 10000", "7ms redis-4 client-1/1 SET lock VALUE NX PX 10000",
		"9ms redis-5 client-1/1 SET lock VALUE NX PX 10000")
}

func TestRedlockReleasesEverywhereAndAsksAnewAfterAFailure(t *testing.T) {
	// The first attempt gets two of five votes. One server does not reply.
	b := newBench(t, func(server, n int, args []string) string {
		switch {
		case n > 2:
			return grantAll(server, n, args)
		case args[0] == "SET" && server == 3:
			return ""
		case args[0] == "SET" && server > 3:
			return "$-1"
		}
		return grantAll(server, n, args)
	})
	var values []string
	b.run(func(env sim.Env) {
		h, err := newLock(config(func(c *Config) {
			c.Own = redlockConfig{contact: parallel, order: listed, quorum: 3}
		})).Acquire(env)
		if err != nil || h.Attempt != "client-1/2" {
			t.Errorf("attempt %s, %v", h.Attempt, err)
		}
		values = append(values, h.value)
	})
	var times []string
	for _, s := range b.heard {
		if strings.Contains(s, "redis-3") {
			times = append(times, s)
		}
	}
	if !slices.Equal(times, []string{ // after the missing reply, the new connection costs another round trip
		"1ms redis-3 client-1/1 SET lock VALUE NX PX 10000",
		"53ms redis-3 client-1/1 EVAL release 1 lock VALUE",
		"155ms redis-3 client-1/2 SET lock VALUE NX PX 10000"}) {
		t.Errorf("redis-3 heard %q", times)
	}
	if len(b.heard) != 15 || values[0] == "" {
		t.Errorf("heard %q", b.heard)
	}
}

func TestRedlockRefusesAValidityThatIsOver(t *testing.T) {
	for _, check := range []bool{true, false} {
		b := newBench(t, grantAll)
		b.run(func(env sim.Env) {
			h, err := newLock(config(func(c *Config) {
				// the TTL is as long as five round trips
				c.TTL, c.ElapsedCheck, c.Patience = 10*time.Millisecond, check, time.Second
			})).Acquire(env)
			if check != (err != nil) || check && !errors.Is(err, ErrPatience) {
				t.Errorf("elapsed check %v: %v", check, err)
			}
			if !check && h.Remaining(env) != 10*time.Millisecond {
				t.Errorf("without the check the TTL is counted from the return, not %v", h.Remaining(env))
			}
		})
	}
}

func TestRedlockNeedsItsQuorum(t *testing.T) {
	for granted := range 6 {
		b := newBench(t, func(server, n int, args []string) string {
			if server > granted && args[0] == "SET" {
				return "$-1"
			}
			return grantAll(server, n, args)
		})
		b.run(func(env sim.Env) {
			_, err := newLock(config(func(c *Config) { c.Patience = time.Millisecond })).Acquire(env)
			if (err == nil) != (granted >= 3) {
				t.Errorf("granted by %d of 5: %v", granted, err)
			}
		})
	}
}

func TestClientsBeginWhereTheOrderSays(t *testing.T) {
	for order, want := range map[askOrder]string{
		listed:  "redis-1 redis-2 redis-3 redis-4 redis-5",
		rotated: "redis-4 redis-5 redis-1 redis-2 redis-3",
	} {
		b := newBench(t, grantAll)
		b.run(func(env sim.Env) {
			newLock(config(func(c *Config) {
				c.Own, c.First = redlockConfig{contact: sequential, order: order, quorum: 3}, 3
			})).Acquire(env)
		})
		var asked []string
		for _, s := range b.heard {
			asked = append(asked, strings.Fields(s)[1])
		}
		if got := strings.Join(asked, " "); got != want {
			t.Errorf("%s: asked %s, want %s", order, got, want)
		}
	}
}

func TestOwnerValuesAreThoseOfAnAttemptAClientOrAll(t *testing.T) {
	const clients = 2
	for _, scope := range []TokenScope{PerRequest, PerClient, Fixed} {
		var values []string
		b := newBench(t, func(server, n int, args []string) string {
			if args[0] == "SET" {
				if server == 1 {
					values = append(values, args[2])
				}
				return "$-1"
			}
			return ":0"
		})
		b.run(func(env sim.Env) {
			for range clients {
				newLock(config(func(c *Config) { c.TokenScope, c.Patience = scope, time.Second })).Acquire(env)
			}
		})
		slices.Sort(values)
		want := map[TokenScope]int{PerRequest: len(values), PerClient: clients, Fixed: 1}[scope]
		if different := len(slices.Compact(slices.Clone(values))); len(values) <= clients || different != want {
			t.Errorf("%s: %d attempts used %d values, want %d", scope, len(values), different, want)
		}
	}
}

func TestExtensionObeysQuorumAndValidityAndLimit(t *testing.T) {
	for _, c := range []struct {
		mode      ExtendMode
		extending int // number of servers that still have the key
		slow      time.Duration
		err       error
		counted   int
	}{
		{ExtendChecked, 5, 0, nil, 5},
		{ExtendChecked, 3, 0, nil, 3},
		{ExtendChecked, 2, 0, ErrLost, 5},
		{ExtendChecked, 5, 11 * time.Second, ErrLate, 5},
		{ExtendChecked, 3, 2 * time.Minute, ErrUnanswered, 5}, // two servers agreed, one did not answer
		// a reply from the silent server would not change the outcome
		{ExtendChecked, 2, 2 * time.Minute, ErrLost, 5},
		{ExtendUnchecked, 0, 11 * time.Second, nil, 0},
		{ExtendAnyAnswer, 0, 0, nil, 5},
		{ExtendAnyAnswer, 0, 11 * time.Second, ErrLate, 5},
		{ExtendIgnoreElapsed, 3, 11 * time.Second, nil, 3},
		{ExtendIgnoreElapsed, 2, 0, ErrLost, 5},
		{ExtendExpire, 0, 0, nil, 5},        // the servers do not compare the owner
		{ExtendRelease, 0, 0, nil, 5},       // the servers confirm that the keys are gone
		{ExtendOrAcquire, 0, 0, ErrLost, 5}, // another client has the lock
		{ExtendReacquire, 5, 0, ErrLost, 5}, // NX fails on the client's own keys
	} {
		b := newBench(t, func(server, n int, args []string) string {
			switch {
			case args[0] == "SET" && n > 1:
				return "$-1"
			case brief(args)[:11] == "EVAL extend" && server > c.extending:
				return ":0"
			}
			return grantAll(server, n, args)
		})
		b.run(func(env sim.Env) {
			l := newLock(config(func(f *Config) {
				f.Timeout = time.Minute
				f.Extension = &Extension{Mode: c.mode, TTL: f.TTL, Limit: 1}
			}))
			h, err := l.Acquire(env)
			if err != nil {
				t.Error(err)
				return
			}
			b.Slow("client-1", "redis-1", c.slow)
			if err := l.Extend(env, h); !errors.Is(err, c.err) || len(h.Grant.Counted) != c.counted {
				t.Errorf("%s with %d servers after %v: %v, counted %v", c.mode, c.extending, c.slow, err,
					h.Grant.Counted)
			}
			if err := l.Extend(env, h); !errors.Is(err, ErrLimit) {
				t.Errorf("a second extension of one: %v", err)
			}
		})
	}
}

func TestALockThatIsTakenTwiceIsGivenBackOnceByThoseWhoDoNotCount(t *testing.T) {
	for reentry, want := range map[Reentry][]string{
		CountedReentry:     {"SET lock VALUE NX PX 10000", "EVAL release 1 lock VALUE"},
		UncountedReentry:   {"SET lock VALUE NX PX 10000", "EVAL release 1 lock VALUE", "EVAL release 1 lock VALUE"},
		OverwritingReentry: {"SET lock VALUE NX PX 10000", "GET lock"}, // by then another client has the key
	} {
		b := newBench(t, func(server, n int, args []string) string {
			if args[0] == "GET" {
				return "$0\r\n"
			}
			return grantAll(server, n, args)
		})
		b.run(func(env sim.Env) {
			l := newLock(config(func(c *Config) { c.Protocol, c.Reentry = SetNXPX, reentry }))
			h, err := l.Acquire(env)
			if err != nil {
				t.Error(err)
				return
			}
			if l.Reenter(env, h) {
				l.Release(env, h)
				l.Release(env, h)
			}
		})
		for i, s := range b.heard {
			_, b.heard[i], _ = strings.Cut(s, "client-1/1 ")
		}
		b.wantHeard(want...)
	}
}

func TestSingleInstanceProtocolsSendWhatTheirDocumentsSay(t *testing.T) {
	ok := func(_, _ int, args []string) string {
		switch args[0] {
		case "SET":
			return "+OK"
		case "GET":
			return "$0\r\n" // the key belongs to another client
		}
		return ":1"
	}
	for _, c := range []struct {
		protocol Protocol
		release  Release
		want     []string
	}{
		{SetNX, ReleaseDel, []string{"SETNX lock VALUE", "DEL lock"}},
		{SetNXExpire, ReleaseDel, []string{"SETNX lock VALUE", "EXPIRE lock 10", "DEL lock"}},
		{SetNXPX, ReleaseScript, []string{"SET lock VALUE NX PX 10000", "EVAL release 1 lock VALUE"}},
		{SetNXPX, ReleaseDel, []string{"SET lock VALUE NX PX 10000", "DEL lock"}},
		{SetNXPX, ReleaseGetThenDel, []string{"SET lock VALUE NX PX 10000", "GET lock"}},
		{Fenced, ReleaseScript, []string{"EVAL fenced 2 lock lock:token VALUE 10000", "EVAL release 1 lock VALUE"}},
	} {
		b := newBench(t, ok)
		b.run(func(env sim.Env) {
			l := newLock(config(func(f *Config) { f.Protocol, f.Release = c.protocol, c.release }))
			h, err := l.Acquire(env)
			if err != nil {
				t.Error(err)
				return
			}
			if (c.protocol == SetNX) != (h.Remaining(env) == sim.Forever) || (c.protocol == Fenced) != (h.Token == 1) {
				t.Errorf("%s: remaining %v, token %d", c.protocol, h.Remaining(env), h.Token)
			}
			if released := l.Release(env, h) == Confirmed; released != (c.release != ReleaseGetThenDel) {
				t.Errorf("%s, %s: released %v", c.protocol, c.release, released)
			}
		})
		var heard []string
		for _, s := range b.heard {
			_, command, _ := strings.Cut(s, "client-1/1 ")
			heard = append(heard, command)
		}
		if !slices.Equal(heard, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.protocol, c.release, heard, c.want)
		}
	}
}

func TestCarefulClientsCountFromTheRequest(t *testing.T) {
	for careful, want := range map[bool]time.Duration{true: 10*time.Second - 2*time.Millisecond,
		false: 10 * time.Second} {
		b := newBench(t, grantAll)
		b.run(func(env sim.Env) {
			h, err := newLock(config(
				func(c *Config) { c.Protocol, c.ElapsedCheck, c.Drift = SetNXPX, careful, Allowance{} })).Acquire(env)
			if err != nil || h.Remaining(env) != want {
				t.Errorf("careful %v: %v left, %v", careful, h.Remaining(env), err)
			}
		})
	}
}

// TestAnAcquireMakesAsManyAttemptsAsItMay sets the maximum number of attempts to three, as the published sample code
// does. If another client holds the lock throughout, Acquire must give up after exactly three attempts.
func TestAnAcquireMakesAsManyAttemptsAsItMay(t *testing.T) {
	for _, protocol := range []Protocol{SetNX, SetNXExpire, SetNXPX, Fenced, Redlock} {
		b := newBench(t, func(_, _ int, args []string) string {
			switch args[0] {
			case "SETNX", "EVAL":
				return ":0"
			}
			return "$-1"
		})
		attempts := map[string]bool{}
		b.run(func(env sim.Env) {
			library := &Library{}
			c := config(func(c *Config) { c.Protocol, c.Attempts = protocol, 3 })
			if _, err := New(&c, library).Acquire(env); !errors.Is(err, ErrPatience) {
				t.Errorf("%s: %v", protocol, err)
			}
			if made, taken := library.Attempts(); made != 3 || taken != 3 {
				t.Errorf("%s: %d attempts, of which %d found the lock taken", protocol, made, taken)
			}
		})
		for _, s := range b.heard {
			attempts[strings.Fields(s)[2]] = true
		}
		if len(attempts) != 3 {
			t.Errorf("%s: heard %q", protocol, b.heard)
		}
	}
}

func TestPatienceEnds(t *testing.T) {
	b := newBench(t, func(int, int, []string) string { return "$-1" })
	b.run(func(env sim.Env) {
		_, err := newLock(config(func(c *Config) { c.Protocol, c.Patience = SetNXPX, time.Second })).Acquire(env)
		if !errors.Is(err, ErrPatience) || env.Monotonic() > time.Second {
			t.Errorf("%v after %v", err, env.Monotonic())
		}
	})
}
