package locktest

import (
	"context"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// spinElsewhere spins on a thread other than the process's first thread, because that is where signals to the process
// are delivered.
func spinElsewhere() {
	if syscall.Gettid() == syscall.Getpid() {
		runtime.LockOSThread()
		go spinElsewhere()
		select {}
	}
	//lint:ignore SA5002 the loop is endless on purpose
	for {
	}
}

func TestASpinIsReportedOnWhicheverThreadItRuns(t *testing.T) {
	p := examine(t, Config{New: making(func(c *Client) Lock {
		return &wrong{plain{c: c, ttl: 8 * time.Second}, func(context.Context) error { spinElsewhere(); return nil }}
	}), Seeds: 1, Plan: []string{"pause client-1 for 1ms at 1s"}, hung: 300 * time.Millisecond})
	if p == nil {
		return
	}
	if len(p.runs) != 1 || !strings.Contains(p.runs[0].Failure, "locktest.spinElsewhere()") {
		t.Errorf("%+v", p.runs)
	}
}

// TestARunThatRestsIsNotWaitedFor checks that a run that does nothing is ended after a short time, because nothing in a
// run waits for real time.
func TestARunThatRestsIsNotWaitedFor(t *testing.T) {
	p := examine(t, Config{New: making(func(c *Client) Lock {
		return &wrong{plain{c: c, ttl: 8 * time.Second}, func(context.Context) error { <-outside; return nil }}
	}), Seeds: 1, Plan: []string{noEffect}})
	if p == nil {
		return
	}
	for _, want := range []string{"the run made no progress for " +
		"3s", // the reason is that the channel is a package variable
		"Look for such a variable in the package github.com/fencepost-sim/fencepost/scenarios/locktest, " +
			"which contains locktest.TestARun"} {
		if len(p.runs) != 1 || !strings.Contains(p.runs[0].Failure, want) {
			t.Errorf("%+v, which does not say %q", p.runs, want)
		}
	}
}
