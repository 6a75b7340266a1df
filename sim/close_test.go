package sim

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// doorkeeper is a server that is notified of closed connections. It leaves some requests unanswered until it closes
// their connection, and answers all others.
type doorkeeper struct {
	gossip
	kept []*Incoming
}

func (d *doorkeeper) Closed(connID uint64) { d.note(fmt.Sprintf("closed %d", connID)) }

func (d *doorkeeper) Serve(r *Incoming) {
	switch r.Args[0] {
	case "KEEP":
		d.kept = append(d.kept, r)
	case "HANGUP":
		for _, k := range d.kept {
			k.Drop()
		}
		r.Reply([]byte("+bye\r\n"))
		d.host.HangUp(r.ConnID)
	default:
		d.gossip.Serve(r)
	}
}

func newDoorkeeper(t *testing.T) (*lab, *doorkeeper) {
	l := &lab{World: New(7, Options{Delay: Delay{ms, ms}}), t: t}
	d := &doorkeeper{gossip: gossip{echo: echo{w: l.World}}}
	l.AddServer("s", d)
	return l, d
}

// TestServerHangsUpInOrderWithItsReplies checks that if a server sends replies and then closes a connection, the
// replies arrive before the close does. Requests sent after the close are not executed, and the client's next request
// opens a new connection.
func TestServerHangsUpInOrderWithItsReplies(t *testing.T) {
	l, d := newDoorkeeper(t)
	at := Conn{Server: "s"}
	l.client("c", func(env Env) {
		env.Go("waiting", func(env Env) {
			r := env.Call(time.Second, nil, to("s", "KEEP"))[0]
			l.say("kept: reset %v", r.Status == Reset)
		})
		env.Sleep(5 * ms)
		replies := env.Call(time.Second, nil, to("s", "HANGUP"), to("s", "GET"))
		l.say("%s %v", replies[0].Raw()[:4], replies[1].Status == Reset)
		_, status := env.Receive(at, time.Second)
		l.say("closed %v", status == Reset)
		l.say("again %v", env.Call(time.Second, nil, to("s", "GET"))[0].Status == Answered)
	})
	l.run()
	l.want(l.log, "7ms kept: reset true", "7ms +bye true", "7ms closed true", "11ms again true")
	for _, line := range d.got {
		if strings.HasSuffix(line, " closed 1") {
			t.Error("a server is notified of a connection that it closed itself")
		}
	}
}

// TestServerLearnsThatItsClientHasGone checks that a server is notified when a client closes a connection or crashes:
// after one network delay, and after the client's earlier requests. A cut or a pause delays this notification. A server
// that has restarted in the meantime is not notified.
func TestServerLearnsThatItsClientHasGone(t *testing.T) {
	for name, c := range map[string]struct {
		before, after func(*lab)
		crash         bool
		report        string
	}{
		"closed":  {report: "6ms closed 1"},
		"crashed": {crash: true, report: "6ms closed 1"},
		"cut": {before: func(l *lab) { l.Cut("c", "s") }, after: func(l *lab) { l.Heal("c", "s") },
			report: "51ms closed 1"},
		"paused": {before: func(l *lab) { l.Pause("s") }, after: func(l *lab) { l.Resume("s") },
			report: "50ms closed 1"},
		"restarted": {before: func(l *lab) { l.Stop("s", PowerLoss); l.Restart("s") }},
	} {
		l, d := newDoorkeeper(t)
		l.client("c", func(env Env) {
			env.Call(time.Second, nil, to("s", "GET"))
			env.Sleep(3 * ms)
			if !c.crash {
				env.Close(Conn{Server: "s"})
				env.Close(Conn{Server: "s"}) // a second Close does not notify the server again
			}
			env.Sleep(100 * ms)
		})
		if c.crash {
			l.At(Time(5*ms), func() { l.Crash("c") })
		}
		if c.before != nil {
			l.At(Time(4*ms), func() { c.before(l) })
		}
		if c.after != nil {
			l.At(Time(50*ms), func() { c.after(l) })
		}
		l.run()
		var report []string
		for _, line := range d.got {
			if strings.HasSuffix(line, " closed 1") {
				report = append(report, line)
			}
		}
		if fmt.Sprint(report) != fmt.Sprint([]string{c.report}) && !(c.report == "" && report == nil) {
			t.Errorf("%s: the server got %q, not %q", name, report, c.report)
		}
	}
}

// TestEndOfAConnectionIsNoMessage checks that a fault that delays the next message on a link delays the next real
// message rather than the notice that a connection was closed.
func TestEndOfAConnectionIsNoMessage(t *testing.T) {
	l, _ := newDoorkeeper(t)
	l.client("c", func(env Env) {
		env.Call(time.Second, nil, to("s", "GET"))
		l.DelayNext("c", "s", 20*ms, func() {})
		env.Close(Conn{Server: "s"})
		env.Call(time.Second, nil, Request{Conn: Conn{Server: "s", N: 1}, Args: []string{"GET"}})
		l.say("answered")
	})
	l.run()
	l.want(l.log, "24ms answered")
}
