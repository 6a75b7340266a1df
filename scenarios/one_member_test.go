package scenarios

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestWhatAServiceLosesDependsOnItsMembers checks what each service loses when its first member is stopped, in
// different ways, while client-1 holds the lock and is paused. With three members, nothing is lost. With one member,
// nothing is lost if it keeps its disk. If the only member loses its disk, it restarts empty and grants the lock again
// long before client-1's lease ends.
func TestWhatAServiceLosesDependsOnItsMembers(t *testing.T) {
	for _, service := range []struct {
		servers, lock string
		pause         string // how long the holder is paused: less than its lease, but longer than an election
		token         checker.CauseKind
		ownership     checker.CauseKind
	}{
		// In these cases client-1 does not remove another client's key. Its key or znode has a unique name, and its
		// release deletes only that one. A Kubernetes leader that could not renew its lease leaves the record
		// unchanged.
		{"etcd", "{protocol: etcd, ttl: 4s}", "3s", checker.TokenRepeated, ""},
		// The token is the zxid of the transaction that created the znode, and each new session uses up one zxid.
		// Before the first znode, two sessions were created. After the crash, only one was created before the next
		// znode, so the new token is lower.
		{"zookeeper", "{protocol: zookeeper, ttl: 4s}", "3s", checker.TokenWentBack, ""},
		{"kubernetes", "{protocol: lease-object}", "12s", checker.TokenRepeated, ""},
		// Here, the release compares the revision at which the key was set. After the crash, revisions start over at 1,
		// so another client's key can have the same revision.
		{"etcd", "{protocol: etcd, ttl: 4s, line: one-key}", "3s", checker.TokenRepeated,
			checker.RemovedByNonOwner},
	} {
		for _, members := range []int{1, 3} {
			for _, stop := range []string{"crash %s-1 losing unsynced writes", "crash %s-1 losing everything",
				"shut down %s-1"} {
				for seed := range uint64(testkit.Size(1, 5, 5)) {
					text := fmt.Sprintf("name: x\nservers: {%s: %d}\nclients: 3\nlock: %s\n"+
						"work: {writes: 1, hold: 5s}\noverrides: {client-3: {work: {start: 1s}}}\nfaults:\n"+
						"  - pause client-1 for %s at 500ms\n  - "+stop+" at 600ms, restart after 100ms\n",
						service.servers, members, service.lock, service.pause, service.servers)
					want := map[checker.Law]checker.Cause{}
					if members == 1 && strings.Contains(stop, "everything") {
						lost := checker.Cause{Kind: checker.LostInCrash, Detail: checker.DiskLost}
						want[checker.LeaseExclusion], want[checker.MutualExclusion] = lost, lost
						want[checker.TokenOrder] = checker.Cause{Kind: service.token}
						if service.ownership != "" {
							want[checker.Ownership] = checker.Cause{Kind: service.ownership}
						}
					}
					s := parseText(t, text)
					r, err := NewRunner(s).Run(s.Plan(seed))
					if err != nil {
						t.Fatal(err)
					}
					for _, f := range checker.Check(r.History).Findings {
						c, broken := want[f.Law]
						if broken != (f.Outcome == checker.Violated) || broken && f.Cause != c {
							t.Errorf("%sseed %d: %s: %v by %v, want %v: %s", text, seed, f.Law, f.Outcome, f.Cause, c,
								f.Explanation)
						}
						const remedy = "Run three members: the others still have what one of them loses."
						if broken && !strings.Contains(f.Remedy, remedy) {
							t.Errorf("%s%s: the remedy is %q", text, f.Law, f.Remedy)
						}
					}
				}
			}
		}
	}
}
