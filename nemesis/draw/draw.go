package draw

import (
	"errors"
	"slices"
	"time"

	fuzz "github.com/google/gofuzz"
	"github.com/google/gofuzz/bytesource"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Generator draws faults for one run. Each fault is valid for the run, and can be written as text and parsed again
// without change. The same seed (or the same bytes) gives the same faults in any process and on any machine. Two
// goroutines must not use a Generator at the same time.
type Generator struct {
	mix     Mix
	names   nemesis.Names
	horizon time.Duration
	targets nemesis.Targets
	kinds   []nemesis.Kind // the kinds that can be drawn
	enabled []nemesis.Kind // the kinds that the current draw may use
	weights int            // total weight of the kinds in enabled
	fuzzer  *fuzz.Fuzzer
	dice    *dice
}

// ErrNothing reports that none of the mix's faults is possible in the run.
var ErrNothing = errors.New("mix: none of its faults can affect anything in this run")

// NewGenerator returns a generator of faults that strike before the horizon, which is the length of a run. The horizon
// must be from 1ms to nemesis.MaxDuration. If none of the mix's faults is possible in the run, the error is ErrNothing.
func NewGenerator(mix Mix, names nemesis.Names, horizon time.Duration) (*Generator, error) {
	if err := mix.check(); err != nil {
		return nil, err
	}
	if horizon < time.Millisecond || horizon > nemesis.MaxDuration {
		return nil, errors.New("draw: the horizon must be between 1ms and 24h")
	}
	g := &Generator{mix: mix, names: names, horizon: horizon, targets: nemesis.TargetsOf(&names)}
	g.mix.Points, g.mix.Without = slices.Clone(mix.Points), slices.Clone(mix.Without)
	for _, k := range nemesis.Kinds {
		if mix.Weights[k] > 0 && g.targets.Has(k) {
			g.kinds = append(g.kinds, k)
		}
	}
	if mix.Most == 0 || !slices.ContainsFunc(g.kinds, g.possible) {
		return nil, ErrNothing
	}
	g.dice = &dice{Generator: g}
	g.fuzzer = fuzz.NewWithSeed(0).Funcs(g.fuzzPlan, g.fuzzFault, g.fuzzTrigger)
	return g, nil
}

// drawStream makes the random stream for faults independent of other streams with the same seed.
const drawStream = 0x66656e6365706f73

// Draw draws faults for a seed.
func (g *Generator) Draw(seed uint64) []nemesis.Fault {
	var faults drawn
	g.fuzzer.RandSource(&splitMix{state: seed ^ drawStream}).Fuzz(&faults)
	return faults
}

// DrawBytes draws faults from bytes provided by a fuzzing engine, such as go test -fuzz. Each decision uses the next
// eight bytes, so a small change to the input causes a small change to the plan.
func (g *Generator) DrawBytes(data []byte) []nemesis.Fault {
	var faults drawn
	g.fuzzer.RandSource(bytesource.New(data)).Fuzz(&faults)
	return faults
}

// drawn is the result of one draw. It has its own type so that gofuzz can find the function that fills it.
type drawn []nemesis.Fault

func (g *Generator) fuzzPlan(faults *drawn, c fuzz.Continue) {
	n := g.mix.Fewest + c.Intn(g.mix.Most-g.mix.Fewest+1)
	g.enable(c)
	*faults = make(drawn, n)
	for i := range *faults {
		c.Fuzz(&(*faults)[i])
	}
	*faults = slices.DeleteFunc(*faults, g.excluded)
}

// enable chooses the kinds for this draw. If the mix has the Swarm option, it chooses each kind with a probability of
// one half, but at least one kind. Otherwise it chooses all kinds.
func (g *Generator) enable(c fuzz.Continue) {
	g.enabled, g.weights = g.enabled[:0], 0
	for _, k := range g.kinds {
		if !g.mix.Swarm || c.RandBool() {
			g.enabled = append(g.enabled, k)
			g.weights += g.mix.Weights[k]
		}
	}
	if len(g.enabled) == 0 {
		k := pick(c, g.kinds)
		g.enabled, g.weights = append(g.enabled, k), g.mix.Weights[k]
	}
}

// possible reports whether the exclusions permit any fault of the kind. It considers only exclusions of the whole kind,
// so it returns true even if several narrower exclusions together rule out the kind.
func (g *Generator) possible(k nemesis.Kind) bool {
	return !slices.ContainsFunc(g.mix.Without,
		func(x nemesis.Exclusion) bool { return x == nemesis.Exclusion{Kind: k} })
}

// Allows reports whether f could be used with this mix: the mix does not exclude f, f's durations are within the mix's
// ranges, and f is valid for the run. f need not have been drawn.
func (g *Generator) Allows(f nemesis.Fault) bool {
	return !g.excluded(f) && g.mix.allows(f) && nemesis.Validate(f, g.names) == nil
}

func (g *Generator) excluded(f nemesis.Fault) bool {
	return slices.ContainsFunc(g.mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, &g.names) })
}

func (g *Generator) fuzzFault(f *nemesis.Fault, c fuzz.Continue) {
	g.dice.c = c
	g.kind(c).Draw(g.dice, f)
	if f.Kind.Has(nemesis.FieldTrigger) {
		c.Fuzz(&f.Trigger)
		g.choosePasser(f, c)
	}
}

func (g *Generator) fuzzTrigger(t *nemesis.Trigger, c fuzz.Continue) {
	*t = nemesis.Trigger{}
	if len(g.names.Clients) == 0 || len(g.mix.Points) == 0 || c.Intn(100) >= g.mix.AtPoint {
		t.Time = time.Duration(c.Int63n(int64(g.horizon/time.Millisecond))) * time.Millisecond
		return
	}
	t.Point, t.Pass = pick(c, g.mix.Points), 1
	if c.RandBool() {
		t.Pass += c.Intn(g.mix.Passes)
	}
}

// choosePasser chooses the client that must pass the trigger's point. If the fault already determines a client,
// choosePasser usually keeps it, and only occasionally draws another one.
func (g *Generator) choosePasser(f *nemesis.Fault, c fuzz.Continue) {
	if f.Trigger.Point == "" {
		return
	}
	own := f.PassedBy()
	if own != "" && c.Intn(4) != 0 {
		return
	}
	if by := pick(c, g.names.Clients); by != own {
		f.Trigger.By = by
	}
}

func (g *Generator) kind(c fuzz.Continue) nemesis.Kind {
	n := c.Intn(g.weights)
	for _, k := range g.enabled {
		if n -= g.mix.Weights[k]; n < 0 {
			return k
		}
	}
	return g.enabled[0] // unreachable: n is less than the total weight
}

// dice implements nemesis.Dice with a mix and a source of randomness.
type dice struct {
	*Generator
	c fuzz.Continue
}

func (d *dice) Targets() *nemesis.Targets                { return &d.targets }
func (d *dice) Among(list []sim.ProcessID) sim.ProcessID { return pick(d.c, list) }
func (d *dice) Below(n int) int                          { return d.c.Intn(n) }
func (d *dice) Coin() bool                               { return d.c.RandBool() }
func (d *dice) Pause() time.Duration                     { return duration(d.c, d.mix.Pause) }
func (d *dice) Jump() time.Duration                      { return duration(d.c, d.mix.Jump) }
func (d *dice) Delay() time.Duration                     { return duration(d.c, d.mix.Delay) }
func (d *dice) Fsync() time.Duration                     { return duration(d.c, d.mix.Fsync) }
func (d *dice) Outage() time.Duration                    { return duration(d.c, d.mix.Outage) }
func (d *dice) OutageOrEver() time.Duration              { return d.orEver(d.mix.Outage) }
func (d *dice) DowntimeOrEver() time.Duration            { return d.orEver(d.mix.Downtime) }

// orEver draws a duration, or zero, which means forever.
func (d *dice) orEver(s Span) time.Duration {
	if d.c.Intn(100) < d.mix.Forever {
		return 0
	}
	return duration(d.c, s)
}

func (d *dice) PPM() int {
	ppm := int(doubling(d.c, 1, int64(d.mix.PPM)))
	if ppm > 1000 {
		ppm -= ppm % 1000 // rounded to a tenth of a percent, which is easier to read
	}
	if d.c.RandBool() {
		// One process's drifts add up. Even if all drifts in a draw affect the same process, its clocks must still run
		// forward.
		return -min(ppm, nemesis.SlowestPPM/d.mix.Most)
	}
	return ppm
}

// Message draws a message number. Low numbers are more frequent, since many links carry few messages.
func (d *dice) Message() int {
	return 1 + min(d.c.Intn(d.mix.Messages), d.c.Intn(d.mix.Messages))
}

// duration draws a whole number of milliseconds from s.
func duration(c fuzz.Continue, s Span) time.Duration {
	return time.Duration(doubling(c, int64(s.Min/time.Millisecond), int64(s.Max/time.Millisecond))) * time.Millisecond
}

// doubling draws a number from low to high, both of which must be at least 1. It divides the numbers into ranges, each
// ending at twice its start. It chooses two ranges at random, takes the higher one, and draws a number from it with
// equal probability. So large numbers are more frequent, because faults that break locks usually outlast a lease. Small
// numbers also occur, because they show whether something depends on a very small time difference.
func doubling(c fuzz.Continue, low, high int64) int64 {
	doublings := 0
	for low<<doublings <= high {
		doublings++
	}
	low <<= max(c.Intn(doublings), c.Intn(doublings))
	high = min(high, 2*low-1)
	return low + c.Int63n(high-low+1)
}

func pick[T any](c fuzz.Continue, list []T) T { return list[c.Intn(len(list))] }

// splitMix is the SplitMix64 generator (Steele, Lea and Flood, 2014) as a rand.Source64. It does not need any setup,
// whereas seeding math/rand's own source takes longer than drawing a plan.
type splitMix struct{ state uint64 }

func (s *splitMix) Seed(seed int64) { s.state = uint64(seed) }

func (s *splitMix) Int63() int64 { return int64(s.Uint64() >> 1) }

func (s *splitMix) Uint64() uint64 {
	s.state += 0x9e3779b97f4a7c15
	z := s.state
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
