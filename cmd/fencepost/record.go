package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// What explorations and runs of many seeds keep in their folder, so that they can be continued and merged.
const (
	recordFile = "exploration.json"
	runsFile   = "runs.json"
)

// savedEvery is the most work that is lost when the program is killed.
const savedEvery = time.Second

// defaultFolder has the hash of the scenario in its name, so that a changed one starts again.
func defaultFolder(e *search.Exploration) string {
	dir := fmt.Sprintf("_runs/explore-%s-%s-%d-%d", e.Scenario, e.Identity.Text[:8], e.From, e.Seeds)
	if e.Shard != search.Whole {
		dir += fmt.Sprintf("-shard-%d-of-%d", e.Shard.Index, e.Shard.Of)
	}
	return dir
}

// readRecord reads the exploration in a folder; the error matches os.ErrNotExist if there is none.
func readRecord(dir string) (*search.Exploration, error) {
	return readKept(dir, recordFile, "exploration", search.DecodeExploration)
}

// readRuns reads the runs in a folder, as readRecord does.
func readRuns(dir string) (*search.Runs, error) {
	return readKept(dir, runsFile, "runs of many seeds", search.DecodeRuns)
}

// readKept decodes a file that an earlier call has left in a folder; what names its content in errors.
func readKept[R any](dir, file, what string, decode func([]byte) (*R, error)) (*R, error) {
	path := filepath.Join(dir, file)
	text, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s holds no %s: %w", dir, what, err)
	}
	if err != nil {
		return nil, err
	}
	r, err := decode(text)
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return r, nil
}

// scenarioOf opens the scenario that was run: from the catalogue if it is unchanged there, otherwise the copy in the
// folder. matches says why it is another.
func scenarioOf(dir, name string, matches func(*scenarios.Scenario) error) (*scenarios.Scenario, error) {
	if s, err := scenarios.Named(name); err == nil && matches(s) == nil {
		return s, nil
	}
	s, err := scenarios.Load(filepath.Join(dir, search.ScenarioFile))
	if err != nil {
		return nil, err
	}
	if err := matches(s); err != nil {
		return nil, fmt.Errorf("%s %w", dir, err)
	}
	return s, nil
}

// save writes the record so that a kill at any moment leaves either the old one or the new one complete.
func (x *conclusion) save() {
	text, err := x.found.Encode()
	x.saved = time.Now()
	if x.Files.Fail(err); err == nil {
		x.Files.Keep(output.File{Name: search.ScenarioFile, Content: x.scenario.Text()},
			output.File{Name: recordFile, Content: text})
	}
}

func (x *conclusion) saveNowAndThen() {
	if time.Since(x.saved) >= savedEvery {
		x.save()
	}
}
