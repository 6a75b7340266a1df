//go:build linux

package etcdserver

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// onlooker stands in for a member's host in record tests.
type onlooker struct {
	sim.Host
	said *[]string
}

func (onlooker) Due(d time.Duration) sim.Time { return history.Of(d) }

func (o onlooker) Record(e history.Event) {
	*o.said = append(*o.said, fmt.Sprint(e.F, " ", e.Member, " of ", e.Of, " ", e.Why, " ", e.Until))
}

// TestRevisionsAreRecordedOnce checks that each revision is recorded once, with the owner of each key. The owner must
// be the only attempt that sent a matching request.
func TestRevisionsAreRecordedOnce(t *testing.T) {
	var said []string
	m, r := &member{Lives: &fleet.Lives{Host: onlooker{said: &said}}}, newRecords()
	r.ttls[7] = 2 * time.Second
	either := etcd.Txn{Then: []etcd.Op{{Kind: etcd.Put, Key: "m", Value: "x"}},
		Else: []etcd.Op{{Kind: etcd.Put, Key: "n", Value: "x"}}}
	r.puts = []*request{{call: put("l/1", "a", 7), attempt: "A"}, {call: either.Call(), attempt: "B"},
		{call: put("m", "x", 0), attempt: "C"}}
	set := func(key, value string, lease int64) change {
		return change{WatchEvent: etcd.WatchEvent{KeyValue: etcd.KeyValue{Key: key, Value: value, Lease: lease}}}
	}
	var answered []string
	for _, revision := range []int64{3, 1, 2} {
		r.whenRecorded(revision, func() { answered = append(answered, fmt.Sprint(revision, " after ", len(said))) })
	}
	r.take(m, 1, []change{set("l/1", "a", 7)})
	r.take(m, 1, []change{set("l/1", "a", 7)})
	r.take(m, 2, []change{set("m", "x", 0), set("n", "x", 0)})
	gone := change{WatchEvent: etcd.WatchEvent{KeyValue: etcd.KeyValue{Key: "l/1"}, Deleted: true}}
	r.take(m, 3, []change{gone, set("l/1", "a", 0)})
	r.whenRecorded(2, func() { answered = append(answered, "at once") })
	forever := history.Never.String()
	if want := []string{"key-set l/1 of A  2.000 s", "key-set m of   " + forever, "key-set n of B  " + forever,
		"key-gone l/1 of A not recorded 0.000 s", "key-set l/1 of   " + forever}; !slices.Equal(said, want) {
		t.Errorf("recorded %q, want %q", said, want)
	}
	if want := []string{"1 after 1", "2 after 3", "3 after 5", "at once"}; !slices.Equal(answered, want) {
		t.Errorf("answered %q, want %q", answered, want)
	}
}
