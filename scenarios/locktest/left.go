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

// goroutines are those of the bubble that are not ours.
func goroutines() []*remote.Goroutine {
	stacks := make([]byte, 64<<10)
	n := runtime.Stack(stacks, true)
	for ; n == len(stacks); n = runtime.Stack(stacks, true) {
		stacks = make([]byte, 2*n)
	}
	return slices.DeleteFunc(remote.Goroutines(string(stacks[:n])), func(g *remote.Goroutine) bool { return g.Idle() })
}

// tolerates reports whether a goroutine is in a function that Config.Tolerated names.
func (c *Config) tolerates(g *remote.Goroutine) bool { return slices.ContainsFunc(c.Tolerated, g.In) }

// leaked reports the goroutines that runs have left behind, one a run or more, and that still run ten minutes later;
// empty if there are none.
func (w *worker) leaked() string {
	if w.failed || w.later || w.left() < w.runs {
		return ""
	}
	strangers := func() []*remote.Goroutine { return slices.DeleteFunc(goroutines(), w.config.tolerates) }
	if len(strangers()) < w.runs {
		return ""
	}
	w.Patience()
	all := strangers()
	if len(all) < w.runs {
		return ""
	}
	are := "are"
	if len(all) == 1 {
		are = "is"
	}
	return fmt.Sprintf("%s %s still there ten minutes after %s: %s. End it in %s, or name its function in "+
		"Config.Tolerated\n\n%s", text.Count(len(all), "goroutine"), are, text.Count(w.runs, "run"),
		strings.TrimSuffix(all[0].String(), "."), w.closing(), remote.Same(all))
}

// closing says where a goroutine is to be ended.
func (w *worker) closing() string {
	if w.closeless.Load() {
		return "a method Close() error, which the Lock does not have"
	}
	return "Close"
}

// failure says why a run could not be judged: with the goroutines that do not return, if that is why.
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
