package sim

import (
	"fmt"
	"testing"
	"time"
)

// gossip is an echo server that also receives messages from other servers and pushes data to its client.
type gossip struct {
	echo
	asked *Incoming
}

func (g *gossip) Receive(from ProcessID, body any) { g.note(fmt.Sprintf("%s says %v", from, body)) }

func (g *gossip) Serve(r *Incoming) {
	g.asked = r
	g.echo.Serve(r)
}

func newGossip(t *testing.T) (*lab, []*gossip) {
	l := &lab{World: New(7, Options{Delay: Delay{ms, ms}}), t: t}
	var all []*gossip
	for i := range 2 {
		g := &gossip{echo: echo{w: l.World}}
		all = append(all, g)
		l.AddServer(ProcessID(fmt.Sprintf("s-%d", i+1)), g)
	}
	return l, all
}

func TestPeerMessagesArriveInOrderAndWaitForACut(t *testing.T) {
	l, s := newGossip(t)
	l.DelayNth("s-1", "s-2", 1, 5*ms, func() {})
	l.At(0, func() { s[0].host.Send("s-2", "log", 0, 1); s[0].host.Send("s-2", "log", 0, 2) })
	l.At(Time(ms), func() {
		l.Cut("s-1", "s-2")
		s[0].host.Send("s-2", "log", 0, 3)
		s[1].host.Send("s-1", "ack", 0, 1)
	})
	l.At(Time(20*ms), func() { l.Heal("s-1", "s-2") })
	l.run()
	l.want(s[1].got, "0s start", "6ms s-1 says 1", "6ms s-1 says 2", "21ms s-1 says 3")
	l.want(s[0].got, "0s start", "2ms s-2 says 1")
}

func TestPeerMessagesAreLostWithTheirReceiver(t *testing.T) {
	l, s := newGossip(t)
	l.At(0, func() {
		s[0].host.Send("s-2", "log", 0, "lost in flight")
		l.Cut("s-1", "s-2")
		s[0].host.Send("s-2", "log", 0, "lost while held")
	})
	l.At(Time(ms)/2, func() { l.Stop("s-2", PowerLoss); l.Restart("s-2"); l.Heal("s-1", "s-2") })
	l.At(Time(2*ms), func() { s[0].host.Send("s-2", "log", 0, "after") })
	l.run()
	l.want(s[1].got, "0s start", "500µs stop 2", "500µs start", "3ms s-1 says after")
}

func TestWhatACutHeldDiesWithItsSender(t *testing.T) {
	l, s := newGossip(t)
	l.At(0, func() {
		s[0].host.Send("s-2", "log", 0, "in flight")
		l.Cut("s-1", "s-2")
		s[0].host.Send("s-2", "log", 0, "held")
	})
	l.At(Time(ms)/2, func() { l.Stop("s-1", PowerLoss); l.Heal("s-1", "s-2") })
	l.run()
	l.want(s[1].got, "0s start", "1ms s-1 says in flight")
}

func TestPeerMessagesToAPausedServerWait(t *testing.T) {
	l, s := newGossip(t)
	l.At(0, func() { l.Pause("s-2"); s[0].host.Send("s-2", "log", 0, 1) })
	l.At(Time(9*ms), func() { l.Resume("s-2") })
	l.run()
	l.want(s[1].got, "0s start", "9ms s-1 says 1")
}

func TestPushesComeInOrderWithReplies(t *testing.T) {
	l, s := newGossip(t)
	at := Conn{Server: "s-1"}
	l.client("c", func(env Env) {
		env.Call(50*ms, nil, to("s-1", "WATCH"))
		s[0].host.Push(s[0].asked.ConnID, 0, []byte("one"))
		s[0].host.Push(s[0].asked.ConnID, 0, []byte("two"))
		for range 2 {
			data, _ := env.Receive(at, time.Second)
			l.say("%s", data)
		}
		_, status := env.Receive(at, 10*ms)
		l.say("time-out %v", status == NoReply)
		l.Stop("s-1", ShutDown)
		_, status = env.Receive(at, time.Second)
		l.say("closed %v", status == Reset)
		env.Close(at)
		l.Restart("s-1")
		s[0].host.Push(1, 0, []byte("to a connection that is gone"))
		_, status = env.Receive(at, 10*ms)
		l.say("time-out %v", status == NoReply)
	})
	l.run()
	l.want(l.log, "3ms one", "3ms two", "13ms time-out true", "14ms closed true", "24ms time-out true")
}

func TestReceiveIsWokenByASignal(t *testing.T) {
	l, _ := newGossip(t)
	var stop Signal
	l.client("c", func(env Env) {
		env.Go("other", func(env Env) {
			env.Sleep(3 * ms)
			stop.Raise()
		})
		_, status := env.Receive(Conn{Server: "s-1"}, time.Second, &stop)
		l.say("%v", status == NoReply)
	})
	l.run()
	l.want(l.log, "3ms true")
}
