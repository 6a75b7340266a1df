package mix

import (
	"errors"
	"slices"
	"time"

	fuzz "github.com/google/gofuzz"
	"github.com/google/gofuzz/bytesource"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// Generator draws faults for one run. Every fault it draws is valid for the run, prints and parses back. Equal seeds
// and equal bytes give equal faults, in any process and on any machine. It must not be used by two goroutines at a
// time.
type Generator struct {
	mix     Mix
	names   nemesis.Names
	horizon time.Duration
	targets targets
	kinds   []nemesis.Kind // those that can be drawn
	enabled []nemesis.Kind // those that the current draw chooses from
	weights int            // sum of the weights of enabled
	fuzzer  *fuzz.Fuzzer
}

// ErrNothing reports a mix that can draw nothing for a run.
var ErrNothing = errors.New("mix: no fault of the mix can strike anything in this run")

// NewGenerator prepares to draw faults that strike within the horizon (at least 1ms, at most nemesis.MaxDuration), the
// length of a run.
func NewGenerator(mix Mix, names nemesis.Names, horizon time.Duration) (*Generator, error) {
	if err := mix.check(); err != nil {
		return nil, err
	}
	if horizon < time.Millisecond || horizon > nemesis.MaxDuration {
		return nil, errors.New("draw: the horizon is not from 1ms to 24h")
	}
	g := &Generator{mix: mix, names: names, horizon: horizon, targets: targetsOf(&names)}
	g.mix.Points, g.mix.Without = slices.Clone(mix.Points), slices.Clone(mix.Without)
	for _, k := range nemesis.Kinds {
		if mix.Weights[k] > 0 && g.targets.has(k) {
			g.kinds = append(g.kinds, k)
		}
	}
	if mix.Most == 0 || !slices.ContainsFunc(g.kinds, g.possible) {
		return nil, ErrNothing
	}
	g.fuzzer = fuzz.NewWithSeed(0).Funcs(g.fuzzPlan, g.fuzzFault, g.fuzzTrigger)
	return g, nil
}

// drawStream sets the draws of faults apart from other streams of the same seed.
const drawStream = 0x66656e6365706f73

// Draw draws faults for a seed.
func (g *Generator) Draw(seed uint64) []nemesis.Fault {
	var faults drawn
	g.fuzzer.RandSource(&splitMix{state: seed ^ drawStream}).Fuzz(&faults)
	return faults
}

// DrawBytes draws faults from the bytes of a fuzzing engine, such as go test -fuzz: each decision consumes the next
// eight of them, so that the engine's small changes are small changes of the plan.
func (g *Generator) DrawBytes(data []byte) []nemesis.Fault {
	var faults drawn
	g.fuzzer.RandSource(bytesource.New(data)).Fuzz(&faults)
	return faults
}

// drawn is what one draw fills; it has a type of its own so that gofuzz finds the function for it.
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

// enable chooses the kinds of this draw: all, or in a swarm each by a coin, but at least one.
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

// possible reports whether some fault of the kind is left by the exclusions. Those of parts of a kind are not added up.
func (g *Generator) possible(k nemesis.Kind) bool {
	return !slices.ContainsFunc(g.mix.Without, func(x nemesis.Exclusion) bool { return x == nemesis.Exclusion{Kind: k} })
}

func (g *Generator) excluded(f nemesis.Fault) bool {
	return slices.ContainsFunc(g.mix.Without, func(x nemesis.Exclusion) bool { return x.Covers(f, &g.names) })
}

func (g *Generator) fuzzFault(f *nemesis.Fault, c fuzz.Continue) {
	*f = nemesis.Fault{Kind: g.kind(c)}
	switch f.Kind {
	case nemesis.Pause:
		f.Target, f.For = pick(c, g.targets.processes), duration(c, g.mix.Pause)
	case nemesis.Jump:
		f.Target, f.By = pick(c, g.targets.processes), duration(c, g.mix.Jump)
		if c.RandBool() {
			f.By = -f.By
		}
	case nemesis.Drift:
		f.Target, f.PPM, f.For = pick(c, g.targets.processes), g.ppm(c), g.outage(c)
	case nemesis.Crash:
		g.fuzzCrash(f, c)
	case nemesis.ShutDown:
		f.Target, f.Restart = pick(c, g.targets.servers), g.downtime(c)
	case nemesis.FailOver:
		group := pick(c, g.targets.shards)
		i := c.Intn(len(group))
		f.Target, f.Peer = group[i], group[(i+1+c.Intn(len(group)-1))%len(group)]
	case nemesis.Cut:
		g.fuzzCut(f, c)
	case nemesis.DelayLink, nemesis.DelayMessage:
		g.fuzzDelay(f, c)
	case nemesis.Break:
		f.Target, f.Peer, f.Number = pick(c, g.targets.clients), pick(c, g.targets.answering), g.message(c)
	case nemesis.SlowFsync:
		f.Target, f.By, f.For = pick(c, g.targets.redis), duration(c, g.mix.Fsync), duration(c, g.mix.Outage)
	case nemesis.ExpireSession:
		f.Target = pick(c, g.targets.sessions)
	}
	if f.Kind.HasTrigger() {
		c.Fuzz(&f.Trigger)
		g.choosePasser(f, c)
	}
}

func (g *Generator) fuzzCrash(f *nemesis.Fault, c fuzz.Continue) {
	f.Target = pick(c, g.targets.crashing)
	downtime := g.downtime(c) // drawn for a client too, so that what is drawn next does not depend on the target
	if slices.Contains(g.targets.servers, f.Target) {
		f.Loss, f.Restart = nemesis.LosesUnsynced, downtime
		if c.RandBool() {
			f.Loss = nemesis.LosesEverything
		}
	}
}

// fuzzCut cuts one process off from some or all of those that it is linked to.
func (g *Generator) fuzzCut(f *nemesis.Fault, c fuzz.Continue) {
	end := pick(c, g.targets.linked)
	all := g.targets.links[end.first : end.first+end.count]
	some := make([]sim.ProcessID, 0, len(all))
	first, n := c.Intn(len(all)), 1+c.Intn(len(all))
	for i := range all { // a run of n, starting anywhere, in the order of the list
		if (i-first+len(all))%len(all) < n {
			some = append(some, all[i])
		}
	}
	f.Left, f.Right = []sim.ProcessID{end.process}, some
	if f.OneWay = c.RandBool(); f.OneWay && c.RandBool() {
		f.Left, f.Right = f.Right, f.Left
	}
	f.For = g.outage(c)
}

func (g *Generator) fuzzDelay(f *nemesis.Fault, c fuzz.Continue) {
	end := pick(c, g.targets.linked)
	f.Target, f.Peer = end.process, g.targets.links[end.first+c.Intn(end.count)]
	if c.RandBool() {
		f.Target, f.Peer = f.Peer, f.Target
	}
	f.By = duration(c, g.mix.Delay)
	if f.Kind == nemesis.DelayMessage {
		f.Number = g.message(c)
	} else if c.RandBool() {
		f.For = duration(c, g.mix.Outage)
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

// choosePasser names the client that passes the trigger's point where the fault names none, and now and then
// another than it names.
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
	return g.enabled[0] // not reached: the weights add up
}

func (g *Generator) ppm(c fuzz.Continue) int {
	ppm := int(doubling(c, 1, int64(g.mix.PPM)))
	if ppm > 1000 {
		ppm -= ppm % 1000 // a tenth of a percent is as fine as anyone reads
	}
	if c.RandBool() {
		// Drifts of one process add up; even all of a draw together leave its clocks going forward.
		return -min(ppm, nemesis.SlowestPPM/g.mix.Most)
	}
	return ppm
}

// message is the number of a message: low ones more often, since links that carry few are many.
func (g *Generator) message(c fuzz.Continue) int {
	return 1 + min(c.Intn(g.mix.Messages), c.Intn(g.mix.Messages))
}

// outage is a length, or zero for ever.
func (g *Generator) outage(c fuzz.Continue) time.Duration {
	if c.Intn(100) < g.mix.Forever {
		return 0
	}
	return duration(c, g.mix.Outage)
}

// downtime is the time until a restart, or zero for none.
func (g *Generator) downtime(c fuzz.Continue) time.Duration {
	if c.Intn(100) < g.mix.Forever {
		return 0
	}
	return duration(c, g.mix.Downtime)
}

// duration draws whole milliseconds.
func duration(c fuzz.Continue, s Span) time.Duration {
	return time.Duration(doubling(c, int64(s.Min/time.Millisecond), int64(s.Max/time.Millisecond))) * time.Millisecond
}

// doubling draws from low to high, both at least 1: first a doubling of low, the larger of two, then evenly within it.
// What breaks locks outlasts a lease, so long ones come more often; short ones tell whether anything hangs on a hair.
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
