package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// answerer is a server that answers every request with OK.
type answerer struct{ Server }

func (answerer) Start(Host)        {}
func (answerer) Serve(r *Incoming) { r.Reply([]byte("+OK\r\n")) }
func (answerer) Stop(Stop)         {}
func (answerer) ClockChanged()     {}
func (answerer) Closed(uint64)     {}

// asker is an Endpoint that sends one request and closes the connection when the answer arrives.
type asker struct {
	pipe     *Pipe
	answered int
}

func (a *asker) Opened(Status)                          { a.pipe.Ask([]string{"PING"}, "client-1/1", "ping") }
func (a *asker) Received([]byte, *Incoming)             { a.answered++; a.pipe.Close() }
func (a *asker) Ended(Status)                           {}
func (a *asker) Tag([]string) (history.Attempt, string) { return "", "" }

// TestAnEndlessRunKeepsNothingOfWhatIsOver checks that an endless run frees closed connections and delivered messages,
// and does not keep a count of each attempt's requests.
func TestAnEndlessRunKeepsNothingOfWhatIsOver(t *testing.T) {
	w := New(1, Options{Endless: true, Delay: Delay{time.Millisecond, 2 * time.Millisecond}})
	w.AddServer("redis-1", answerer{})
	w.AddClient("client-1", 0, func(env Env) { env.Sleep(Forever) })
	for i := range 100 {
		a := &asker{}
		a.pipe = w.Dial("client-1", "redis-1", a)
		w.Run(w.Now()+Time(time.Second), nil)
		if a.answered != 1 || a.pipe.Number() != uint64(i+1) {
			t.Fatalf("connection %d: %d answers", a.pipe.Number(), a.answered)
		}
	}
	n, p := &w.net, w.process("client-1")
	if len(n.open)+n.connSlab.used+len(n.messages)+len(p.conns) > 0 || len(n.free) > 1 {
		t.Errorf("it keeps %d + %d + %d connections, %d + %d messages", len(n.open), n.connSlab.used, len(p.conns),
			len(n.messages), len(n.free))
	}
	if n.asked.taken > 0 {
		t.Errorf("it counts %d attempts", n.asked.taken)
	}
}

// TestAClientOfSeveralPipesBeginsAgainInAnEndlessRun checks that BeginAgain closes all of the client's connections.
func TestAClientOfSeveralPipesBeginsAgainInAnEndlessRun(t *testing.T) {
	w := New(1, Options{Endless: true})
	w.AddServer("redis-1", answerer{})
	w.AddClient("client-1", 0, func(env Env) { env.Sleep(Forever) })
	for range 3 {
		a := &asker{}
		a.pipe = w.Dial("client-1", "redis-1", a)
	}
	w.BeginAgain("client-1", 0, func(Env) {})
	w.Run(Time(time.Second), nil)
	if n := len(w.net.open) + len(w.process("client-1").conns); n > 0 {
		t.Errorf("%d connections are left", n)
	}
}

// TestAnEndlessRunHasNoLimitOfEvents checks that an endless run limits only the number of events at a single instant,
// not their total number.
func TestAnEndlessRunHasNoLimitOfEvents(t *testing.T) {
	for _, endless := range []bool{false, true} {
		w := New(1, Options{Endless: endless})
		w.events = eventLimit
		w.At(1, func() {})
		w.Step()
		if ended := w.Err() != nil; ended == endless {
			t.Errorf("endless %t: %v", endless, w.Err())
		}
	}
	w := New(1, Options{Endless: true})
	var again func()
	again = func() { w.At(0, again) }
	again()
	if w.Run(1, nil); w.Err() == nil {
		t.Error("an instant had no end")
	}
}

// spy is an Outside that records the calls it receives.
type spy struct {
	w    *World
	said []string
}

func (s *spy) note(what string, args ...any) {
	s.said = append(s.said, fmt.Sprintf("%d ", int64(s.w.Now()))+fmt.Sprintf(what, args...))
}
func (s *spy) Pause()                 { s.note("paused") }
func (s *spy) Resume()                { s.note("resumed") }
func (s *spy) Crashed() Time          { s.note("crashed"); return 0 }
func (s *spy) Jumped(d time.Duration) { s.note("jumped %v", d) }
func (s *spy) Drifted(ppm int64)      { s.note("drifted %d", ppm) }

// TestOutsideIsNotified checks that an Outside is notified of all of its process's faults. Nested pauses count as one:
// the Outside is notified when the first pause begins and when the last pause ends. Pass must trigger the faults that
// are waiting for the given point.
func TestOutsideIsNotified(t *testing.T) {
	w := New(1, Options{})
	s := &spy{w: w}
	w.AddClient("client-1", 0, func(env Env) { env.Sleep(Forever) })
	w.Attach("client-1", s)
	w.AtPoint("client-1", Acquired, 2, func() { s.note("struck") })
	for i, f := range []func(){
		func() { w.Pause("client-1") }, func() { w.Pause("client-1") }, func() { w.Resume("client-1") },
		func() { w.Resume("client-1") }, func() { w.Jump("client-1", time.Second) }, func() { w.Drift("client-1", 5) },
		func() { w.Pass("client-1", Acquired) }, func() { w.Pass("client-1", Released) },
		func() { w.Pass("client-1", Acquired) }, func() { w.Crash("client-1") }, func() { w.Crash("client-1") },
	} {
		w.At(Time(i), f)
	}
	w.Run(100, nil)
	want := "[0 paused 3 resumed 4 jumped 1s 5 drifted 5 8 struck 9 crashed]"
	if fmt.Sprint(s.said) != want {
		t.Errorf("%v, want %s", s.said, want)
	}
}

// TestWhatIsRecordedCanBeKeptOut checks that Options.Keep is called for each event, and that the history contains only
// the events for which Keep returns true, as changed by Keep.
func TestWhatIsRecordedCanBeKeptOut(t *testing.T) {
	seen := 0
	w := New(1, Options{Keep: func(e *history.Event) bool {
		seen++
		e.Token = 0
		return e.F != history.KeySet
	}})
	w.Record("redis-1", history.Event{F: history.KeySet})
	w.Record("client-1", history.Event{F: history.Lost, Token: 3})
	if h := w.Finish(); seen != 2 || len(h.Events) != 1 || h.Events[0].Index != 0 || h.Events[0].Token != 0 {
		t.Errorf("%d seen, kept %+v", seen, h.Events)
	}
}

// TestALateStep checks that StepLate executes an event at the given time if it was due earlier.
func TestALateStep(t *testing.T) {
	w := New(1, Options{})
	var at []Time
	for _, due := range []Time{10, 20, 50} {
		w.At(due, func() { at = append(at, w.Now()) })
	}
	w.StepLate(30)
	w.StepLate(31)
	w.StepLate(32)
	if fmt.Sprint(at) != fmt.Sprint([]Time{30, 31, 50}) {
		t.Errorf("they happened at %v", at)
	}
}
