// Package corpus contains locks that are sound under stated assumptions, and mutants of them. A mutant is a copy of a
// sound lock with one defect, such as a bug that a released library once had, or a wrong setting. The corpus tests
// Fencepost itself: a search that cannot find these defects cannot be trusted to find others.
//
// Goals: every lock says what it promises, and which faults it excludes and why; a mutant is its lock with a few edits,
// makes the same promises and runs under the same faults, plus those that an edit admits; every known defect in a real
// library has a mutant; the results do not depend on which process performs the runs. Non-goals: how plans are run and
// searched (scenarios/search); demonstrations of known failures (package scenarios' catalog).
package corpus

import (
	"embed"
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

//go:embed locks/*.yaml
var files embed.FS

// Names returns the names of the sound locks: first those on a single Redis server, then those on Redlock, replicated
// Redis, etcd, ZooKeeper, Kubernetes and Consul.
func Names() []string { return slices.Clone(names) }

var names = []string{
	"set-nx-px", "cad", "delex", "reentrant", "renewed", "renewed-cas", "two-locks", "fenced", "fenced-renewed",
	"semaphore", "read-write", "fair", "hash-counter", "shared-object", "waitaof",
	"redlock", "redlock-parallel", "redlock-extended", "redlock-delayed-restart",
	"waited", "semi-sync", "cluster",
	"etcd", "etcd-fenced",
	"zookeeper", "zookeeper-read-write", "zookeeper-fenced",
	"lease-object", "lease-object-fenced",
	"consul", "consul-fenced",
}

// Lock returns the sound lock with the given name, which must be one of Names.
func Lock(name string) (*scenarios.Scenario, error) {
	text, err := files.ReadFile(fileOf(name))
	if err != nil {
		return nil, fmt.Errorf("the corpus has no lock %q: use one of %s", name, strings.Join(names, ", "))
	}
	return scenarios.Parse(fileOf(name), text)
}

func fileOf(name string) string { return "locks/" + name + ".yaml" }

// Mutant is a copy of a sound lock with a defect.
type Mutant struct {
	Name   string
	Of     string // name of the sound lock
	Defect string // description of the defect, a few words
	Source string // library issue or document that shows the defect; empty if it is a setting that users can get wrong
	Edits  []Edit
	Within int           // number of seeds, from 0, within which a search must catch the mutant
	Breaks []checker.Law // one of these must be the first promised law that the mutant breaks
}

// Edit is one change to a lock's scenario file. It either sets a key or allows a fault that the scenario excludes.
type Edit struct {
	Path, Value string // sets Path to Value; a value such as [a, b] is a list
	Admit       string // removes this line from mix.without: the defect is that nobody considered this fault
}

// String returns "path=value" or "admit LINE".
func (e Edit) String() string {
	if e.Admit != "" {
		return "admit " + e.Admit
	}
	return e.Path + "=" + e.Value
}

// Text returns the mutant's scenario file.
func (m *Mutant) Text() ([]byte, error) {
	text, err := files.ReadFile(fileOf(m.Of))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", m.Name, err)
	}
	d, err := format.ParseDocument(fileOf(m.Of), text)
	if err != nil {
		return nil, err
	}
	d.Set("name", m.Name)
	for _, e := range m.Edits {
		if err := e.apply(d); err != nil {
			return nil, fmt.Errorf("%s: %w", m.Name, err)
		}
	}
	return []byte(d.String()), nil
}

// scenario returns the mutant as a scenario.
func (m *Mutant) scenario() (*scenarios.Scenario, error) {
	text, err := m.Text()
	if err != nil {
		return nil, err
	}
	return scenarios.Parse(m.Name+".yaml", text)
}

const exclusions = "mix.without"

func (e Edit) apply(d *format.Document) error {
	if e.Admit == "" {
		if value, is := d.Get(e.Path); is && value == e.Value {
			return fmt.Errorf("%s changes nothing", e)
		}
		if list, is := strings.CutPrefix(e.Value, "["); is {
			d.SetList(e.Path, strings.Split(strings.TrimSuffix(list, "]"), ", "))
		} else {
			d.Set(e.Path, e.Value)
		}
		return nil
	}
	if _, err := nemesis.ParseExclusion(e.Admit); err != nil {
		return fmt.Errorf("%s: %w", e, err)
	}
	without := d.List(exclusions)
	i := slices.Index(without, e.Admit)
	switch {
	case i < 0:
		return fmt.Errorf("%s: the lock does not exclude this fault", e)
	case len(without) == 1:
		d.Remove(exclusions)
	default:
		d.SetList(exclusions, slices.Delete(without, i, i+1))
	}
	return nil
}
