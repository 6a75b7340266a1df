package headline_test

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/reports/headline"
	"github.com/fencepost-sim/fencepost/scenarios/claims"
)

// TestEveryNumberOfAHeadlineIsRight uses the history to compute how many clients were inside the critical section
// together, for how long, and how many other laws held, and compares these numbers with the headline. A headline must
// not contain any other numbers.
func TestEveryNumberOfAHeadlineIsRight(t *testing.T) {
	rounds := testkit.Size(1, 2, 30)
	w, headlines, numbers := claims.NewWrongs(t), 0, 0
	claims.Runs(t, rounds, func(r *claims.Run) bool {
		hold := func(f *checker.Finding, text string) {
			headlines++
			numbers += len(number.FindAllString(name.ReplaceAllString(text, ""), -1))
			if truth := untrue(r, f, text); truth != "" {
				w.Add(fmt.Sprintf("%s by %s", f.Law, f.Cause), &claims.Story{Run: r, Finding: *f}, "%s\n%s", text,
					truth)
			}
		}
		about := headline.Gravest(r.Verdict)
		if about == nil {
			about = &checker.Finding{}
		}
		hold(about, headline.Of(r.History, r.Verdict))
		for b := range r.Verdict.Breaches() {
			hold(b, headline.Broken(r.History, b))
		}
		return true
	})
	t.Logf("%d numbers of %d headlines recomputed, %d wrong", numbers, headlines, w.Count(""))
	if w.Count("") > 0 || numbers < headlines/2 || headlines == 0 {
		t.Errorf("%d of %d headlines with %d numbers are wrong", w.Count(""), headlines, numbers)
	}
}

// Regular expressions for the parts of a headline that can be recomputed, for names that contain digits, and for any
// remaining numbers.
var (
	inside = regexp.MustCompile(`^(Two clients were|.* was) inside (?:"[^"]*" )?(?:twice )?at once` +
		`( for a moment|, until the end of the recording| for ([\d.]+) (s|ms|µs))`)
	crowd = regexp.MustCompile(`^(\d+) holders of (\d+) permits were (inside|promised the lock) (?:"[^"]*" )?at once` +
		`( for a moment|, until the end of the recording| for ([\d.]+) (s|ms|µs))?`)
	few    = regexp.MustCompile(`^No more than (\d+) clients were ever inside`)
	others = regexp.MustCompile(`(\d+) other laws? (?:was|were) checked and held`)
	paused = regexp.MustCompile(`: (\S+) had paused past its lease`)
	name   = regexp.MustCompile(`"[^"]*"|[a-zA-Z]+-\d+(?:-replica-\d+)?`)
	number = regexp.MustCompile(`[\d.]*\d`)
)

// untrue says what is wrong with a headline about a finding. It returns "" if the headline is right.
func untrue(r *claims.Run, f *checker.Finding, text string) string {
	rest, wrong := crowded(r, f, text)
	if wrong != "" {
		return wrong
	}
	var first, then *claims.Section
	for _, pair := range claims.Overlaps(r.History) {
		is := f.Law != checker.MutualExclusion ||
			pair[0].Process == f.Holders[0] && r.History.Events[pair[1].Grants[0]].Index == f.At &&
				slices.Contains(f.Witness, r.History.Events[pair[0].Grants[0]].Index)
		if is && first == nil {
			first, then = pair[0], pair[1]
		}
	}
	if m := inside.FindStringSubmatch(text); m != nil && r.History.Header.Permits <= 1 {
		rest = strings.Replace(rest, m[0], "", 1)
		if first == nil {
			return "nobody was inside with another"
		}
		if two := m[1] == "Two clients were"; two != (first.Process != then.Process) {
			return fmt.Sprintf("they were %s and %s", first.Process, then.Process)
		}
		if long, said := overlapTime(r.History, first, then), lasting(m[2:]); !said(long) {
			return fmt.Sprintf("it was for %v ns", int64(long))
		}
	} else if strings.HasPrefix(text, "No two clients were ever inside") && first != nil {
		return fmt.Sprintf("%s and %s were", first.Process, then.Process)
	}
	if m := others.FindStringSubmatch(text); m != nil {
		rest = strings.Replace(rest, m[0], "", 1)
		holds := 0
		for _, f := range r.Verdict.Findings {
			if f.Outcome == checker.Holds && f.Law != checker.MutualExclusion {
				holds++
			}
		}
		if strconv.Itoa(holds) != m[1] {
			return fmt.Sprintf("it is %d", holds)
		}
	}
	if m := paused.FindStringSubmatch(text); m != nil && !pausedPast(r.History, history.Process(m[1])) {
		return "no pause of it was on when a lease of its ended"
	}
	if strings.Contains(text, "keeps nothing on disk") && r.Scenario.Servers.Persistent() {
		return "the servers have a disk"
	}
	if left := number.FindString(name.ReplaceAllString(rest, "")); left != "" {
		return "nothing recomputes " + left
	}
	return ""
}

// crowded checks the part of a headline about a semaphore's holders. It returns the rest of the headline, and says what
// is wrong with the checked part.
func crowded(r *claims.Run, f *checker.Finding, text string) (rest, wrong string) {
	permits, crowds := r.History.Header.Permits, claims.Crowds(r.History)
	if m := few.FindStringSubmatch(text); m != nil {
		if m[1] != strconv.Itoa(permits) || len(crowds) > 0 {
			return "", fmt.Sprintf("there are %d permits, and %d times there were more holders", permits, len(crowds))
		}
		return strings.Replace(text, m[0], "", 1), ""
	}
	m := crowd.FindStringSubmatch(text)
	if m == nil {
		return text, ""
	}
	if m[1] != strconv.Itoa(permits+1) || m[2] != strconv.Itoa(permits) {
		return "", fmt.Sprintf("there are %d permits", permits)
	}
	if m[3] == "inside" {
		at := slices.IndexFunc(crowds, func(c []*claims.Section) bool {
			return r.History.Events[c[len(c)-1].Grants[0]].Index == f.At
		})
		if at < 0 {
			return "", "nobody entered then while all permits were in use"
		}
		c := crowds[at]
		if long, said := overlapTime(r.History, c...), lasting(m[4:]); len(c) == permits+1 && !said(long) {
			return "", fmt.Sprintf("it was for %v ns", int64(long))
		}
	}
	return strings.Replace(text, m[0], "", 1), ""
}

// noEnd is a duration longer than any run.
const noEnd = history.Never

// overlapTime returns how long all the critical sections overlapped: from the last beginning to the first end. If none
// of them ended, it returns noEnd.
func overlapTime(h *history.History, sections ...*claims.Section) history.Time {
	end := noEnd
	for _, s := range sections {
		if s.End != claims.Open {
			end = min(end, h.Events[s.End].Time)
		}
	}
	if end == noEnd {
		return noEnd
	}
	return end - h.Events[sections[len(sections)-1].Grants[0]].Time
}

// lasting returns a function that reports whether a duration agrees with the duration in a headline, which is rounded
// to its last digit.
func lasting(m []string) func(history.Time) bool {
	switch {
	case strings.HasSuffix(m[0], "moment"):
		return func(long history.Time) bool { return long == 0 }
	case m[1] == "":
		return func(long history.Time) bool { return long == noEnd }
	}
	unit := map[string]float64{"s": 1e9, "ms": 1e6, "µs": 1e3}[m[2]]
	_, decimals, _ := strings.Cut(m[1], ".")
	return func(long history.Time) bool {
		said, err := strconv.ParseFloat(m[1], 64)
		return err == nil && long > 0 &&
			math.Abs(said-float64(long)/unit) <= 0.5001*math.Pow(10, -float64(len(decimals)))
	}
}

// pausedPast reports whether a process was paused when one of its leases ended. A lease counts only if the process
// knew, before the pause began, when the lease would end.
func pausedPast(h *history.History, p history.Process) bool {
	for i := range h.Events {
		e := &h.Events[i]
		if e.Process != history.Nemesis || e.Type != history.Invoke || e.F != history.Pause || !e.Fault.Strikes(p) {
			continue
		}
		over := noEnd
		for j := i; j < len(h.Events) && over == noEnd; j++ {
			if o := &h.Events[j]; o.Process == history.Nemesis && o.Type == history.OK && o.Value == e.Value {
				over = o.Time
			}
		}
		if slices.ContainsFunc(h.Events[:i], func(o history.Event) bool {
			return o.Process == p && o.Grant != nil && e.Time <= o.Grant.Until && o.Grant.Until <= over
		}) {
			return true
		}
	}
	return false
}
