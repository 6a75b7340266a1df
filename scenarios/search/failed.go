package search

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Failed counts the runs that could not be judged because the code of the lock itself failed in them.
type Failed struct {
	Runs  int      `json:"runs"`
	First uint64   `json:"first"` // the lowest seed of a failed run
	Why   []string `json:"why"`   // how that run failed, line by line
}

// mostWhy is the number of lines of a failure that are kept.
const mostWhy = 12

// addresses matches the parts of a failure's text that differ from process to process.
var addresses = regexp.MustCompile(`\+?0x[0-9a-f]+\??|goroutine \d+`)

// note counts a run if err says that the code of the lock itself failed in it, and reports whether it did.
func (f *Failed) note(seed uint64, err error) (failed bool) {
	var code *scenarios.CodeError
	if !errors.As(err, &code) {
		return false
	}
	one := Failed{Runs: 1, First: seed}
	for line := range strings.SplitSeq(code.Text, "\n") {
		line = strings.Map(func(c rune) rune {
			if history.Unprintable(c) {
				return ' '
			}
			return c
		}, strings.TrimRight(addresses.ReplaceAllString(line, ""), " \t"))
		if line != "" && len(one.Why) < mostWhy {
			one.Why = append(one.Why, line)
		}
	}
	if one.Why == nil {
		one.Why = []string{"it does not say how"}
	}
	f.add(one)
	return true
}

// add adds the failed runs of another part.
func (f *Failed) add(part Failed) {
	if part.Runs > 0 && (f.Runs == 0 || part.First < f.First) {
		f.First, f.Why = part.First, part.Why
	}
	f.Runs += part.Runs
}

// open says that these runs, out of the given number of runs, leave it open whether the promises are kept. It returns
// nil if none failed.
func (f *Failed) open(of int) []string {
	if f.Runs == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d runs could not be judged: the lock's own code failed, first with seed %d: %s",
		f.Runs, of, f.First, f.Why[0])}
}

// more returns the lines of the failure after the first, which is in the sentence that open returns.
func (f *Failed) more() []string { return f.Why[min(1, len(f.Why)):] }

// consistent reports whether f is possible for an exploration of which the given number of runs are done.
func (f *Failed) consistent(of int) bool {
	return f.Runs >= 0 && f.Runs <= of && (f.Runs > 0) == (len(f.Why) > 0)
}
