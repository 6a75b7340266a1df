package scoreboard

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Board is the whole scoreboard. It contains everything that its pages show.
type Board struct {
	entries []entry       // sorted by language and name
	causes  []Explanation // explanations of causes that are not specific to one library
}

// entry is a row in the table.
type entry struct {
	Row
	result  *Result // nil if the row has no result
	ofGo    bool    // whether it is a Go library, which has no folder
	page    string  // path of its page, relative to this package
	command string  // command that runs the row again
	causes  []Explanation
}

// New reads the rows and results in files.
func New(files fs.FS) (*Board, error) {
	b := &Board{}
	if err := decode(files, "causes.yaml", &b.causes); err != nil {
		return nil, err
	}
	rows, err := Rows(files)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		result, err := resultOf(files, &r)
		if err != nil {
			return nil, err
		}
		b.entries = append(b.entries, entry{Row: r, result: result, page: r.Folder() + "/README.md",
			command: "go run ./cmd/scoreboard " + r.Name, causes: b.causes})
	}
	fromGo, promises, err := goRows(files)
	if err != nil {
		return nil, err
	}
	for _, r := range fromGo {
		e := entry{Row: Row{Name: r.Name, Library: r.Name, Language: "Go", Version: r.Version, Setting: r.Setting},
			result: &r.Result, ofGo: true, page: "../locktest/libraries/findings/" + r.Name + ".md",
			command: "cd scenarios/locktest/libraries && go test -run 'TestMatrix/^" + r.Name + "$' -update ."}
		if p := promiseOf(promises, r.Name); p != nil {
			e.Promise, e.Stated = p.Promise, p.Stated
		}
		b.entries = append(b.entries, e)
	}
	slices.SortStableFunc(b.entries, func(x, y entry) int {
		return cmp.Or(strings.Compare(x.Language, y.Language), strings.Compare(x.Name, y.Name))
	})
	return b, nil
}

// explanation returns a finding's explanation. It returns nil if neither the row nor the list of common causes has one.
func (e *entry) explanation(f *Finding) *Explanation {
	if own := find(e.Explains, f.Law, f.Cause); own != nil {
		return own
	}
	return find(e.causes, f.Law, f.Cause)
}

// shown returns the version as the table shows it.
func (e *entry) shown() string {
	version := e.Version
	if e.result != nil {
		version = e.result.Version
	}
	if e.ofGo {
		return module(version)
	}
	return version
}

// schedules returns the number of schedules in all families, preceded by a space. It returns "" if the row has no
// result.
func (e *entry) schedules() string {
	if e.result == nil {
		return ""
	}
	return " " + text.Grouped(e.result.runs())
}

// notTried says why the scoreboard row has no result.
func (e *entry) notTried() string {
	return cmp.Or(e.NotTried, "Not explored yet. Run the command in this row to explore it.")
}

// former reports whether the result is for a version other than the row's.
func (e *entry) former() bool { return e.result != nil && e.result.Version != e.Version }

// explore returns the command that explores the row's lock under a family of faults.
func (e *entry) explore(family string) string {
	return "fencepost explore scenarios/scoreboard/" + e.Folder() + "/" + family + ".yaml --client '" + e.Client +
		"' --seeds " + strconv.Itoa(e.Seeds)
}

// real says whether a law's violation with a particular cause also occurred on a real server. It returns nil if this
// was not tried.
func (e *entry) real(law checker.Law, cause string) *Real {
	i := slices.IndexFunc(e.Real, func(r Real) bool { return r.Law == law && r.Cause == cause })
	if i < 0 {
		return nil
	}
	return &e.Real[i]
}

// live returns the command that runs one of the row's scenarios in real time on a real server. file is the scenario's
// path, relative to the row's folder.
func (e *entry) live(file string) string {
	kind, _, _ := strings.Cut(strings.TrimPrefix(e.Servers, "{"), ":") // such as redis
	return "fencepost live scenarios/scoreboard/" + e.Folder() + "/" + file + " --servers " + kind + " --client '" +
		e.Client + "'"
}

// runAimed returns the command that performs the run with the hand-written fault at index n.
func (e *entry) runAimed(n int) string {
	file, _ := e.AimedScenario(n)
	return "fencepost run scenarios/scoreboard/" + e.Folder() + "/" + file + " --client '" + e.Client + "'"
}

// replay returns the command that reproduces a finding.
func (e *entry) replay(f *Finding) string {
	if e.ofGo {
		return "cd scenarios/locktest/libraries && go test -run 'TestFindings/" + strings.TrimPrefix(f.Folder,
			"testdata/") + "$' ."
	}
	return "fencepost replay scenarios/scoreboard/" + e.Folder() + "/" + f.Folder + "/plan.txt --client '" +
		e.Client + "'"
}
