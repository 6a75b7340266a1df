package scenarios

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/nemesis/draw"
)

// childVar is the name of an environment variable. If it is set, the test binary prints its fingerprints and exits.
const childVar = "FENCEPOST_PRINT_FINGERPRINTS"

func TestMain(m *testing.M) {
	if os.Getenv(childVar) != "" {
		text, err := fingerprints(Names(), allSeeds)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		fmt.Print(text)
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// allSeeds is the number of runs of each scenario in the golden file, one for each seed.
const allSeeds = 3

// fingerprints performs a set of runs and returns one line for each, with the run's digest and a hash of its history.
// The set contains runs of each given scenario of the catalog with the first seeds, and runs under five random faults.
func fingerprints(names []string, seeds uint64) (string, error) {
	var b strings.Builder
	for _, name := range names {
		s, err := Named(name)
		if err != nil {
			return "", err
		}
		random, err := draw.NewGenerator(draw.Default(), s.Targets(), s.Limit)
		if err != nil {
			return "", err
		}
		r := NewRunner(s)
		for seed := range seeds {
			drawn := nemesis.Plan{Scenario: name, Seed: seed, Faults: random.Draw(seed)}
			for _, plan := range []nemesis.Plan{s.Plan(seed), drawn} {
				if err := fingerprint(&b, r, plan); err != nil {
					return "", fmt.Errorf("%w\n%s", err, plan)
				}
			}
		}
	}
	return b.String(), nil
}

func fingerprint(b *strings.Builder, r *Runner, plan nemesis.Plan) error {
	result, err := r.Run(plan)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	if err := history.Encode(&text, result.History); err != nil {
		return err
	}
	fmt.Fprintf(b, "%s %d %016x %x\n", plan.Scenario, plan.Seed, uint64(result.Digest), sha256.Sum256(text.Bytes()))
	return nil
}

// TestRunsRepeatToTheByte compares runs with a golden file. Runs must be equal across processes, machines, and builds
// with and without the race detector. By default, only some scenarios run, with the first seed. The full test
// also compares runs within one process, and runs with one thread and with two. If the golden file must change, a seed
// no longer gives the run that it gave before.
func TestRunsRepeatToTheByte(t *testing.T) {
	names, seeds := Names(), uint64(testkit.Size(1, 1, allSeeds))
	switch {
	case *testkit.Update:
		seeds = allSeeds
	case !testkit.Thorough():
		names = testkit.Sample(t, names)
	}
	here, err := fingerprints(names, seeds)
	if err != nil {
		t.Fatal(err)
	}
	var threads []string
	if testkit.Full() {
		if again, err := fingerprints(names, seeds); err != nil || again != here {
			t.Fatalf("the second time in one process differs: %s %v", firstDifference(here, again), err)
		}
		threads = []string{"1", "2"}
	}
	for _, n := range threads {
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), childVar+"=1", "GOMAXPROCS="+n)
		there, err := child.Output()
		if err != nil {
			t.Fatal(err)
		}
		if string(there) != here {
			t.Errorf("another process with GOMAXPROCS=%s differs: %s", n, firstDifference(here, string(there)))
		}
	}
	const file = "testdata/digests.txt"
	if *testkit.Update {
		testkit.Write(t, file, here)
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if first := ofRuns(string(want), names, seeds); first != here {
		t.Errorf("differs from %s (rewrite with -update): %s", file, firstDifference(first, here))
	}
}

// ofRuns returns the lines of fingerprints for the given scenarios and the first seeds.
func ofRuns(lines string, names []string, seeds uint64) string {
	var b strings.Builder
	for line := range strings.Lines(lines) {
		words := strings.Fields(line)
		seed, err := strconv.ParseUint(words[1], 10, 64)
		if slices.Contains(names, words[0]) && (err != nil || seed < seeds) {
			b.WriteString(line)
		}
	}
	return b.String()
}

// TestRunsOfSlowDisksRepeat checks that runs repeat if writes to the members' disks take longer than an election, so
// that a leader may be deposed during a write.
func TestRunsOfSlowDisksRepeat(t *testing.T) {
	for _, backend := range []string{"etcd", "zookeeper"} {
		for _, fsync := range []string{"1s", "2560ms", "5s"} {
			s, err := Parse("slow.yaml", []byte("name: slow\nclients: 2\nservers: {"+backend+": 3, fsync: "+fsync+
				"}\nlock: {protocol: "+backend+", ttl: 6s}\nlimit: 30s\n"))
			if err != nil {
				t.Fatal(err)
			}
			runs := map[string]bool{}
			for range 12 { // a random choice between two results would go unnoticed once in two thousand tests
				var b strings.Builder
				if err := fingerprint(&b, NewRunner(s), s.Plan(1)); err != nil {
					t.Fatal(err)
				}
				runs[b.String()] = true
			}
			if len(runs) > 1 {
				t.Errorf("%s with an fsync of %s: %d runs of one plan", backend, fsync, len(runs))
			}
		}
	}
}

func firstDifference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d: %q, %q", i+1, as[i], bs[i])
		}
	}
	return fmt.Sprintf("%d and %d lines", len(as), len(bs))
}
