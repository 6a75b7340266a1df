package trace

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

func TestAPromotionMovesTheMastersKeys(t *testing.T) {
	over := history.Fault{On: []history.Process{"redis-1"}, To: []history.Process{"redis-1-replica-1"}}
	p, ok := PromotionBy(history.Promotes, &over)
	if !ok {
		t.Fatal("a failover is no promotion")
	}
	for server, want := range map[history.Process]history.Process{"redis-1": "redis-1-replica-1",
		"redis-1-replica-1": "", "redis-1-replica-2": "redis-1-replica-2"} {
		if now, kept := p.Moved(server); now != want || kept != (want != "") {
			t.Errorf("the keys of %s are on %q, kept %v", server, now, kept)
		}
	}
	for _, f := range []*history.Fault{nil, {On: over.On}, {To: over.To}} {
		if _, ok := PromotionBy(history.Promotes, f); ok {
			t.Errorf("%+v is a promotion", f)
		}
	}
	if _, ok := PromotionBy(history.Kills, &over); ok {
		t.Error("a crash is a promotion")
	}
}
