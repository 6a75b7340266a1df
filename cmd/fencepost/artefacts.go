package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/artefact"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// prepare makes sure, before anything runs, that what the run leaves behind can be written.
func (j *job) prepare() error {
	if err := j.open(j.out, "run", j.html, j.metrics); err != nil {
		return err
	}
	if j.one() {
		return j.files.Spare(search.PlanFile, search.ScenarioFile, historyFile, verdictFile)
	}
	return j.files.Spare(runsFile, search.ScenarioFile, verdictFile)
}

// one reports whether there is a single run.
func (j *job) one() bool { return j.seeds == 1 && j.shard == search.Whole }

// planPath is where the plan of a run is written.
func (j *job) planPath(seed uint64) string { return filepath.Join(j.folder(seed), search.PlanFile) }

// folder is where the files of one run lie.
func (j *job) folder(seed uint64) string { return filepath.Join(j.out, j.place(seed)) }

// place is that folder within the command's own.
func (j *job) place(seed uint64) string {
	if j.one() {
		return ""
	}
	return fmt.Sprintf("seed-%d", seed)
}

// write leaves the files of one run.
func (j *job) write(run *reports.Run) {
	writeRun(j.files, j.place(run.Seed), inputs(j.scenario, j.plan(run.Seed), run.Digest), run)
}

// folderFor names the folder of a command's results by default, with a hash of what was asked: another call leaves its
// results beside them, and the same call again in their place.
func folderFor(name string, s *scenarios.Scenario, asked ...string) string {
	sum := sha256.New()
	for _, text := range append(asked, string(s.Text())) {
		fmt.Fprintf(sum, "%d %s\n", len(text), text)
	}
	return fmt.Sprintf("_runs/%s-%x", name, sum.Sum(nil)[:4])
}

// folderOfRuns names the folder of runs by default. The runs of another plan than the scenario's own have a hash in it, and
// so have those of a plan that lay beside its scenario, which need not be the one that the user knows by its name.
func folderOfRuns(s *scenarios.Scenario, faults []nemesis.Fault, replayed bool, first uint64, seeds int) string {
	name := fmt.Sprintf("%s-%d", s.Name, first)
	if seeds > 1 {
		name += fmt.Sprintf("-%d", seeds)
	}
	plan := nemesis.Plan{Faults: faults}.String()
	if own := (nemesis.Plan{Faults: s.Faults}).String(); plan == own && (!replayed || s.Path == "") {
		return "_runs/" + name
	}
	return folderFor(name, s, plan)
}

// inputs are what a run was made from. A scenario that is not of the catalogue goes along, so that the folder can be moved.
func inputs(s *scenarios.Scenario, plan nemesis.Plan, digest string) []search.File {
	if s.Path == "" {
		return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, digest))}}
	}
	plan.Scenario = "./" + search.ScenarioFile
	return []search.File{{Name: search.PlanFile, Text: []byte(planText(plan, digest))}, {Name: search.ScenarioFile, Text: s.Text()}}
}

// The files in which a folder says what happened and what came of it.
const (
	historyFile = "history.jsonl"
	verdictFile = "verdict.json"
)

// writeRun leaves the files of one run in a place of the command's folder: what it was made from, what happened, and what came
// of it.
func writeRun(files *artefact.Files, place string, from []search.File, run *reports.Run) {
	var events bytes.Buffer
	err := history.Encode(&events, run.History)
	files.Fail(err)
	verdict, failed := reports.JSON("run", run)
	files.Fail(failed)
	if err != nil || failed != nil {
		return
	}
	var all []artefact.File
	for _, f := range append(from, search.File{Name: historyFile, Text: events.Bytes()}, search.File{Name: verdictFile, Text: verdict}) {
		all = append(all, artefact.File{Name: path.Join(place, f.Name), Content: f.Text})
	}
	files.Keep(all...)
}

// planText is the plan with the digest of the run that it gives.
func planText(p nemesis.Plan, digest string) string {
	return fmt.Sprintf("# repeat with: fencepost replay plan.txt; the run's digest is %s\n%s", digest, p)
}

// writeMany leaves the sum of many runs, and the files of each run worth showing in a folder of its own.
// What was run goes along, for merge.
func (j *job) writeMany(many *reports.Many, runs *search.Runs) {
	record, err := runs.Encode()
	j.files.Fail(err)
	verdict, failed := reports.JSONMany("run", many)
	j.files.Fail(failed)
	if err == nil && failed == nil {
		j.files.Keep(artefact.File{Name: runsFile, Content: record}, artefact.File{Name: search.ScenarioFile, Content: j.scenario.Text()},
			artefact.File{Name: verdictFile, Content: verdict})
	}
	if j.metrics != "" {
		j.files.Write(j.metrics, artefact.Metrics, reports.OpenMetricsMany(many))
	}
	shown := many.Runs
	if many.Sample != nil {
		shown = []*reports.Run{many.Sample}
	}
	for _, run := range shown {
		j.write(run)
	}
	j.writeManyHTML(many, shown)
}

// writeManyHTML writes the page of many runs, and beside it one for each run worth showing.
func (j *job) writeManyHTML(many *reports.Many, shown []*reports.Run) {
	if j.html == "" {
		return
	}
	var links []reports.Link
	for _, run := range shown {
		path := fmt.Sprintf("%s-seed-%d.html", strings.TrimSuffix(j.html, filepath.Ext(j.html)), run.Seed)
		j.writeHTML(run, path)
		text := fmt.Sprintf("seed %d: timeline, witness and metrics", run.Seed)
		links = append(links, reports.Link{Text: text, Href: filepath.Base(path)})
	}
	writePage(j.files, j.html, func(w io.Writer) error { return reports.ManyHTML(w, many, links) })
}

// writeHTML writes the report of a run, and beside it what porcupine draws of each lock.
func (j *job) writeHTML(run *reports.Run, page string) {
	var links []reports.Link
	base := strings.TrimSuffix(page, filepath.Ext(page))
	names := names{}
	for _, e := range checker.Evidence(run.History) {
		name := names.of(string(e.Lock))
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
			path := fmt.Sprintf("%s-%s-%s.html", base, name, view.what)
			writePage(j.files, path, view.show)
			links = append(links, reports.Link{Text: fmt.Sprintf("porcupine: %s of %q", view.what, e.Lock), Href: filepath.Base(path)})
		}
	}
	writePage(j.files, page, func(w io.Writer) error { return reports.HTML(w, run, links) })
}

func writePage(files *artefact.Files, path string, write func(io.Writer) error) {
	var b bytes.Buffer
	err := write(&b)
	if files.Fail(err); err == nil {
		files.Write(path, artefact.Page, b.Bytes())
	}
}

// fileWord makes a word that can stand in a file's name, and in a link to it.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#% `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// names are words that stand in files' names, each for one thing.
type names map[string]bool

// of makes a word that can stand in a file's name and that no other thing has, on a file system that heeds no case either.
func (n names) of(s string) string {
	const longest = 100
	word := fileWord(s)
	for len(word) > longest {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	free := word
	for i := 2; n[strings.ToLower(free)]; i++ {
		free = fmt.Sprintf("%s-%d", word, i)
	}
	n[strings.ToLower(free)] = true
	return free
}
