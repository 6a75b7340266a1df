package locktest

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/remote"
	"github.com/fencepost-sim/fencepost/sim/bubble"
)

// goroutines returns the goroutines of the synctest bubble, except those of locktest itself.
func goroutines() []*remote.Goroutine {
	stacks := make([]byte, 64<<10)
	n := runtime.Stack(stacks, true)
	for ; n == len(stacks); n = runtime.Stack(stacks, true) {
		stacks = make([]byte, 2*n)
	}
	return slices.DeleteFunc(remote.Goroutines(string(stacks[:n])), func(g *remote.Goroutine) bool { return g.Idle() })
}

// ignores reports whether a goroutine runs in a function that Config.IgnoredGoroutines names.
func (c *Config) ignores(g *remote.Goroutine) bool {
	return slices.ContainsFunc(c.IgnoredGoroutines, g.In)
}

// strangers returns the goroutines of the synctest bubble that neither belong to locktest nor are named by
// Config.IgnoredGoroutines.
func (w *worker) strangers() []*remote.Goroutine {
	return slices.DeleteFunc(goroutines(), w.config.ignores)
}

// leakOf returns a report of goroutines that are still running ten minutes after their run, or "" if there are none.
func (w *worker) leakOf(all []*remote.Goroutine) string {
	if len(all) == 0 {
		return ""
	}
	are := "are"
	if len(all) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s %s still there ten minutes after 1 run: %s. "+
		"End it in %s, or name its function in Config.IgnoredGoroutines\n\n%s", text.Count(len(all), "goroutine"), are,
		strings.TrimSuffix(all[0].String(), "."), w.closing(), remote.Same(all))
}

// leaked returns the report on the goroutines that the runs have left behind. It returns "" if there are fewer
// goroutines than runs.
func (w *worker) leaked() string {
	if w.failed || w.later || w.left.strangers < w.runs {
		return ""
	}
	return w.left.leak
}

// closing returns the method in which the user should end a goroutine of the lock, as a phrase for a report.
func (w *worker) closing() string {
	if w.closeless.Load() {
		return "a method Close() error, which the Lock does not have"
	}
	return "Close"
}

// failure explains why a run could not be judged. If a call into the library did not return, it lists the goroutines of
// such calls.
func (w *worker) failure(err error) string {
	w.failed = true
	if stuck := (*bubble.StuckError)(nil); errors.As(err, &stuck) {
		called := slices.DeleteFunc(goroutines(), func(g *remote.Goroutine) bool {
			return !g.In("/bubble.(*Guest).start")
		})
		return err.Error() + "\n\n" + remote.Same(called)
	}
	return err.Error()
}
