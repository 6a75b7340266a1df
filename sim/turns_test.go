package sim

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestCallInTurnIsOneCallAfterAnother checks that CallInTurn has the same effects as calling Call for one request after
// another, even if random faults hit the client, its servers and the links between them.
func TestCallInTurnIsOneCallAfterAnother(t *testing.T) {
	oneByOne := func(env Env, each func(int, *Reply) bool, requests []Request) {
		for i := range requests {
			if !each(i, &env.Call(20*ms, nil, requests[i])[0]) {
				return
			}
		}
	}
	inTurn := func(env Env, each func(int, *Reply) bool, requests []Request) {
		env.CallInTurn(20*ms, each, requests...)
	}
	statuses, ended := map[Status]int{}, 0
	for seed := range uint64(1000) {
		one, turn := roundsUnderFaults(t, seed, oneByOne), roundsUnderFaults(t, seed, inTurn)
		turn.want(turn.log, one.log...)
		if one.Digest() != turn.Digest() || one.Events() != turn.Events() {
			t.Fatalf("seed %d: digest %x after %d events, in turn %x after %d", seed, one.Digest(), one.Events(),
				turn.Digest(), turn.Events())
		}
		for status, n := range one.statuses {
			statuses[status] += n
		}
		ended += one.ended
	}
	for _, status := range []Status{NoReply, Answered, Reset, Refused} {
		if statuses[status] < 50 {
			t.Errorf("status %d came out %d times", status, statuses[status])
		}
	}
	if ended < 50 {
		t.Errorf("%d rounds ended early", ended)
	}
}

type rounds struct {
	*lab
	statuses map[Status]int
	ended    int // number of rounds that ended before their last request
}

// roundsUnderFaults runs a client that sends rounds of up to four requests to both servers. Meanwhile, another of its
// tasks sleeps and wakes, and random faults are injected.
func roundsUnderFaults(t *testing.T, seed uint64, ask func(Env, func(int, *Reply) bool, []Request)) *rounds {
	l := &rounds{lab: newLab(t), statuses: map[Status]int{}}
	requests := []Request{to("s-1", "A"), to("s-2", "B"), to("s-1", "C"), to("s-2", "D")}
	l.client("c", func(env Env) {
		env.Go("helper", func(env Env) {
			for range 30 {
				env.Sleep(7 * ms)
				l.say("helper, clock says %v", env.Monotonic())
			}
		})
		for round := range 20 {
			last, asked := round%4, 0
			ask(env, func(i int, r *Reply) bool {
				asked++
				l.statuses[r.Status]++
				l.say("round %d: %d: %d", round, i, r.Status)
				if r.Status != Answered {
					env.Close(requests[i].Conn)
				}
				return i < last
			}, requests)
			if asked < len(requests) {
				l.ended++
			}
			l.say("round %d: %d asked", round, asked)
		}
	})
	r := rand.New(rand.NewPCG(seed, 21))
	for range 4 {
		at, over := Time(r.IntN(100))*Time(ms)/2, Time(1+r.IntN(60))*Time(ms)/2
		who := []ProcessID{"c", "s-1", "s-2"}[r.IntN(3)]
		from, to := ProcessID("c"), []ProcessID{"s-1", "s-2"}[r.IntN(2)]
		if r.IntN(2) == 0 {
			from, to = to, from
		}
		switch r.IntN(8) {
		case 0, 1:
			l.At(at, func() { l.Pause(who) })
			l.At(at+over, func() { l.Resume(who) })
		case 2:
			l.At(at, func() { l.Cut(from, to) })
			l.At(at+over, func() { l.Heal(from, to) })
		case 3:
			ppm := int64(r.IntN(400_000))
			l.At(at, func() { l.Drift("c", ppm) })
		case 4, 5:
			server, how := []ProcessID{"s-1", "s-2"}[r.IntN(2)], []Stop{ShutDown, PowerLoss}[r.IntN(2)]
			l.At(at, func() {
				if l.Stop(server, how) {
					l.At(at+over, func() { l.Restart(server) })
				}
			})
		case 7: // the fault begins when the client receives an answer
			nth := 1 + r.IntN(20)
			l.Inspect(func(p Passage) (none Interference) {
				if !p.Answer || !p.Arrives || nth == 0 {
					return none
				}
				if nth--; nth == 0 {
					l.Pause("c")
					l.At(l.Now()+over, func() { l.Resume("c") })
				}
				return none
			})
		case 6:
			if r.IntN(4) == 0 {
				l.At(at, func() { l.Crash("c") })
			}
		}
	}
	l.Run(Time(time.Hour), nil)
	l.Finish()
	if l.Err() != nil {
		t.Fatal(l.Err())
	}
	return l
}
