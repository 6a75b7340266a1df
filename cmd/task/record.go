package task

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// The names of the files from which explorations and runs of many seeds can be continued and merged.
const (
	ExplorationFile = "exploration.json"
	RunsFile        = "runs.json"
)

// savedEvery is the interval between saves. If the program is killed, at most this much work is lost.
const savedEvery = time.Second

// FolderOf returns the default folder of an exploration. Its name contains a hash of the scenario, so a changed
// scenario is explored in a different folder.
func FolderOf(e *search.Result) string {
	dir := fmt.Sprintf("_runs/explore-%s-%s-%d-%d", e.Scenario, e.Identity.Text[:8], e.From, e.Seeds)
	if e.Shard != search.Whole {
		dir += fmt.Sprintf("-shard-%d-of-%d", e.Shard.Index, e.Shard.Of)
	}
	return dir
}

// ReadResult reads a search's record from a folder; file is ExplorationFile or RunsFile. The error matches
// os.ErrNotExist if there is no record.
func ReadResult(dir, file string) (*search.Result, error) {
	path := filepath.Join(dir, file)
	text, err := readRecord(path, mostRecord)
	if errors.Is(err, os.ErrNotExist) {
		what := "exploration"
		if file == RunsFile {
			what = "runs of many seeds"
		}
		return nil, fmt.Errorf("%s holds no %s: %w", dir, what, err)
	}
	if err != nil {
		return nil, err
	}
	r, err := search.Decode(text)
	if err == nil && (r.Repeated != nil) != (file == RunsFile) {
		err = errors.New("is a record of another kind")
	}
	if err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return r, nil
}

// mostRecord is the maximum size of a record, in bytes. Records of large searches take a few MB.
const mostRecord = 256 << 20

// readRecord reads a record file, which someone else may have written. It returns an error if the file is larger than
// the given maximum. In that case it reads little more than the maximum, or nothing if the file system reports a larger
// size.
func readRecord(path string, most int64) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	length := info.Size()
	if length <= most {
		text, err = io.ReadAll(io.LimitReader(f, most+1))
		length = int64(len(text))
	}
	if length > most {
		return nil, fmt.Errorf("%s is longer than %d bytes, so it is not a record of a search", path, most)
	}
	return text, err
}

// ScenarioIn opens the scenario that was run. It uses the scenario in the catalog if that is the one that was run, and
// otherwise the copy in the folder. matches returns an error if a scenario is not the one that was run.
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

// Save writes the record to its file. If the program is killed during the write, the file contains the complete old or
// the complete new record.
func (x *Exploration) Save() {
	text, err := x.Found.Encode()
	x.saved = time.Now()
	if x.Files.Fail(err); err == nil {
		x.Files.Keep(output.File{Name: search.ScenarioFile, Content: x.Scenario.Text()},
			output.File{Name: ExplorationFile, Content: text})
	}
}

// SaveNowAndThen saves the record unless it was saved within the last second.
func (x *Exploration) SaveNowAndThen() {
	if time.Since(x.saved) >= savedEvery {
		x.Save()
	}
}
