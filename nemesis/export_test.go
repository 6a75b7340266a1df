package nemesis

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestNames gives the tests in package nemesis_test access to testNames.
var TestNames = testNames

// Twins registers a copy of each kind, called the kind's twin, for the duration of the test. The twin's name is the
// kind's name in capitals, so messages about the two kinds differ only in case. A kind does not get a twin if histories
// record only its outcome, because the same outcome can have other causes.
func Twins(t *testing.T) map[Kind]Kind {
	t.Helper()
	kinds, rows, known := slices.Clone(Kinds), slices.Clone(history.FaultKinds), definitions
	t.Cleanup(func() { Kinds, history.FaultKinds, definitions = kinds, rows, known })
	twins := map[Kind]Kind{}
	for _, k := range kinds {
		d := *k.definition()
		if d.outcome {
			continue
		}
		row := rows[k-1]
		d.words = history.F(strings.ToUpper(k.String()))
		row.F = d.words
		history.FaultKinds = append(history.FaultKinds, row)
		twins[k] = register(d)
	}
	return twins
}

// Incomplete returns the errors that register reports for incomplete copies of a kind. Each copy lacks one required
// part.
func Incomplete(t *testing.T) []string {
	t.Helper()
	var said []string
	for _, forget := range []func(*definition){
		func(d *definition) { d.words = "nothing that a history knows" },
		func(d *definition) {},
		func(d *definition) { d.meaning = "" },
		func(d *definition) { d.begin = nil },
		func(d *definition) { d.end = nil },
		func(d *definition) { d.weight = -1 },
		func(d *definition) { d.draw = nil },
		func(d *definition) { d.possible = nil },
		func(d *definition) { d.target = roles{} },
		func(d *definition) { d.placement = Placement{} },
		func(d *definition) { d.placement.Candidates = nil },
		func(d *definition) { d.placement.At = AtLinks },
	} {
		d := *Pause.definition()
		d.fields, d.opening = 0, nil
		d.words = "half"
		rows := slices.Clone(history.FaultKinds)
		history.FaultKinds = append(history.FaultKinds, history.FaultKind{F: "half", Does: history.Stops, Lasts: true})
		if forget(&d); len(said) == 1 {
			d.words = history.Pause
		}
		said = append(said, recovered(func() { register(d) }))
		history.FaultKinds = rows
	}
	return said
}

func recovered(f func()) (said string) {
	defer func() { said, _ = recover().(string) }()
	f()
	return ""
}
