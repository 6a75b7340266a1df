package nemesis

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestAPlanCountsFromItsInstallation checks that a plan's times, and the number of times that a client has passed a
// point, are counted from when the plan was installed.
func TestAPlanCountsFromItsInstallation(t *testing.T) {
	w := sim.New(1, sim.Options{})
	w.AddClient("client-1", 0, func(env sim.Env) {
		for range 3 {
			env.Point(sim.Acquired)
			env.Sleep(3 * time.Second)
		}
	})
	w.Run(history.Of(5*time.Second), nil) // by now, the client has passed the point twice
	names := Names{Clients: []sim.ProcessID{"client-1"}}
	var faults []Fault
	for _, line := range []string{"pause client-1 for 500ms at 0s", "pause client-1 for 1s at 2s",
		"pause client-1 for 100ms after acquired"} {
		f, err := ParseFor(line, names)
		if err != nil {
			t.Fatal(err)
		}
		faults = append(faults, f)
	}
	installed := Install(w, names, faults)
	w.Run(history.Of(time.Minute), func() bool { return installed.Over() && !w.Busy() })
	var got []string
	for _, e := range w.Finish().Events {
		got = append(got, fmt.Sprint(e.Time.Duration(), " ", e.Type))
	}
	if want := "[5s invoke 5.5s ok 6s invoke 6.1s ok 7s invoke 8s ok]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}
