package locks

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// TestASessionProlongsWhatItKeeps checks that when a session is extended, a hold that its client has not received yet
// keeps its grant time. If a hold is removed while the owner of another is being notified, the removed hold must not
// change.
func TestASessionProlongsWhatItKeeps(t *testing.T) {
	w := sim.New(1, sim.Options{})
	var untold, first, second, third Hold
	var prolonged []*Hold
	w.AddClient("client-1", 0, func(env sim.Env) {
		env.Sleep(time.Second)
		l := &Library{}
		for _, h := range []*Hold{&untold, &first, &second, &third} {
			h.Grant.Granted = env.Mark()
			l.keep(h)
		}
		for _, h := range []*Hold{&first, &second, &third} {
			h.Prolonged = func(env sim.Env) {
				prolonged = append(prolonged, h)
				l.drop(&second)
				env.Sleep(time.Second)
			}
		}
		env.Sleep(time.Second)
		l.prolonged(env, sim.Deadline{Clock: sim.Monotonic, At: time.Minute}, func(*Hold) bool { return true })
	})
	w.Run(sim.Time(time.Minute), nil)
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	if len(prolonged) != 2 || prolonged[0] != &first || prolonged[1] != &third {
		t.Errorf("%d were notified, want the first and the third", len(prolonged))
	}
	for _, test := range []struct {
		what    string
		hold    *Hold
		granted time.Duration
		until   time.Duration
	}{
		{"untold", &untold, time.Second, time.Minute},
		{"first", &first, 2 * time.Second, time.Minute},
		{"second", &second, time.Second, 0},
		{"third", &third, 3 * time.Second, time.Minute},
	} {
		granted, until := w.Time(test.hold.Grant.Granted), test.hold.Grant.Until.At
		if granted != history.Of(test.granted) || until != test.until {
			t.Errorf("%s: granted at %v, until %v", test.what, granted.Duration(), until)
		}
	}
}
