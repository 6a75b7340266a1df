package ensembles

import (
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

var update = flag.Bool("update", false, "run the matrix, and cut down what it finds")

// families are families of faults, from the default mix.
var families = []struct {
	name   string
	faults locktest.Faults // nil: all
}{
	{"pauses", locktest.Pauses},
	{"network", locktest.Network},
	{"restarts", locktest.Restarts},
	{"clocks", locktest.Clocks},
	{"sessions", locktest.Sessions},
	{"all", nil},
}

// cares are what a client does about its lock.
var cares = []struct {
	name string
	care locktest.Care
}{
	{"none", locktest.Care{}},
	{"stops", locktest.Care{StopsWhenTold: true}},
	{"fenced", locktest.Care{StopsWhenTold: true, Fences: true}},
}

// matrixSeeds is how many runs each cell of the matrix is made of.
const matrixSeeds = 40

var notInNames = regexp.MustCompile(`[^a-z0-9]+`)

// TestMatrix, with -update, tries each client under each family of faults, prints how often each law was broken, and
// leaves the smallest run of each finding in testdata, where TestFindings replays it.
func TestMatrix(t *testing.T) {
	if !*update && os.Getenv("FENCEPOST_LOCKTEST") == "" {
		t.Skip("it is run with -update; TestFindings replays what it has found")
	}
	for _, client := range clients {
		t.Run(client.Name, func(t *testing.T) {
			found := map[string]bool{}
			for _, care := range cares {
				if care.care.Fences && client.Tokenless {
					continue
				}
				for _, family := range families {
					c := client.Config
					c.Faults, c.Care, c.Seeds, c.Cycles, c.Laws = family.faults, care.care, matrixSeeds, 2, checker.Laws
					r, ok := locktest.Explore(t, c)
					if !ok {
						continue
					}
					var broken []string
					for _, b := range r.Breaches {
						broken = append(broken, fmt.Sprintf("%s (%s) %d", b.Law, b.Cause, b.Runs))
						name := folderOf(client.Name, b.Law, b.Cause.String())
						if found[name] || b.Cause.Kind == checker.CauseNotRecorded {
							continue
						}
						found[name] = true
						small, err := r.Shrink(b)
						if err != nil {
							t.Logf("%s is not cut down: %v", name, err)
							continue
						}
						if err := small.Save(filepath.Join("testdata", name)); err != nil {
							t.Fatal(err)
						}
					}
					t.Logf("%s, %s, %s: %d runs, %.1f s of CPU: %s", client.Name, care.name, family.name, r.Runs,
						r.CPU.Seconds(), strings.Join(broken, ", "))
				}
			}
		})
	}
}

// TestFindings replays what the matrix has found: each plan still breaks the law that its folder names.
func TestFindings(t *testing.T) {
	for _, client := range clients {
		plans, err := filepath.Glob(filepath.Join("testdata", client.Name+"-*", "plan.txt"))
		if err != nil {
			t.Fatal(err)
		}
		if len(plans) == 0 {
			t.Errorf("%s has no findings", client.Name)
		}
		for _, plan := range plans {
			folder := filepath.Base(filepath.Dir(plan))
			t.Run(folder, func(t *testing.T) {
				c := client.Config
				c.Replay, c.Laws = plan, checker.Laws
				r, ok := locktest.Explore(t, c)
				if !ok {
					return
				}
				if !slices.ContainsFunc(r.Breaches, func(b locktest.Breach) bool {
					return folderOf(client.Name, b.Law, b.Cause.String()) == folder
				}) {
					t.Errorf("it broke %v", r.Breaches)
				}
			})
		}
	}
}

// TestRemediesHelp applies remedies: under the same fault, a client that does what the remedy says keeps the law that
// another breaks.
func TestRemediesHelp(t *testing.T) {
	for _, c := range []struct {
		client, fault string
		law           checker.Law
		remedy        string
		applies       string
		care          locktest.Care
	}{
		{"zk-lock", "pause zookeeper-2 for 10s after released by client-1", checker.DeadlockFreedom,
			"After an acquire or a release that failed, end the session", "zk-anew", locktest.Care{}},
		{"zk-anew", "delay the WRITE of client-1 to resource by 10s", checker.ResourceSafety,
			"Let the resource compare fencing tokens", "zk-anew", locktest.Care{Fences: true}},
	} {
		explored := func(t *testing.T, name string, care locktest.Care) *locktest.Report {
			config := clients[slices.IndexFunc(clients, func(c client) bool { return c.Name == name })].Config
			config.Plan, config.Care, config.Laws = []string{c.fault}, care, []checker.Law{c.law}
			config.Cycles, config.Seeds = 2, 10
			r, ok := locktest.Explore(t, config)
			if !ok {
				t.FailNow()
			}
			return r
		}
		t.Run(c.client+"/"+string(c.law), func(t *testing.T) {
			r := explored(t, c.client, locktest.Care{})
			if len(r.Breaches) == 0 {
				t.Fatal("it keeps the law anyway")
			}
			small, err := r.Shrink(r.Breaches[0])
			if err != nil {
				t.Fatal(err)
			}
			if text := strings.Join(strings.Fields(small.Text), " "); !strings.Contains(text, c.remedy) {
				t.Errorf("%q is not the remedy of:\n%s", c.remedy, small.Text)
			}
		})
		t.Run(c.applies+"/remedied "+string(c.law), func(t *testing.T) {
			for _, b := range explored(t, c.applies, c.care).Breaches {
				t.Errorf("it breaks the law too: %s", b.Story)
			}
		})
	}
}

// folderOf names the folder of a finding.
func folderOf(client string, law checker.Law, cause string) string {
	return strings.Trim(notInNames.ReplaceAllString(fmt.Sprintf("%s %s %s", client, law, cause), "-"), "-")
}
