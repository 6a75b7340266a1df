package locktest

import (
	"os"
	"runtime"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// lookEvery is the real time between two checks of a run's goroutines.
const lookEvery = 100 * time.Millisecond

// watchMutexes ends the process, with a dump of its goroutines, soon after a wait for a mutex has stopped virtual time.
// With versions of Go in which such a wait does not stop virtual time, it does nothing.
func watchMutexes() {
	if !bubble.MutexesPass() {
		go endAtStandstill()
	}
}

// endAtStandstill ends the process when two consecutive dumps show the same standstill.
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
