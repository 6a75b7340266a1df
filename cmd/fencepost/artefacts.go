package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// prepare makes sure, before anything runs, that what the run leaves behind can be written.
func (j *job) prepare() error {
	if err := j.check(); err != nil {
		return err
	}
	return canWrite(j.out, map[string]string{"html": j.html, "metrics": j.metrics})
}

// canWrite makes sure that a folder can be written to, and the files that flags name.
func canWrite(dir string, files map[string]string) error {
	dirs := []string{dir}
	for _, flag := range slices.Sorted(maps.Keys(files)) {
		file := files[flag]
		if file == "" {
			continue
		}
		dirs = append(dirs, filepath.Dir(file))
		if info, err := os.Stat(file); err == nil && info.IsDir() {
			return fmt.Errorf("--%s %s is a folder; name a file in it", flag, file)
		}
	}
	for _, dir := range dirs {
		if err := writable(dir); err != nil {
			return fmt.Errorf("cannot write to the folder %s: %w", dir, err)
		}
	}
	return nil
}

// writable makes the folder if it is not there, and tries to write in it.
func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".fencepost-*")
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// planPath is where the plan of a run is written.
func (j *job) planPath(seed uint64) string { return filepath.Join(j.folder(seed), search.PlanFile) }

// folder is where the files of one run lie.
func (j *job) folder(seed uint64) string {
	if j.seeds == 1 && j.shard == search.Whole {
		return j.out
	}
	return filepath.Join(j.out, fmt.Sprintf("seed-%d", seed))
}

// write leaves the files of one run in dir, and those that were asked for elsewhere.
func (j *job) write(dir string, run *reports.Run) error {
	if err := writeRun(dir, inputs(j.scenario, j.plan(run.Seed), run.Digest), run); err != nil {
		return err
	}
	if j.metrics != "" {
		if err := os.WriteFile(j.metrics, reports.OpenMetrics(run), 0o666); err != nil {
			return err
		}
	}
	return j.writeHTML(run)
}

// inputs are what a run was made from. A scenario that is not of the catalogue goes along, so that the folder can be moved.
func inputs(s *scenarios.Scenario, plan nemesis.Plan, digest string) []search.File {
	if s.Path == "" {
		return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, digest))}}
	}
	plan.Scenario = "./" + search.ScenarioFile
	return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, digest))}, {Name: search.ScenarioFile, Text: s.Text()}}
}

// writeRun leaves the files of one run in dir: what it was made from, what happened, and what came of it.
func writeRun(dir string, from []search.File, run *reports.Run) error {
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return err
	}
	var events bytes.Buffer
	if err := history.Encode(&events, run.History); err != nil {
		return err
	}
	verdict, err := reports.JSON(run)
	if err != nil {
		return err
	}
	all := append(from, search.File{Name: "history.jsonl", Text: events.Bytes()}, search.File{Name: "verdict.json", Text: verdict})
	for _, f := range all {
		if err := os.WriteFile(filepath.Join(dir, f.Name), f.Text, 0o666); err != nil {
			return err
		}
	}
	return nil
}

// planText is the plan with the digest of the run that it gives.
func planText(p nemesis.Plan, digest string) string {
	return fmt.Sprintf("# repeat with: fencepost replay plan.txt; the run's digest is %s\n%s", digest, p)
}

// writeMany leaves the sum of many runs, and the files of each run worth showing in a folder of its own.
// What was run goes along, for merge.
func (j *job) writeMany(many *reports.Many, runs *search.Runs) error {
	record, err := runs.Encode()
	if err != nil {
		return err
	}
	for name, content := range map[string][]byte{runsFile: record, search.ScenarioFile: j.scenario.Text()} {
		if err := os.WriteFile(filepath.Join(j.out, name), content, 0o666); err != nil {
			return err
		}
	}
	text, err := reports.JSONMany(many)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(j.out, "verdict.json"), text, 0o666); err != nil {
		return err
	}
	html, metrics := j.html, j.metrics
	for i, run := range many.Runs {
		if i > 0 {
			j.html, j.metrics = "", "" // of the run that the text shows
		}
		if err := j.write(j.folder(run.Seed), run); err != nil {
			return err
		}
	}
	j.html, j.metrics = html, metrics
	return nil
}

// writeHTML writes the report, and beside it what porcupine draws of each lock.
func (j *job) writeHTML(run *reports.Run) error {
	if j.html == "" {
		return nil
	}
	var links []reports.Link
	base := strings.TrimSuffix(j.html, filepath.Ext(j.html))
	for _, e := range checker.Evidence(run.History) {
		for _, view := range []struct {
			what string
			show func(io.Writer) error
			has  bool
		}{
			{"sections", e.Mutex.WriteHTML, e.Mutex != nil},
			{"writes", e.Data.WriteHTML, e.Data != nil},
		} {
			if !view.has {
				continue
			}
			path := fmt.Sprintf("%s-%s-%s.html", base, fileWord(string(e.Lock)), view.what)
			if err := writeFile(path, view.show); err != nil {
				return err
			}
			links = append(links, reports.Link{Text: fmt.Sprintf("porcupine: %s of %q", view.what, e.Lock), Href: filepath.Base(path)})
		}
	}
	return writeFile(j.html, func(w io.Writer) error { return reports.HTML(w, run, links) })
}

func writeFile(path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	return os.WriteFile(path, b.Bytes(), 0o666)
}

// fileWord makes a word that can stand in a file's name.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>| `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}
