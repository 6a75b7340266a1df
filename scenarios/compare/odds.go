package compare

import (
	"context"
	"fmt"
	"math"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/sim"
)

// Odds is the probability that a Redlock loses mutual exclusion if each of its servers loses the lock with a given
// probability. Measure measures it, and Formula calculates it. A server is either a master-replica pair, which may lose
// the lock in a failover (Alibaba Cloud's claim in STATEMENTS.md), or a server without persistence, which may lose it
// in a restart.
type Odds struct {
	Servers int     // N: number of servers, 1 to MaxOddsServers
	Quorum  int     // q: number of servers that must grant the lock, 1 to N
	By      Loss    // how servers lose the lock
	Held    int     // h: number of servers that granted the current lock
	Chance  float64 // k: probability that a server loses the lock, 0 to 1
	Runs    int     // number of runs performed
	Lost    int     // number of runs in which a second client was granted the lock while the first held it
}

// Loss says how a server loses a lock that it has granted.
type Loss string

const (
	ByFailover Loss = "failover" // a failover to a replica that has not received the lock
	ByRestart  Loss = "restart"  // a restart without persistence
)

// MaxOddsServers is the maximum number of servers for which the odds are measured.
const MaxOddsServers = 9

// Formula returns the probability that the servers that never granted the lock, together with those that lost it, form
// a second quorum: P(Bin(h, k) >= q - (N - h)). Here, h of the N servers granted the lock, k is the probability that
// any one of them loses it, and q is the quorum.
func (o *Odds) Formula() float64 {
	least := o.Quorum - (o.Servers - o.Held)
	if least <= 0 {
		return 1 // the servers that never granted the lock are enough
	}
	p := 0.0
	for lost := least; lost <= o.Held; lost++ {
		p += float64(binomial(o.Held, lost) * math.Pow(o.Chance, float64(lost)) *
			math.Pow(1-o.Chance, float64(o.Held-lost)))
	}
	return p
}

// Article returns k^N, the probability that all servers lose the lock at once. According to Alibaba Cloud's article,
// this is the probability that Redlock loses the lock.
func (o *Odds) Article() float64 { return math.Pow(o.Chance, float64(o.Servers)) }

// measured returns the fraction of runs in which mutual exclusion was lost.
func (o *Odds) measured() float64 { return float64(o.Lost) / float64(o.Runs) }

// interval returns the measured fraction's 99% confidence interval (Wilson score interval).
func (o *Odds) interval() (low, high float64) {
	const z = 2.5758293035489004 // the 99.5th percentile of the normal distribution
	n, p := float64(o.Runs), o.measured()
	centre := (p + z*z/(2*n)) / (1 + z*z/n)
	half := float64(z / (1 + z*z/n) * math.Sqrt(p*(1-p)/n+z*z/(4*n*n)))
	return max(0, centre-half), min(1, centre+half)
}

// agrees reports whether the formula's value lies within the interval.
func (o *Odds) agrees() bool {
	low, high := o.interval()
	const rounding = 1e-9 // tolerance for an interval that ends at 1
	return o.Formula() >= low && o.Formula() <= high+rounding
}

func binomial(n, k int) float64 {
	b := 1.0
	for i := range k {
		b = b * float64(n-i) / float64(i+1)
	}
	return b
}

// Measure performs the given number of runs, with seeds starting at 0. In each run, the first Held servers grant the
// lock to client-1. Each server then loses the lock with the given probability: either all servers fail over, and some
// of the replicas have not received the lock, or some of the servers restart. Finally, client-2 requests the lock. When
// ctx is done, Measure returns what it has measured so far.
func (o Odds) Measure(ctx context.Context, how Options) (*Odds, error) {
	if err := how.check(); err != nil {
		return nil, err
	}
	s, err := scenarios.Parse("odds", []byte(oddsScenario(&o)))
	if err != nil {
		return nil, err
	}
	losses, err := o.losses()
	if err != nil {
		return nil, err
	}
	start := func() func(int) (lost bool, err error) {
		r := scenarios.NewRunner(s)
		var c checker.Checker
		return func(seed int) (bool, error) {
			result, err := r.Run(o.plan(s, losses, uint64(seed)))
			if err != nil {
				return false, err
			}
			return c.Check(result.History).Of(checker.LeaseExclusion).Outcome == checker.Violated, nil
		}
	}
	work := campaign.Work[bool]{Name: fmt.Sprintf("runs with %d keys held", o.Held), Size: how.Runs, Start: start}
	o.Runs, err = work.Do(ctx, how.Crew, func(seed int, lost bool) error {
		if lost {
			o.Lost++
		}
		return nil
	})
	return &o, err
}

// losses returns one fault for each server. The fault makes its server lose the lock.
func (o *Odds) losses() ([]nemesis.Fault, error) {
	line := "cut redis-%[1]d -> redis-%[1]d-replica-1 at 0s for 900ms"
	if o.By == ByRestart {
		line = "crash redis-%[1]d losing everything at 500ms, restart after 100ms"
	}
	losses := make([]nemesis.Fault, o.Servers)
	for i := range losses {
		var err error
		if losses[i], err = nemesis.Parse(fmt.Sprintf(line, i+1)); err != nil {
			return nil, err
		}
	}
	return losses, nil
}

// plan returns a plan that makes randomly drawn servers lose the lock.
func (o *Odds) plan(s *scenarios.Scenario, losses []nemesis.Fault, seed uint64) nemesis.Plan {
	plan := nemesis.Plan{Scenario: s.Name, Seed: seed, Faults: s.Faults[:len(s.Faults):len(s.Faults)]}
	draw := sim.NewStream(seed, "losses")
	for _, f := range losses {
		if float64(draw.Uint64()>>11)/(1<<53) < o.Chance {
			plan.Faults = append(plan.Faults, f)
		}
	}
	return plan
}

// oddsScenario returns the scenario for the runs. In it, client-2 begins after all failovers. If it began earlier, it
// might get the lock from a master that is deposed later, and this grant would block its own next attempt.
func oddsScenario(o *Odds) string {
	replicas := 1
	if o.By == ByRestart {
		replicas = 0
	}
	text := fmt.Sprintf("name: odds\nservers: {redis: %d, replicas: %d}\nlock: {protocol: redlock, ttl: 10s, quorum: "+
		"%d}\nwork: {hold: 4s, stagger: 1s}\n", o.Servers, replicas, o.Quorum)
	var faults []string
	for i := range o.Servers {
		if i >= o.Held {
			faults = append(faults, fmt.Sprintf("cut client-1 | redis-%d at 0s for 5s", i+1))
		}
		if o.By == ByFailover {
			faults = append(faults, fmt.Sprintf("fail over redis-%[1]d to redis-%[1]d-replica-1 at 500ms", i+1))
		}
	}
	var b strings.Builder
	b.WriteString(text)
	if len(faults) > 0 {
		list(&b, faults)
	}
	return b.String()
}
