package locktest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/safefile"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// Run performs the trial run (see RunTrial) and then runs the lock under faults, once for each seed. It reports one
// test error for each distinct violation of a law. If the Config cannot be run, it ends the test immediately.
//
// The runs take place in separate processes, which execute the test binary again. Each of them also executes any code
// before Run in the test.
func Run(t *testing.T, c Config) {
	t.Helper()
	p := examine(t, c)
	if p == nil {
		return
	}
	p.reportProblems()
	if p.refused {
		return
	}
	t.Log(p.summary())
	for _, f := range p.failures() {
		t.Run(p.name(f.seed), func(t *testing.T) { t.Error(f.text()) })
	}
	p.showPassed()
}

// reportProblems fails the test for problems that are not specific to a single run.
func (p *parent) reportProblems() {
	p.t.Helper()
	for _, text := range p.problems {
		p.t.Error(text)
	}
}

// examine performs the trial run and, if it succeeds, the other runs. In a worker process, it performs that process's
// task instead, and returns nil.
func examine(t *testing.T, c Config) *parent {
	t.Helper()
	p, seeds := begin(t, c)
	if p == nil {
		return nil
	}
	p.one = seeds != nil
	if seeds == nil {
		if seeds, p.one = p.config.seeds(t); !p.one && !p.config.SkipTrial && p.config.Permits <= 1 {
			p.try()
		}
	}
	if p.refused = len(p.problems) > 0; p.refused {
		return p
	}
	if p.config.EachFault {
		if seeds = p.enumerate(seeds); seeds == nil {
			return p
		}
	}
	p.explore(seeds)
	slices.SortStableFunc(p.runs, func(a, b ran) int { return cmp.Compare(a.Seed, b.Seed) })
	p.reportMissed()
	return p
}

// reportMissed fails the test if a fault is in every run's plan, but never struck because the message that it names was
// never sent.
func (p *parent) reportMissed() {
	missed := map[string]int{}
	for _, r := range p.runs {
		for _, m := range r.Missed {
			missed[m.Line]++
		}
	}
	for _, r := range p.runs {
		for i := range r.Missed {
			if m := &r.Missed[i]; !p.config.EachFault && missed[m.Line] == len(p.runs) {
				p.problem(fmt.Sprintf("%s: never struck: %s", m.Line, single.Asked(m)))
				missed[m.Line] = 0
			}
		}
	}
}

// begin checks a Config and prepares the runs. In a worker process it performs the worker's task and returns nil. seeds
// is set if a single plan is to be run.
func begin(t *testing.T, c Config) (p *parent, seeds []uint64) {
	t.Helper()
	if fuzzed(t.Name()) {
		t.Fatal("locktest: Run cannot be fuzzed: its processes execute the test again by name, " +
			"and an input that the fuzzer generates has no name. Run the test without -fuzz, on the seed corpus.")
	}
	call := nextCall(t)
	k, isWorker := taskOf(t)
	if isWorker && (k.Test != t.Name() || k.Call != call) {
		return nil, nil
	}
	if c.New == nil {
		t.Fatal("locktest: Config.New is missing: set it to a function that returns the lock of a client")
	}
	seeds, err := c.planned()
	if err != nil {
		t.Fatalf("locktest: the plan to run: %v", err)
	}
	if problem := cmp.Or(c.eachFaultRefused(), c.fieldsRefused()); problem != "" {
		t.Fatal("locktest: " + problem)
	}
	s, err := c.scenario(scenarioName(t.Name()))
	if err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if c.keys, err = c.newKeys(s.Locks()); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if err = c.unmatched(s); err != nil {
		t.Fatalf("locktest: %v", err)
	}
	if os.Getenv(remote.Environment) == remote.Served {
		if isWorker || call == 0 { // this serves a worker, or another program, which knows only the first call
			serve(t, s, &c)
		}
		return nil, nil
	}
	if isWorker {
		work(t, s, &c, k)
		return nil, nil
	}
	return &parent{t: t, config: &c, call: call, begun: time.Now(), guided: c.guides(s),
		fixed: !c.EachFault && !c.draws(s)}, seeds
}

// fuzzed reports whether a test is a fuzz target whose inputs come from the fuzzer.
func fuzzed(test string) bool {
	given := func(name string) bool {
		f := flag.Lookup(name)
		return f != nil && f.Value.String() != f.DefValue
	}
	return strings.HasPrefix(test, "Fuzz") && (given("test.fuzz") || given("test.fuzzworker"))
}

// calls counts the calls to Run in each running test. With -count, a test with the same name runs several times.
var calls struct {
	sync.Mutex
	of map[*testing.T]int
}

func nextCall(t *testing.T) int {
	calls.Lock()
	defer calls.Unlock()
	if calls.of == nil {
		calls.of = map[*testing.T]int{}
	}
	n, again := calls.of[t]
	if !again {
		t.Cleanup(func() {
			calls.Lock()
			defer calls.Unlock()
			delete(calls.of, t)
		})
	}
	calls.of[t] = n + 1
	return n
}

// environment is the environment variable that holds a worker's task.
const environment = "FENCEPOST_LOCKTEST"

func taskOf(t *testing.T) (k task, isWorker bool) {
	text := os.Getenv(environment)
	if text == "" {
		return task{}, false
	}
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		t.Fatalf("locktest: %s: %v", environment, err)
	}
	return k, true
}

// scenarioName derives a scenario name from a test name: "TestMyLock/five" becomes my-lock-five, and "TestALock"
// becomes a-lock.
func scenarioName(test string) string {
	var b strings.Builder
	text := []rune(strings.TrimPrefix(test, "Test"))
	upper := func(i int) bool { return i >= 0 && i < len(text) && unicode.IsUpper(text[i]) }
	lower := func(i int) bool { return i >= 0 && i < len(text) && unicode.IsLower(text[i]) }
	for i, r := range text {
		switch {
		case r < unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r)):
			if upper(i) && (lower(i-1) || upper(i-1) && lower(i+1)) {
				b.WriteByte('-')
			}
			b.WriteRune(unicode.ToLower(r))
		case !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
	}
	name := b.String()
	return cmp.Or(strings.Trim(name[:min(len(name), longestName)], "-"), "lock")
}

// longestName is the maximum length of a scenario name. It leaves room for the suffix that is appended when the
// scenario is shrunk.
const longestName = 40

// standardSeeds and shortSeeds are the default numbers of runs without and with -short.
const (
	standardSeeds = 512 // one block of the search: if there are fewer runs, plans do not depend on other runs
	shortSeeds    = 20
)

var planFlag = flag.String("locktest.plan", "",
	"run only the plan in `FILE`, which an earlier failure of this test has saved")

// planned applies -locktest.plan or Replay: if one of them is set, it changes the Config to run that single plan, and
// returns the plan's seed. Otherwise it returns nil.
func (c *Config) planned() (seeds []uint64, err error) {
	file := cmp.Or(*planFlag, c.Replay)
	if file == "" {
		return nil, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	plan, err := nemesis.ParsePlan(file, text)
	if err != nil {
		return nil, err
	}
	*c = Config{New: c.New, Keys: c.Keys, Laws: c.Laws, Availability: c.Availability,
		IgnoredGoroutines: c.IgnoredGoroutines, plan: &plan,
		Scenario: filepath.Join(filepath.Dir(file), plan.Scenario)}
	return []uint64{plan.Seed}, nil
}

// guides reports whether the runs' plans depend on the results of earlier runs.
func (c *Config) guides(s *scenarios.Scenario) bool { return c.draws(s) && search.Guides(s, c.drawn()) }

// drawn returns the number of seeds that the test draws plans for, unless a single seed is requested.
func (c *Config) drawn() int {
	n := cmp.Or(c.Seeds, standardSeeds)
	if testing.Short() {
		n = min(n, shortSeeds)
	}
	return n
}

// seeds returns the seeds to run: the one requested by the subtest in -run, or all of them.
func (c *Config) seeds(t *testing.T) (all []uint64, one bool) {
	if seed, one := seedAsked(t.Name(), c.word()); one {
		return []uint64{seed}, true
	}
	if c.EachFault {
		return nil, false // the number is known only after a run
	}
	n := c.drawn()
	all = make([]uint64, n)
	for i := range all {
		all[i] = uint64(i) + 1
	}
	return all, false
}

// parent performs the runs of one call to Run.
type parent struct {
	t      *testing.T
	config *Config
	call   int
	begun  time.Time
	one    bool // a single seed is requested
	// guided is set if a seed's plan depends on the runs of earlier seeds in its block.
	guided bool
	fixed  bool // all runs have the same faults

	stop context.CancelFunc // function that ends the runs

	mu       sync.Mutex
	stopped  bool // a run came to a standstill, so the other runs were ended as well
	runs     []ran
	unasked  map[uint64]bool // seeds run only to guide others, which are not reported
	differ   []uint64        // seeds whose run differed when it was repeated
	finished int             // number of finished seeds
	listed   *listed         // the single faults, with Config.EachFault
	problems []string        // problems that are not specific to a single run
	refused  bool            // the trial run failed, so there are no others
	cpu      time.Duration   // all processes' processor time so far
	memory   int64           // these processes' peak memory, in bytes
}

// group contains the runs with the same kind of violation. Violations that no lock could have avoided have their own
// groups.
type group struct {
	broken
	first ran
	runs  int
}

// groups returns the distinct violations, sorted by rank and then in law order.
func (p *parent) groups() (all []group) {
	for _, r := range p.runs {
		for _, b := range r.Broken {
			i := slices.IndexFunc(all, func(g group) bool { return g.finding == b.finding })
			if i < 0 {
				i = len(all)
				all = append(all, group{broken: b, first: r})
			}
			all[i].runs++
		}
	}
	slices.SortStableFunc(all, func(a, b group) int {
		return cmp.Or(cmp.Compare(a.rank(), b.rank()),
			cmp.Compare(slices.Index(checker.Laws, a.Law), slices.Index(checker.Laws, b.Law)))
	})
	return all
}

// cutDown contains, for each way in which shrinking can end, the words that say how small the shrunk run is.
var cutDown = [...]string{campaign.Complete: "minimal", campaign.OutOfRuns: "out of runs",
	campaign.OutOfTime:   "out of time",
	campaign.Interrupted: "interrupted"}

// story explains one kind of violation, using the smallest run that shows it.
func (p *parent) story(g group) string {
	var b strings.Builder
	if g.Limit != "" {
		b.WriteString(waysOn[g.Limit] + "\n\n")
	}
	fmt.Fprintf(&b, "%s is violated: %s, in %d of %s\n\n", g.Law, g.Cause, g.runs,
		text.Count(len(p.runs), "run"))
	r := g.first
	folder := filepath.Join("_runs", fmt.Sprintf("%s-%s%d-%s", scenarioName(p.t.Name()), p.config.word(), r.Seed,
		g.Law))
	small, why := p.shrink(g)
	if small == nil {
		fmt.Fprintf(&b, "%s\n\nThe failure was not shrunk: %s\n%s", g.Story, why, p.withCommand(r))
		return b.String()
	}
	command := ReplayCommand(p.t.Name(), folder)
	err := save(folder, map[string]string{search.PlanFile: small.Plan.Text(command),
		search.ScenarioFile: small.Scenario, "page.html": small.Page})
	b.WriteString(small.Text + "\n")
	cut := document.Fact{Name: "cut", Value: cutDown[small.Ending]}
	if err != nil {
		return b.String() + p.withCommand(r, cut, document.Fact{Name: "files",
			Value: fmt.Sprintf("were not written: %v", err)})
	}
	b.WriteString(written(func(to *text.Writer) {
		document.Facts{cut, {Name: "files", Value: folder}}.Text(to)
		to.Command(0, document.Label(""), command)
	}))
	return b.String() + p.withCommand(r)
}

// ReplayCommand returns the command that makes a test run the plan in a folder. A relative path of the folder begins at
// the test's package, where the command must be called.
func ReplayCommand(test, folder string) string {
	return fmt.Sprintf("go test -run '%s' -locktest.plan %s .", remote.Pattern(test),
		text.ShellWord(filepath.Join(folder, search.PlanFile)))
}

// withCommand returns the facts as text, followed by the command that repeats the run.
func (p *parent) withCommand(r ran, facts ...document.Fact) string {
	return written(func(to *text.Writer) {
		document.Facts(facts).Text(to)
		document.Again(to, fmt.Sprintf("go test -run '%s/^%s$' .", remote.Pattern(p.t.Name()), p.name(r.Seed)))
		if r.Differs {
			to.Text(text.Plain, 0, "The same seed gave two different runs: "+
				"the library draws random numbers that cannot be seeded, or depends on how goroutines are scheduled. "+
				"This seed may not show the violation again.")
		}
	})
}

func save(folder string, files map[string]string) error {
	to, err := safefile.Open(folder)
	if err != nil {
		return err
	}
	for name, text := range files {
		err = errors.Join(err, to.Write(name, []byte(text)))
	}
	return errors.Join(err, to.Close())
}

// timeUp is the reason reported if -timeout ended the work early.
const timeUp = "the time limit set by -timeout was reached"

// onceMore makes a worker repeat run r, as part of task k. It calls handle for each of the worker's reports, and handle
// returns true if the report contains the result. If none does, or if a report names a problem, onceMore returns the
// reason.
func (p *parent) onceMore(r ran, k task, handle func(report) bool) (why string) {
	k.Test, k.Call, k.Seeds = p.t.Name(), p.call, []uint64{r.Seed}
	if r.Plan != "" {
		k.Plans = map[uint64]string{r.Seed: r.Plan}
	}
	ctx, done := p.contextFor(allShare)
	defer done()
	taken := false
	end := p.do(ctx, k, func(r report) { taken, why = handle(r) || taken, cmp.Or(r.Problem, why) })
	switch {
	case taken || why != "":
	case ctx.Err() != nil:
		why = timeUp
	case end != nil:
		why = end.Error()
	default:
		why = "its worker ended without a result"
	}
	return why
}

// shrink makes a worker shrink a group's first run, and returns the result. If it does not get one, why is the reason.
func (p *parent) shrink(g group) (small *shrunk, why string) {
	why = p.onceMore(g.first, task{Shrink: &g.finding}, func(r report) bool {
		small = cmp.Or(r.Shrunk, small)
		return small != nil
	})
	return small, why
}
