package scoreboard

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
)

// GoResults is the name of a file in this package's folder with a copy of the results in scenarios/locktest/libraries.
// A test checks that the copy is up to date.
const GoResults = "go.json"

// goRow is a Go library in one configuration. Its result and page are in scenarios/locktest/libraries.
type goRow struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Setting string `json:"setting"`
	Result  Result `json:"result"`
}

// goPromise is an entry in go.yaml that describes what a Go library promises. It applies to all rows with names that
// begin with Prefix.
type goPromise struct {
	Prefix  string `yaml:"prefix"`
	Promise string `yaml:"promise"`
	Stated  string `yaml:"stated"`
}

// locktestResult is a result file from scenarios/locktest/libraries.
type locktestResult struct {
	Cells []struct {
		Family, Care               string
		Runs, Leases, Owners, Data int
		Waits                      int
		Decided                    map[checker.Law]int
	}
	Findings []struct {
		Name, Family, Care string
		Law                checker.Law
		Cause              checker.Cause
		Faults             []string
	}
}

// Collect reads the Go libraries' results from a folder that is laid out like scenarios/locktest/libraries. It returns
// the content for the file GoResults.
func Collect(libraries fs.FS) ([]byte, error) {
	names, err := fs.Glob(libraries, "testdata/*.json")
	if err != nil {
		return nil, err
	}
	var rows []goRow
	for _, name := range names {
		row, err := collect(libraries, strings.TrimSuffix(path.Base(name), ".json"))
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		rows = append(rows, *row)
	}
	text, err := json.MarshalIndent(rows, "", " ")
	return append(text, '\n'), err
}

// collect reads one Go library's result and page.
func collect(libraries fs.FS, name string) (*goRow, error) {
	row := &goRow{Name: name}
	page, err := fs.ReadFile(libraries, "findings/"+name+".md")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(page)) {
		line = strings.TrimRight(line, "\n")
		for begins, to := range map[string]*string{"- Version: ": &row.Version, "- Setting: ": &row.Setting} {
			if value, ok := strings.CutPrefix(line, begins); ok {
				*to = value
			}
		}
	}
	if row.Version == "" || row.Setting == "" {
		return nil, fmt.Errorf("findings/%s.md has no lines with the version and the setting", name)
	}
	text, err := fs.ReadFile(libraries, "testdata/"+name+".json")
	if err != nil {
		return nil, err
	}
	var from locktestResult
	if err := json.Unmarshal(text, &from); err != nil {
		return nil, err
	}
	row.Result = from.result(row.Version)
	return row, nil
}

// result adds up the counts for each fault family. As in locktest's tables, resource-safety violations count only if
// the clients check the validity of their locks.
func (r *locktestResult) result(version string) Result {
	all := Result{Version: version}
	for _, c := range r.Cells {
		i := slices.IndexFunc(all.Outcomes, func(o Outcome) bool { return o.Family == c.Family })
		if i < 0 {
			i = len(all.Outcomes)
			all.Outcomes = append(all.Outcomes, Outcome{Family: c.Family, Decided: map[checker.Law]int{}})
		}
		o := &all.Outcomes[i]
		o.Runs += c.Runs
		o.add(checker.LeaseExclusion, c.Leases)
		o.add(checker.Ownership, c.Owners)
		o.add(checker.DeadlockFreedom, c.Waits)
		if c.Care == "careful" {
			o.add(checker.ResourceSafety, c.Data)
		}
		for _, law := range judged {
			if law != checker.ResourceSafety || c.Care == "careful" {
				o.Decided[law] += c.Decided[law]
			}
		}
	}
	for _, f := range r.Findings {
		if slices.Contains(judged, f.Law) && f.Care != "fenced" {
			all.Findings = append(all.Findings, Finding{Law: f.Law, Cause: f.Cause.String(), Plan: f.Faults,
				Folder: "testdata/" + f.Name})
		}
	}
	return all
}

// goRows returns the Go libraries' rows and promises.
func goRows(files fs.FS) (rows []goRow, promises []goPromise, err error) {
	text, err := fs.ReadFile(files, GoResults)
	if err == nil {
		err = json.Unmarshal(text, &rows)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", GoResults, err)
	}
	return rows, promises, decode(files, "go.yaml", &promises)
}

// promiseOf returns the promises made by a row's library, or nil if go.yaml does not contain them.
func promiseOf(promises []goPromise, name string) *goPromise {
	var best *goPromise
	for i := range promises {
		p := &promises[i]
		if strings.HasPrefix(name, p.Prefix) && (best == nil || len(p.Prefix) > len(best.Prefix)) {
			best = p
		}
	}
	return best
}

// module returns the last element of the module path at the beginning of version. It skips a major version such as
// "v2".
func module(version string) string {
	name, rest, _ := strings.Cut(version, " ")
	parts := strings.Split(name, "/")
	if last := parts[len(parts)-1]; len(parts) > 1 && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		parts = parts[:len(parts)-1]
	}
	return strings.TrimSpace(parts[len(parts)-1] + " " + rest)
}
