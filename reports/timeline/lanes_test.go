package timeline

import (
	"reflect"
	"slices"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

func arranged(s reporttest.Story) *Lanes { return Arrange(s.History, s.Findings) }

func TestSectionOutlivesItsLeaseDuringAPause(t *testing.T) {
	l := arranged(reporttest.Kleppmann())
	c, ok := l.client("client-1")
	if !ok || len(c.Sections) != 1 {
		t.Fatalf("client-1 has %d sections, want 1", len(c.Sections))
	}
	s := c.Sections[0]
	if s.From != reporttest.Seconds(0.012) || s.To != reporttest.Seconds(15.115) || s.Ended != history.Release {
		t.Errorf("section %v to %v ended by %q", s.From, s.To, s.Ended)
	}
	if want := []window{{reporttest.Seconds(0.012), reporttest.Seconds(9.889)}}; !reflect.DeepEqual(s.Validity, want) {
		t.Errorf("validity %v, want %v", s.Validity, want)
	}
	if len(c.Pauses) != 1 || c.Pauses[0].From != reporttest.Seconds(0.012) ||
		c.Pauses[0].To != reporttest.Seconds(15.012) {
		t.Errorf("pauses %v", c.Pauses)
	}
	out := l.outlived()
	if len(out) != 1 || out[0].Client != "client-1" || out[0].At != reporttest.Seconds(9.889) {
		t.Errorf("outlived %v", out)
	}
}

func TestValidityEndsAtTheReleaseCall(t *testing.T) {
	l := arranged(reporttest.Kleppmann())
	c, _ := l.client("client-2")
	if want := []window{{reporttest.Seconds(10.131),
		reporttest.Seconds(10.234)}}; !reflect.DeepEqual(c.Sections[0].Validity,
		want) {
		t.Errorf("validity %v, want %v", c.Sections[0].Validity, want)
	}
}

func TestExtensionsJoinWhereTheyTouchAndLeaveGaps(t *testing.T) {
	for _, test := range []struct {
		name    string
		granted float64
		want    []window
	}{
		{"within", 8, []window{{reporttest.Seconds(0.003), reporttest.Seconds(18)}}},
		{"touching", 10, []window{{reporttest.Seconds(0.003), reporttest.Seconds(18)}}},
		{"after a gap", 11, []window{{reporttest.Seconds(0.003), reporttest.Seconds(10)}, {reporttest.Seconds(11),
			reporttest.Seconds(18)}}},
	} {
		x := reporttest.NewHistory(1, 1)
		x.Acquire(0.001, 0.003, 10, "client-1/1", 0, 1)
		x.At(test.granted).Add(
			history.Event{Process: "client-1", F: history.Extend, Type: history.OK, Attempt: "client-1/1",
				Grant: &history.Grant{Granted: reporttest.Seconds(test.granted), Until: reporttest.Seconds(18)}})
		c, _ := Arrange(&x.H, nil).client("client-1")
		if got := c.Sections[0].Validity; !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}

func TestLostAndCrashEndASectionButNotItsStatedValidity(t *testing.T) {
	for _, f := range []history.F{history.Lost, history.Crashed} {
		x := reporttest.NewHistory(1, 1)
		x.Acquire(0.001, 0.003, 10, "client-1/1", 0, 1)
		attempt := "client-1/1"
		if f == history.Crashed {
			attempt = ""
		}
		x.At(2).Client("client-1", f, history.Info, attempt)
		c, _ := Arrange(&x.H, nil).client("client-1")
		s := c.Sections[0]
		if s.To != reporttest.Seconds(2) || s.Ended != f || s.Validity[0].To != reporttest.Seconds(10) {
			t.Errorf("%s: section ended at %v by %q, validity to %v", f, s.To, s.Ended, s.Validity[0].To)
		}
	}
}

func TestKeySpansSayHowTheyEnded(t *testing.T) {
	x := reporttest.NewHistory(2, 1)
	set := func(at float64, of history.Attempt) {
		x.At(at).Add(history.Event{Process: "redis-1", F: history.KeySet, Type: history.OK, Of: of, By: of,
			Until: reporttest.Seconds(at + 10)})
	}
	set(1, "client-1/1")
	set(2, "client-2/1") // this overwrites the key
	x.At(3).Add(history.Event{Process: "redis-1", F: history.KeyProlonged, Type: history.OK, Of: "client-2/1",
		By: "client-2/1", Until: reporttest.Seconds(20)})
	x.Gone(history.Deleted, "client-2/1", "client-1/1", 4, 1)
	set(5, "client-1/2") // this key remains
	s, _ := Arrange(&x.H, nil).server("redis-1")
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
	s, _ := arranged(reporttest.Restart()).server("redis-3")
	if len(s.Down) != 1 || s.Down[0].From != reporttest.Seconds(1) || s.Down[0].To != reporttest.Seconds(1.02) {
		t.Errorf("down %v", s.Down)
	}
}

func TestFaultsLastAsLongAsTheirKindDoes(t *testing.T) {
	for _, test := range []struct {
		line string
		on   history.Process
		want float64 // expected end of a fault that struck at 1 s, in a run of 9 s that does not record the end
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
		{"pausing is no kind of ours", "client-1", 9}, // package checker treats such a report in the same way
	} {
		x := reporttest.NewHistory(1, 1)
		x.At(1).Fault(history.Invoke, test.line, test.on)
		x.H.Header.End = reporttest.Seconds(9)
		f := Arrange(&x.H, nil).faults[0]
		if f.From != reporttest.Seconds(1) || f.To != reporttest.Seconds(test.want) {
			t.Errorf("%s: %v to %v, want to %v", test.line, f.From, f.To, reporttest.Seconds(test.want))
		}
	}
}

// Jepsen's nemesis reports the start of a fault twice, and its end twice. The timeline and the laws treat this as a
// single fault.
func TestAFaultToldByReportsIsDrawnOnce(t *testing.T) {
	var h history.History
	for i, f := range []history.F{"start-partition", "start-partition", "stop-partition", "stop-partition",
		"start-partition"} {
		h.Events = append(h.Events, history.Event{Index: i, Time: history.Time(i+1) * 1e9, Process: history.Nemesis,
			F: f, Type: history.Info})
	}
	type stretch struct {
		line     string
		from, to history.Time
	}
	var got []stretch
	for _, f := range Arrange(&h, nil).faults {
		got = append(got, stretch{f.Line, f.From, f.To})
	}
	if want := []stretch{{"start-partition", 1e9, 4e9}, {"start-partition", 5e9, 5e9}}; !slices.Equal(got, want) {
		t.Errorf("%v, not %v", got, want)
	}
}

// If the history records a fault's end but not its beginning, the end is described, but no fault is drawn.
func TestAnEndWithoutABeginningIsNoFault(t *testing.T) {
	x := reporttest.NewHistory(1, 1)
	x.At(1).Fault(history.OK, "pause client-1 for 1s at 0s", "client-1")
	if l := Arrange(&x.H, nil); len(l.faults) != 0 || len(l.clients[0].Pauses) != 0 {
		t.Errorf("faults %v, pauses %v", l.faults, l.clients[0].Pauses)
	}
}

func TestEqualFaultLinesEndInTheOrderInWhichTheyStruck(t *testing.T) {
	const line = "pause client-1 for 2s after acquired"
	x := reporttest.NewHistory(1, 0)
	x.At(1).Fault(history.Invoke, line, "client-1").At(2).Fault(history.Invoke, line, "client-1")
	x.At(3).Fault(history.OK, line, "client-1").At(4).Fault(history.OK, line, "client-1")
	c, _ := Arrange(&x.H, nil).client("client-1")
	want := []span{{reporttest.Seconds(1), reporttest.Seconds(3), 0, 2},
		{reporttest.Seconds(2), reporttest.Seconds(4), 1, 3}}
	if !reflect.DeepEqual(c.Pauses, want) {
		t.Errorf("pauses %v, want %v", c.Pauses, want)
	}
}

func TestSharedSectionsDoNotClash(t *testing.T) {
	for _, test := range []struct {
		a, b  bool
		clash bool
	}{{false, false, true}, {true, false, true}, {false, true, true}, {true, true, false}} {
		x := reporttest.NewHistory(2, 0)
		x.At(1).Add(history.Event{Process: "client-1", F: history.Acquire, Type: history.OK, Attempt: "client-1/1",
			Shared: test.a})
		x.At(2).Add(history.Event{Process: "client-2", F: history.Acquire, Type: history.OK, Attempt: "client-2/1",
			Shared: test.b})
		l := Arrange(&x.H, nil)
		if l.overlapped(0) || l.overlapped(1) != test.clash {
			t.Errorf("shared %v, %v: clash %v, want %v", test.a, test.b, l.overlapped(1), test.clash)
		}
	}
}

func TestHistoryWithoutHeaderGetsLanesInOrderOfAppearance(t *testing.T) {
	h := *reporttest.Kleppmann().History
	h.Header = history.Header{}
	l := Arrange(&h, nil)
	if l.clients[0].Process != "client-1" || l.clients[1].Process != "client-2" || len(l.clients) != 2 {
		t.Errorf("clients %v", l.names())
	}
	if len(l.servers) != 5 || l.servers[0].Process != "redis-1" || len(l.locks) != 1 ||
		l.end != reporttest.Seconds(15.121) {
		t.Errorf("lanes %v, locks %v, end %v", l.names(), l.locks, l.end)
	}
}

func TestEffectIsTiedToTheCallThatSentIt(t *testing.T) {
	l := arranged(reporttest.Kleppmann())
	if len(l.effects) != 4 {
		t.Errorf("%d effects, want 4", len(l.effects))
	}
	for _, f := range l.effects {
		sent := l.history.Events[f.Sent]
		if sent.Type != history.Invoke || sent.F != f.Op || made(&sent) != f.Of || sent.Process != f.Client {
			t.Errorf("effect at %v was sent by %+v", f.At, sent)
		}
	}
}

func (l *Lanes) server(p history.Process) (*serverLane, bool) {
	i, ok := l.serverOf[p]
	if !ok {
		return nil, false
	}
	return &l.servers[i], true
}
