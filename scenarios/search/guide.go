package search

import (
	"fmt"
	"slices"
	"sync"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/margin"
	"github.com/fencepost-sim/fencepost/sim"
)

// together is the number of plans in a block. A block's first seed is a multiple of this number. A run guides only
// plans in its own block, so a search can process the blocks in any order and in several processes. The number is a
// multiple of aimedTogether.
const together = 512

// alone is the number of plans at the start of each block that are always drawn independently of other runs, even if
// the mix asks for guided plans.
const alone = 32

// BlockOf returns the first seed in seed's block. A guided plan depends on all earlier runs in its block.
func BlockOf(seed uint64) uint64 { return seed - seed%together }

// guide holds what has been learned from the runs in the current block.
type guide struct {
	first  uint64         // first seed of the block
	plans  []nemesis.Plan // the plans for the block's seeds, starting at first
	runs   int            // number of plans that have been run: all of them, or all but the last
	niches [niches]niche
	choice choice // which plan the latest plan varies
	latest Shown
	// If a run was repeated and had a different result, differ is the seed of that run, and noticed is the seed whose
	// plan was being drawn at the time. All further plans in the block are then drawn independently of other runs. Both
	// are nil if this has not happened.
	differ, noticed *uint64
	repeated        bool // some run in the block was repeated and had the same result
	reader          margin.Reader
	checker         checker.Checker
	runner          *scenarios.Runner // performs the runs that the caller did not perform; nil until needed
}

// choice identifies the plan from which a new plan is made.
type choice struct {
	parent *elite // nil if the new plan is drawn freely
	niche  int
}

// Shown contains what a block's later plans need to know about one of its earlier runs. The zero value represents a run
// whose process ended before it drew the plan.
type Shown struct {
	Plan   string `json:",omitempty"`
	Digest sim.Digest
	Calls  []margin.Call `json:",omitempty"` // the close calls that later plans use; empty if the run failed
	// Parent is the seed of the run whose plan was varied to make this plan. Niche is the index of the niche that
	// contained the parent. A niche contains plans that came close to violating a law in the same way. Parent is nil if
	// the plan was drawn independently of other runs.
	Parent *uint64 `json:",omitempty"`
	Niche  int     `json:",omitempty"`
	// Differing is set if a run was repeated to draw this plan and had a different result the second time. It is that
	// run's seed. This plan and all later plans in the block are drawn without guidance.
	Differing *uint64 `json:",omitempty"`
}

// Judged is the result of a run, with its close calls.
type Judged struct {
	Result *scenarios.Result
	Calls  []margin.Call
}

// Learn tells p the result of running Plan(seed), so that p need not run the plan itself. The caller must have judged
// the run against all laws. The zero Judged means that the run failed. Learn must be called before the next call to
// Plan; otherwise it has no effect.
func (p *Plans) Learn(seed uint64, j Judged) {
	g := &p.guide
	if n := len(g.plans); n > g.runs && g.first+uint64(n-1) == seed {
		g.learn(g.shown(j), j.Result)
	}
}

// Shown returns what Resume needs to know about the last run passed to Learn. It must not be called before Learn.
func (p *Plans) Shown() Shown {
	g := &p.guide
	s, at := g.latest, g.runs-1
	s.Plan, s.Differing = g.plans[at].String(), p.differing(g.first+uint64(at))
	return s
}

// differing returns the seed of the run that was repeated to draw the given seed's plan, if that run had a different
// result the second time. Otherwise, it returns nil.
func (p *Plans) differing(seed uint64) *uint64 {
	if g := &p.guide; g.noticed != nil && *g.noticed == seed {
		return g.differ
	}
	return nil
}

// Resume makes p continue in the middle of a block, where an earlier process stopped. seed is the first seed whose plan
// was not drawn. shown describes the runs of the block's earlier seeds. Resume returns an error if a plan cannot be
// parsed, if a plan is a variation of one that was not kept, or if a number is out of range.
func (p *Plans) Resume(seed uint64, shown []Shown) error {
	g := &p.guide
	g.begin(BlockOf(seed))
	for i, s := range shown {
		at := g.first + uint64(i)
		plan := nemesis.Plan{}
		if s.Plan != "" {
			var err error
			if plan, err = nemesis.ParsePlan("plan", []byte(s.Plan)); err != nil {
				return fmt.Errorf("the plan of seed %d: %w", at, err)
			}
		}
		if s.Differing != nil {
			g.differ, g.noticed = s.Differing, &at
		}
		if err := s.inRange(); err != nil {
			return fmt.Errorf("the run of seed %d: %w", at, err)
		}
		g.plans = append(g.plans, plan)
		g.choice = choice{}
		if s.Parent != nil {
			n := &g.niches[s.Niche]
			k := slices.IndexFunc(n.elites, func(e *elite) bool { return e.seed == *s.Parent })
			if k < 0 {
				return fmt.Errorf("the plan of seed %d is a variation of the plan of seed %d, "+
					"but the latter was not kept", at, *s.Parent)
			}
			g.choice = choice{n.elites[k], s.Niche}
			g.repeated = true
		}
		g.learn(s, nil)
	}
	return nil
}

// inRange returns an error if a number in s is one that no run has.
func (s *Shown) inRange() error {
	if s.Niche < 0 || s.Niche >= niches {
		return fmt.Errorf("there is no niche %d", s.Niche)
	}
	for _, c := range s.Calls {
		if c.Value < 0 {
			return fmt.Errorf("a close call has the negative value %v", c.Value)
		}
	}
	return nil
}

// shown returns what later plans need to know about a run.
func (g *guide) shown(j Judged) (s Shown) {
	if c := &g.choice; c.parent != nil {
		s.Parent, s.Niche = &c.parent.seed, c.niche
	}
	if j.Result == nil {
		return s
	}
	s.Digest = j.Result.Digest
	for _, c := range j.Calls {
		at := nicheOf(&c)
		if c.Value == 0 || g.choice.parent != nil && g.choice.niche == at || g.niches[at].admits(&c) {
			s.Calls = append(s.Calls, c)
		}
	}
	return s
}

// learn records the latest plan's run. r is nil if the result is not available.
func (g *guide) learn(s Shown, r *scenarios.Result) {
	at := g.runs
	g.runs, g.latest = at+1, s
	e := elite{plan: g.plans[at], seed: g.first + uint64(at), digest: s.Digest, kinds: kindsOf(g.plans[at].Faults)}
	if r != nil {
		e.find = sync.OnceValue(func() *aim {
			a := new(aim)
			a.sort(r)
			return a
		})
	}
	closer, broken := false, false
	for _, c := range s.Calls {
		n := nicheOf(&c)
		mine := g.choice.parent != nil && g.choice.niche == n
		closer = closer || mine && c.Value < g.choice.parent.call.Value
		if c.Value == 0 {
			broken = broken || g.choice.parent != nil && g.choice.niche%margin.Ways == int(c.Way)
			continue
		}
		e.call = c
		g.niches[n].keep(e)
	}
	if g.choice.parent != nil {
		g.niches[g.choice.niche].credit(&g.choice, closer, broken)
	}
	g.choice = choice{}
}

// begin prepares for a new block of plans.
func (g *guide) begin(block uint64) {
	g.first, g.plans, g.runs, g.choice = block, g.plans[:0], 0, choice{}
	g.differ, g.noticed, g.repeated = nil, nil, false
	g.niches = [niches]niche{}
}

// guided returns a seed's plan. The plan may depend on earlier runs in the same block.
func (p *Plans) guided(seed uint64) nemesis.Plan {
	g := &p.guide
	if block := BlockOf(seed); g.first != block || len(g.plans) == 0 {
		g.begin(block)
	}
	for at := int(seed - g.first); len(g.plans) <= at; {
		if len(g.plans) > g.runs {
			p.catchUp()
		}
		g.plans = append(g.plans, p.next(g.first+uint64(len(g.plans))))
	}
	return g.plans[seed-g.first]
}

// catchUp runs the latest plan, unless the caller has already run it.
func (p *Plans) catchUp() {
	g := &p.guide
	if g.runner == nil {
		g.runner = scenarios.NewRunner(p.scenario)
		g.runner.ReportSent(true)
	}
	r, err := g.runner.Run(g.plans[g.runs])
	if err != nil {
		g.learn(g.shown(Judged{}), nil)
		return
	}
	v := g.checker.Check(r.History)
	g.learn(g.shown(Judged{&r, g.reader.Read(g.checker.Trace(r.History), &v, r.Sent)}), &r)
}

// next returns the plan for the next seed in the current block. It draws the plan at random, or varies a plan whose run
// came close to a violation.
func (p *Plans) next(seed uint64) nemesis.Plan {
	drawn := p.drawn(seed)
	g := &p.guide
	random, varies := p.varies(seed)
	if !varies || g.differ != nil {
		return drawn
	}
	e, of := g.choose(random)
	if e == nil {
		return drawn
	}
	if e.aim == nil || !g.repeated {
		r, err := p.look(e.plan)
		if err != nil || r.Digest != e.digest {
			g.differ, g.noticed = &e.seed, &seed
			return drawn
		}
		g.repeated = true
		e.aim = new(aim)
		e.aim.sort(&r)
	}
	g.choice = choice{parent: e, niche: of}
	pool := drawn.Faults
	for i := range uint64(2) {
		pool = append(pool, p.generator.Draw(seed^(i+1)<<40)...)
	}
	v := variation{archer: archer{e.aim, random, p.scenario.FromLibrary()}, plans: p,
		faults: slices.Clone(e.plan.Faults), call: &e.call}
	v.vary(pool)
	return p.of(e.plan.Seed, v.faults)
}

// varies reports whether the given seed's plan should be a variation of an earlier plan, provided that there is one
// worth varying. It also returns the seed's random number stream.
func (p *Plans) varies(seed uint64) (*sim.Stream, bool) {
	random := sim.NewStream(seed, "guide")
	return random, seed%together >= alone && int(random.Uint64()%100) < p.share
}

// Free reports whether the plan for a seed is always drawn at random. Otherwise, the plan is a variation of an earlier
// plan, if the earlier runs have shown one that is worth varying.
func (p *Plans) Free(seed uint64) bool {
	if p.share == 0 {
		return true
	}
	_, varies := p.varies(seed)
	return !varies
}

// sample returns a plan whose run is likely to change if a new version of the program draws plans, runs them or records
// events in another way. If some plans are variations of others, sample returns a variation.
func (p *Plans) sample() nemesis.Plan {
	if p.sampled != nil {
		return *p.sampled
	}
	plan := p.drawn(calm)
	if p.share > 0 {
		for seed := uint64(alone); seed < together; seed++ {
			if _, varies := p.varies(seed); varies {
				plan = p.Plan(seed)
				break
			}
		}
	}
	p.sampled = &plan
	return plan
}
