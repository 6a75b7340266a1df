package scoreboard

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// Result is the result of exploring a scoreboard row's lock. It is stored as result.json in the row's folder.
type Result struct {
	Version  string    `json:"version"` // version of the library that was run, as the row gave it
	Date     string    `json:"date"`    // date of the exploration, YYYY-MM-DD
	Outcomes []Outcome `json:"families"`
	Findings []Finding `json:"findings"` // one finding for each law and cause
}

// Outcome is the result of exploring a scoreboard row's lock under one family of faults.
type Outcome struct {
	Family string `json:"family"`
	Runs   int    `json:"runs"` // including the failed ones
	// number of runs in which each law was decided, that is, either held or was violated
	Decided map[checker.Law]int `json:"decided"`
	// number of runs that could not be judged because a client failed, and how the first of these clients failed
	Failed  int                 `json:"failed,omitempty"`
	Why     string              `json:"why,omitempty"`
	Broke   map[checker.Law]int `json:"broke,omitempty"`  // number of runs in which each law was broken
	Causes  []Broken            `json:"causes,omitempty"` // the same by law and cause
	Closest []Close             `json:"closest,omitempty"`
	// number of findings, each a pair of law and cause, that did not recur when the run was repeated
	Unstable int `json:"unstable,omitempty"`
}

// Broken is the number of runs in which a particular cause broke a particular law.
type Broken struct {
	Law   checker.Law `json:"law"`
	Cause string      `json:"cause"`
	Runs  int         `json:"runs"`
}

// Close describes how close the runs came to breaking a law that none of them broke.
type Close struct {
	Law   checker.Law `json:"law"`
	Seed  uint64      `json:"seed"`
	Words string      `json:"words"`
}

// Finding is a violation of a law with a particular cause, with the smallest plan that reproduces it.
type Finding struct {
	Law      checker.Law `json:"law"`
	Cause    string      `json:"cause"`
	Plan     []string    `json:"plan"` // the faults of the plan
	Headline string      `json:"headline"`
	Minimal  bool        `json:"minimal"` // whether no fault can be left out or simplified
	// ByHand means that somebody chose the plan, because the plan that was found does not break the promise everywhere.
	ByHand bool   `json:"byHand,omitempty"`
	Folder string `json:"folder"` // folder with the plan and its scenario, relative to the row's folder
}

// resultOf returns a scoreboard row's result, or nil if it has none.
func resultOf(files fs.FS, r *Row) (*Result, error) {
	name := path.Join(r.Folder(), "result.json")
	text, err := fs.ReadFile(files, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	result := new(Result)
	if err := json.Unmarshal(text, result); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return result, nil
}

// Encode returns the contents of result.json.
func (r *Result) Encode() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	return append(text, '\n'), err
}

// OutcomeOf returns the outcome of an exploration. It omits findings that the scenario's promise does not cover.
func OutcomeOf(family string, e *search.Result, promise checker.Promise) Outcome {
	o := Outcome{Family: family, Runs: e.Done(), Failed: e.Failed.Runs, Decided: map[checker.Law]int{}}
	if o.Failed > 0 {
		o.Why = e.Failed.Why[0]
	}
	for _, l := range e.Laws {
		if slices.Contains(promise.Laws, l.Law) {
			o.add(l.Law, l.Breaks())
			o.Decided[l.Law] = l.Exercised()
		}
	}
	for _, f := range e.Findings {
		if promise.Covers(f.Law, f.Cause) {
			o.Causes = append(o.Causes, Broken{f.Law, f.Cause.String(), f.Runs})
		}
	}
	for _, c := range e.Closest.Whole(e.Laws) {
		if slices.Contains(promise.Laws, c.Law) {
			o.Closest = append(o.Closest, Close{c.Law, c.Seed, c.String()})
		}
	}
	return o
}

// add increases the number of runs that broke a law.
func (o *Outcome) add(law checker.Law, runs int) {
	if runs == 0 {
		return
	}
	if o.Broke == nil {
		o.Broke = map[checker.Law]int{}
	}
	o.Broke[law] += runs
}

// letters lists the letters that stand for laws in the table.
var letters = []struct {
	letter string
	laws   []checker.Law
}{
	{"E", []checker.Law{checker.LeaseExclusion}},
	{"O", []checker.Law{checker.Ownership}},
	{"D", []checker.Law{checker.ResourceSafety}},
	{"W", []checker.Law{checker.DeadlockFreedom, checker.FaultTolerance}},
	{"T", []checker.Law{checker.TokenOrder}},
}

// letterOf returns the letter that stands for a law.
func letterOf(law checker.Law) string {
	for _, l := range letters {
		if slices.Contains(l.laws, law) {
			return l.letter
		}
	}
	return ""
}

// marks returns the letters of those of the given laws that were broken, and the letters, each followed by a question
// mark, of those that no run decided. If there are no such laws, it returns a dot.
func (o *Outcome) marks(laws []checker.Law) string {
	var b strings.Builder
	for _, l := range letters {
		broke, decided, checked := 0, 0, false
		for _, law := range l.laws {
			if slices.Contains(laws, law) {
				broke, decided, checked = broke+o.Broke[law], decided+o.Decided[law], true
			}
		}
		switch {
		case broke > 0:
			b.WriteString(l.letter)
		case checked && decided == 0:
			b.WriteString(l.letter + "?")
		}
	}
	return cmp.Or(b.String(), "·")
}

// marks returns the table cell for a family, or "" if the family was not tried. If a law was broken only by
// hand-written faults, not by any random schedule, its letter is in parentheses.
func (e *entry) marks(family string) string {
	if e.result == nil {
		return ""
	}
	i := slices.IndexFunc(e.result.Outcomes, func(o Outcome) bool { return o.Family == family })
	if i < 0 {
		return ""
	}
	marks := e.result.Outcomes[i].marks(e.laws())
	aimed := ""
	for _, a := range e.Aimed {
		l := letterOf(a.Law)
		if a.Family != family {
			continue
		}
		if marks = strings.Replace(marks, l+"?", "", 1); !strings.Contains(marks+aimed, l) {
			aimed += l
		}
	}
	if aimed != "" {
		marks = strings.TrimSpace(strings.Trim(marks, "·") + " (" + aimed + ")")
	}
	return marks
}

// realMarks returns the table cell about real servers: the letters of the promises that were broken there as well, a
// dot if none were, or "" if nobody tried.
func (e *entry) realMarks() string {
	if len(e.Real) == 0 {
		return ""
	}
	var b strings.Builder
	for _, l := range letters {
		if slices.ContainsFunc(e.Real, func(r Real) bool { return r.Broke && slices.Contains(l.laws, r.Law) }) {
			b.WriteString(l.letter)
		}
	}
	return cmp.Or(b.String(), "·")
}

// runs returns the total number of schedules in all families.
func (r *Result) runs() (all int) {
	for _, o := range r.Outcomes {
		all += o.Runs
	}
	return all
}
