package sim

import (
	"testing"
	"time"
)

// TestAClientBeginsAgain checks that the messages that a client sent before World.BeginAgain still arrive. Nothing else
// from the client's earlier life must remain: its old tasks are gone, it opens new connections, and replies to its
// earlier requests are dropped.
func TestAClientBeginsAgain(t *testing.T) {
	l := newLab(t)
	l.servers[0].mute = true
	l.client("c", func(env Env) {
		defer l.say("unwound")
		env.Go("helper", func(env Env) {
			defer l.say("helper unwound")
			env.Sleep(time.Hour)
		})
		env.Call(time.Hour, nil, Request{Conn: Conn{Server: "s-1"}, Args: []string{"ONE"}})
		l.say("not reached")
	})
	l.At(Time(10*ms), func() {
		l.BeginAgain("c", Time(20*ms), func(env Env) {
			r := env.Call(time.Second, nil, Request{Conn: Conn{Server: "s-2"}, Args: []string{"TWO"}})
			l.say("two is answered: %v", r[0].OK())
			env.Call(10*ms, nil, Request{Conn: Conn{Server: "s-1"}, Args: []string{"THREE"}})
			l.say("over")
		})
	})
	l.run()
	l.want(l.log, "10ms unwound", "10ms helper unwound", "22ms two is answered: true", "32ms over")
	l.want(l.servers[0].got, "0s start", "1ms ONE", "25ms THREE") // opening a new connection takes a round trip
	if n := len(l.SoFar()); n != 0 {
		t.Errorf("%d events are recorded", n)
	}
}

func TestMessagesOfTheTailAreReported(t *testing.T) {
	for _, tail := range []int64{0, 1_000_000} {
		l := newLab(t)
		l.Reset(7, Options{Delay: Delay{ms, ms}, Tail: Tail{PPM: tail, Delay: Delay{5 * ms, 5 * ms}}})
		l.AddServer("s-1", l.servers[0])
		l.OnTail(func(from, to ProcessID) { l.say("%s to %s", from, to) })
		l.client("c", func(env Env) {
			env.Call(time.Second, nil, Request{Conn: Conn{Server: "s-1"}, Args: []string{"ONE"}})
		})
		l.run()
		want := []string{"0s c to s-1", "5ms s-1 to c"}
		if tail == 0 {
			want = nil
		}
		l.want(l.log, want...)
	}
}
