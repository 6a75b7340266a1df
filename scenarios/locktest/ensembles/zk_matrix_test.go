package ensembles

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

var updateZK = flag.Bool("update-zk", false, "run the matrix of zk.Lock, and write testdata and ZOOKEEPER.md anew")

// zkFamilies are the faults of the matrix. Members of an ensemble never lose their leader without one of the first
// three.
var zkFamilies = []struct {
	name   string
	faults locktest.Faults
}{
	{"pauses", locktest.Pauses},
	{"network", locktest.Network},
	{"restarts", locktest.Restarts},
	{"clocks", locktest.Clocks},
	{"sessions", locktest.Faults{"expire session"}},
	{"all", nil},
}

var zkCares = []struct {
	name string
	care locktest.Care
}{
	{"none", locktest.Care{}},
	{"careful", locktest.Care{StopsWhenTold: true}},
	{"fenced", locktest.Care{Fences: true}},
}

// zkSeeds is how many runs each cell of the matrix has.
const zkSeeds = 40

// zkFinding is one way in which a client of zk.Lock broke a law, with its smallest run in testdata/Name.
type zkFinding struct {
	Name, Client, Family, Care string
	Law                        checker.Law
	Cause                      checker.Cause
	Runs, Of                   int
	Seed                       uint64
	CPU                        string   // to the seed, estimated by its share of the runs of its cell
	Faults                     []string // of the smallest run
}

// zkCell is in how many runs of a client, family and care a law was broken.
type zkCell struct {
	Client, Family, Care        string
	Leases, Inside, Data, Waits int
}

type zkResult struct {
	Cells    []zkCell
	Findings []zkFinding
}

func zkConfig(client int, care locktest.Care) locktest.Config {
	open := zkClients[client].open
	return locktest.Config{Servers: locktest.ZooKeeper(3), TTL: ttl, Compute: ttl / 2, Cycles: 2, Care: care,
		Laws: checker.Laws, New: func(c *locktest.Client) locktest.Lock {
			l := open(c)
			switch l := l.(type) {
			case *zkLock:
				l.fenced = care.Fences
			case closingZKLock:
				l.fenced = care.Fences
			}
			return l
		}}
}

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// TestZKMatrix, with -update-zk, runs the matrix. Of a violation that several cells show, that in the hands of the most
// careful client is kept.
func TestZKMatrix(t *testing.T) {
	if !*updateZK && os.Getenv("FENCEPOST_LOCKTEST") == "" {
		t.Skip("it is run with -update-zk; TestZKFindings replays what it has found")
	}
	var result zkResult
	for i, client := range zkClients {
		found := map[string]int{}
		for _, family := range zkFamilies {
			for _, care := range zkCares {
				c := zkConfig(i, care.care)
				c.Faults, c.Seeds = family.faults, zkSeeds
				r, ok := locktest.Explore(t, c)
				if !ok {
					continue
				}
				for _, f := range r.Failures {
					t.Errorf("%s, %s, %s, seed %d: %s", client.name, family.name, care.name, f.Seed, f.Text)
				}
				cell := zkCell{Client: client.name, Family: family.name, Care: care.name,
					Leases: r.Violated(checker.LeaseExclusion), Inside: r.Violated(checker.MutualExclusion),
					Data: r.Violated(checker.ResourceSafety), Waits: r.Violated(checker.DeadlockFreedom)}
				result.Cells = append(result.Cells, cell)
				for _, b := range r.Breaches {
					key := string(b.Law) + " " + b.Cause.String()
					at, known := found[key]
					if known && care.name != "careful" || known && result.Findings[at].Care == "careful" {
						continue
					}
					f := keepZK(t, r, b, client.name+" "+key)
					f.Client, f.Family, f.Care = client.name, family.name, care.name
					if known {
						result.Findings[at] = f
						continue
					}
					found[key] = len(result.Findings)
					result.Findings = append(result.Findings, f)
				}
			}
		}
	}
	if os.Getenv("FENCEPOST_LOCKTEST") != "" {
		return
	}
	text, err := json.MarshalIndent(result, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("testdata/zk.json", append(text, '\n'), 0o666); err != nil {
		t.Fatal(err)
	}
}

// keepZK cuts a breach down and writes its smallest run to testdata.
func keepZK(t *testing.T, r *locktest.Report, b locktest.Breach, name string) zkFinding {
	t.Helper()
	small, err := r.Shrink(b)
	if err != nil {
		t.Fatal(err)
	}
	f := zkFinding{Name: strings.Trim(notInNames.ReplaceAllString(strings.ToLower(name), "-"), "-"), Law: b.Law,
		Cause: b.Cause, Runs: b.Runs, Of: r.Runs, Seed: b.Seed,
		CPU: fmt.Sprintf("%.1f s", r.CPU.Seconds()*float64(b.Seed)/float64(r.Runs))}
	for line := range strings.Lines(strings.TrimSpace(small.Plan)) {
		if word, _, _ := strings.Cut(line, " "); word != "#" && word != "scenario" && word != "seed" {
			f.Faults = append(f.Faults, strings.TrimSpace(line))
		}
	}
	if err := small.Save(filepath.Join("testdata", f.Name)); err != nil {
		t.Fatal(err)
	}
	return f
}

func zkResults(t *testing.T) (r zkResult) {
	t.Helper()
	text, err := os.ReadFile("testdata/zk.json")
	if err == nil {
		err = json.Unmarshal(text, &r)
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestZKFindings replays what the matrix has found and demands that it breaks the law that it is said to break, by the
// cause.
func TestZKFindings(t *testing.T) {
	for _, f := range zkResults(t).Findings {
		t.Run(f.Name, func(t *testing.T) {
			client := 0
			for zkClients[client].name != f.Client {
				client++
			}
			care := zkCares[slices.IndexFunc(zkCares, func(c struct {
				name string
				care locktest.Care
			}) bool {
				return c.name == f.Care
			})]
			c := zkConfig(client, care.care)
			c.Replay, c.Laws = filepath.Join("testdata", f.Name, "plan.txt"), []checker.Law{f.Law}
			r, ok := locktest.Explore(t, c)
			if !ok {
				return
			}
			if len(r.Failures) > 0 || len(r.Breaches) != 1 || r.Breaches[0].Cause != f.Cause {
				t.Errorf("it should break %s by %s: %+v %v", f.Law, f.Cause, r.Breaches, r.Failures)
			}
		})
	}
}
