package scenarios

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// clockSpy records which clients read their wall clock.
type clockSpy struct {
	scenario *Scenario
	world    *sim.World
	reading  map[sim.ProcessID]bool
}

func (*clockSpy) Foreign() bool { return false }

func (c *clockSpy) Within(run func())                                 { run() }
func (c *clockSpy) Prepare(*sim.Options)                              {}
func (c *clockSpy) Begin(w *sim.World, _ []sim.ProcessID)             { c.world = w }
func (c *clockSpy) Run(limit sim.Time, done func() bool) bool         { return c.world.Run(limit, done) }
func (c *clockSpy) End() error                                        { return nil }
func (c *clockSpy) Server(_ sim.ProcessID, own sim.Server) sim.Server { return own }
func (c *clockSpy) Client(of *Client, start time.Duration) func(e sim.Env) {
	return func(e sim.Env) {
		e.Sleep(start)
		c.scenario.Main(of.ID)(spiedEnv{e, c})
	}
}

type spiedEnv struct {
	sim.Env
	spy *clockSpy
}

func (e spiedEnv) Wall() time.Time {
	e.spy.reading[e.Name()] = true
	return e.Env.Wall()
}

func (e spiedEnv) Go(name string, task func(sim.Env)) {
	e.Env.Go(name, func(own sim.Env) { task(spiedEnv{own, e.spy}) })
}

// seenReadingWall lists the clients that read their wall clock during a run.
func seenReadingWall(t *testing.T, s *Scenario) []sim.ProcessID {
	t.Helper()
	spy := &clockSpy{scenario: s, reading: map[sim.ProcessID]bool{}}
	if _, err := NewRunnerWith(s, spy).Run(nemesis.Plan{Scenario: s.Name, Seed: 1}); err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(spy.reading))
}

// TestSettingsSayWhoReadsTheWallClock compares the clients that read their wall clocks with those that should,
// according to their settings. It runs all scenarios in the catalog. It also runs each protocol with every value of
// every setting that is a word (such as "wall"), set for all clients or for a single one.
func TestSettingsSayWhoReadsTheWallClock(t *testing.T) {
	texts, reading := []string{}, map[string]bool{}
	for _, name := range Names() {
		_, text, err := fileOf(name)
		if err != nil {
			t.Fatal(err)
		}
		texts = append(texts, string(text))
	}
	for _, d := range locks.Definitions() {
		for _, s := range d.Settings {
			for _, word := range s.Form.Words {
				for _, of := range []string{"lock.", "overrides.client-2.lock."} {
					doc := documentOf(t, minimal[d.Name]+"clients: 3\nwork: {cycles: 2}\n")
					if strings.HasPrefix(s.Path, "retry.") {
						doc.Set("lock.retry.patience", "9s")
					}
					give(doc, of+s.Path, word)
					texts = append(texts, doc.String())
				}
			}
		}
	}
	ran := 0
	for i, text := range texts {
		if i%testkit.Size(25, 1, 1) > 0 {
			continue
		}
		s, err := Parse("x.yaml", []byte(text))
		if err != nil {
			continue // the value is not allowed with the other settings
		}
		ran++
		var said []sim.ProcessID
		for i := range s.Clients {
			if c := &s.Clients[i]; locks.Define(c.Lock.Protocol).ReadsWall(&c.Lock) {
				said = append(said, c.ID)
			}
		}
		seen := seenReadingWall(t, s)
		if fmt.Sprint(seen) != fmt.Sprint(said) {
			t.Errorf("%v read their wall clock, the settings say that %v do:\n%s", seen, said, text)
		}
		reading[fmt.Sprint(seen)] = true
	}
	if ran < testkit.Size(8, 200, 200) || len(reading) < testkit.Size(2, 4, 4) {
		t.Errorf("%d of %d scenarios ran; those who read their wall clock were %v", ran, len(texts), reading)
	}
	t.Logf("%d scenarios, %v", ran, slices.Sorted(maps.Keys(reading)))
}
