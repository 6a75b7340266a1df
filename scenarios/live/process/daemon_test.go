//go:build linux

package process

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// newDaemon returns a daemon whose program is a shell script.
func newDaemon(t *testing.T, script string) *Daemon {
	t.Helper()
	k, err := Start()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { k.Close() })
	d := &Daemon{Keeper: k, Name: "d-1", Folder: filepath.Join(k.Folder(), "d-1"), Env: os.Environ(),
		Args: []string{"/bin/sh", "-c", script}}
	if err := os.Mkdir(d.Folder, 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func launch(t *testing.T, d *Daemon) {
	t.Helper()
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
}

func state(t *testing.T, d *Daemon) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(d.PID()), "stat"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// TestAPauseHoldsForWhatIsStartedMeanwhile checks that a process that is started during a pause is also paused until
// the pause ends.
func TestAPauseHoldsForWhatIsStartedMeanwhile(t *testing.T) {
	d := newDaemon(t, "exec sleep 1000")
	if err := d.Hold(true); err != nil || d.PID() != 0 || d.Ended() != nil {
		t.Errorf("before the first process: %v", err)
	}
	for range 2 {
		launch(t, d)
		if got := state(t, d); got != "T" {
			t.Errorf("what is started in a pause is in state %s, want T", got)
		}
		d.Kill()
		<-d.Ended()
	}
	launch(t, d)
	if err := d.Hold(false); err != nil {
		t.Error(err)
	}
	if got := state(t, d); got == "T" {
		t.Error("after the pause it still stands")
	}
	if d.Kill(); d.Hold(true) != nil || d.Hold(false) != nil {
		t.Error("what has ended cannot be held")
	}
}

// TestHowADaemonEnds checks that a daemon ends when it is asked to, whether or not it is paused. If it does not end, it
// is killed. It may also end on its own.
func TestHowADaemonEnds(t *testing.T) {
	d := newDaemon(t, `trap 'echo asked; exit 3' TERM; [ -p p ] || mkfifo p; exec 3<>p; echo ready; while :; do read x <&3; done`)
	for _, held := range []bool{false, true} {
		launch(t, d)
		awaitLog(t, d, "ready")
		if err := d.Hold(held); err != nil {
			t.Fatal(err)
		}
		d.ShutDown(time.Minute, time.Minute)
		if got := d.running().ended().Code; got != 3 {
			t.Errorf("asked to end it ends with %d", got)
		}
		if err := d.Hold(false); err != nil {
			t.Fatal(err)
		}
		if err := os.Remove(d.log()); err != nil {
			t.Fatal(err)
		}
	}
	d = newDaemon(t, `trap '' TERM; [ -p p ] || mkfifo p; exec 3<>p; echo ready; while :; do read x <&3; done`)
	launch(t, d)
	awaitLog(t, d, "ready")
	d.ShutDown(10*time.Millisecond, time.Millisecond)
	<-d.Ended()

	d = newDaemon(t, "for i in 1 2 3 4 5 6 7; do echo $i; done; exit 4")
	launch(t, d)
	<-d.Ended()
	err := d.Died()
	if want := "it ended with exit status 4; it printed\n  3\n  4\n  5\n  6\n  7"; !errors.Is(err, errDied) ||
		!strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
}

// awaitLog waits until the process has logged the given text.
func awaitLog(t *testing.T, d *Daemon, what string) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !strings.Contains(d.LastWords(), what); {
		if time.Now().After(end) {
			t.Fatalf("it does not say %s%s", what, d.LastWords())
		}
	}
}
