package locktest

import (
	"os"
	"runtime"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// lookEvery is the real time between two looks at the goroutines of a run.
const lookEvery = 100 * time.Millisecond

// watchMutexes ends the process soon after a wait for a mutex has stopped virtual time, with a dump of its goroutines.
// With a version of Go in which no such wait does, it does nothing.
func watchMutexes() {
	if !bubble.MutexesPass() {
		go endAtStandstill()
	}
}

// endAtStandstill ends the process when two dumps show the same standstill.
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
