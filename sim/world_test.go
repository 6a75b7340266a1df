package sim

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

const ms = time.Millisecond

// echo is a server that answers +OK and logs what arrived and when.
type echo struct {
	w    *World
	host Host
	got  []string
	mute bool
}

func (e *echo) Start(h Host) { e.host = h; e.note("start") }
func (e *echo) Serve(r *Incoming) {
	e.note(strings.Join(r.Args, " "))
	if !e.mute {
		r.Reply([]byte("+OK\r\n"))
	}
}
func (e *echo) Wake(tag uint64)     { e.note(fmt.Sprintf("wake %d", tag)) }
func (e *echo) ClockChanged()       { e.note("clock changed") }
func (e *echo) Fault(f ServerFault) { e.note(fmt.Sprintf("%s %v %v", f.Kind, f.By, f.Begin)) }
func (e *echo) Stop(how Stop)       { e.note(fmt.Sprintf("stop %d", how)) }
func (e *echo) note(s string) {
	e.got = append(e.got, fmt.Sprintf("%v %s", e.w.Now().Duration(), s))
}

// lab is a world with fixed 1 ms delays and the echo servers s-1 and s-2. Tests add the clients.
type lab struct {
	*World
	t       *testing.T
	servers []*echo
	log     []string
}

func newLab(t *testing.T) *lab {
	l := &lab{World: New(7, Options{Delay: Delay{ms, ms}}), t: t}
	for i := range 2 {
		s := &echo{w: l.World}
		l.servers = append(l.servers, s)
		l.AddServer(ProcessID(fmt.Sprintf("s-%d", i+1)), s)
	}
	return l
}

func (l *lab) client(name ProcessID, code func(Env)) { l.AddClient(name, 0, code) }

// say logs a line with the true time, which only a test may see.
func (l *lab) say(format string, args ...any) {
	l.log = append(l.log, fmt.Sprintf("%v %s", l.Now().Duration(), fmt.Sprintf(format, args...)))
}

func (l *lab) run() {
	l.t.Helper()
	l.Run(Time(time.Hour), nil)
	l.Finish()
	if l.Err() != nil {
		l.t.Fatal(l.Err())
	}
}

func (l *lab) want(got []string, want ...string) {
	l.t.Helper()
	if !slices.Equal(got, want) {
		l.t.Errorf("got\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func to(server ProcessID, args ...string) Request {
	return Request{Conn: Conn{Server: server}, Args: args}
}

func TestCallTakesOneDelayEachWay(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) {
		r := env.Call(50*ms, nil, to("s-1", "PING"), to("s-2", "PING"))
		l.say("%v %v", r[0].OK(), r[1].OK())
	})
	l.run()
	l.want(l.log, "2ms true true")
	l.want(l.servers[0].got, "0s start", "1ms PING")
}

func TestCallReturnsOnceEnoughHaveAnswered(t *testing.T) {
	l := newLab(t)
	l.Slow("s-2", "c", 10*ms)
	l.client("c", func(env Env) {
		r := env.Call(50*ms, func(r []Reply) bool { return r[0].OK() }, to("s-1", "A"), to("s-2", "B"))
		l.say("%v %v", r[0].Status, r[1].Status)
		env.Call(50*ms, nil, to("s-1", "C"))
		l.say("the late answer to B is not taken for that to C")
	})
	l.run()
	l.want(l.log, "2ms 1 0", "4ms the late answer to B is not taken for that to C")
}

func TestPauseLetsRepliesWaitInTheBufferAndTimersFireLate(t *testing.T) {
	l := newLab(t)
	l.At(Time(ms), func() { l.Pause("c") })
	l.At(Time(20*ms), func() { l.Pause("c") })
	l.At(Time(100*ms), func() { l.Resume("c") })
	l.At(Time(200*ms), func() { l.Resume("c") })
	l.client("c", func(env Env) {
		env.Go("keepalive", func(env Env) {
			env.Sleep(10 * ms)
			l.say("slept, clock says %v", env.Monotonic())
		})
		r := env.Call(300*ms, nil, to("s-1", "SET"))
		l.say("replied %v", r[0].OK())
	})
	l.run()
	slices.Sort(l.log)
	l.want(l.log, "200ms replied true", "200ms slept, clock says 200ms")
	l.want(l.servers[0].got, "0s start", "1ms SET")
}

func TestPausedServerAnswersLater(t *testing.T) {
	l := newLab(t)
	l.At(0, func() { l.Pause("s-1") })
	l.At(Time(70*ms), func() { l.Resume("s-1") })
	l.client("c", func(env Env) {
		l.say("%v", env.Call(50*ms, nil, to("s-1", "A"))[0].Status)
		l.say("%v", env.Call(50*ms, nil, to("s-1", "B"))[0].Status)
	})
	l.run()
	l.want(l.log, "50ms 0", "71ms 1")
	l.want(l.servers[0].got, "0s start", "70ms A", "70ms B")
}

func TestStrikeAtAPointComesBeforeTheNextStep(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) {
		for range 3 {
			env.Point(Acquired)
			l.say("passed")
			env.Sleep(ms)
		}
	})
	l.AtPoint("c", Acquired, 2, func() {
		l.Pause("c")
		l.At(l.Now()+Time(5*ms), func() { l.Resume("c") })
	})
	l.run()
	l.want(l.log, "0s passed", "6ms passed", "7ms passed")
}

func TestCrashAtAPointEndsAllTasksAtOnce(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) {
		env.Go("keepalive", func(env Env) {
			defer func() { l.say("keepalive unwound") }()
			env.Sleep(time.Second)
			l.say("not reached")
		})
		env.Call(50*ms, nil, to("s-1", "SET"))
		defer func() {
			if recover() == nil {
				l.say("not reached: the crash unwinds")
			}
			// The client recovers from the crash's panic, but this record must not have any effect.
			env.Record(history.Event{F: history.Release})
		}()
		env.Point(Acquired)
		l.say("not reached")
	})
	l.AtPoint("c", Acquired, 1, func() { l.Crash("c") })
	l.run()
	l.want(l.log, "2ms keepalive unwound")
	if h := l.hist; len(h.Events) != 1 || h.Events[0].F != history.Crashed {
		t.Errorf("history %+v", h.Events)
	}
}

func TestCrashedClientsPacketsArrive(t *testing.T) {
	l := newLab(t)
	l.At(Time(ms)/2, func() { l.Crash("c") })
	l.client("c", func(env Env) {
		env.Call(50*ms, nil, to("s-1", "SET"))
		l.say("not reached")
	})
	l.run()
	l.want(l.log)
	l.want(l.servers[0].got, "0s start", "1ms SET")
}

func TestCutHoldsBytesUntilItHeals(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) {
		env.Call(0, nil, to("s-1", "in flight at the cut"))
		l.Cut("c", "s-1")
		env.Call(0, nil, to("s-1", "held 1"))
		env.Call(0, nil, to("s-1", "held 2"))
		env.Sleep(10 * ms)
		l.Heal("c", "s-1")
		env.Call(0, nil, to("s-1", "after"))
	})
	l.run()
	l.want(l.servers[0].got, "0s start", "1ms in flight at the cut", "11ms held 1", "11ms held 2", "11ms after")
}

func TestClosingTheConnectionDropsHeldBytesButNotThoseInFlight(t *testing.T) {
	l := newLab(t)
	l.DelayNth("c", "s-1", 1, 90*time.Second, func() { l.say("delay strikes") })
	l.client("c", func(env Env) {
		env.Call(50*ms, nil, to("s-1", "late"))
		env.Close(Conn{Server: "s-1"})
		l.Cut("c", "s-1")
		env.Call(50*ms, nil, to("s-1", "never"))
		env.Close(Conn{Server: "s-1"})
		l.Heal("c", "s-1")
		env.Call(50*ms, nil, to("s-1", "on a new connection"))
		l.say("a new connection costs a round trip")
	})
	l.run()
	l.want(l.log, "0s delay strikes", "104ms a new connection costs a round trip")
	l.want(l.servers[0].got, "0s start", "103ms on a new connection", "1m30.001s late")
}

func TestDelayedBytesHoldBackThoseBehindThemOnOneConnection(t *testing.T) {
	l := newLab(t)
	l.DelayNext("c", "s-1", 10*ms, func() {})
	l.client("c", func(env Env) {
		env.Call(0, nil, to("s-1", "slow"), to("s-1", "behind"),
			Request{Conn: Conn{"s-1", 1}, Args: []string{"beside"}})
	})
	l.run()
	l.want(l.servers[0].got, "0s start", "1ms beside", "11ms slow", "11ms behind")
}

func TestBreakExecutesTheRequestAndLosesTheReply(t *testing.T) {
	l := newLab(t)
	l.BreakBefore("c", "s-1", 2, func() { l.say("break strikes") })
	l.client("c", func(env Env) {
		for range 3 {
			l.say("%v", env.Call(50*ms, nil, to("s-1", "INCR"))[0].Status)
		}
		env.Close(Conn{Server: "s-1"})
		l.say("%v", env.Call(50*ms, nil, to("s-1", "INCR"))[0].Status)
	})
	l.run()
	l.want(l.log, "2ms 1", "3ms break strikes", "4ms 2", "6ms 2", "10ms 1")
	l.want(l.servers[0].got, "0s start", "1ms INCR", "3ms INCR", "9ms INCR")
}

func TestRequestsToAServerThatIsDown(t *testing.T) {
	for _, c := range []struct {
		how Stop
		// the statuses of a request while the server is down, and of a request on the same connection after the restart
		down, again Status
	}{
		{ShutDown, Refused, Answered}, // the server closed the connection, so the client opens a new one
		{PowerLoss, NoReply, Reset}, {LoseAllState, NoReply, Reset},
	} {
		l := newLab(t)
		l.client("c", func(env Env) {
			env.Call(50*ms, nil, to("s-1", "A"))
			l.Stop("s-1", c.how)
			l.say("%v", env.Call(50*ms, nil, to("s-1", "B"))[0].Status == c.down)
			l.Restart("s-1")
			l.say("%v", env.Call(50*ms, nil, to("s-1", "C"))[0].Status == c.again)
			env.Close(Conn{Server: "s-1"})
			l.say("%v", env.Call(50*ms, nil, to("s-1", "D"))[0].Status == Answered)
		})
		l.run()
		if len(l.log) != 3 || strings.Count(strings.Join(l.log, "\n"), " true") != 3 {
			t.Errorf("stopped with %d: %v", c.how, l.log)
		}
	}
}

func TestTimersOfAnEarlierLifeAreVoid(t *testing.T) {
	l := newLab(t)
	l.servers[0].host.WakeAfter(10*ms, 1)
	l.servers[0].host.WakeAtWall(Epoch+int64(10*ms), 2)
	l.At(Time(5*ms), func() { l.Stop("s-1", PowerLoss); l.Restart("s-1") })
	l.At(Time(6*ms), func() { l.servers[0].host.WakeAfter(ms, 3) })
	l.run()
	l.want(l.servers[0].got, "0s start", "5ms stop 2", "5ms start", "7ms wake 3")
}

// TestJumpCancelsWallTimersOnlyAndDriftMovesTheOthers checks that a timer on the monotonic clock is not affected by a
// jump, and that a drift changes when it expires.
func TestJumpCancelsWallTimersOnlyAndDriftMovesTheOthers(t *testing.T) {
	l := newLab(t)
	l.servers[0].host.WakeAfter(10*ms, 1)
	l.servers[0].host.WakeAtWall(Epoch+int64(10*time.Second), 2)
	l.At(Time(4*ms), func() { l.Jump("s-1", 3*time.Second) })
	// 5 ms remain, which take 4 ms because the clock now runs 25% faster
	l.At(Time(5*ms), func() { l.Drift("s-1", 250_000) })
	l.At(Time(6*ms), func() { l.Drift("c", -500_000) })
	l.client("c", func(env Env) {
		env.Sleep(10 * ms)
		l.say("slept by a clock that lost half of the last 4 ms; it says %v", env.Monotonic())
		l.say("wall %v", env.Wall().Sub(time.Unix(0, Epoch)))
	})
	l.run()
	l.want(l.servers[0].got, "0s start", "4ms clock changed", "5ms clock changed", "9ms wake 1")
	l.want(l.log, "14ms slept by a clock that lost half of the last 4 ms; it says 10ms", "14ms wall 10ms")
}

func TestSignalWakesASleeper(t *testing.T) {
	l := newLab(t)
	var s Signal
	l.client("c", func(env Env) {
		env.Go("other", func(env Env) {
			env.Sleep(3 * ms)
			s.Raise()
		})
		l.say("woken %v", env.Sleep(time.Second, &s))
		l.say("woken %v", env.Sleep(time.Second, &s))
		l.say("woken %v", env.Sleep(ms, &Signal{}))
	})
	l.run()
	l.want(l.log, "3ms woken true", "3ms woken true", "4ms woken false")
}

func TestAPanicIsReportedWithItsStack(t *testing.T) {
	l := newLab(t)
	l.client("c", func(env Env) { panic("no such thing") })
	l.Run(Time(time.Hour), nil)
	if err := l.Err(); err == nil || !strings.Contains(err.Error(), "c (main): panic: no such thing") ||
		!strings.Contains(err.Error(), "TestAPanicIsReportedWithItsStack") {
		t.Errorf("got %v", err)
	}
}

func TestDeadlinesAreConvertedToTrueTimeWhenTheRunEnds(t *testing.T) {
	l := newLab(t)
	l.At(Time(time.Second), func() { l.Drift("c", 1_000_000) }) // twice as fast
	l.At(Time(2*time.Second), func() { l.Jump("c", -3*time.Second) })
	l.client("c", func(env Env) {
		for _, d := range []Deadline{
			{Clock: Monotonic, At: 500 * ms}, {Clock: Monotonic, At: 5 * time.Second}, {Clock: Monotonic, At: Forever},
			{Clock: Wall, At: time.Duration(Epoch) + 2*time.Second},
			{Clock: Wall, At: time.Duration(Epoch) + 4*time.Second},
		} {
			env.RecordGrant(history.Event{F: history.Acquire, Type: history.OK},
				Grant{Since: env.Mark(), Granted: env.Mark(), Until: d})
		}
	})
	l.Run(Time(time.Hour), nil)
	want := []Time{Time(500 * ms), Time(3 * time.Second), history.Never, Time(1500 * ms), Time(4 * time.Second)}
	var got []Time
	for _, e := range l.Finish().Events {
		got = append(got, e.Grant.Until)
	}
	if !slices.Equal(got, want) {
		t.Errorf("deadlines %v, want %v", got, want)
	}
}

func TestPausedServerLearnsOfItsClockWhenItGoesOn(t *testing.T) {
	l := newLab(t)
	l.servers[0].host.WakeAtWall(Epoch+int64(10*ms), 1)
	l.At(0, func() { l.Pause("s-1"); l.Jump("s-1", time.Second) })
	l.At(Time(ms), func() { l.Jump("s-1", -time.Second) })
	l.At(Time(5*ms), func() { l.Resume("s-1") })
	l.run()
	l.want(l.servers[0].got, "0s start", "5ms clock changed")
}

func TestPausedServerRestartsWhenItGoesOn(t *testing.T) {
	l := newLab(t)
	l.At(0, func() { l.Pause("s-1"); l.Stop("s-1", PowerLoss); l.Restart("s-1") })
	l.At(Time(5*ms), func() { l.Resume("s-1") })
	l.run()
	l.want(l.servers[0].got, "0s start", "0s stop 2", "5ms start")
}

func TestAConnectionOpensOnlyIfBothDirectionsAreUp(t *testing.T) {
	l := newLab(t)
	l.Cut("s-1", "c")
	l.At(Time(100*ms), func() { l.Heal("s-1", "c") })
	l.client("c", func(env Env) {
		env.Call(10*ms, nil, to("s-1", "on the old connection"))
		env.Close(Conn{Server: "s-1"})
		env.Call(time.Second, nil, to("s-1", "on a new one"))
		l.say("answered")
	})
	l.run()
	l.want(l.servers[0].got, "0s start", "1ms on the old connection", "103ms on a new one")
	l.want(l.log, "104ms answered")
}
