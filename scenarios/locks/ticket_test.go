package locks

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// This file defines a protocol as a user would add one. Nothing outside this file refers to it. ticket_run_test.go
// runs, judges, sweeps and lists it. The protocol exists only in this package's tests.

// ticket is a ticket lock: INCR gives a client the next number, and the client whose number is being served holds the
// lock. It never expires.
const ticket Protocol = "ticket"

func init() {
	Register(&Definition{
		Name: ticket, Place: 5,
		Text:    "INCR draws a number, and the one that is served holds: no expiry, fencing tokens",
		Backend: OnRedis, Service: history.Redis, Tokens: true,
		Settings: slices.Concat(
			[]Setting{ttlKey, timeoutKey, format.Only(reentrantKey, CountedReentry, UncountedReentry)},
			ownSettings(format.Spread("poll", func(c *ticketConfig) *sim.Delay { return &c.poll },
				sim.Delay{Lo: 10 * time.Millisecond, Hi: 20 * time.Millisecond},
				"between two looks at the number that is served").Recurring())),
		Without: map[string]string{"retry": "a client of ticket waits in line and looks again: give poll"},
		make:    func(r requester) protocol { return &ticketLock{requester: r, own: ownOf[ticketConfig](r.config)} },
	})
}

// ticketConfig contains the settings that only this protocol has.
type ticketConfig struct {
	poll sim.Delay // default 10 ms to 20 ms
}

type ticketLock struct {
	requester
	own ticketConfig
}

// Acquire gets a number and waits until it is served. If the reply with a number is lost, no client waits for that
// number, and the lock is blocked forever.
func (l *ticketLock) Acquire(env sim.Env) (*Hold, error) {
	attempt, _ := l.next(env)
	h := &Hold{Attempt: attempt}
	env.Point(sim.AcquireStart)
	h.Grant.Since = env.Mark()
	for h.Token == 0 {
		n, drawn := l.ask(env, h, "set", "INCR", string(l.config.Key)+":drawn").Int()
		if drawn {
			h.Token = history.Token(n)
			continue
		}
		env.Sleep(Draw(env, l.own.poll))
	}
	for waited := false; ; waited = true {
		r := l.ask(env, h, "look", "GET", string(l.config.Key)+":served")
		text, _ := r.Bulk()
		served, _ := strconv.ParseInt(text, 10, 64)
		if (text != "" || r.Nil()) && served == int64(h.Token)-1 {
			l.library.counted(waited)
			h.Grant.Granted, h.Grant.Counted = env.Mark(), l.config.Servers[:1]
			h.Grant.Until = sim.Deadline{Clock: sim.Monotonic, At: sim.Forever}
			env.Point(sim.QuorumReached)
			return h, nil
		}
		env.Sleep(Draw(env, l.own.poll))
	}
}

// Extend does nothing, because the lock does not expire.
func (l *ticketLock) Extend(sim.Env, *Hold) error { return nil }

// Release increments the number being served.
func (l *ticketLock) Release(env sim.Env, h *Hold) Answer {
	if _, done := l.ask(env, h, "release", "INCR", string(l.config.Key)+":served").Int(); !done {
		return Unanswered
	}
	return Confirmed
}

// Close does nothing.
func (l *ticketLock) Close(sim.Env) {}

func (l *ticketLock) ask(env sim.Env, h *Hold, phase string, args ...string) *sim.Reply {
	return ask(env, l.config.Timeout,
		sim.Request{Conn: sim.Conn{Server: l.config.Servers[0]}, Args: args, Attempt: h.Attempt, Phase: phase})
}

// TestTheOrderOfTheReferenceIsStated registers all protocols again in other orders: in reverse, and by name. The
// protocols' order in the reference documentation must stay the same.
func TestTheOrderOfTheReferenceIsStated(t *testing.T) {
	all, keys := definitions, Settings()
	defer func(own func() []Setting) { definitions, settings = all, own }(settings)
	want := []Protocol{SetNX, SetNXExpire, SetNXPX, Fenced, HashCounter, Redlock, ticket, Etcd, ZooKeeper, LeaseObject,
		Consul, PermitList, Semaphore, ReadWrite, Fair}
	byName := slices.SortedFunc(slices.Values(all),
		func(a, b *Definition) int { return int(a.Name[0]) - int(b.Name[0]) })
	backwards := slices.Clone(all)
	slices.Reverse(backwards)
	for _, order := range [][]*Definition{all, byName, backwards} {
		definitions = nil
		for _, d := range order {
			Register(d)
		}
		var got []Protocol
		for _, d := range Definitions() {
			got = append(got, d.Name)
		}
		if !slices.Equal(got, want) {
			t.Errorf("registered in another order, they are listed as %v, want %v", got, want)
		}
		samePath := func(a, b Setting) bool { return a.Path == b.Path }
		if !slices.EqualFunc(Settings(), keys, samePath) {
			t.Error("registered in another order, their keys are listed in another")
		}
	}
}

// TestANameIsRegisteredOnce checks that Register panics if there already is a protocol with the same name.
func TestANameIsRegisteredOnce(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("two protocols have one name")
		}
	}()
	Register(&Definition{Name: ticket})
}

// TestKeysOfOneProtocolAreOfOneProtocol checks that a setting that several protocols accept is stored in Config itself.
// If it were stored in one protocol's own settings, the other protocols would lose it.
func TestKeysOfOneProtocolAreOfOneProtocol(t *testing.T) {
	tried := 0
	for _, d := range Definitions() {
		for _, s := range d.Settings {
			var c Config
			before := c.Own
			if s.Form.Kind == format.Mapping ||
				len(s.Path) > 5 && (s.Path[:5] == "wait." || len(s.Path) > 10 && s.Path[:10] == "extension.") {
				continue
			}
			if s.Set(&c, s.Standard); c.Own == before {
				continue
			}
			tried++
			if takers := Taking(s.Path, ""); len(takers) != 1 {
				t.Errorf("%s is one of the own settings of %s, and %v take it", s.Path, d.Name, takers)
			}
		}
	}
	if tried < 15 {
		t.Errorf("only %d own settings were tried", tried)
	}
}
