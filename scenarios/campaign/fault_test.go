package campaign

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// story parses a history from lines such as "client-1 acquire call", "client-1 acquire ok", "strike LINE" and "over
// LINE".
func story(t *testing.T, lines ...string) *history.History {
	types := map[string]history.Type{"call": history.Invoke, "ok": history.OK, "fail": history.Fail,
		"info": history.Info}
	h := &history.History{}
	for i, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		e := history.Event{Index: i, Process: history.Process(verb)}
		switch verb {
		case "strike", "over":
			f, err := nemesis.Parse(rest)
			if f.Kind == nemesis.FailOver {
				rest, _, _ = strings.Cut(rest, " at ")
			} else if err != nil {
				t.Fatal(err)
			}
			e.Process, e.F, e.Value, e.Type = history.Nemesis, history.F(f.Kind.String()), rest, history.Invoke
			if verb == "over" {
				e.Type = history.OK
			}
		default:
			what, how, _ := strings.Cut(rest, " ")
			e.F, e.Type = history.F(what), types[how]
		}
		h.Events = append(h.Events, e)
	}
	return h
}

func TestAFaultMeetsALockInUse(t *testing.T) {
	const (
		pause    = "pause client-1 for 1s at 1s"
		cut      = "cut redis-1 | client-2 at 1s for 1s"
		jump     = "jump redis-1 clock by +1s at 1s"
		down     = "crash redis-1 losing everything at 1s, restart after 1s"
		crash    = "crash client-1 at 1s"
		failOver = "fail over redis-1 to redis-1-replica-1 at 1s"
	)
	hold := []string{"client-1 acquire call", "client-1 acquire ok"}
	for _, test := range []struct {
		name        string
		fault       string
		lines       []string
		struck, met int
	}{
		{"it never strikes", pause, hold, 0, 0},
		{"before the lock is asked for", pause, []string{"strike " + pause, "over " + pause, hold[0]}, 1, 0},
		{"it goes on until the lock is asked for", pause, []string{"strike " + pause, hold[0], "over " + pause}, 1, 1},
		{"while the lock is held", pause, append(hold, "strike "+pause), 1, 1},
		{"after the release", pause, append(hold, "client-1 release call", "client-1 release ok", "strike "+pause), 1,
			0},
		{"after a failed acquire", pause, []string{hold[0], "client-1 acquire fail", "strike " + pause}, 1, 0},
		{"while another client holds", pause, []string{"client-2 acquire call", "strike " + pause}, 1, 0},
		{"another client is cut off", cut, append(hold, "strike "+cut), 1, 0},
		{"a server's clock jumps while anyone holds", jump, append(hold, "strike "+jump), 1, 1},
		{"a clock stays where it has jumped", jump, append([]string{"strike " + jump, "over " + jump}, hold...), 1, 1},
		{"a server is back before the lock is asked for", down, []string{"strike " + down, "over " + down, hold[0]}, 1,
			0},
		{"after the holder crashed", jump, append(hold, "client-1 crashed info", "strike "+jump), 1, 0},
		{"the holder crashes", crash, append(hold, "strike "+crash, "client-1 crashed info"), 1, 1},
		{"a client crashes after its release", crash, append(hold, "client-1 release call", "client-1 release ok",
			"strike "+crash, "client-1 crashed info"), 1, 0},
		{"only the probe asks", jump, []string{"probe acquire call", "strike " + jump}, 1, 0},
		{"a failover", failOver, append(hold, "strike "+failOver), 1, 1},
	} {
		f, err := nemesis.Parse(test.fault)
		if err != nil {
			t.Fatal(err)
		}
		tallies := NewFaults()
		new(Strikes).Count(tallies, []nemesis.Fault{f}, story(t, test.lines...))
		if got := tallies[f.Kind-1]; got != (Fault{f.Kind, 1, test.struck, test.met}) {
			t.Errorf("%s: %+v", test.name, got)
		}
	}
}

func TestEqualFaultsAreCountedOneByOne(t *testing.T) {
	const line = "pause client-1 for 1s at 1s"
	f, err := nemesis.Parse(line)
	if err != nil {
		t.Fatal(err)
	}
	tallies := NewFaults()
	h := story(t, "strike "+line, "strike "+line, "over "+line, "client-1 acquire call")
	new(Strikes).Count(tallies, []nemesis.Fault{f, f, f}, h)
	if got := tallies[0]; got != (Fault{nemesis.Pause, 3, 2, 1}) {
		t.Errorf("%+v", got)
	}
}

// TestFaultsAreWrittenOutOnce checks that each fault is formatted only once per run, and not once per event. Otherwise
// a plan with thousands of faults would spend most of its time on formatting.
func TestFaultsAreWrittenOutOnce(t *testing.T) {
	const faults = 200
	h := &history.History{}
	var plan []nemesis.Fault
	for i := range faults {
		f, err := nemesis.Parse(fmt.Sprintf("pause client-1 for 1ms at %dms", 2*i))
		if err != nil {
			t.Fatal(err)
		}
		plan = append(plan, f)
		for _, of := range []history.Type{history.Invoke, history.OK} {
			h.Events = append(h.Events,
				history.Event{Process: history.Nemesis, Type: of, F: history.F(f.Kind.String()), Value: f.String()})
		}
	}
	var s Strikes
	if allocated := testing.AllocsPerRun(3, func() { s.Follow(plan, h) }); allocated > 10*faults {
		t.Errorf("%d faults and %d events took %.0f allocations", faults, len(h.Events), allocated)
	}
	for i := range plan {
		if !s.Struck(i) {
			t.Errorf("fault %d never struck", i+1)
		}
	}
}
