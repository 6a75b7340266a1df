package shrink

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/nemesistest"
	"github.com/fencepost-sim/fencepost/sim"
)

// simplerLines contains what Simpler must return for each line: its first result (first), and some of its other results
// (listed). The lines in missing must not be among the results.
var simplerLines = []struct {
	line    string
	first   string
	listed  []string
	missing []string
}{
	{"pause client-1 for 12.345s at 1.234s", "pause client-1 for 12.345s at 0s",
		[]string{"pause client-1 for 12.345s after acquired", "pause client-1 for 12.345s after acquired by client-2",
			"pause client-1 for 12.345s at 1s", "pause client-1 for 12.345s at 2s",
			"pause client-1 for 12.345s at 1.5s",
			"pause client-1 for 12.345s at 1.24s", "pause client-1 for 10s at 1.234s",
			"pause client-1 for 20s at 1.234s",
			"pause client-1 for 12s at 1.234s", "pause client-1 for 13s at 1.234s",
			"pause client-1 for 12.35s at 1.234s"},
		[]string{"pause client-1 for 12.346s at 1.234s", "pause client-2 for 12.345s at 1.234s"}},
	{"pause client-2 for 1s after the 3rd released by client-1", "pause client-2 for 1s at 0s",
		[]string{"pause client-2 for 1s after acquired", "pause client-2 for 1s after the 3rd released",
			"pause client-2 for 1s after the 2nd released by client-1",
			"pause client-2 for 1s after released by client-1",
			"pause client-1 for 1s after the 3rd released by client-1"},
		[]string{"pause client-2 for 1s at 1s"}},
	{"pause client-1 for 1s at acquired", "pause client-1 for 1s at 0s",
		[]string{"pause client-1 for 1s after acquired"}, nil},
	{"jump redis-3 clock by -17.5s at 3s", "jump redis-3 clock by -17.5s at 0s",
		[]string{"jump redis-3 clock by -10s at 3s", "jump redis-3 clock by -20s at 3s",
			"jump redis-3 clock by -1s at 3s",
			"jump redis-3 clock by -17.5s after acquired by client-1", "jump redis-1 clock by -17.5s at 3s"},
		[]string{"jump redis-3 clock by +10s at 3s", "jump redis-1-replica-1 clock by -17.5s at 3s"}},
	{"drift redis-1 clock by +12345ppm from 2s for 7s", "drift redis-1 clock by +12345ppm from 2s",
		[]string{"drift redis-1 clock by +10000ppm from 2s for 7s", "drift redis-1 clock by +20000ppm from 2s for 7s",
			"drift redis-1 clock by +1ppm from 2s for 7s", "drift redis-1 clock by +12345ppm from 0s for 9s"},
		[]string{"drift redis-1 clock by -10000ppm from 2s for 7s"}},
	{"crash redis-2 losing everything at 1.2s, restart after 500ms", "shut down redis-2 at 1.2s, restart after 500ms",
		[]string{"crash redis-2 losing unsynced writes at 1.2s, restart after 500ms",
			"crash redis-2 losing everything at 1.2s",
			"crash redis-2 losing everything at 0s, restart after 1.7s",
			"crash redis-2 losing everything at 1.2s, restart after 1s"}, nil},
	{"shut down redis-2 at 100ms, restart after 3s", "shut down redis-2 at 100ms",
		[]string{"shut down redis-2 at 0s, restart after 3.1s", "shut down redis-1 at 100ms, restart after 3s"}, nil},
	{"cut redis-1 redis-2 -> client-1 client-2 at 1s for 5s", "cut redis-1 -> client-1 client-2 at 1s for 5s",
		[]string{"cut redis-1 redis-2 -> client-2 at 1s for 5s", "cut redis-1 redis-2 | client-1 client-2 at 1s for 5s",
			"cut redis-1 redis-2 -> client-1 client-2 at 1s", "cut redis-1 redis-2 -> client-1 client-2 at 0s for 6s"},
		[]string{"cut client-1 client-2 -> redis-1 redis-2 at 1s for 5s"}},
	{"cut redis-1 | client-1 at 0s", "cut client-1 | redis-1 at 0s", nil, nil},
	{"delay client-1 -> redis-1 by 90s after before-write for 3s",
		"delay client-1 -> redis-1 by 90s after before-write",
		[]string{"delay client-1 -> redis-1 by 1s after before-write for 3s"}, nil},
	{"delay message 7 of client-1 -> redis-2 by 4s", "delay message 7 of client-1 -> redis-2 by 1s",
		[]string{"delay message 1 of client-1 -> redis-2 by 4s", "delay message 6 of client-1 -> redis-2 by 4s",
			"delay message 7 of client-1 -> redis-1 by 4s"}, []string{"delay message 8 of client-1 -> redis-2 by 4s"}},
	{"break client-1 | redis-1 before reply 3", "break client-1 | redis-1 before reply 1", nil, nil},
	{"slow fsync of redis-1 by 2s at 0s for 10s", "slow fsync of redis-1 by 1s at 0s for 10s",
		[]string{"slow fsync of redis-1 by 2s at 0s for 1s"}, nil},
	{"fail over redis-1 to redis-1-replica-2 at 0s", "fail over redis-1 to redis-1-replica-1 at 0s", nil,
		[]string{"fail over redis-1 to redis-1 at 0s"}},
	{"delete key of orders:1/a on redis-2 at 3s", "delete key of orders:1/a on redis-2 at 0s",
		[]string{"delete key of orders:1/a on redis-1 at 3s", "delete key of lock on redis-2 at 3s"}, nil},
	{"evict key of lock on redis-2 at 3s", "evict key of lock on redis-2 at 0s", nil,
		[]string{"evict key of orders:1/a on redis-2 at 3s"}},
}

func TestWhatCountsAsSimpler(t *testing.T) {
	stated := map[nemesis.Field]bool{} // the fields that occur in the examples
	for _, c := range simplerLines {
		f := mustParse(t, c.line)
		eachField(f.Kind, func(field nemesis.Field) { stated[field] = true })
		var lines []string
		for _, s := range Simpler(f, nemesistest.Names) {
			lines = append(lines, s.String())
		}
		if len(lines) == 0 || lines[0] != c.first {
			t.Errorf("%s: the simplest is not %q:\n%s", c.line, c.first, strings.Join(lines, "\n"))
		}
		for _, want := range c.listed {
			if !slices.Contains(lines, want) {
				t.Errorf("%s: not listed: %s", c.line, want)
			}
		}
		for _, wrong := range append(c.missing, c.line) {
			if slices.Contains(lines, wrong) {
				t.Errorf("%s: listed: %s", c.line, wrong)
			}
		}
	}
	for _, k := range nemesis.Kinds {
		eachField(k, func(field nemesis.Field) {
			if !stated[field] {
				t.Errorf("no example shows what is simpler than what a %s states (field %b)", k, field)
			}
		})
	}
}

// eachField calls visit for each field that faults of the kind always or sometimes use.
func eachField(k nemesis.Kind, visit func(nemesis.Field)) {
	for field := nemesis.Field(1); field <= nemesis.FieldLock; field <<= 1 {
		if k.Has(field) {
			visit(field)
		}
	}
}

// TestTheSimplestFaults checks that Simpler does not return anything for faults that are already as simple as possible.
func TestTheSimplestFaults(t *testing.T) {
	for _, line := range []string{"pause client-1 for 1s at 0s", "jump client-1 clock by -1s at 0s",
		"drift client-1 clock by +1ppm from 0s",
		"crash client-1 at 0s", "shut down redis-1 at 0s", "cut client-1 | redis-1 at 0s",
		"delay client-1 -> redis-1 by 1s at 0s",
		"delay message 1 of client-1 -> redis-1 by 1s", "break client-1 | redis-1 before reply 1",
		"expire session of client-1 at 0s", "delete key of lock on redis-1 at 0s"} {
		f := mustParse(t, line)
		if simpler := Simpler(f, nemesistest.Names); len(simpler) > 0 {
			t.Errorf("simpler than %q: %v", line, simpler[0])
		}
	}
}

// TestDrawnFaultsHaveSimplerOnesUntilTheyEnd draws hundreds of faults. For each fault, it checks that every result of
// Simpler is valid, can be written as text and parsed again without change, and has a smaller measure than the fault.
// The first result must be the simplest, and repeated simplification must end.
func TestDrawnFaultsHaveSimplerOnesUntilTheyEnd(t *testing.T) {
	g := newGenerator(t, nil)
	longest, drawn, all := 0, 0, 400
	if testkit.Full() {
		all = 1500
	}
	for seed := uint64(0); drawn < all; seed++ {
		for i, f := range g.Draw(seed) {
			drawn++
			simpler := checkSimpler(t, f)
			if drawn%25 > 0 {
				continue
			}
			steps := 0
			// simplify one of the results further: the last one, which takes the smallest step, or another one
			for ; len(simpler) > 0 && !t.Failed(); steps++ {
				f = simpler[len(simpler)-1-(i*steps)%len(simpler)]
				simpler = checkSimpler(t, f)
			}
			longest = max(longest, steps)
		}
		if t.Failed() {
			return
		}
	}
	if longest < 10 || longest > 1000 {
		t.Errorf("the longest way down took %d steps", longest)
	}
}

func checkSimpler(t *testing.T, f nemesis.Fault) []nemesis.Fault {
	t.Helper()
	own := measureOf(&f, &nemesistest.Names)
	simpler := Simpler(f, nemesistest.Names)
	for i, s := range simpler {
		m := measureOf(&s, &nemesistest.Names)
		switch again, err := nemesis.ParseFor(s.String(), nemesistest.Names); {
		case err != nil || !reflect.DeepEqual(again, s):
			t.Errorf("%s: %s parsed back as %v, %v", f, s, again, err)
		case m.compare(own) >= 0:
			t.Errorf("%s: %s is not simpler", f, s)
		case slices.Min(m[:]) < 0:
			t.Errorf("%s has the measure %v", s, m)
		case i > 0 && measureOf(&s, &nemesistest.Names).compare(measureOf(&simpler[i-1], &nemesistest.Names)) < 0:
			t.Errorf("%s: %s is listed behind %s", f, s, simpler[i-1])
		}
	}
	return simpler
}

func TestAStoryCanChooseEveryPoint(t *testing.T) {
	if len(familiarPoints) != len(sim.Points) {
		t.Errorf("%d points are ranked, there are %d", len(familiarPoints), len(sim.Points))
	}
	for _, p := range sim.Points {
		if !slices.Contains(familiarPoints[:], p) {
			t.Errorf("%s is not ranked", p)
		}
	}
}
