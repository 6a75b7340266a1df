package locktest

import (
	"os"
	"runtime"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// lookEvery is the real time between checks of a run's goroutines.
const lookEvery = 100 * time.Millisecond

// watchMutexes watches for goroutines that stop virtual time because they are waiting for a mutex. Soon after such a
// wait begins, the process ends with a goroutine dump. In Go versions in which a mutex does not stop virtual time,
// watchMutexes does nothing.
func watchMutexes() {
	if !bubble.MutexesPass() {
		go endAtStandstill()
	}
}

// endAtStandstill ends the process when two consecutive goroutine dumps show the same standstill.
func endAtStandstill() {
	text := make([]byte, 1<<20)
	for before := ""; ; {
		time.Sleep(lookEvery)
		dump := string(text[:runtime.Stack(text, true)])
		if dump == before && remote.StandsStill(dump) {
			remote.ReportStandstill(os.Stderr, dump)
			os.Exit(2)
		}
		before = dump
	}
}
