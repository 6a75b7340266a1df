package libraries

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// family is a family of faults in the default mix.
type family struct {
	name   string
	faults locktest.Faults // nil: all faults
}

var families = []family{
	{"pauses", locktest.Pauses},
	{"network", locktest.Network},
	{"restarts", locktest.Restarts},
	{"failovers", locktest.Failovers},
	{"clocks", locktest.Clocks},
	anything,
}

var anything = family{"all", nil}

// protection is a measure that a client takes to detect the loss of its lock, or to limit the damage.
type protection struct {
	name        string
	precautions locktest.Precautions
}

var protections = []protection{
	{"none", locktest.Precautions{}},
	{"careful", locktest.Precautions{ChecksValidity: true, StopsWhenLost: true}},
	{"fenced", locktest.Precautions{Fences: true}},
}

// work determines how long a client holds its lock. The client reads at the beginning and writes at the end.
type work struct {
	name    string
	compute time.Duration
	renewed bool
}

var works = []work{
	{"short", TTL / 2, false},
	{"renewed", TTL * 5 / 2, true},
}

// matrixSeeds returns the number of runs for each cell of the matrix. With FENCEPOST_FULL=1, it is ten times as large.
func matrixSeeds() int {
	return testkit.Size(40, 40, 400)
}

// cell is one combination in the matrix: a library, a family of faults, how long the work takes, and how the client
// protects itself.
type cell struct {
	library    *Library
	family     family
	work       work
	protection protection
}

// replicated reports whether a library's servers have replicas.
func (l *Library) replicated() bool { return l.Servers != l.Servers.Replicated(0) }

// cells returns one library's cells of the matrix. There is no cell for failovers if the library has no replicas, and
// none for work that takes longer than the TTL if nobody renews the lock.
func cells(l *Library) (all []cell) {
	for _, f := range families {
		if f.name == "failovers" && !l.replicated() {
			continue
		}
		for _, w := range works {
			if w.renewed && l.Renewal == ByNobody {
				continue
			}
			for _, c := range protections {
				all = append(all, cell{l, f, w, c})
			}
		}
	}
	return all
}

func (c *cell) config(seeds int) locktest.Config {
	config := c.library.config(c.protection.precautions.Fences)
	config.Faults, config.Precautions = c.family.faults, c.protection.precautions
	config.Compute, config.Seeds = c.work.compute, seeds
	config.Cycles, config.Laws = 2, checker.Laws
	if c.work.renewed && c.library.Renewal == ByUser {
		config.Precautions.ExtendEvery = TTL / 3
	}
	return config
}

// result contains what the matrix found about one library. It is stored in testdata/NAME.json.
type result struct {
	Library  string
	Cells    []counts
	Findings []finding
}

// counts contains the number of runs in one cell in which each law was violated.
type counts struct {
	Family, Work string
	Protection   string `json:"Care"` // the name of the protection
	Runs         int
	Leases       int // runs that violated lease-exclusion
	Owners       int `json:",omitempty"` // runs that violated ownership
	Data         int // runs that violated resource-safety
	Waits        int // runs that violated deadlock-freedom or fault-tolerance, with enough servers available
	Tokens       int // runs that violated token-order
	// number of runs in which each law was decided, that is, either held or was violated
	Decided   map[checker.Law]int
	Differing int `json:",omitempty"` // seeds that violated a law and gave a different result when repeated
}

// counted lists the laws that the tables show.
var counted = []checker.Law{checker.LeaseExclusion, checker.Ownership, checker.ResourceSafety, checker.TokenOrder,
	checker.DeadlockFreedom, checker.FaultTolerance}

// finding is one kind of violation by a library. The smallest run that shows it is in testdata/Name.
type finding struct {
	Name, Family, Work string
	Protection         string `json:"Care"` // the name of the protection
	Law                checker.Law
	Cause              checker.Cause
	Runs, Of           int
	Seed               uint64
	// CPU is how much processor time it took to reach the seed, estimated from the seed's position in the cell.
	CPU     time.Duration
	Faults  []string
	Minimal bool
}

// TestMatrix runs the matrix if -update is set. With -run 'TestMatrix/^redsync$', it runs the part for one library.
func TestMatrix(t *testing.T) {
	if !*testkit.Update && os.Getenv("FENCEPOST_LOCKTEST") == "" {
		t.Skip("it is run with -update; TestFindings replays what it has found")
	}
	for _, l := range All {
		t.Run(l.Name, func(t *testing.T) {
			m := matrix{t: t, result: result{Library: l.Name}, best: map[string]*candidate{}}
			for _, c := range cells(&l) {
				if r, ok := locktest.Explore(t, c.config(matrixSeeds())); ok {
					m.add(c, r)
				}
			}
			if x, is := rare[l.Name]; is { // run enough schedules to show the rare finding
				if r, ok := search(t, &l, fmt.Sprintf(searched, x.servers, ""), searchLength); ok {
					m.add(cell{&l, anything, works[0], protections[1]}, r)
				}
			}
			if os.Getenv("FENCEPOST_LOCKTEST") == "" {
				m.write()
			}
		})
	}
}

// matrix collects one library's findings.
type matrix struct {
	t *testing.T
	result
	order []string
	best  map[string]*candidate // the best candidate for each law and cause
}

// candidate is a cell in which a breach occurred.
type candidate struct {
	cell
	locktest.Breach
	report *locktest.Report
}

func (m *matrix) add(c cell, r *locktest.Report) {
	n := counts{Differing: len(r.DifferingSeeds), Runs: r.Runs,
		Family: c.family.name, Work: c.work.name, Protection: c.protection.name,
		Leases: r.Violated(checker.LeaseExclusion), Data: r.Violated(checker.ResourceSafety),
		Owners: r.Violated(checker.Ownership), Tokens: r.Violated(checker.TokenOrder),
		Waits: waits(r), Decided: map[checker.Law]int{}}
	for _, l := range counted {
		n.Decided[l] = r.Held(l) + r.Violated(l)
	}
	r.DifferingSeeds = nil // the README states the number of these seeds
	judgeable(m.t, r)
	for _, b := range r.Breaches {
		if described(c, b) {
			m.offer(&candidate{c, b, r})
		}
	}
	m.Cells = append(m.Cells, n)
}

// waits returns the number of runs in which somebody waited far too long. A run may break both laws, or one of them for
// several reasons.
func waits(r *locktest.Report) int {
	seeds := map[uint64]bool{}
	for _, b := range r.Breaches {
		if b.Law == checker.DeadlockFreedom || b.Law == checker.FaultTolerance {
			for _, seed := range r.Seeds(b) {
				seeds[seed] = true
			}
		}
	}
	return len(seeds)
}

// TestARunInWhichSomebodyWaitsIsCountedOnce repeats a cell in which some runs break both of the laws about waiting. The
// stored number of waits must be the number of runs, and not that of their breaches.
func TestARunInWhichSomebodyWaitsIsCountedOnce(t *testing.T) {
	testkit.ThoroughOnly(t)
	for i, stored := range results(t) {
		if stored.Library != "redsync-redigo" {
			continue
		}
		for k, c := range cells(&All[i]) {
			if c.family.name != "restarts" || !c.work.renewed || c.protection.name != "careful" {
				continue
			}
			r, ok := locktest.Explore(t, c.config(stored.Cells[k].Runs))
			breaches := 0
			for _, b := range r.Breaches {
				if b.Law == checker.DeadlockFreedom || b.Law == checker.FaultTolerance {
					breaches += b.Runs
				}
			}
			if n := waits(r); !ok || n != stored.Cells[k].Waits || n >= breaches {
				t.Errorf("%d runs and %d breaches, stored as %d", n, breaches, stored.Cells[k].Waits)
			}
			return
		}
	}
	t.Error("there is no such cell")
}

// described reports whether a breach gets its own paragraph. Usually it does. Under mutual-exclusion, it does only if
// it was caused by slow work, because the other causes are described under lease-exclusion. There are two exceptions.
// If the cause is not recorded, the breach gets a paragraph unless the servers are replicated: if one of two masters
// granted an extension, the checker does not report what happened to it. If the cause is a miscounted validity, it gets
// one only under lease-exclusion, on servers that are not replicated, and not if the faults are pauses.
func described(c cell, b locktest.Breach) bool {
	switch b.Cause.Kind {
	case checker.CauseNotRecorded:
		return !c.library.replicated()
	case checker.ValidityMiscounted:
		return c.family.name != "pauses" && !c.library.replicated() && b.Law == checker.LeaseExclusion
	}
	return b.Law != checker.MutualExclusion || b.Cause.Detail == checker.BySlowWork
}

// offer stores the candidate if it is the first for its kind of violation, or if it ranks before the stored one: a
// careful client comes first, then an unprotected one, then one that only uses fencing tokens.
func (m *matrix) offer(c *candidate) {
	key := string(c.Law) + " " + c.Cause.String()
	rank := func(c *candidate) int { return slices.Index([]string{"careful", "none", "fenced"}, c.protection.name) }
	if old := m.best[key]; old == nil {
		m.order = append(m.order, key)
		m.best[key] = c
	} else if rank(c) < rank(old) {
		m.best[key] = c
	}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// write shrinks the findings and replaces the stored ones.
func (m *matrix) write() {
	clearFindings(m.t, "testdata", m.Library)
	for _, key := range m.order {
		c := m.best[key]
		small, err := c.report.Shrink(c.Breach)
		if err != nil {
			m.t.Error(err)
			continue
		}
		f := finding{Name: m.Library + "-" + strings.Trim(notInNames.ReplaceAllString(key, "-"), "-"),
			Family: c.family.name,
			Work:   c.work.name, Protection: c.protection.name, Law: c.Law, Cause: c.Cause, Runs: c.Runs,
			Of:   c.report.Runs,
			Seed: c.Seed,
			CPU:  c.report.CPU * time.Duration(c.Seed) / time.Duration(c.report.Runs), Minimal: small.Minimal}
		for _, line := range strings.Split(strings.TrimSpace(small.Plan), "\n") {
			if word, _, _ := strings.Cut(line, " "); word != "#" && word != "scenario" && word != "seed" {
				f.Faults = append(f.Faults, line)
			}
		}
		small.Test = f.test(m.Library)
		if err := small.Save(filepath.Join("testdata", f.Name)); err != nil {
			m.t.Fatal(err)
		}
		save(m.t, "_runs", f.Name+".txt", small.Text)
		m.Findings = append(m.Findings, f)
	}
	text, err := json.MarshalIndent(m.result, "", " ")
	if err != nil {
		m.t.Fatal(err)
	}
	save(m.t, "testdata", m.Library+".json", string(text)+"\n")
}

// clearFindings removes a library's findings from a folder. The library's stored result lists them.
func clearFindings(t *testing.T, folder, library string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, library+".json"))
	if errors.Is(err, os.ErrNotExist) {
		return
	}
	var was result
	if err == nil {
		err = json.Unmarshal(text, &was)
	}
	for _, f := range was.Findings {
		err = errors.Join(err, os.RemoveAll(filepath.Join(folder, f.Name)))
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestFindingsOfBeforeAreCleared(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"a-stuck", "a-late", "a-b-stuck"} {
		save(t, filepath.Join(folder, name), "plan.txt", "")
	}
	save(t, folder, "a.json", `{"Library": "a", "Findings": [{"Name": "a-stuck"}, {"Name": "a-late"}, {"Name": "a-gone"}]}`)
	clearFindings(t, folder, "a")
	clearFindings(t, folder, "b")
	left, err := filepath.Glob(filepath.Join(folder, "*"))
	if want := []string{filepath.Join(folder, "a-b-stuck"), filepath.Join(folder, "a.json")}; err != nil ||
		!slices.Equal(left, want) {
		t.Errorf("%v (%v) are left, want %v", left, err, want)
	}
}

func save(t *testing.T, folder, name, text string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}
