package front

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// TestAKeyIsDeletedOnBehalfOfTheAttemptThatPutIt deletes a key that several of a client's attempts have tried to put.
// It checks which of these attempts the deletion is attributed to. This must be the attempt that put the key, according
// to the members' records. If the records do not name one, it must be the latest attempt.
func TestAKeyIsDeletedOnBehalfOfTheAttemptThatPutIt(t *testing.T) {
	put := etcd.Call{Path: "/etcdserverpb.KV/Put", Message: "\n\x01k"}
	remove := etcd.Call{Path: "/etcdserverpb.KV/DeleteRange", Message: "\n\x01k"}
	for _, by := range []history.Attempt{"client-1/1", "client-1/2", ""} {
		callers := Etcd{}.Begin()
		c := callers.Caller("client-1").(*caller)
		for _, a := range []history.Attempt{"client-1/1", "client-1/2", "client-1/3"} {
			if c.Begin(a, 0); a == "client-1/3" {
				break
			}
			if got := c.behalf(&put); got != a {
				t.Errorf("%s puts the key on behalf of %s", a, got)
			}
			if a == by {
				callers.Recorded(&history.Event{F: history.KeySet, Of: by, By: by})
			}
		}
		want := by
		if want == "" {
			want = "client-1/3"
		}
		if got := c.behalf(&remove); got != want {
			t.Errorf("the key that %q put is deleted on behalf of %s, want %s", by, got, want)
		}
		if got := c.behalf(&remove); got != "client-1/3" {
			t.Errorf("a second deletion is on behalf of %s", got)
		}
	}
}
