package corpus_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/corpus"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// BenchmarkAimedRun measures the processor time it takes to draw, execute and judge a run, with the default mix and
// with a mix that does not aim faults at events. It switches between the two every 64 seeds, and uses all sound locks
// and some of the catalog's scenarios.
func BenchmarkAimedRun(b *testing.B) {
	var pairs [][2]*searched
	add := func(open func(string) (*scenarios.Scenario, error), names ...string) {
		for _, name := range names {
			var pair [2]*searched
			for i := range pair {
				s, err := open(name)
				if err != nil {
					b.Fatal(err)
				}
				if i == 0 {
					s.Mix.Aimed = 0
				}
				pair[i] = newSearched(b, s)
			}
			pairs = append(pairs, pair)
		}
	}
	add(corpus.Lock, corpus.Names()...)
	add(scenarios.Named, "kleppmann-gc-pause", "restart-forgets", "failover-wait", "consensus-under-faults",
		"zookeeper-under-faults")
	const turn = 64
	runs, took := 0, [2]time.Duration{}
	for seed := uint64(0); b.Loop(); seed += turn {
		for i, pair := range pairs {
			for n := range pair {
				which := (n + i) % len(pair)
				took[which] += pair[which].run(b, seed, turn)
			}
			runs += turn
		}
	}
	b.ReportMetric(float64(took[0].Microseconds())/float64(runs), "unaimed-µs/run")
	b.ReportMetric(float64(took[1].Microseconds())/float64(runs), "aimed-µs/run")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds(), "aimed/unaimed")
}

// BenchmarkGuided measures the benefit of guided plans. For each mutant that does not run on Kubernetes, it counts how
// many runs it takes to catch the mutant, with half of the plans guided ("guided: 50%" in the mix) and with none. Each
// count is the total of eight searches with different seeds. If both counts exceed 8 * 512, the benchmark also compares
// the processor time per run. Run it with -benchtime 1x, because it takes seven minutes of processor time.
func BenchmarkGuided(b *testing.B) {
	runs, long, took := [2]int{}, [2]int{}, [2]time.Duration{}
	slower, faster, highest := 0, 0, 0.0
	for b.Loop() {
		for _, m := range corpus.Mutants() {
			text, err := m.Text()
			if err != nil {
				b.Fatal(err)
			}
			s, err := scenarios.Parse(m.Name+".yaml", text)
			if err != nil {
				b.Fatal(err)
			}
			if s.Servers.Backend == locks.OnKubernetes {
				continue
			}
			own, lasted := [2]int{}, [2]time.Duration{}
			for i, guided := range []int{0, 50} {
				s.Mix.Guided = guided
				begun := processor.Time()
				for n := range uint64(8) {
					v, err := search.FindFirst(b.Context(), s, search.BlockOf(n*1_000_000), 20_000)
					if err != nil {
						b.Fatal(err)
					}
					own[i] += v.Runs
				}
				runs[i] += own[i]
				lasted[i] = processor.Time() - begun
			}
			if min(own[0], own[1]) > 8*512 {
				for i := range own {
					long[i] += own[i]
					took[i] += lasted[i]
				}
			}
			if own[1] > own[0] {
				slower++
			} else if own[1] < own[0] {
				faster++
			}
			highest = max(highest, float64(own[1])/float64(own[0]))
		}
	}
	b.ReportMetric(float64(runs[0]), "free-runs")
	b.ReportMetric(float64(runs[1]), "guided-runs")
	b.ReportMetric(took[1].Seconds()/took[0].Seconds()*float64(long[0])/float64(long[1]), "guided/free-cpu")
	b.ReportMetric(float64(slower), "slower")
	b.ReportMetric(float64(faster), "faster")
	b.ReportMetric(highest, "highest-ratio")
}

// searched is a scenario that can be run with random plans.
type searched struct {
	plans  *search.Plans
	runner *scenarios.Runner
	judge  checker.Checker
}

func newSearched(b *testing.B, s *scenarios.Scenario) *searched {
	plans, err := search.NewPlans(s)
	if err != nil {
		b.Fatal(err)
	}
	return &searched{plans: plans, runner: scenarios.NewRunner(s)}
}

// run executes and judges runs, and returns how much processor time this took.
func (s *searched) run(b *testing.B, first uint64, seeds int) time.Duration {
	start := processor.Time()
	for n := range seeds {
		result, err := s.runner.Run(s.plans.Plan(first + uint64(n)))
		if err != nil {
			b.Fatal(err)
		}
		s.judge.Check(result.History)
	}
	return processor.Time() - start
}
