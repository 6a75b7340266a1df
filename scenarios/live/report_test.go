//go:build linux

package live

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

func TestReportsAreRead(t *testing.T) {
	for text, want := range map[string]report{
		"ACQUIRING lock":  {word: acquiring, lock: "lock"},
		"acquired lock v": {word: acquired, lock: "lock", attempt: "v"},
		"ACQUIRED lock v VALIDITY 900 token 33": {word: acquired, lock: "lock", attempt: "v", token: 33,
			validity: 900 * time.Millisecond, stated: true},
		"ACQUIRED lock v VALIDITY -3": {word: acquired, lock: "lock", attempt: "v",
			validity: -3 * time.Millisecond, stated: true},
		"FAILED lock":                  {word: failed, lock: "lock"},
		"EXTENDED lock v VALIDITY 0":   {word: extended, lock: "lock", attempt: "v", stated: true},
		"EXTENDING lock v":             {word: extending, lock: "lock", attempt: "v"},
		"EXTEND-FAILED lock v":         {word: unchanged, lock: "lock", attempt: "v"},
		"EXTEND-FAILED lock v UNKNOWN": {word: unchanged, lock: "lock", attempt: "v", unknown: true},
		"LOST lock v":                  {word: lost, lock: "lock", attempt: "v"},
		"RELEASING lock v":             {word: releasing, lock: "lock", attempt: "v"},
		"RELEASED lock v":              {word: released, lock: "lock", attempt: "v"},
		"RELEASED lock v REFUSED":      {word: released, lock: "lock", attempt: "v", refused: true},
		"RELEASED lock v unknown":      {word: released, lock: "lock", attempt: "v", unknown: true},
	} {
		if got, err := parseReport(strings.Fields(text)); got != want || err != nil {
			t.Errorf("%s: %+v %v, want %+v", text, got, err, want)
		}
	}
}

func TestReportsThatAreWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "FENCEPOST must be followed by one of these words: ACQUIRING, ACQUIRED",
		"AQUIRED lock v":                 "unknown report: FENCEPOST AQUIRED (did you mean ACQUIRED?)",
		"xyz":                            "unknown report: FENCEPOST xyz",
		"ACQUIRING":                      "FENCEPOST ACQUIRING has no lock: send FENCEPOST ACQUIRING lock",
		"ACQUIRED":                       "FENCEPOST ACQUIRED has no lock: send FENCEPOST ACQUIRED lock attempt",
		"ACQUIRED lock":                  "FENCEPOST ACQUIRED has no attempt: send FENCEPOST ACQUIRED lock attempt",
		"ACQUIRED lock v TOKEN":          "TOKEN must be followed by a number",
		"ACQUIRED lock v TOKEN 0":        `TOKEN must be followed by a whole number of at least 1, not "0"`,
		"ACQUIRED lock v TOKEN x":        `TOKEN must be followed by a whole number of at least 1, not "x"`,
		"ACQUIRED lock v VALIDTY 3":      "FENCEPOST ACQUIRED does not accept VALIDTY (did you mean VALIDITY?)",
		"ACQUIRED lock v VALIDITY 1e3":   `VALIDITY must be followed by a whole number of milliseconds, not "1e3"`,
		"EXTEND-FAILED lock v REFUSED":   "FENCEPOST EXTEND-FAILED does not accept REFUSED",
		"EXTENDED lock v TOKEN 3":        "FENCEPOST EXTENDED does not accept TOKEN",
		"RELEASED lock v UNKNOWN really": "FENCEPOST RELEASED does not accept really",
		"ACQUIRING lock v":               "FENCEPOST ACQUIRING does not accept v",
	} {
		_, err := parseReport(strings.Fields(text))
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	for text, want := range map[string]string{
		"READ":                 "READ has no lock: send READ lock [TOKEN n]",
		"write lock":           "WRITE has no value: send WRITE lock value [TOKEN n]",
		"WRITE lock 1 TOKN 3":  "WRITE does not accept TOKN (did you mean TOKEN?)",
		"READ lock TOKEN":      "TOKEN must be followed by a number",
		"READ lock TOKEN 3 4":  "READ does not accept 4",
		"WRITE lock 1 TOKEN -": `TOKEN must be followed by a whole number of at least 1, not "-"`,
	} {
		if _, err := parseAccess(strings.Fields(text)); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestReportingNamesAllWords checks that the documentation for client authors describes every report that a run
// accepts, with its options.
func TestReportingNamesAllWords(t *testing.T) {
	for _, g := range grammar {
		line := "FENCEPOST " + string(g.word) + " lock"
		if g.attempt {
			line += " attempt"
		}
		if !strings.Contains(Reporting(), line) {
			t.Errorf("%q is not described", line)
		}
		for _, o := range g.options {
			if !strings.Contains(Reporting(), o) {
				t.Errorf("%s is not described", o)
			}
		}
	}
}

// rig returns a stage with one client, for tests without processes.
func rig() (*stage, *client) {
	st := &stage{standing: map[place]owned{}, locks: []history.Lock{"lock"}}
	st.world = sim.New(1, sim.Options{Endless: true, Keep: st.keep})
	c := &scenarios.Client{ID: "client-1"}
	c.Lock.Key = "lock"
	k := newClient(st, c, 0)
	st.clients = append(st.clients, k)
	return st, k
}

// TestWhatServersGrant checks that a grant consists of keys that the attempt has set and for which the replies have
// arrived. Since is the time of the first request that set a key. Granted is the time of the reply that completed a
// quorum. The grant lasts until the first key expires.
func TestWhatServersGrant(t *testing.T) {
	st, k := rig()
	h := &hold{step: acquiring, attempt: "client-1/2"}
	k.holds["lock"] = h
	key := func(f history.F, server sim.ProcessID, of, by history.Attempt, until sim.Time) {
		st.world.Record(server, history.Event{F: f, Type: history.OK, Lock: "lock", Value: "v" + string(of), Of: of,
			By: by, Until: until})
	}
	said := func(r *report) string {
		g, ok := h.grant(st.world, 2, r)
		return fmt.Sprint(ok, " ", int64(st.world.Time(g.Since)), " ", int64(st.world.Time(g.Granted)), " ",
			int64(g.Until.At), " ", g.Counted)
	}
	for _, step := range []struct {
		what   string
		do     func()
		stated *report
		want   string
	}{
		{"nothing", func() {}, &report{}, "false 0 0 0 []"},
		{"another's key", func() {
			key(history.KeySet, "redis-1", "client-2/1", "client-2/1", 500)
			h.answered("redis-1", 3, 5)
		}, &report{}, "false 0 0 0 []"},
		{"one whose answer has not come", func() {
			key(history.KeySet, "redis-2", "client-1/2", "client-1/2", 900)
		}, &report{}, "false 0 0 0 []"},
		{"the answer comes", func() { h.answered("redis-2", 10, 20) }, &report{}, "true 10 20 900 [redis-2]"},
		{"a second", func() {
			key(history.KeySet, "redis-3", "client-1/2", "client-1/2", 890)
			h.answered("redis-3", 8, 30)
		}, &report{}, "true 8 30 890 [redis-2 redis-3]"},
		{"a third, beyond the quorum", func() {
			key(history.KeySet, "redis-4", "client-1/2", "client-1/2", 950)
			h.answered("redis-4", 9, 40)
		}, &report{}, "true 8 30 890 [redis-2 redis-3 redis-4]"},
		{"it is given back", func() {
			key(history.KeyGone, "redis-4", "client-1/2", "client-1/2", 0)
		}, &report{}, "true 8 30 890 [redis-2 redis-3]"},
		{"a stated validity", func() {}, &report{stated: true, validity: 100}, "true 8 30 130 [redis-2 redis-3]"},
		{"one given back to try again", func() {
			key(history.KeyGone, "redis-3", "client-1/2", "client-1/2", 0)
		}, &report{}, "true 10 20 900 [redis-2]"},
		{"one that expires", func() { key(history.KeyGone, "redis-2", "client-1/2", "", 0) }, &report{},
			"true 10 20 900 [redis-2]"},
		{"prolonged, unanswered", func() {
			h.step = acquired
			key(history.KeyProlonged, "redis-2", "client-1/2", "client-1/2", 2000)
		}, &report{}, "false 0 0 0 []"},
		{"prolonged", func() { h.answered("redis-2", 40, 50) }, &report{}, "true 10 50 2000 [redis-2]"},
	} {
		step.do()
		if got := said(step.stated); got != step.want {
			t.Errorf("%s: %s, want %s", step.what, got, step.want)
		}
	}
}

// TestWhoseRequestItIs checks that a request with an earlier attempt's owner value is assigned to that attempt if the
// key that it set still exists. Every other request must be assigned to the latest attempt.
func TestWhoseRequestItIs(t *testing.T) {
	st, k := rig()
	s := &state{client: k, conn: &realtime.Conn{Server: "redis-1"}}
	if of := s.attemptOf([]string{"HELLO", "3"}); of != "" {
		t.Errorf("before the first attempt: %s", of)
	}
	h := &hold{step: acquiring, attempt: "client-1/1"}
	k.holds["lock"] = h
	set := func(value string) {
		st.world.Record("redis-1", history.Event{F: history.KeySet, Lock: "lock", Value: value, Of: h.attempt,
			By: h.attempt})
	}
	set("a")
	h.age()
	h.attempt = "client-1/2"
	for _, step := range []struct {
		do      func()
		request string
		of      history.Attempt
	}{
		{func() {}, "EVAL script 1 lock a", "client-1/1"}, // the release of the previous attempt arrives late
		{func() {}, "SET lock b NX PX 1000", "client-1/2"},
		{func() {}, "DEL lock", "client-1/2"},
		{func() { st.world.Record("redis-1", history.Event{F: history.KeyGone, Lock: "lock", Of: "client-1/1"}) },
			"SET lock a NX PX 1000", "client-1/2"}, // the client uses one value for all attempts
		{func() { set("a") }, "EVAL script 1 lock a", "client-1/2"},
		{func() { // the client never learned that its second attempt has set the key
			h.values, h.attempt = nil, "client-1/3"
		}, "EVAL script 1 lock a", "client-1/3"},
		{func() { // a request of the second attempt arrives only now
			st.world.Record("redis-1", history.Event{F: history.KeySet, Lock: "lock", Value: "b", Of: "client-1/2",
				By: "client-1/2"})
		}, "EVAL script 1 lock b", "client-1/2"},
	} {
		step.do()
		if of := s.attemptOf(strings.Fields(step.request)); of != step.of {
			t.Errorf("%s: of %s, want %s", step.request, of, step.of)
		}
	}
	st.world.Record("redis-1", history.Event{F: history.KeySet, Lock: "another", Value: "x"})
	if slices.ContainsFunc(st.world.SoFar(), func(e history.Event) bool { return e.Lock == "another" }) {
		t.Error("a key that is no lock's is kept")
	}
}

// TestClientsBeginInTurn checks that a client does not begin until the clients before it have been served, paused or
// crashed, but does not wait for them for long.
func TestClientsBeginInTurn(t *testing.T) {
	acquire := func(of history.Type) func(*stage, *client) {
		return func(_ *stage, k *client) { k.record(history.Event{F: history.Acquire, Type: of}) }
	}
	for name, test := range map[string]struct {
		do   func(st *stage, first *client)
		want time.Duration
	}{
		"served before":   {acquire(history.OK), 10},
		"asks":            {acquire(history.Invoke), 110},
		"paused":          {func(st *stage, k *client) { st.world.Pause(k.id) }, 10},
		"crashed":         {func(st *stage, k *client) { st.world.Crash(k.id) }, 10},
		"served at 50 ms": {func(st *stage, k *client) { st.world.At(sim.Time(50e6), func() { k.served = true }) }, 50},
	} {
		st, first := rig()
		second := newClient(st, &scenarios.Client{ID: "client-2"}, 10*time.Millisecond)
		st.clients = append(st.clients, second)
		for _, k := range st.clients {
			st.world.AddClient(k.id, 0, func(env sim.Env) { env.Sleep(sim.Forever) })
		}
		test.do(st, first)
		began := sim.Time(-1)
		st.world.At(sim.Time(10e6), func() { second.inTurn(func() { began = st.world.Now() }) })
		st.world.Run(sim.Time(time.Second), nil)
		if began.Duration() != test.want*time.Millisecond {
			t.Errorf("%s: it began at %v, want %d ms", name, began.Duration(), test.want)
		}
	}
}

// TestOwnerValuesAreForgotten checks that only a few owner values are stored, no matter how long a run is. A value that
// all attempts use must still be recognized.
func TestOwnerValuesAreForgotten(t *testing.T) {
	h := &hold{}
	for i := range 100 {
		h.attempt = history.Attempt(fmt.Sprint("client-1/", i))
		h.values = []string{"always", fmt.Sprint("v", i), "always"}
		h.age()
	}
	if len(h.old) != mostOld || !slices.Contains(h.old, owned{"v99", "client-1/99"}) ||
		!slices.Contains(h.old, owned{"always", "client-1/99"}) {
		t.Errorf("%d are remembered: %v", len(h.old), h.old)
	}
}

// TestTimesCountFromTheBegin checks that rebase shifts all times except Never.
func TestTimesCountFromTheBegin(t *testing.T) {
	h := &history.History{Header: history.Header{End: 90}, Events: []history.Event{
		{Time: 20, F: history.KeySet, Until: history.Never},
		{Time: 60, F: history.KeyProlonged, Until: 80},
		{Time: 70, F: history.Acquire, Grant: &history.Grant{Since: 55, Granted: 65, Until: 85}},
		{Time: 75, F: history.Release},
		{Time: 90, F: history.Crashed, Until: 70},
		{Time: 95, F: history.Crashed, Until: 40},
		{Time: 99, F: history.Crashed},
	}}
	rebase(h, 50)
	got := ""
	for _, e := range h.Events {
		got += fmt.Sprint(int64(e.Time), " ", e.Until == history.Never, " ", int64(e.Until%1000), " ")
	}
	g := h.Events[2].Grant
	got += fmt.Sprint(int64(g.Since), " ", int64(g.Granted), " ", int64(g.Until), " ", int64(h.Header.End))
	const want = "0 true 807 10 false 30 20 false 0 25 false 0 40 false 20 45 false 1 49 false 0 5 15 35 40"
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
