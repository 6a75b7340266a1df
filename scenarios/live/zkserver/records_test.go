//go:build linux

package zkserver

import (
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// TestRecords checks the records of a client that requests a lock, releases it, requests it again, and closes its
// session.
func TestRecords(t *testing.T) {
	testkit.ThoroughOnly(t)
	r := start(t, 3)
	list := r.play(func(c *client) {
		c.connect(6000)
		c.folder("a")
		first := c.mustAsk("client-1/1", jute.Create2, request())
		path := first.Text()
		if path != "/locks/a/lock-0000000000" {
			t.Errorf("it was called %s", path)
		}
		c.mustAsk("client-1/1", jute.Delete, jute.Record(nil).Text(path).Int(-1))
		c.mustAsk("client-1/2", jute.Create2, request())
		c.mustAsk("", jute.CloseSession, nil)
	})
	equal(t, linesOf(list), []string{
		"key-set a/lock-0000000000 of client-1/1", "key-gone a/lock-0000000000 of client-1/1",
		"key-set a/lock-0000000001 of client-1/2", "key-gone a/lock-0000000001 of client-1/2"})
}

// TestWhatSeveralMembersSayIsRecordedOnce checks that each change is recorded once, even if one member lags behind the
// others.
func TestWhatSeveralMembersSayIsRecordedOnce(t *testing.T) {
	w := sim.New(1, sim.Options{})
	f, err := fleet.New(nil, false, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := &ensemble{Fleet: f, sessions: sessions{all: map[int64]session{7: {timeout: 4 * time.Second}}},
		records: records{nodes: map[string]node{}, asked: map[origin]history.Attempt{}}}
	f.Begin(immediate{})
	m := &member{Lives: f.Remote(), ensemble: e}
	w.AddServer("zookeeper-1", hosted{m})
	w.Run(0, nil)
	const path = "/locks/a/lock-0000000003"
	r, owned := &e.records, &zookeeper.Stat{Czxid: 10, EphemeralOwner: 7}
	r.ask(7, "/locks/a/lock-", "client-1/1")
	r.stands(m, "/locks/a", 9, &zookeeper.Stat{Czxid: 8}) // a folder is not a request for a lock
	r.gone(m, path, 9)                                    // the znode did not exist yet
	r.stands(m, path, 10, owned)
	r.stands(m, path, 12, owned)
	r.gone(m, path, 9) // this member lags behind
	if got := r.standing(); !slices.Equal(got, []string{path}) {
		t.Errorf("there stand %q", got)
	}
	r.gone(m, path, 20)
	r.gone(m, path, 21)
	r.stands(m, path, 19, owned) // this member lags behind
	r.stands(m, path, 22, owned) // a lost znode has come back
	again := &zookeeper.Stat{Czxid: 30}
	r.stands(m, path, 30, again)
	equal(t, linesOf(recorded(w)), []string{"key-set a/lock-0000000003 of client-1/1",
		"key-gone a/lock-0000000003 of client-1/1", "key-set a/lock-0000000003 of client-1/1",
		"key-gone a/lock-0000000003 of client-1/1", "key-set a/lock-0000000003 of "})
	if list := recorded(w); list[0].Until != history.Of(4*time.Second) || list[4].Until != history.Never {
		t.Errorf("due are %v and %v", list[0].Until, list[4].Until)
	}
}

// immediate stands in for the world's goroutine. It runs each function immediately.
type immediate struct{}

func (immediate) Do(f func()) { f() }

// hosted is a member that has a host but does not start a process.
type hosted struct{ *member }

func (h hosted) Start(host sim.Host) { h.Host = host }
