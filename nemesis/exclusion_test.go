package nemesis

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

func TestExclusionsPrintAndParseBack(t *testing.T) {
	for _, line := range []string{
		"pause", "jump of servers", "jump of clients", "drift above 1000ppm", "drift of servers above 1ppm", "crash",
		"crash losing everything, restart within 10s", "crash losing unsynced writes of servers", "shut down, restart within 10s",
		"shut down, no restart", "crash losing everything of servers, no restart",
		"cut, no end", "cut of clients, no end", "drift above 10ppm, no end",
		"delay", "delay message of resource", "slow fsync", "expire session", "fail over",
	} {
		x, err := ParseExclusion(line)
		if err != nil || x.String() != line {
			t.Errorf("%q: parsed as %q, %v", line, x, err)
		}
	}
}

func TestWrongExclusionsAreRefused(t *testing.T) {
	for line, want := range map[string]string{
		"":                         `column 1: expected a fault (` + kindList + `), found the end of the line`,
		"paus":                     `column 1: expected a fault (` + kindList + `), found "paus" (did you mean "pause"?)`,
		"jump of server":           `column 9: expected "clients", "servers" or "resource", found "server" (did you mean "servers"?)`,
		"jump above 10ppm":         `column 6: expected "of" or the end of the line, found "above"`,
		"drift above +10ppm":       `column 13: expected a rate such as 1000ppm, up to 500000ppm, found "+10ppm"`,
		"drift above 10":           `column 13: expected a rate such as 1000ppm, up to 500000ppm, found "10" (did you mean "10ppm"?)`,
		"drift above":              `column 12: expected a rate such as 1000ppm, found the end of the line`,
		"crash losing":             `column 13: expected "unsynced" or "everything", found the end of the line`,
		"crash, restart after 10s": `column 16: expected "within", found "after"`,
		"crash, not restart":       `column 8: expected "no" or "restart", found "not" (did you mean "no"?)`,
		"shut down, no":            `column 14: expected "restart", found the end of the line`,
		"cut, no restart":          `column 9: expected "end", found "restart"`,
		"crash, restart within 0s": `column 23: a duration is longer than 0s, found "0s"`,
		"pause, restart within 1s": `column 6: expected "of" or the end of the line, found ","`,
	} {
		if _, err := ParseExclusion(line); err == nil || err.Error() != want {
			t.Errorf("%q: got  %v\nwant %s", line, err, want)
		}
	}
}

func TestExclusionsCoverWhatTheySay(t *testing.T) {
	for _, test := range []struct {
		exclusion string
		yes, no   []string
	}{
		{"pause", []string{"pause client-1 for 1s at 1s", "pause redis-1 for 1s at 1s"}, []string{"crash client-1 at 1s"}},
		{"jump of servers", []string{"jump redis-1 clock by +1s at 1s", "jump etcd-2 clock by -1s at 1s"},
			[]string{"jump client-1 clock by +1s at 1s", "jump resource clock by +1s at 1s", "pause redis-1 for 1s at 1s"}},
		{"jump of clients", []string{"jump client-1 clock by +1s at 1s"}, []string{"jump redis-1 clock by +1s at 1s"}},
		{"cut of resource", []string{"cut client-1 | resource at 1s"}, []string{"cut client-1 | redis-1 at 1s"}},
		{"drift above 1000ppm", []string{"drift redis-1 clock by +1001ppm from 0s", "drift client-1 clock by -2000ppm from 0s"},
			[]string{"drift redis-1 clock by +1000ppm from 0s", "drift redis-1 clock by -1000ppm from 0s"}},
		{"crash losing everything, restart within 10s", []string{"crash redis-1 losing everything at 1s, restart after 9.999s"},
			[]string{"crash redis-1 losing everything at 1s, restart after 10s", "crash redis-1 losing everything at 1s",
				"crash redis-1 losing unsynced writes at 1s, restart after 1s", "crash client-1 at 1s"}},
		{"crash of servers, no restart", []string{"crash redis-1 losing everything at 1s"},
			[]string{"crash redis-1 losing everything at 1s, restart after 10s", "crash client-1 at 1s", "shut down redis-1 at 1s"}},
		{"shut down, no restart", []string{"shut down redis-1 at 1s"}, []string{"shut down redis-1 at 1s, restart after 500ms"}},
		{"cut of clients, no end", []string{"cut client-1 | redis-1 at 1s"}, []string{"cut client-1 | redis-1 at 1s for 5s", "drift client-1 clock by +1ppm from 0s"}},
		{"drift, no end", []string{"drift redis-1 clock by +1ppm from 0s"}, []string{"drift redis-1 clock by +1ppm from 0s for 1s"}},
		{"shut down, restart within 1s", []string{"shut down redis-1 at 1s, restart after 500ms"}, []string{"shut down redis-1 at 1s"}},
	} {
		x, err := ParseExclusion(test.exclusion)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range slices.Concat(test.yes, test.no) {
			f, err := ParseFor(line, testNames)
			if err != nil {
				t.Fatal(err)
			}
			if want := slices.Contains(test.yes, line); x.Covers(f, &testNames) != want {
				t.Errorf("%q covers %q: %v", x, line, !want)
			}
		}
	}
}

// One and the same mix, less only what is excluded: what remains of a draw is what was drawn.
func TestExclusionsTakeOutAndLeaveTheRest(t *testing.T) {
	all := newGenerator(t, nil)
	lines := []string{"jump of servers", "crash losing everything, restart within 10s", "drift above 1000ppm", "pause"}
	some := newGenerator(t, func(m *Mix) {
		for _, line := range lines {
			x, err := ParseExclusion(line)
			if err != nil {
				t.Fatal(err)
			}
			m.Without = append(m.Without, x)
		}
	})
	taken := 0
	for seed := range uint64(1000) {
		drawn := all.Draw(seed)
		want := slices.DeleteFunc(slices.Clone(drawn), func(f Fault) bool {
			return f.Kind == Pause || f.Kind == Jump && testNames.role(f.Target).isServer() ||
				f.Kind == Drift && max(f.PPM, -f.PPM) > 1000 ||
				f.Loss == LosesEverything && f.Restart > 0 && f.Restart < 10*time.Second
		})
		if got := some.Draw(seed); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: drew %v of %v", seed, got, drawn)
		}
		taken += len(drawn) - len(want)
	}
	if taken < 100 {
		t.Errorf("%d faults were taken out", taken)
	}
}

func TestASwarmLeavesKindsOut(t *testing.T) {
	together := func(swarm bool) (n int) {
		g := newGenerator(t, func(m *Mix) { m.Swarm, m.Fewest, m.Most = swarm, 40, 40 })
		for seed := range uint64(300) {
			kinds := map[Kind]bool{}
			for _, f := range g.Draw(seed) {
				kinds[f.Kind] = true
			}
			n += len(kinds)
		}
		return n
	}
	if all, some := together(false), together(true); some > all*6/10 {
		t.Errorf("%d kinds in 300 draws of a swarm, %d without", some, all)
	}
}

func TestMixesThatDrawNothingAreRefused(t *testing.T) {
	one := Names{Clients: ids("client-1"), Redis: ids("redis-1")}
	for name, change := range map[string]func(*Mix){
		"no faults":         func(m *Mix) { m.Fewest, m.Most = 0, 0 },
		"no weights":        func(m *Mix) { m.Weights = Weights{} },
		"nothing to strike": func(m *Mix) { m.Weights = Weights{FailOver: 1, ExpireSession: 2} },
		"all excluded":      func(m *Mix) { m.Weights, m.Without = Weights{Pause: 1}, []Exclusion{{Kind: Pause}} },
	} {
		mix := DefaultMix()
		change(&mix)
		if _, err := NewGenerator(mix, one, time.Minute); !errors.Is(err, ErrNothing) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := NewGenerator(DefaultMix(), Names{}, time.Minute); !errors.Is(err, ErrNothing) {
		t.Errorf("nobody: %v", err)
	}
}
