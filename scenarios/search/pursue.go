package search

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/features"
	"github.com/fencepost-sim/fencepost/sim"
)

// together is how many plans form a block, which begins at a multiple of it. What a run shows is pursued by plans of
// its block alone: a search can make its blocks anywhere and in any order. The longer a block, the more is pursued, and
// the fewer blocks there are to be made at once. It is a multiple of aimedTogether.
const together = 512

// BlockOf is the first seed of the block of a seed: a plan that pursues anything depends on the runs of the seeds from
// there on.
func BlockOf(seed uint64) uint64 { return seed - seed%together }

// portionOf is how many seeds of a scenario one job has.
func portionOf(s *scenarios.Scenario) uint64 {
	if s.Mix.Pursued > 0 {
		return together // whoever begins within a block has to make its earlier runs as well
	}
	return portion
}

// pursuit is what the runs of one block have shown so far.
type pursuit struct {
	first uint64         // seed of the block
	plans []nemesis.Plan // of its seeds from the first on
	runs  int            // how many of these were made: all, or all but the last
	met   [features.Count]int32
	// latest is what the latest of these runs has shown.
	latest Shown
	kept   []kept
	// differ is the seed of a plan whose run was different when it was made again, noticed that for whose plan it was
	// made; nil if there is none. From then on the block pursues nothing.
	differ, noticed *uint64
	reader          features.Reader
	runner          *scenarios.Runner // makes runs that nobody else has made; nil: none so far
}

// kept is a plan whose run had a feature that no run of the block before it had.
type kept struct {
	plan   nemesis.Plan
	seed   uint64
	met    []features.Feature
	digest sim.Digest
	varied int  // how many plans vary it
	aim    *aim // what happens in its run; nil: that is not known
}

// Shown is what is known of the run of one seed, for the plans of its block that follow. The zero value is that of a
// run which ended its process before its plan was drawn.
type Shown struct {
	Plan   string `json:",omitempty"`
	Digest sim.Digest
	Met    []features.Feature `json:",omitempty"` // none if the run failed
	// Differing, if set, is the seed of a run that was different when it was made again for this plan: the block
	// pursues nothing from here on.
	Differing *uint64 `json:",omitempty"`
}

// Learn spares the plans a run that their user has made with Plan(seed): r is nil if it failed. It must be called
// before the next Plan to be of use.
func (p *Plans) Learn(seed uint64, r *scenarios.Result) {
	q := &p.pursuit
	if n := len(q.plans); n > q.runs && q.first+uint64(n-1) == seed {
		q.learn(q.shown(r))
	}
}

// Shown is what Resume needs to know of the run that was learned last; one must have been.
func (p *Plans) Shown() Shown {
	q := &p.pursuit
	s, at := q.latest, q.runs-1
	s.Plan, s.Differing = q.plans[at].String(), p.differing(q.first+uint64(at))
	return s
}

// differing is the seed of the run that was different when it was made again for the plan of a seed; nil if none was.
func (p *Plans) differing(seed uint64) *uint64 {
	if q := &p.pursuit; q.noticed != nil && *q.noticed == seed {
		return q.differ
	}
	return nil
}

// Resume makes the plans those of a process that goes on in the block of a seed: what the runs of the seeds before it
// have shown, from the block's first on, is given. The error is of a plan that cannot be parsed.
func (p *Plans) Resume(seed uint64, shown []Shown) error {
	q := &p.pursuit
	q.begin(BlockOf(seed))
	for i, s := range shown {
		plan := nemesis.Plan{}
		if s.Plan != "" {
			var err error
			if plan, err = nemesis.ParsePlan("plan", []byte(s.Plan)); err != nil {
				return fmt.Errorf("the plan of seed %d: %w", q.first+uint64(i), err)
			}
		}
		at := q.first + uint64(i)
		p.chosen(at)
		if s.Differing != nil {
			q.differ, q.noticed = s.Differing, &at
		}
		q.plans = append(q.plans, plan)
		q.learn(s)
	}
	return nil
}

// shown reads what a run has shown; r is nil if it failed.
func (q *pursuit) shown(r *scenarios.Result) (s Shown) {
	if r == nil {
		return s
	}
	all := q.reader.Read(r.History)
	n, _ := slices.BinarySearch(all, features.Pairs) // every few runs something has followed another for the first time
	return Shown{Digest: r.Digest, Met: slices.Clone(all[:n])}
}

// learn adds the run of the latest plan.
func (q *pursuit) learn(s Shown) {
	q.runs, q.latest = q.runs+1, s
	isNew := false
	for _, f := range s.Met {
		isNew = isNew || q.met[f] == 0
		q.met[f]++
	}
	if isNew {
		at := q.runs - 1
		q.kept = append(q.kept, kept{plan: q.plans[at], seed: q.first + uint64(at), met: s.Met, digest: s.Digest})
	}
}

// begin turns to a block.
func (q *pursuit) begin(block uint64) {
	q.first, q.plans, q.runs, q.kept = block, q.plans[:0], 0, nil
	q.differ, q.noticed = nil, nil
	clear(q.met[:])
}

// pursuing is the plan of a seed after all that the earlier runs of its block have shown.
func (p *Plans) pursuing(seed uint64) nemesis.Plan {
	q := &p.pursuit
	if block := BlockOf(seed); q.first != block {
		q.begin(block)
	}
	for at := int(seed - q.first); len(q.plans) <= at; {
		if len(q.plans) > q.runs {
			p.catchUp()
		}
		q.plans = append(q.plans, p.next(q.first+uint64(len(q.plans))))
	}
	return q.plans[seed-q.first]
}

// catchUp makes the run of the latest plan.
func (p *Plans) catchUp() {
	q := &p.pursuit
	if q.runner == nil {
		q.runner = scenarios.NewRunner(p.scenario)
	}
	r, err := q.runner.Run(q.plans[q.runs])
	if err != nil {
		q.learn(Shown{})
		return
	}
	q.learn(q.shown(&r))
}

// next draws the plan of the next seed of the block, or varies a kept one.
func (p *Plans) next(seed uint64) nemesis.Plan {
	drawn := p.drawn(seed)
	k, random := p.chosen(seed)
	if k == nil {
		return drawn
	}
	if k.aim == nil {
		r, err := p.look(k.plan)
		if err != nil || r.Digest != k.digest {
			p.pursuit.differ, p.pursuit.noticed = &k.seed, &seed
			return drawn
		}
		k.aim = new(aim)
		k.aim.sort(&r)
	}
	v := variation{archer{k.aim, random}, p, slices.Clone(k.plan.Faults)}
	v.vary(drawn.Faults)
	return p.of(k.plan.Seed, v.faults)
}

// chosen chooses the kept plan that the next seed of the block varies, and what its variation draws from; nil if the
// seed pursues nothing.
func (p *Plans) chosen(seed uint64) (*kept, *sim.Stream) {
	random, varies := p.varies(seed)
	q := &p.pursuit
	if !varies || len(q.kept) == 0 || q.differ != nil {
		return nil, nil
	}
	k := q.choose(random)
	k.varied++
	return k, random
}

// alone is how many plans of a block, its first, pursue nothing: what they break is found as soon as without a
// pursuit, and they show what is usual.
const alone = together / 4

// varies reports whether the plan of a seed varies a kept one, if there is any, and returns what it draws from.
func (p *Plans) varies(seed uint64) (*sim.Stream, bool) {
	random := sim.NewStream(seed, "pursue")
	return random, seed%together >= alone && int(random.Uint64()%100) < p.scenario.Mix.Pursued
}

// sample is a plan whose run differs if the program draws, runs or records otherwise: one that varies another, if some
// do.
func (p *Plans) sample() nemesis.Plan {
	if p.sampled != nil {
		return *p.sampled
	}
	plan := p.drawn(calm)
	for seed := uint64(alone); seed < together; seed++ {
		if _, varies := p.varies(seed); varies {
			plan = p.Plan(seed)
			break
		}
	}
	p.sampled = &plan
	return plan
}

// energy is how much a kept plan is worth varying, from 1 to unit: the more, the rarer its rarest feature is, and the
// less often it was varied.
func (q *pursuit) energy(k *kept) int {
	rarest := q.met[k.met[0]]
	for _, f := range k.met {
		rarest = min(rarest, q.met[f])
	}
	return unit / (int(rarest) * (1 + k.varied))
}

const unit = 1 << 20 // more than the square of a block

// choose chooses a kept plan, each as often as its energy says.
func (q *pursuit) choose(random *sim.Stream) *kept {
	sum := 0
	for i := range q.kept {
		sum += q.energy(&q.kept[i])
	}
	at, i := int(random.Uint64()%uint64(sum)), 0
	for ; at >= q.energy(&q.kept[i]); i++ {
		at -= q.energy(&q.kept[i])
	}
	return &q.kept[i]
}
