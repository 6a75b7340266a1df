package ensembles

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// TestRemediesHelp applies remedies. Under the same fault, a client that follows the remedy keeps the law that another
// client breaks.
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
			at := slices.IndexFunc(clients, func(c matrixtest.Client) bool { return c.Name == name })
			config := clients[at].Config
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
