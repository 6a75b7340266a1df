package checker

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestATrialSaysBetweenWhomTheLawIsBroken checks trials in which the same cause breaks the law again. The trial's text
// must name the clients, and must not count one client as two.
func TestATrialSaysBetweenWhomTheLawIsBroken(t *testing.T) {
	clients := func(names ...history.Process) []history.Process { return names }
	for _, c := range []struct {
		others []history.Process
		want   string
	}{
		{clients("client-1"), "but with client-1."},
		{clients("client-1", "client-2"), "but with client-1 and client-2."},
		{clients("client-1", "client-1"), "but with client-1 (2 attempts)."},
		{clients("client-1", "client-1", "client-2"), "but with client-1 (2 attempts) and client-2."},
	} {
		want := "Without any fault: violated with the same cause, " + c.want
		if got := (Trial{Others: c.others}).String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
