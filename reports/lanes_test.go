package reports

import (
	"reflect"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func TestSectionOutlivesItsLeaseDuringAPause(t *testing.T) {
	l := Arrange(kleppmann().History)
	c, ok := l.Client("client-1")
	if !ok || len(c.Sections) != 1 {
		t.Fatalf("client-1 has %d sections, want 1", len(c.Sections))
	}
	s := c.Sections[0]
	if s.From != seconds(0.012) || s.To != seconds(15.115) || s.Ended != history.Release {
		t.Errorf("section %v to %v ended by %q", s.From, s.To, s.Ended)
	}
	if want := []Window{{seconds(0.012), seconds(9.889)}}; !reflect.DeepEqual(s.Validity, want) {
		t.Errorf("validity %v, want %v", s.Validity, want)
	}
	if len(c.Pauses) != 1 || c.Pauses[0].From != seconds(0.012) || c.Pauses[0].To != seconds(15.012) {
		t.Errorf("pauses %v", c.Pauses)
	}
	out := l.Outlived()
	if len(out) != 1 || out[0].Client != "client-1" || out[0].At != seconds(9.889) {
		t.Errorf("outlived %v", out)
	}
}

func TestValidityEndsAtTheReleaseCall(t *testing.T) {
	l := Arrange(kleppmann().History)
	c, _ := l.Client("client-2")
	if want := []Window{{seconds(10.131), seconds(10.234)}}; !reflect.DeepEqual(c.Sections[0].Validity, want) {
		t.Errorf("validity %v, want %v", c.Sections[0].Validity, want)
	}
}

func TestExtensionsJoinWhereTheyTouchAndLeaveGaps(t *testing.T) {
	for _, test := range []struct {
		name    string
		granted float64
		want    []Window
	}{
		{"within", 8, []Window{{seconds(0.003), seconds(18)}}},
		{"touching", 10, []Window{{seconds(0.003), seconds(18)}}},
		{"after a gap", 11, []Window{{seconds(0.003), seconds(10)}, {seconds(11), seconds(18)}}},
	} {
		x := newTale(1, 1)
		x.acquire(0.001, 0.003, 10, "client-1/1", 0, 1)
		x.at(test.granted).add(history.Event{Process: "client-1", F: history.Extend, Type: history.OK, Attempt: "client-1/1",
			Grant: &history.Grant{Granted: seconds(test.granted), Until: seconds(18)}})
		c, _ := Arrange(&x.h).Client("client-1")
		if got := c.Sections[0].Validity; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestLostAndCrashEndASectionButNotItsStatedValidity(t *testing.T) {
	for _, f := range []history.F{history.Lost, history.Crashed} {
		x := newTale(1, 1)
		x.acquire(0.001, 0.003, 10, "client-1/1", 0, 1)
		attempt := "client-1/1"
		if f == history.Crashed {
			attempt = ""
		}
		x.at(2).client("client-1", f, history.Info, attempt)
		c, _ := Arrange(&x.h).Client("client-1")
		s := c.Sections[0]
		if s.To != seconds(2) || s.Ended != f || s.Validity[0].To != seconds(10) {
			t.Errorf("%s: section ended at %v by %q, validity to %v", f, s.To, s.Ended, s.Validity[0].To)
		}
	}
}

func TestKeySpansSayHowTheyEnded(t *testing.T) {
	x := newTale(2, 1)
	set := func(at float64, of history.Attempt) {
		x.at(at).add(history.Event{Process: "redis-1", F: history.KeySet, Type: history.OK, Of: of, By: of, Until: seconds(at + 10)})
	}
	set(1, "client-1/1")
	set(2, "client-2/1") // overwrites
	x.at(3).add(history.Event{Process: "redis-1", F: history.KeyProlonged, Type: history.OK, Of: "client-2/1", By: "client-2/1", Until: seconds(20)})
	x.gone(history.Deleted, "client-2/1", "client-1/1", 4, 1)
	set(5, "client-1/2") // stays
	s, _ := Arrange(&x.h).Server("redis-1")
	type life struct {
		of, by   history.Attempt
		from, to float64
		why      history.Why
		due      float64
	}
	var got []life
	for _, k := range s.Keys {
		got = append(got, life{k.Of, k.By, float64(k.From) / 1e9, float64(k.To) / 1e9, k.Why, float64(k.Due) / 1e9})
	}
	want := []life{
		{"client-1/1", "", 1, 2, "", 11},
		{"client-2/1", "client-1/1", 2, 4, history.Deleted, 20},
		{"client-1/2", "", 5, 5, "", 15},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("keys\n%v, want\n%v", got, want)
	}
}

func TestServerIsDownFromCrashToRestart(t *testing.T) {
	s, _ := Arrange(restart().History).Server("redis-3")
	if len(s.Down) != 1 || s.Down[0].From != seconds(1) || s.Down[0].To != seconds(1.02) {
		t.Errorf("down %v", s.Down)
	}
}

func TestFaultsLastAsLongAsTheirKindDoes(t *testing.T) {
	for _, test := range []struct {
		line string
		on   history.Process
		want float64 // end of a fault that struck at 1 s and was never said to end, in a run of 9 s
	}{
		{"pause client-1 for 90s at 1s", "client-1", 9},
		{"drift client-1 clock by +100ppm from 1s", "client-1", 9},
		{"cut client-1 | redis-1 at 1s", "client-1", 9},
		{"crash redis-1 losing everything at 1s", "redis-1", 9},
		{"shut down redis-1 at 1s", "redis-1", 9},
		{"crash client-1 at 1s", "client-1", 1},
		{"jump redis-1 clock by +30s at 1s", "redis-1", 1},
		{"break client-1 | redis-1 before reply 1", "client-1", 1},
		{"delay client-1 -> resource by 90s after before-write", "client-1", 9},
		{"pausing is no kind of ours", "client-1", 9}, // as package checker takes it
	} {
		x := newTale(1, 1)
		x.at(1).fault(history.Invoke, test.line, test.on)
		x.h.Header.End = seconds(9)
		f := Arrange(&x.h).Faults[0]
		if f.From != seconds(1) || f.To != seconds(test.want) {
			t.Errorf("%s: %v to %v, want to %v", test.line, f.From, f.To, seconds(test.want))
		}
	}
}

func TestEqualFaultLinesEndInTheOrderInWhichTheyStruck(t *testing.T) {
	const line = "pause client-1 for 2s after acquired"
	x := newTale(1, 0)
	x.at(1).fault(history.Invoke, line, "client-1").at(2).fault(history.Invoke, line, "client-1")
	x.at(3).fault(history.OK, line, "client-1").at(4).fault(history.OK, line, "client-1")
	c, _ := Arrange(&x.h).Client("client-1")
	want := []Span{{seconds(1), seconds(3), 0, 2}, {seconds(2), seconds(4), 1, 3}}
	if !reflect.DeepEqual(c.Pauses, want) {
		t.Errorf("pauses %v, want %v", c.Pauses, want)
	}
}

func TestSharedSectionsDoNotClash(t *testing.T) {
	for _, test := range []struct {
		a, b  bool
		clash bool
	}{{false, false, true}, {true, false, true}, {false, true, true}, {true, true, false}} {
		x := newTale(2, 0)
		x.at(1).add(history.Event{Process: "client-1", F: history.Acquire, Type: history.OK, Attempt: "client-1/1", Shared: test.a})
		x.at(2).add(history.Event{Process: "client-2", F: history.Acquire, Type: history.OK, Attempt: "client-2/1", Shared: test.b})
		l := Arrange(&x.h)
		if l.overlapped(0) || l.overlapped(1) != test.clash {
			t.Errorf("shared %v, %v: clash %v, want %v", test.a, test.b, l.overlapped(1), test.clash)
		}
	}
}

func TestHistoryWithoutHeaderGetsLanesInOrderOfAppearance(t *testing.T) {
	h := *kleppmann().History
	h.Header = history.Header{}
	l := Arrange(&h)
	if l.Clients[0].Process != "client-1" || l.Clients[1].Process != "client-2" || len(l.Clients) != 2 {
		t.Errorf("clients %v", l.names())
	}
	if len(l.Servers) != 5 || l.Servers[0].Process != "redis-1" || len(l.Locks) != 1 || l.End != seconds(15.121) {
		t.Errorf("lanes %v, locks %v, end %v", l.names(), l.Locks, l.End)
	}
}

func TestEffectIsTiedToTheCallThatSentIt(t *testing.T) {
	l := Arrange(kleppmann().History)
	for _, f := range l.Effects {
		sent := l.history.Events[f.Sent]
		if sent.Type != history.Invoke || sent.F != f.Op || sent.Attempt != f.Of || sent.Process != f.Client {
			t.Errorf("effect at %v was sent by %+v", f.At, sent)
		}
	}
}
