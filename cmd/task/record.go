package task

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
	ExplorationFile = "exploration.json"
	RunsFile        = "runs.json"
)

// savedEvery is the most work that is lost when the program is killed.
const savedEvery = time.Second

// FolderOf names the default folder of an exploration. It has the hash of the scenario in its name, so that a changed
// one starts again.
func FolderOf(e *search.Exploration) string {
	dir := fmt.Sprintf("_runs/explore-%s-%s-%d-%d", e.Scenario, e.Identity.Text[:8], e.From, e.Seeds)
	if e.Shard != search.Whole {
		dir += fmt.Sprintf("-shard-%d-of-%d", e.Shard.Index, e.Shard.Of)
	}
	return dir
}

// ReadExploration reads the exploration in a folder; the error matches os.ErrNotExist if there is none.
func ReadExploration(dir string) (*search.Exploration, error) {
	return readKept(dir, ExplorationFile, "exploration", search.DecodeExploration)
}

// ReadRuns reads the runs in a folder, as ReadExploration does.
func ReadRuns(dir string) (*search.Runs, error) {
	return readKept(dir, RunsFile, "runs of many seeds", search.DecodeRuns)
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

// ScenarioIn opens the scenario that was run: from the catalogue if it is unchanged there, otherwise the copy in the
// folder. matches says why it is another.
func ScenarioIn(dir, name string, matches func(*scenarios.Scenario) error) (*scenarios.Scenario, error) {
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

// Save writes the record so that a kill at any moment leaves either the old one or the new one complete.
func (x *Exploration) Save() {
	text, err := x.Found.Encode()
	x.saved = time.Now()
	if x.Files.Fail(err); err == nil {
		x.Files.Keep(output.File{Name: search.ScenarioFile, Content: x.Scenario.Text()},
			output.File{Name: ExplorationFile, Content: text})
	}
}

// SaveNowAndThen writes it if the last time is a while ago.
func (x *Exploration) SaveNowAndThen() {
	if time.Since(x.saved) >= savedEvery {
		x.Save()
	}
}
