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

// goroutines returns the goroutines of the synctest bubble, except locktest's own.
func goroutines() []*remote.Goroutine {
	stacks := make([]byte, 64<<10)
	n := runtime.Stack(stacks, true)
	for ; n == len(stacks); n = runtime.Stack(stacks, true) {
		stacks = make([]byte, 2*n)
	}
	return slices.DeleteFunc(remote.Goroutines(string(stacks[:n])), func(g *remote.Goroutine) bool { return g.Idle() })
}

// ignores reports whether a goroutine is running in a function listed in Config.IgnoredGoroutines.
func (c *Config) ignores(g *remote.Goroutine) bool {
	return slices.ContainsFunc(c.IgnoredGoroutines, g.In)
}

// strangers returns the goroutines of the synctest bubble that belong neither to locktest nor to a function in
// Config.IgnoredGoroutines.
func (w *worker) strangers() []*remote.Goroutine {
	return slices.DeleteFunc(goroutines(), w.config.ignores)
}

// leakOf returns a report about goroutines that are still running ten minutes after their run, or "" if there are none.
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

// leaked returns the report about goroutines that runs have left behind. It returns "" if there are fewer of them than
// runs, if a run failed, or if an earlier worker has already checked the task's runs.
func (w *worker) leaked() string {
	if w.failed || w.later || w.left.strangers < w.runs {
		return ""
	}
	return w.left.leak
}

// closing says, for a report, which method should end the lock's goroutines.
func (w *worker) closing() string {
	if w.closeless.Load() {
		return "a method Close() error, which this Lock does not have yet"
	}
	return "Close"
}

// failure explains why a run could not be judged. If calls into the library did not return, it lists the goroutines
// that made them.
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
