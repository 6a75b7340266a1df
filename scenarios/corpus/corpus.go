// Package corpus holds locks that are sound within stated assumptions, and mutants: the same locks with one thing
// wrong, as shipped libraries had it or as a wrong setting has it. It measures Fencepost itself: what finds no mutant
// finds nothing.
//
// Goals: every lock says what it promises and which faults it excludes, and why; a mutant is its lock with an edit or
// two, run under the same faults and held to the same promises; every known defect of a real library has its mutant;
// what comes of all of them is the same whoever runs them.
// Non-goals: how runs are made and searched (scenarios/search), showing known failures (the catalogue of package
// scenarios).
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

// Names lists the sound locks: those on one Redis first, then Redlock, replicated Redis, etcd, ZooKeeper and
// Kubernetes.
func Names() []string { return slices.Clone(names) }

var names = []string{
	"set-nx-px", "cad", "delex", "reentrant", "renewed", "renewed-cas", "two-locks", "fenced", "fenced-renewed",
	"redlock", "redlock-parallel", "redlock-extended", "redlock-delayed-restart",
	"waited", "semi-sync",
	"etcd", "etcd-fenced",
	"zookeeper", "zookeeper-read-write", "zookeeper-fenced",
	"lease-object", "lease-object-fenced",
}

// Lock is the sound lock of the given name, one of Names.
func Lock(name string) (*scenarios.Scenario, error) {
	text, err := files.ReadFile(fileOf(name))
	if err != nil {
		return nil, fmt.Errorf("the corpus has no lock %q: it is one of %s", name, strings.Join(names, ", "))
	}
	return scenarios.Parse(fileOf(name), text)
}

func fileOf(name string) string { return "locks/" + name + ".yaml" }

// Mutant is a sound lock with something wrong.
type Mutant struct {
	Name   string
	Of     string // the sound lock
	Defect string // what is wrong, in a few words
	Source string // the library's issue or the document that shows it; empty: a setting that is there to be got wrong
	Edits  []Edit
	Within int           // seeds from 0 on, one of which catches it
	Breaks []checker.Law // one of which it breaks before any other that its lock promises
}

// Edit is one change of a lock's file: a key, or an exclusion that is taken away.
type Edit struct {
	Path, Value string // set Path to Value; a value such as [a, b] is a list
	Admit       string // or take this line out of mix.without: the defect is that the fault was not thought of
}

// String gives "path=value", or "admit LINE".
func (e Edit) String() string {
	if e.Admit != "" {
		return "admit " + e.Admit
	}
	return e.Path + "=" + e.Value
}

// Text is the file of the mutant's scenario.
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

// scenario is the mutant as a scenario: under the faults of its lock, with its lock's promises.
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
		return fmt.Errorf("%s: the lock does not exclude that", e)
	case len(without) == 1:
		d.Remove(exclusions)
	default:
		d.SetList(exclusions, slices.Delete(without, i, i+1))
	}
	return nil
}
