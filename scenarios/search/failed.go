package search

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Failed counts the runs that could not be judged because the lock's own code or a client failed.
type Failed struct {
	Runs  int      `json:"runs"`
	First uint64   `json:"first"` // the lowest seed of a failed run
	Why   []string `json:"why"`   // how the run of seed First failed, one string per line
}

// mostWhy is the maximum number of lines that are kept from a failure's description.
const mostWhy = 12

// addresses matches the parts of a failure's description that differ between processes.
var addresses = regexp.MustCompile(`\+?0x[0-9a-f]+\??|goroutine \d+`)

// note counts the run as failed, and returns true, if err says that the lock's own code or a client failed.
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
		one.Why = []string{"it does not describe how"}
	}
	f.add(one)
	return true
}

// add adds the failed runs from another part of the search.
func (f *Failed) add(part Failed) {
	if part.Runs > 0 && (f.Runs == 0 || part.First < f.First) {
		f.First, f.Why = part.First, part.Why
	}
	f.Runs += part.Runs
}

// open returns a sentence that says how many of the runs of s could not be judged because they failed, and why the
// first one failed. It returns nil if no run failed. total is the number of all runs.
func (f *Failed) open(s *scenarios.Scenario, total int) []string {
	if f.Runs == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%d of %d runs could not be judged: %s, first with seed %d: %s", f.Runs, total,
		s.Failing(), f.First, f.Why[0])}
}

// furtherLines returns all lines of the failure except the first. The first line is part of the sentence that open
// returns.
func (f *Failed) furtherLines() []string { return f.Why[min(1, len(f.Why)):] }

// consistent reports whether f is a possible result of exploring the given number of runs.
func (f *Failed) consistent(of int) bool {
	return f.Runs >= 0 && f.Runs <= of && (f.Runs > 0) == (len(f.Why) > 0)
}
