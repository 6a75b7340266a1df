package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// afterPause runs a client that is paused from 1 ms to 100 ms. During the pause, the replies to two requests arrive,
// the requests time out, and two pushes arrive. afterPause returns what the client sees when it continues, in order.
func afterPause(t *testing.T, seed uint64, other func(l *lab)) []string {
	l := &lab{World: New(seed, Options{Delay: Delay{ms, 3 * ms}}), t: t}
	for i := range 3 {
		s := &pusher{echo: echo{w: l.World}}
		s.answers = i < 2
		l.AddServer(ProcessID(fmt.Sprintf("s-%d", i+1)), s)
	}
	l.client("c", func(env Env) {
		env.Go("subscriber", func(env Env) {
			env.Call(0, nil, Request{Conn: Conn{Server: "s-3"}, Args: []string{"SUBSCRIBE"}, Attempt: "c/2"})
			data, _ := env.Receive(Conn{Server: "s-3"}, 40*ms)
			l.say("pushed %q", data)
			data, _ = env.Receive(Conn{Server: "s-3"}, 40*ms)
			l.say("pushed %q", data)
		})
		set := func(server ProcessID) Request {
			return Request{Conn: Conn{Server: server}, Args: []string{"SET"}, Attempt: "c/1", Phase: "set"}
		}
		r := env.Call(50*ms, nil, set("s-1"), set("s-2"))
		l.say("%v %v", r[0].Status, r[1].Status)
	})
	l.client("d", func(env Env) { env.Call(50*ms, nil, to("s-1", "SET")) })
	l.At(Time(ms), func() { l.Pause("c") })
	l.At(Time(100*ms), func() { l.Resume("c") })
	if other != nil {
		other(l)
	}
	l.run()
	return slices.Sorted(slices.Values(l.log))
}

// pusher is an echo server that pushes two values to a client when it subscribes.
type pusher struct {
	echo
	answers bool
}

func (p *pusher) Serve(r *Incoming) {
	if p.answers {
		p.echo.Serve(r)
		return
	}
	p.host.Push(r.ConnID, 1, []byte("one"))
	p.host.Push(r.ConnID, 2, []byte("two"))
}

// TestAClientThatContinuesSeesAnswersOrItsTimeOutsFirst checks what a client sees first after a pause during which
// replies arrive and requests time out. For each connection, the seed decides whether the client sees the replies or
// the timeouts first. A connection's bytes stay in order, and a fault elsewhere does not change the outcome.
func TestAClientThatContinuesSeesAnswersOrItsTimeOutsFirst(t *testing.T) {
	outcomes := map[string]int{}
	for seed := range uint64(400) {
		got := afterPause(t, seed, nil)
		for _, other := range []func(l *lab){nil,
			func(l *lab) { l.At(0, func() { l.Pause("d") }); l.At(Time(30*ms), func() { l.Resume("d") }) },
			func(l *lab) { l.At(Time(10*ms), func() { l.Stop("s-1", PowerLoss) }) },
			func(l *lab) { l.At(Time(20*ms), func() { l.Pause("c"); l.Resume("c") }) },
		} {
			if again := afterPause(t, seed, other); !slices.Equal(again, got) {
				t.Fatalf("seed %d: %q, with another fault %q", seed, got, again)
			}
		}
		for _, line := range got {
			outcomes[line]++
		}
	}
	for outcome, about := range map[string]int{
		"100ms 1 1": 100, "100ms 0 1": 100, "100ms 1 0": 100, "100ms 0 0": 100,
		`100ms pushed "one"`: 400, `100ms pushed "two"`: 200, `100ms pushed ""`: 200,
	} {
		if n := outcomes[outcome]; n < about*3/5 || n > about*7/5 {
			t.Errorf("%s: %d times, want about %d of 400: %v", outcome, n, about, outcomes)
		}
	}
}

// TestAClientPausedAsItTakesAnAnswerDoesNothingMore checks that if a client is paused while it is handling an answer,
// its next request, sleep or point waits until the pause is over.
func TestAClientPausedAsItTakesAnAnswerDoesNothingMore(t *testing.T) {
	for name, next := range map[string]func(env Env){
		"a request": func(env Env) { env.Call(50*ms, nil, to("s-1", "NEXT")) },
		"its turn": func(env Env) {
			env.CallInTurn(50*ms, func(int, *Reply) bool { return true }, to("s-1", "NEXT"))
		},
		"a sleep":     func(env Env) { env.Sleep(ms) },
		"a point":     func(env Env) { env.Point(Acquired) },
		"a reception": func(env Env) { env.Receive(Conn{Server: "s-1"}, ms) },
		"a close":     func(env Env) { env.Close(Conn{Server: "s-1"}) },
	} {
		l := newLab(t)
		l.Inspect(func(p Passage) (none Interference) {
			if p.Answer && p.Arrives && p.Command == "FIRST" {
				l.Pause("c")
				l.At(l.Now()+Time(time.Second), func() { l.Resume("c") })
			}
			return none
		})
		l.client("c", func(env Env) {
			env.Call(50*ms, nil, to("s-1", "FIRST"))
			l.say("answered")
			next(env)
			l.say("next")
		})
		l.run()
		if got := strings.Join(l.log, ", "); !strings.HasPrefix(got, "2ms answered, 1.00") {
			t.Errorf("%s: %s", name, got)
		}
	}
}
