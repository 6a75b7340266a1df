package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestAFaultIsJudgedByWhatItDoes copies every kind of fault. The copies have the same effects, but their names are in
// capitals. The test replaces the kinds in histories with their copies, and judges the histories again. The laws,
// causes and explanations must differ only in these names.
func TestAFaultIsJudgedByWhatItDoes(t *testing.T) {
	rows := slices.Clone(history.FaultKinds)
	t.Cleanup(func() { history.FaultKinds = rows })
	for _, row := range rows {
		row.F = history.F(strings.ToUpper(string(row.F)))
		history.FaultKinds = append(history.FaultKinds, row)
	}
	files, err := filepath.Glob("testdata/laws/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range lawCases(t, string(text)) {
			sameUnderOtherNames(t, file+": "+c.name, fromLog(t, c.history))
		}
	}
	rounds := testkit.Size(200, 800, 20_000)
	for round := range rounds {
		g := newGossip(uint64(round), 12)
		g.twoGrants()
		sameUnderOtherNames(t, fmt.Sprintf("two grants, round %d", round), g.h)
		g = newGossip(uint64(round), 13)
		g.anything(30)
		sameUnderOtherNames(t, fmt.Sprintf("anything, round %d", round), g.h)
	}
}

func sameUnderOtherNames(t *testing.T, name string, h *history.History) {
	t.Helper()
	own, slowly := Check(h), fmt.Sprint(slow.Check(h))
	twin := *h
	twin.Events = slices.Clone(h.Events)
	for i := range twin.Events {
		if e := &twin.Events[i]; e.Type != history.Info && e.F.Does() != history.Unknown {
			e.F, e.Value = history.F(strings.ToUpper(string(e.F))), strings.ToUpper(e.Value)
		}
	}
	v := Check(&twin)
	for _, law := range Laws {
		a, b := own.Of(law), v.Of(law)
		if was, is := strings.ToLower(show(a)), strings.ToLower(show(b)); was != is {
			t.Fatalf("%s\n%s\nbut under other names\n%s\n%s", name, was, is, encoded(t, &twin))
		}
	}
	if is := fmt.Sprint(slow.Check(&twin)); is != slowly {
		t.Fatalf("%s: read slowly\n%s\nbut under other names\n%s\n%s", name, slowly, is, encoded(t, &twin))
	}
}
