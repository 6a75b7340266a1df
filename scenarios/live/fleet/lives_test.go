//go:build linux

package fleet

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
)

// loop stands in for the world's goroutine. It runs functions immediately.
type loop struct{}

func (loop) Do(f func()) { f() }

func TestMain(m *testing.M) {
	process.Main()
	os.Exit(m.Run())
}

// newLives returns the Lives of a shell script. Its first process is already running.
func newLives(t *testing.T, script string) (l *Lives, failures chan error) {
	t.Helper()
	k, err := process.Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	d := &process.Daemon{Keeper: k, Name: "d-1", Folder: filepath.Join(k.Folder(), "d-1"), Env: os.Environ(),
		Args: []string{"/bin/sh", "-c", script}}
	if err := errors.Join(os.Mkdir(d.Folder, 0o700), d.Start()); err != nil {
		t.Fatal(err)
	}
	failures = make(chan error, 10)
	l = &Lives{Daemon: d, fleet: &Fleet{Failed: func(err error) { failures <- err }}}
	l.fleet.gate.begin(loop{})
	return l, failures
}

// TestALifeAfterTheOther checks the order in which a server's processes start and end. A process does not start until
// the previous one has ended and its files have been changed as required by the kind of stop. For example, a power loss
// loses writes that were not synced. If the server is stopped again before the process has started, the process must
// not start.
func TestALifeAfterTheOther(t *testing.T) {
	l, failures := newLives(t, "exec sleep 1000")
	var did []string
	first := l.Begin(nil)
	if err := first.Boot(func() error { return errors.New("it runs already") }); err != nil {
		t.Error(err)
	}
	pid, may := l.Daemon.PID(), make(chan struct{})
	first.Stop(sim.PowerLoss, func() error {
		<-may
		did = append(did, "ended")
		return errors.New("the disk is gone")
	})
	booted := make(chan error)
	boot := func(x *Life) {
		booted <- x.Boot(func() error {
			did = append(did, "started")
			return l.Daemon.Start()
		})
	}
	second := l.Begin(nil)
	go boot(second)
	close(may)
	if err := <-booted; err != nil || !slices.Equal(did, []string{"ended", "started"}) || l.Daemon.PID() == pid {
		t.Errorf("%v, %q", err, did)
	}
	if err := <-failures; err.Error() != "ending d-1: the disk is gone" {
		t.Error(err)
	}

	second.Stop(sim.PowerLoss, func() error { return nil })
	third := l.Begin(nil)
	third.Stop(sim.PowerLoss, func() error { return nil })
	go boot(third)
	if err := <-booted; !errors.Is(err, ErrOver) || len(did) != 2 {
		t.Errorf("what is over before it has begun: %v, %q", err, did)
	}
}

// TestWhatALifeStillSays checks that a process's actions count only during its Life, which lasts until the process is
// stopped. If it fails several times, only the first failure counts.
func TestWhatALifeStillSays(t *testing.T) {
	l, failures := newLives(t, "exec sleep 1000")
	x := l.Begin(nil)
	done := 0
	x.Do(func() { done++ })
	l.end()
	x.Do(func() { done++ })
	x.Fail(errors.New("of no interest"))
	if done != 1 || !x.IsOver() || len(failures) != 0 {
		t.Errorf("%d done, %d failures", done, len(failures))
	}
	x = l.Begin(nil)
	l.Daemon.Kill()
	x.Watch()
	x.Explain(errors.New("it does not answer"))
	if err := <-failures; !strings.HasPrefix(err.Error(), "d-1: /bin/sh ended by itself: it was ended by signal 9") {
		t.Error(err)
	}
	if len(failures) != 0 {
		t.Errorf("reported again: %v", <-failures)
	}
}
