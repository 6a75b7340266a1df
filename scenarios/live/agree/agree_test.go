//go:build linux

package agree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

func TestMain(m *testing.M) {
	process.Main()
	if os.Getenv("FENCEPOST_CLIENT") != "" {
		if err := live.Child(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// TestFramesChangeNoVerdict runs Fencepost's own clients, which send their requests over sockets to simulated etcd and
// ZooKeeper servers. Every scenario in the catalog must have the same verdict in real time as in virtual time. By
// default, only one scenario is tested.
func TestFramesChangeNoVerdict(t *testing.T) {
	names := []string{"etcd-lease-pause"}
	if testkit.Full() {
		var err error
		names, err = Names(nil, func(s *scenarios.Scenario) (none bool, err error) {
			if s.Servers.Backend == locks.OnRedis {
				err = errors.New("of Redis")
			}
			return none, err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := fleettest.Keeper(t)
	simulated := func(ctx context.Context, s *scenarios.Scenario) (*live.Result, error) {
		return live.Run(live.Options{Scenario: s, Host: "127.0.0.1", Fleet: live.Simulated{}, Keeper: k,
			Context: ctx, Patience: live.Patience, Own: process.Command{Path: self, Args: []string{"own"}}}, s.Plan(1))
	}
	// more workers than cores, because the runs spend most of their time waiting
	rows := 0
	err = Run(context.Background(), campaign.Crew{Workers: 4}, names, simulated, func(r Row) {
		rows++
		t.Logf("%s divided by %d", r.Name, r.Scaled)
		if !r.Agrees() {
			t.Errorf("%s divided by %d: %v %s%s", r.Name, r.Scaled, r.Differences(), r.Refused, r.Failed)
		}
	})
	if err != nil || rows != len(names) || rows == 0 {
		t.Errorf("%d rows of %d: %v", rows, len(names), err)
	}
}

// TestShorterScenariosComeOutAsTheWhole checks that scenarios in the catalog have the same verdict when they are
// scaled, and that the times of at least half of them are divided by five.
func TestShorterScenariosComeOutAsTheWhole(t *testing.T) {
	short := 0
	names, err := Names(nil, func(*scenarios.Scenario) (none bool, err error) { return none, err })
	if err != nil {
		t.Fatal(err)
	}
	for i, name := range names {
		if i%testkit.Size(12, 1, 1) > 0 {
			continue
		}
		whole, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		s, by, err := scaled(whole)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		a, err := simulate(whole, 1)
		if err != nil {
			t.Fatal(err)
		}
		b, err := simulate(s, 1)
		if err != nil {
			t.Fatal(err)
		}
		if r := (Row{Simulated: a, Live: b}); !r.Agrees() {
			t.Errorf("%s divided by %d: %v", name, by, r.Differences())
		}
		if by == scales[0].divisor {
			short++
		}
	}
	if all := len(names) / testkit.Size(12, 1, 1); short < all/2 {
		t.Errorf("%d of %d scenarios are divided by %d", short, all, scales[0].divisor)
	}
}

// TestWhatIsSaidOfScenariosIsSaidOfSome checks that every scenario for which a difference is explained, and every
// scenario that is not scaled, is in the catalog.
func TestWhatIsSaidOfScenariosIsSaidOfSome(t *testing.T) {
	names := scenarios.Names()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(explained)), narrow) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
}

// TestNames checks that Names returns an error for a named scenario that cannot run on the given servers. Without
// names, it must return all scenarios that can.
func TestNames(t *testing.T) {
	onEtcd := func(s *scenarios.Scenario) (none bool, err error) {
		if s.Servers.Backend != locks.OnEtcd {
			err = errors.New(s.Name + " is not on etcd")
		}
		return none, err
	}
	for _, test := range []struct {
		given []string
		want  string
	}{
		{[]string{"etcd-leader-change"}, "[etcd-leader-change] <nil>"},
		{[]string{"etcd-leader-change", "fenced-gc-pause"}, "[] fenced-gc-pause is not on etcd"},
		{nil, "[consensus-under-faults etcd-keepalive-counted-from-receipt etcd-keepalive-lost " +
			"etcd-keepalive-lost-ignored etcd-leader-change etcd-leader-change-late-renewal " +
			"etcd-leader-change-late-renewal-fenced etcd-lease-not-rechecked etcd-lease-pause " +
			"etcd-lease-pause-fenced etcd-lease-rechecked etcd-predecessor etcd-semaphore " +
			"printed-etcd-keepalive-heedless printed-etcd-keepalive-stops printed-etcd-lock " +
			"printed-etcd-lock-mended] <nil>"},
	} {
		names, err := Names(test.given, onEtcd)
		slices.Sort(names)
		if got := fmt.Sprint(names, " ", err); got != test.want {
			t.Errorf("%v: %s, want %s", test.given, got, test.want)
		}
	}
}

// TestElectionsAreNotHurried checks that a scenario's times are not scaled if its faults strike members of a cluster.
func TestElectionsAreNotHurried(t *testing.T) {
	for name, strikes := range map[string]bool{"etcd-leader-change": true, "consensus-under-faults": true,
		"etcd-keepalive-lost": false, "etcd-keepalive-counted-from-receipt": false, "single-restart-forgets": false} {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, by, err := scaled(s); err != nil || strikesMembers(s) != strikes || strikes && by != 1 {
			t.Errorf("%s: strikes members: %t; divided by %d, %v", name, !strikes, by, err)
		}
	}
}

func TestTimesAreDividedWhereTheyAreLong(t *testing.T) {
	for text, want := range map[string]string{
		"10s":                            "2s",
		"500ms":                          "500ms",
		"600ms":                          "250ms",
		"50ms..250ms":                    "50ms..250ms",
		"1m30s":                          "18s",
		"pause client-1 for 8s at":       "pause client-1 for 1.6s at",
		"pause client-1 for 1s at 300us": "pause client-1 for 250ms at 8ms",
		"20000ppm":                       "20000ppm",
		"after the 2nd acquired":         "after the 2nd acquired",
		"jump redis-3 clock by -1h":      "jump redis-3 clock by -12m0s",
	} {
		if got := (scale{5, true}).text(text, true); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

// TestRowsSayWhatDiffers checks that a scenario counts as a difference if its simulated and real outcomes differ. A
// refusal counts neither as a difference nor as an agreement.
func TestRowsSayWhatDiffers(t *testing.T) {
	other, err := scenarios.Named("fenced-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	err = Run(context.Background(), campaign.Crew{Workers: 1}, []string{"kleppmann-gc-pause", "tair-cad-release",
		"single-restart-forgets"}, func(_ context.Context, s *scenarios.Scenario) (*live.Result, error) {
		switch s.Name {
		case "tair-cad-release":
			return nil, &live.RefusedError{Reason: "no CAD"}
		case "single-restart-forgets":
			s = other
		}
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		return &live.Result{Result: r}, err
	}, func(r Row) { rows = append(rows, r) })
	if err != nil || len(rows) != 3 {
		t.Fatal(err, len(rows))
	}
	if !rows[0].Agrees() || rows[1].Refused != "no CAD" || rows[1].Agrees() || rows[2].Agrees() {
		t.Errorf("%v", rows)
	}
	if d := rows[2].Differences(); len(d) == 0 || d[0].Law != checker.LeaseExclusion {
		t.Errorf("%v", d)
	}
	if got := counts(rows); got != (count{Agree: 1, Differ: 1, Refused: 1}) {
		t.Errorf("%+v", got)
	}
	if rows[0].Runs != 1 || rows[1].Runs != 1 || rows[2].Runs != 3 {
		t.Errorf("%d, %d and %d runs", rows[0].Runs, rows[1].Runs, rows[2].Runs)
	}
	if rows[0].Live.Wall <= 0 || rows[0].Live.Wall > time.Minute {
		t.Error(rows[0].Live.Wall)
	}
}

// TestWhatRealServersDoNotRecordIsNoDifference checks that two runs agree if they differ only because real servers do
// not record why keys vanish. They do not agree if a law is decided in only one of them for any other reason.
func TestWhatRealServersDoNotRecordIsNoDifference(t *testing.T) {
	violated := func(kind checker.CauseKind) checker.Finding {
		return checker.Finding{Outcome: checker.Violated, Cause: checker.Cause{Kind: kind}}
	}
	silent := func(f checker.Finding) checker.Finding {
		f.Unrecorded = true
		return f
	}
	holds, unchecked := checker.Finding{Outcome: checker.Holds}, checker.Finding{}
	for _, test := range []struct {
		simulated, live checker.Finding
		want            string // the results of Differences and unrecorded
	}{
		{holds, silent(unchecked), "0 1"},
		{violated(checker.RemovedByNonOwner), silent(unchecked), "0 1"},
		{violated(checker.SessionExpired), silent(violated(checker.CauseNotRecorded)), "0 1"},
		{holds, unchecked, "1 0"},
		{holds, violated(checker.RemovedByNonOwner), "1 0"},
		{violated(checker.SessionExpired), violated(checker.CauseNotRecorded), "1 0"},
		{violated(checker.SessionExpired), violated(checker.DeposedMaster), "1 0"},
		{holds, silent(violated(checker.CauseNotRecorded)), "1 0"},
		{violated(checker.SessionExpired), holds, "1 0"},
		{unchecked, holds, "0 0"},
		{unchecked, silent(unchecked), "0 0"},
	} {
		side := func(f checker.Finding) Side {
			f.Law = checker.LeaseExclusion
			return Side{Verdict: checker.Verdict{Findings: []checker.Finding{f}}}
		}
		r := Row{Simulated: side(test.simulated), Live: side(test.live)}
		if got := fmt.Sprint(len(r.Differences()), " ", len(r.unrecorded())); got != test.want {
			t.Errorf("simulated %s, real %s, recorded %t: %s, want %s", test.simulated.Came(), test.live.Came(),
				!test.live.Unrecorded, got, test.want)
		}
	}
}

// scenarioNames lists three scenarios. The tests make the second one fail.
var scenarioNames = []string{"kleppmann-gc-pause", "single-restart-forgets", "setnx-holder-crash"}

// TestAScenarioThatCannotBeRunIsARow checks that if a scenario cannot be run, the others still are. A failed run is
// repeated, unless it has already been started several times. If a run succeeds and a later one fails, the outcome of
// the first one counts.
func TestAScenarioThatCannotBeRunIsARow(t *testing.T) {
	gone := &live.ClientError{Client: "client-1", Problem: "ended before its first report"}
	late := &live.UndecidedError{Err: errors.New("redis-1 takes no commands"), Delayed: true}
	other, err := scenarios.Named("fenced-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	fine := func(s *scenarios.Scenario) (*live.Result, error) {
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		return &live.Result{Result: r}, err
	}
	for _, test := range []struct {
		how  string
		real func(run int, s *scenarios.Scenario) (*live.Result, error)
		want count
		runs int
		why  string
	}{
		{"late", func(int, *scenarios.Scenario) (*live.Result, error) { return nil, late },
			count{Agree: 2, Failed: 1}, 1, late.Error()},
		{"gone each time", func(int, *scenarios.Scenario) (*live.Result, error) { return nil, gone },
			count{Agree: 2, Failed: 1}, 3, gone.Error()},
		{"gone once", func(run int, s *scenarios.Scenario) (*live.Result, error) {
			if run == 1 {
				return nil, gone
			}
			return fine(s)
		}, count{Agree: 3}, 2, ""},
		{"cut short", func(_ int, s *scenarios.Scenario) (*live.Result, error) {
			r, err := fine(s)
			r.Partial, r.Notes = true, []string{"the run ended early: client-1 is gone", "real time"}
			return r, err
		}, count{Agree: 2, Failed: 1}, 3, "the run ended early: client-1 is gone"},
		{"a server ended", func(_ int, s *scenarios.Scenario) (*live.Result, error) {
			r, _ := fine(s)
			return r, &live.UndecidedError{Err: errors.New("redis-1 is gone")}
		}, count{Agree: 2, Failed: 1}, 3, "redis-1 is gone: the run was not judged"},
		{"differs, then fails", func(run int, _ *scenarios.Scenario) (*live.Result, error) {
			if run > 1 {
				return nil, gone
			}
			return fine(other)
		}, count{Agree: 2, Differ: 1}, 3, ""},
	} {
		t.Run(test.how, func(t *testing.T) {
			var rows []Row
			run := 0
			real := func(_ context.Context, s *scenarios.Scenario) (*live.Result, error) {
				if s.Name != scenarioNames[1] {
					return fine(s)
				}
				run++
				return test.real(run, s)
			}
			one := campaign.Crew{Workers: 1}
			err := Run(context.Background(), one, scenarioNames, real, func(r Row) { rows = append(rows, r) })
			if err != nil || len(rows) != 3 || counts(rows) != test.want || rows[1].Runs != test.runs ||
				rows[1].Failed != test.why {
				t.Errorf("%v %+v, %d runs, %q", err, counts(rows), rows[1].Runs, rows[1].Failed)
			}
		})
	}
}

// TestAnInterruptKeepsTheRows checks that rows finished before an interrupt are kept, and that the interrupted row says
// that it was interrupted. A difference that was not confirmed by another run is not reported.
func TestAnInterruptKeepsTheRows(t *testing.T) {
	other, err := scenarios.Named("fenced-gc-pause")
	if err != nil {
		t.Fatal(err)
	}
	const differed = "interrupted: the simulated and the real run differed, first in lease-exclusion, and the real " +
		"run was not repeated to see whether they still differ"
	for _, test := range []struct {
		how  string
		in   int // which run of the second scenario is interrupted
		ends bool
		runs int
		why  string
		want count
	}{
		{"ends the first run", 1, true, 1, live.ErrInterrupted.Error(), count{Agree: 1, Failed: 1}},
		{"comes too late for the first run", 1, false, 1, differed, count{Agree: 1, Failed: 1}},
		{"ends the second run", 2, true, 2, differed, count{Agree: 1, Failed: 1}},
		{"ends the third run", 3, true, 3, differed, count{Agree: 1, Failed: 1}},
		{"comes too late for the third run", 3, false, 3, "", count{Agree: 1, Differ: 1}},
	} {
		t.Run(test.how, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var rows []Row
			run := 0
			real := func(_ context.Context, s *scenarios.Scenario) (*live.Result, error) {
				if s.Name == scenarioNames[1] {
					s = other
					if run++; run == test.in {
						cancel()
						if test.ends {
							return nil, live.ErrInterrupted
						}
					}
				}
				r, err := scenarios.NewRunner(s).Run(s.Plan(1))
				return &live.Result{Result: r}, err
			}
			one := campaign.Crew{Workers: 1}
			if err := Run(ctx, one, scenarioNames, real, func(r Row) { rows = append(rows, r) }); err != nil {
				t.Fatal(err)
			}
			if len(rows) < 2 || counts(rows[:2]) != test.want || rows[1].Failed != test.why ||
				rows[1].Runs != test.runs {
				t.Errorf("%d rows, %+v", len(rows), rows[1:])
			}
		})
	}
}
