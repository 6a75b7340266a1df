package compare

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/campaign/campaigntest"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// fewSeeds is the number of runs for each cell of the survival table in these tests.
func fewSeeds() int {
	if testkit.Full() {
		return 3
	}
	return 1
}

// compareOnce performs the comparison that all tests share.
var compareOnce = sync.OnceValues(
	func() (*Comparison, error) { return Locks(context.Background(), Options{Runs: fewSeeds()}) })

func (t *Timing) valueOf(key string) float64 {
	for i := range figures {
		if figures[i].key == key && t.values != nil {
			return t.values[i]
		}
	}
	return 0
}

func comparison(t *testing.T) *Comparison {
	t.Helper()
	c, err := compareOnce()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestRunningAFileOfTheComparisonRepeatsItsCell(t *testing.T) {
	for _, row := range testkit.Sample(t, comparison(t).Locks) {
		for _, f := range row.Scenarios() {
			s, err := scenarios.Parse(f.Name+".yaml", []byte(f.Text))
			if err != nil {
				t.Fatal(err)
			}
			if s.Name != f.Name || len(s.Expect.Laws) == 0 {
				t.Errorf("%s is called %s and expects %d laws", f.Name, s.Name, len(s.Expect.Laws))
			}
			r := scenarios.NewRunner(s)
			for seed := range uint64(fewSeeds()) {
				result, err := r.Run(s.Plan(seed + 1))
				if err != nil {
					t.Fatal(err)
				}
				if j := s.Judge(result); j.Standing() != document.Passed {
					t.Errorf("%s, seed %d: %v", f.Name, seed+1, j.Mismatches)
				}
			}
		}
	}
}

func TestEveryCycleOfTheComparisonIsTimed(t *testing.T) {
	for _, row := range comparison(t).Locks {
		if got := row.Alone.valueOf("acquires"); got != float64(fewSeeds()*aloneCycles) {
			t.Errorf("%s alone: %v acquires", row.Title, got)
		}
		if got := row.Together.valueOf("acquires"); got != float64(fewSeeds()*contending*togetherCycles) {
			t.Errorf("%s together: %v acquires", row.Title, got)
		}
		for i, f := range figures {
			if row.Alone.values[i] <= 0 || row.Together.values[i] <= 0 {
				t.Errorf("%s, %s: alone %v, together %v", row.Title, f.key, row.Alone.values[i], row.Together.values[i])
			}
		}
		if a := row.Alone; a.valueOf("p99_ns") < a.valueOf("p50_ns") || a.valueOf("requests_per_lock") < 1 {
			t.Errorf("%s alone: %+v", row.Title, a)
		}
	}
}

func TestEtcdIsAskedOnceToAcquireAndOnceToRelease(t *testing.T) {
	all := comparison(t).Locks
	etcd := all[slices.IndexFunc(all, func(l Lock) bool { return l.Name == "etcd" })]
	// Acquiring and releasing a lock takes two requests. Sometimes there is a keepalive as well.
	if n := etcd.Alone.valueOf("requests_per_lock"); n < 2 || n > 2.5 {
		t.Errorf("%.1f requests for each lock", n)
	}
}

// survivors returns the cells of the survival table (a lock and a fault) in which resource-safety held in every run.
func survivors(t *testing.T) (kept map[string]bool, c *Comparison) {
	c = comparison(t)
	kept = map[string]bool{}
	for _, row := range c.Locks {
		for _, s := range row.Survival {
			if s.Absent == "" {
				kept[cellName(row.Name, s.Trouble, s.Fencing)] = s.Laws.Of(checker.ResourceSafety) ==
					campaign.Counts{Holds: fewSeeds()}
			}
		}
	}
	return kept, c
}

func cellName(lock, trouble string, fencing bool) string {
	return fmt.Sprintf("%s %s fencing %v", lock, trouble, fencing)
}

func TestNoLockSurvivesAPauseWithoutFencing(t *testing.T) {
	kept, c := survivors(t)
	for _, row := range c.Locks {
		if safe, run := kept[cellName(row.Name, "pause", false)]; safe || !run {
			t.Errorf("%s without fencing: run %v, the data is safe %v", row.Title, run, safe)
		}
		if safe, run := kept[cellName(row.Name, "pause", true)]; run && !safe {
			t.Errorf("%s with fencing lost the data", row.Title)
		}
	}
}

func TestWhatALockSurvivesIsWhatItsDocumentsSay(t *testing.T) {
	kept, _ := survivors(t)
	for _, want := range []struct {
		lock, trouble string
		fencing, safe bool
	}{
		{"redis", "jump", false, false},
		{"redis", "power", false, false},
		{"redis", "power-always", false, true},
		{"fenced", "jump", true, true},   // the counter does not expire
		{"fenced", "power", true, false}, // the counter is also lost, so tokens repeat
		{"replica", "failover", false, false},
		{"wait", "failover", false, true},
		{"cluster", "failover", false, false},
		{"cluster-wait", "failover", false, true},
		{"redis", "evict", false, false},
		{"fenced", "evict", true, true}, // the counter is another key
		{"fenced", "flush", true, false},
		{"redlock", "evict", false, true},
		{"redlock", "flush", false, true},
		{"redlock-bare", "evict", false, false},
		{"redlock", "jump", false, true},
		{"redlock-bare", "jump", false, false},
		{"redlock", "power", false, true},
		{"redlock-bare", "power", false, false},
		{"redlock-bare", "power-always", false, true},
		{"etcd", "jump", false, true},
		{"etcd", "power-always", false, true},
		{"etcd", "failover", false, true},
		{"zookeeper", "jump", false, true},
		{"zookeeper", "power-always", false, true},
		{"zookeeper", "failover", false, true},
	} {
		safe, run := kept[cellName(want.lock, want.trouble, want.fencing)]
		if !run || safe != want.safe {
			t.Errorf("%s: run %v, safe %v", cellName(want.lock, want.trouble, want.fencing), run, safe)
		}
	}
}

func TestACarefulHolderSurvivesAPartition(t *testing.T) {
	kept, c := survivors(t)
	for _, row := range c.Locks {
		if !kept[cellName(row.Name, "partition", false)] {
			t.Errorf("%s lost the data", row.Title)
		}
	}
}

// TestWhoGoesOnWhenServersAreGoneForGood checks which locks survive the permanent loss of servers. Redlock continues
// without a minority of its servers. A lock on a single Redis server has no spare. No lock continues without a
// majority.
func TestWhoGoesOnWhenServersAreGoneForGood(t *testing.T) {
	always, never := campaign.Counts{Holds: fewSeeds()}, campaign.Counts{Violated: fewSeeds()}
	for _, row := range comparison(t).Locks {
		for _, s := range row.Survival {
			want := always
			switch {
			case s.Absent != "" || s.Trouble != "minority" && s.Trouble != "majority":
				continue
			// The only replica has been promoted, so no replica is left to acknowledge a WAIT 1.
			case s.Trouble == "majority", row.Name == "wait", row.Name == "cluster-wait":
				want = never
			}
			if s.Laws.Of(checker.DeadlockFreedom) != want || s.Laws.Of(checker.LeaseExclusion) != always ||
				s.Laws.Of(checker.MutualExclusion) != always {
				t.Errorf("%s: %+v", cellName(row.Name, s.Trouble, s.Fencing), s)
			}
		}
		i := slices.IndexFunc(row.Survival, func(s Survival) bool { return s.Trouble == "minority" })
		absent := row.Survival[i].Absent
		alone := []string{"redis", "fenced", "fair", "hash", "read-write", "semaphore"}
		if (absent != "") != slices.Contains(alone, row.Name) {
			t.Errorf("%s, minority: %q", row.Title, absent)
		}
	}
}

// TestEveryProtocolIsCompared checks that every protocol has a row, except setnx-expire and those whose keys never
// expire. With the other protocols, clients check their lock's validity, which is not possible without expiry.
func TestEveryProtocolIsCompared(t *testing.T) {
	for _, d := range locks.Definitions() {
		compared := slices.ContainsFunc(contenders, func(c Contender) bool {
			return strings.HasPrefix(c.Lock+",", "protocol: "+string(d.Name)+",")
		})
		if compared != d.Expires && d.Name != locks.SetNXExpire {
			t.Errorf("%s: compared %v, expires %v", d.Name, compared, d.Expires)
		}
	}
}

// TestFsyncAlwaysCostsRedlockItsSpeed checks that if Redlock's servers fsync before each answer, acquiring a lock takes
// longer, by one fsync for each server.
func TestFsyncAlwaysCostsRedlockItsSpeed(t *testing.T) {
	p50 := map[string]time.Duration{}
	for _, row := range comparison(t).Locks {
		p50[row.Name] = time.Duration(row.Alone.valueOf("p50_ns"))
	}
	if more := p50["redlock-synced"] - p50["redlock"]; more < 4*time.Millisecond || more > 6*time.Millisecond {
		t.Errorf("five fsyncs of 1 ms take %v more", more)
	}
}

func TestAMeasurementNeedsARun(t *testing.T) {
	if _, err := Locks(context.Background(), Options{}); err == nil {
		t.Error("a comparison accepted no runs")
	}
	if _, err := (Odds{Servers: 1, Quorum: 1, Held: 1, By: ByRestart}).Measure(context.Background(),
		Options{}); err == nil {
		t.Error("odds accepted no runs")
	}
}

func TestAComparisonIsTheSameForAnyNumberOfWorkers(t *testing.T) {
	testkit.ThoroughOnly(t)
	var first *Comparison
	for workers := 1; workers <= 3; workers++ {
		last := 0
		got, err := Locks(context.Background(),
			Options{Runs: 2, Crew: campaign.Crew{Workers: workers, Progress: func(_ string, done, of int) {
				if last++; done != last || done > of {
					t.Errorf("%d workers: %d of %d are done, after %d", workers, done, of, last-1)
				}
			}}})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if last < 2*len(got.Locks) || !reflect.DeepEqual(got, first) {
			t.Errorf("%d workers, %d scenarios: %+v, not %+v", workers, last, got, first)
		}
	}
}

// fewLocks leaves out all but two locks until the test ends.
func fewLocks(t *testing.T) {
	t.Helper()
	all := contenders
	t.Cleanup(func() { contenders = all })
	contenders = contenders[:2]
}

func TestAComparisonIsTheSameHoweverItIsDivided(t *testing.T) {
	fewLocks(t)
	worker := func() (campaign.Worker, error) { return NewWorker(), nil }
	campaigntest.HoweverItIsDivided(t, worker, func(hands campaign.Hands) []byte {
		c, err := Locks(t.Context(), Options{Runs: 2, Crew: campaign.Crew{Hands: hands}})
		if err != nil {
			t.Fatal(err)
		}
		if c.Interrupted || len(c.Locks) != len(contenders) {
			t.Errorf("%d locks, interrupted %v", len(c.Locks), c.Interrupted)
		}
		return campaigntest.Printed(t, (&Report{Comparison: c}).Document())
	})
}

// TestTheResultOfAnotherCellIsAnError checks that a cell of the comparison refuses a result that cannot be its own. A
// cell for verdicts refuses measured times, a cell for times refuses verdicts, and each refuses too few runs.
func TestTheResultOfAnotherCellIsAnError(t *testing.T) {
	fewLocks(t)
	for _, text := range []string{
		`{"Made":2,"Laws":null,"Values":null,"Expect":""}`,
		`{"Made":1,"Laws":null,"Values":[1,2,3,4,5,6],"Expect":""}`,
		`{"Made":2,"Laws":[{"law":"ownership"}],"Values":null,"Expect":""}`,
	} {
		hands := &campaigntest.Strangers{T: t, Worker: func() (campaign.Worker, error) { return NewWorker(), nil },
			Change: func(_ campaign.Stage, p campaign.Part) campaign.Part {
				p.Value = fmt.Append(nil, "[", strings.Repeat(text+",", int(p.Size)-1), text, "]")
				return p
			}}
		_, err := Locks(t.Context(), Options{Runs: 2, Crew: campaign.Crew{Hands: hands}})
		if err == nil || !strings.Contains(err.Error(), "does not belong to this search") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestAnInterruptedComparisonSaysWhatWasNotRun interrupts a comparison after various numbers of scenarios. The
// comparison must report the locks that were timed, and for each cell the number of runs that were not performed.
func TestAnInterruptedComparisonSaysWhatWasNotRun(t *testing.T) {
	all := comparison(t)
	stops := []int{1, 2, 3, 20}
	for _, stop := range stops {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		c, err := Locks(ctx,
			Options{Runs: fewSeeds(), Crew: campaign.Crew{Workers: 1, Progress: func(_ string, done, _ int) {
				if done == stop {
					cancel()
				}
			}}})
		if err != nil {
			t.Fatal(err)
		}
		if !c.Interrupted || len(c.Locks) >= len(all.Locks) || stop == 1 && len(c.Locks) > 1 ||
			stop > 2 && len(c.Locks) == 0 {
			t.Errorf("stopped after %d: %d locks, interrupted %v", stop, len(c.Locks), c.Interrupted)
		}
		for i, row := range c.Locks {
			if !reflect.DeepEqual(row.Alone, all.Locks[i].Alone) ||
				!reflect.DeepEqual(row.Together, all.Locks[i].Together) {
				t.Errorf("stopped after %d: %s has other times", stop, row.Title)
			}
			for k, cell := range row.Survival {
				d := cell.Laws.Of(checker.ResourceSafety)
				if sum := d.Exercised() + d.Unknown(); cell.Absent == "" && sum != fewSeeds() {
					t.Errorf("stopped after %d: %d runs of %s are reported", stop, sum,
						cellName(row.Name, cell.Trouble, cell.Fencing))
				}
				if whole := all.Locks[i].Survival[k]; d.NotRun == 0 && !reflect.DeepEqual(cell, whole) {
					t.Errorf("stopped after %d: %+v, not %+v", stop, cell, whole)
				}
			}
		}
	}
}

func TestOnlyWhatWasRunAndKeptTheDataSurvives(t *testing.T) {
	for code := range 32 {
		data := campaign.Counts{Holds: code & 1, Violated: code >> 1 & 1, Undecided: code >> 2 & 1,
			Unchecked: code >> 3 & 1, NotRun: code >> 4}
		s := Survival{Laws: campaign.Laws{{Law: checker.ResourceSafety, Counts: data}}}
		if s.survives() != (data == campaign.Counts{Holds: 1}) {
			t.Errorf("%+v: survives %v", data, s.survives())
		}
		if s.Absent = "gives no token"; s.survives() {
			t.Error("a cell that was not run survives")
		}
	}
}
