package task

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// Open returns the catalog scenario with the given name. If there is none, it treats name as a path and reads the
// scenario from that file.
func Open(name string) (*scenarios.Scenario, error) { return OpenFrom("", name) }

// OpenFrom is like Open, but a relative file path is relative to dir.
func OpenFrom(dir, name string) (*scenarios.Scenario, error) {
	if s, err := scenarios.Named(name); !errors.Is(err, fs.ErrNotExist) {
		return s, err
	}
	path := name
	if dir != "" && !filepath.IsAbs(name) {
		path = filepath.Join(dir, name)
	}
	s, err := scenarios.Load(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s is neither a scenario of the catalog nor a file%s", name,
			output.DidYouMean(output.Meant(name, scenarios.Names())...))
	}
	return s, err
}

// NameOf returns the name or path that commands use for the scenario.
func NameOf(s *scenarios.Scenario) string {
	if s.Path != "" {
		return s.Path
	}
	return s.Name
}
