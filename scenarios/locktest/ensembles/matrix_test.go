package ensembles

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/locktest"
	"github.com/fencepost-sim/fencepost/scenarios/locktest/matrixtest"
)

// families lists matrixtest's fault families, and a family of faults that end clients' sessions.
var families = slices.Insert(slices.Clone(matrixtest.Families), 4, matrixtest.Family{Name: "sessions",
	Faults: locktest.Sessions})

// TestMatrix runs each client under each family of faults if -update is set. With -run 'TestMatrix/^zk-lock$', it runs
// a single client.
func TestMatrix(t *testing.T) { matrixtest.Run(t, clients, families) }

// TestFindings replays the findings stored by TestMatrix.
func TestFindings(t *testing.T) { matrixtest.Replay(t, clients) }

// The titles of the reasons explained in README.md.
const (
	notRechecked = "Won with a session that is over"
	ended        = "A session that an operator ends"
	worksOn      = "A holder that works on" // also in ZOOKEEPER.md
	paused       = "A pause longer than the lease"
)

var etcdReasons = matrixtest.Reasons{
	"etcd-mutex mutual-exclusion: holder outlived its lease (pause)":        paused,
	"etcd-mutex lease-exclusion: session expired":                           ended,
	"etcd-mutex mutual-exclusion: session expired":                          ended,
	"etcd-election mutual-exclusion: holder outlived its lease (pause)":     paused,
	"etcd-election lease-exclusion: session expired":                        ended,
	"etcd-election mutual-exclusion: session expired":                       ended,
	"etcd-election lease-exclusion: lease not rechecked":                    notRechecked,
	"etcd-election mutual-exclusion: lease not rechecked":                   notRechecked,
	"etcd-election resource-safety: superseded holder took effect":          notRechecked,
	"etcd-election resource-safety: update lost":                            notRechecked,
	"etcd-election-all-resource-safety-superseded-holder-took-effect":       paused,
	"etcd-lock-service mutual-exclusion: holder outlived its lease (pause)": paused,
	"etcd-lock-service lease-exclusion: session expired":                    ended,
	"etcd-lock-service mutual-exclusion: session expired":                   ended,
	"etcd-lock-service lease-exclusion: lease not rechecked":                notRechecked,
	"etcd-lock-service mutual-exclusion: lease not rechecked":               notRechecked,
	"etcd-lock-service resource-safety: update lost":                        notRechecked,
	"etcd-lock-service resource-safety: superseded holder took effect":      paused,
}

// The titles of the reasons explained in ZOOKEEPER.md.
const (
	inItsOwnWay  = "A lost answer while it waits"
	news         = "News of the end travels"
	pausedBeyond = "A pause longer than the session"
	lateWrite    = "A write that comes late"
)

var zkReasons = matrixtest.Reasons{
	"zk-lock deadlock-freedom: stuck behind an abandoned key (session lives on)": inItsOwnWay,
	"zk-lock lease-exclusion: session expired":                                   news,
	"zk-lock mutual-exclusion: session expired":                                  news,
	"zk-lock-all-mutual-exclusion-session-expired":                               worksOn,
	"zk-lock mutual-exclusion: holder outlived its lease (pause)":                pausedBeyond,
	"zk-lock resource-safety: update lost":                                       lateWrite,
	"zk-anew mutual-exclusion: session expired":                                  worksOn,
	"zk-anew mutual-exclusion: holder outlived its lease (pause)":                pausedBeyond,
	"zk-anew resource-safety: superseded holder took effect":                     lateWrite,
}

// TestTables checks that README.md and ZOOKEEPER.md list the findings in testdata and their reasons.
func TestTables(t *testing.T) {
	of := func(prefix string) (some []matrixtest.Client) {
		for _, c := range clients {
			if strings.HasPrefix(c.Name, prefix) {
				some = append(some, c)
			}
		}
		return some
	}
	matrixtest.Table(t, "README.md", "matrix", of("etcd-"), families, etcdReasons)
	matrixtest.Table(t, "ZOOKEEPER.md", "matrix", of("zk-"), families, zkReasons)
}
