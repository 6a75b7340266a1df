package ensembles

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// agreementSeeds is the number of runs per scenario for comparing the simulated client with the real client.
const agreementSeeds = 12

// actor is a published client library that takes the place of the simulated client in the catalog's scenarios.
type actor struct {
	name string
	// open creates the library's lock, with a lease or session of the given length.
	open func(*locktest.Client, time.Duration) (locktest.Lock, error)
	// lockLine matches the line "lock: …" of the scenarios that the client can reproduce.
	lockLine *regexp.Regexp
	// deaf is set if the client keeps working when its session is lost.
	deaf bool
}

// actors lists the clients. A scenario runs with the first client whose lockLine matches.
var actors = []actor{
	{name: "etcd-mutex", open: openMutex, lockLine: regexp.MustCompile(
		`(?m)^lock: \{protocol: etcd, ttl: (\w+)(?:, recheck: on|, count-from: receipt)?\}$`)},
	{name: "etcd-election", open: openElection,
		lockLine: regexp.MustCompile(`(?m)^lock: \{protocol: etcd, ttl: (\w+), recheck: off\}$`)},
	{name: "zk-lock, stops when disconnected", open: openZK(byCounting),
		lockLine: regexp.MustCompile(`(?m)^lock: \{protocol: zookeeper, ttl: (\w+), listener: on\}$`)},
	{name: "zk-lock, stops when disconnected", open: openZK(byFolder), lockLine: regexp.MustCompile(
		`(?m)^lock: \{protocol: zookeeper, ttl: (\w+), listener: on, token: parent-node\}$`)},
	{name: "zk-lock", open: openZK(byFolder), deaf: true, lockLine: regexp.MustCompile(
		`(?m)^lock: \{protocol: zookeeper, ttl: (\w+), token: parent-node, retry: \{patience: 30s\}\}$`)},
	{name: "zk-lock", open: openZK(byCounting), deaf: true,
		lockLine: regexp.MustCompile(`(?m)^lock: \{protocol: zookeeper, ttl: (\w+)(?:, watch: predecessor)?\}$`)},
	{name: "consul-lock", open: openConsul,
		lockLine: regexp.MustCompile(`(?m)^lock: \{protocol: consul, ttl: (\w+)(?:, monitor-only: on)?\}$`)},
}

// modeled matches an etcd, ZooKeeper or Consul scenario.
var modeled = regexp.MustCompile(`(?m)^lock: \{protocol: (etcd|zookeeper|consul),`)

// unacted maps each scenario that no published client can reproduce to the reason why.
var unacted = map[string]string{
	"zookeeper-herd":                  "`zk.Lock` watches the znode before its own",
	"zookeeper-read-write-lock":       "go-zookeeper has no read-write lock",
	"zookeeper-readers-together":      "go-zookeeper has no read-write lock",
	"etcd-semaphore":                  "etcd's package concurrency has no semaphore",
	"zookeeper-semaphore":             "go-zookeeper has no semaphore",
	"zookeeper-timeout-leaves-node":   "`zk.Lock` waits without a limit",
	"zookeeper-timeout-withdraws":     "`zk.Lock` waits without a limit",
	"consul-no-lock-delay":            "`api.Lock` takes a lock delay of 0 for its default",
	"consul-lock-index":               "`api.Lock` has its key released, and not deleted, when a session ends",
	"consul-delete-key":               "`api.Lock` releases its key, and does not delete it",
	"printed-etcd-lock":               printedEtcd,
	"printed-etcd-lock-mended":        printedEtcd,
	"printed-etcd-keepalive-stops":    printedEtcd,
	"printed-etcd-keepalive-heedless": printedEtcd,
	"printed-zookeeper-listener":      printedZooKeeper,
	"printed-zookeeper-listener-lost": printedZooKeeper,
}

const (
	printedEtcd      = "a printed program on python-etcd3, not a library's lock"
	printedZooKeeper = "a printed listener that takes the lock once more, not a library's"
)

func openMutex(c *locktest.Client, ttl time.Duration) (locktest.Lock, error) {
	l, err := newMutex(c)
	if err == nil {
		l.(*mutex).ttl = ttl
	}
	return l, err
}

func openElection(c *locktest.Client, ttl time.Duration) (locktest.Lock, error) {
	l, err := newElection(c)
	if err == nil {
		l.(*election).ttl = ttl
	}
	return l, err
}

func openZK(drawn tokens) func(*locktest.Client, time.Duration) (locktest.Lock, error) {
	return func(c *locktest.Client, ttl time.Duration) (locktest.Lock, error) { return openZKLock(c, ttl, drawn) }
}

// differences maps scenarios to the laws whose outcome with the real client differs from the outcome with the simulated
// one. The text for a law is the reason.
var differences = map[string]map[checker.Law]string{
	"etcd-keepalive-lost": {checker.LeaseExclusion: fromReceipt, checker.MutualExclusion: "It stops half a " +
		"second after the lease has ended: what the client ships is `count-from: receipt`, not the model's default."},
	"etcd-keepalive-lost-ignored": {checker.LeaseExclusion: fromReceipt},
	"etcd-leader-change-late-renewal": {checker.LeaseExclusion: byTurns, checker.MutualExclusion: byTurns,
		checker.ResourceSafety: byTurns},
	"consul-cut-off":                         {checker.LeaseExclusion: noTTL, checker.MutualExclusion: noTTL},
	"consul-cut-off-monitor":                 {checker.LeaseExclusion: openEnd},
	"etcd-leader-change-late-renewal-fenced": {checker.LeaseExclusion: byTurns, checker.MutualExclusion: byTurns},
}

const (
	noTTL = "`api.Lock` counts no TTL, as the model with `monitor-only: on`. On a cut connection, the query that " +
		"watches the key stays silent."
	openEnd     = "`api.Lock` states no end of its lease. The model's ends with the TTL of the latest renewal."
	fromReceipt = "The client counts from when an answer came and looks once a second; the model, by default, counts " +
		"from when it asked."
	byTurns = "The model keeps to the leader; the client renews at any member, and only at the leader does this happen."
)

// TestModelsAndClientsAgree checks that published clients agree with the simulated ones. It replaces the simulated
// clients in each etcd, ZooKeeper and Consul scenario that a published client can reproduce. Under the same faults,
// each law must have the same outcome, except for the differences that are listed with a reason. With -update it writes
// the table in README.md.
func TestModelsAndClientsAgree(t *testing.T) {
	var table strings.Builder
	table.WriteString("| scenario | client |")
	for _, law := range checker.Laws {
		fmt.Fprintf(&table, " %s |", law)
	}
	table.WriteString(" |\n|---|---|" + strings.Repeat("---|", len(checker.Laws)) + "---|\n")
	names := scenarios.Names()
	for _, name := range slices.Concat(slices.Collect(maps.Keys(unacted)), slices.Collect(maps.Keys(differences))) {
		if !slices.Contains(names, name) {
			t.Errorf("there is no scenario %s", name)
		}
	}
	for _, name := range names {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		text := string(s.Text())
		if !modeled.MatchString(text) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			if why := unacted[name]; why != "" {
				fmt.Fprintf(&table, "| %s | none |%s %s |\n", name, strings.Repeat(" |", len(checker.Laws)), why)
				return
			}
			a, ttl := actorOf(t, text)
			r, ok := actOut(t, name, text, a, ttl)
			if !ok {
				return
			}
			fmt.Fprintf(&table, "| %s | %s |%s\n", name, a.name, row(t, s, r))
		})
	}
	if os.Getenv("FENCEPOST_LOCKTEST") == "" {
		testkit.GoldenPart(t, "README.md", "agreement", table.String())
	}
}

// actorOf returns the client to use in a scenario, and the length of its lease.
func actorOf(t *testing.T, text string) (a *actor, ttl time.Duration) {
	t.Helper()
	for i := range actors {
		if found := actors[i].lockLine.FindStringSubmatch(text); found != nil {
			ttl, err := time.ParseDuration(found[1])
			if err != nil {
				t.Fatal(err)
			}
			return &actors[i], ttl
		}
	}
	t.Fatal("no client acts it out: name one in actors, or say why in unacted")
	return nil, 0
}

// actOut runs a scenario with a published client instead of the simulated one.
func actOut(t *testing.T, name, text string, a *actor, ttl time.Duration) (*locktest.Report, bool) {
	t.Helper()
	text, _, _ = strings.Cut(a.lockLine.ReplaceAllString(text, fmt.Sprintf("lock: {protocol: library, ttl: %v}", ttl)),
		"\nexpect:")
	if a.deaf && !strings.Contains(text, "stop-when-lost: off") {
		text = strings.Replace(text, "\nwork: {", "\nwork: {stop-when-lost: off, ", 1)
	}
	file := filepath.Join(t.TempDir(), name+".yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return locktest.Explore(t, locktest.Config{Scenario: file, Plan: []string{}, Seeds: agreementSeeds, SkipTrial: true,
		New: func(c *locktest.Client) (locktest.Lock, error) { return a.open(c, ttl) }})
}

// row compares a client's runs with the simulated client's runs, and returns the cells of a table row. A cell contains
// a law's outcome, or both outcomes and the reason if they differ.
func row(t *testing.T, s *scenarios.Scenario, r *locktest.Report) (cells string) {
	t.Helper()
	if len(r.Failures) > 0 {
		t.Fatal(r.Failures[0].Text)
	}
	runner := scenarios.NewRunner(s)
	violated, holds := map[checker.Law]int{}, map[checker.Law]int{}
	for seed := range uint64(agreementSeeds) {
		run, err := runner.Run(s.Plan(seed + 1))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range s.Judge(run).Verdict.Findings {
			switch f.Outcome {
			case checker.Violated:
				violated[f.Law]++
			case checker.Holds:
				holds[f.Law]++
			}
		}
	}
	var whys []string
	for _, law := range checker.Laws {
		model, client := outcome(violated[law], holds[law]), outcome(r.Violated(law), r.Held(law))
		why := differences[s.Name][law]
		if (model == client) != (why == "") {
			t.Errorf("%s: the model %s, the client %s, explained by %q: %+v", law, model, client, why, r.Breaches)
		}
		if model == client {
			cells += " " + model + " |"
			continue
		}
		cells += fmt.Sprintf(" %s / %s |", model, client)
		if !slices.Contains(whys, why) {
			whys = append(whys, why)
		}
	}
	return cells + strings.TrimRight(" "+strings.Join(whys, " "), " ") + " |"
}

// outcome returns a symbol for a law's outcomes: ✓ always held, ✗ always violated, ✗✓ both occurred, – never judged.
func outcome(violated, held int) string {
	switch {
	case violated > 0 && held > 0:
		return "✗✓"
	case violated > 0:
		return "✗"
	case held > 0:
		return "✓"
	}
	return "–"
}
