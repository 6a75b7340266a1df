package claims

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Wrongs collects false statements, grouped by kind. At the end of the test, it logs some cases of each kind. In the
// test's artifact directory, it also writes list.txt, which lists all cases, and a scenario file for each case. To keep
// these files, use "go test -artifacts -outputdir DIR".
type Wrongs struct {
	t      testing.TB
	folder string
	kinds  map[string][]string
}

// NewWrongs returns a Wrongs that reports its cases when the test t ends.
func NewWrongs(t testing.TB) *Wrongs {
	w := &Wrongs{t, t.ArtifactDir(), map[string][]string{}}
	t.Cleanup(w.report)
	return w
}

// Add records that a story contains a false statement, and writes a file that reproduces the story.
func (w *Wrongs) Add(kind string, s *Story, format string, args ...any) {
	w.t.Helper()
	text, err := s.file()
	if err != nil {
		w.t.Fatal(err)
	}
	path := w.path(fmt.Sprintf("%s-%d", s.Scenario.Name, s.Plan.Seed), text)
	w.write(path, text)
	var b strings.Builder
	fmt.Fprintf(&b, format, args...)
	fmt.Fprintf(&b, "\n    fencepost run %s --seed %d\n", path, s.Plan.Seed)
	for _, f := range s.Plan.Faults {
		fmt.Fprintf(&b, "      %s\n", f)
	}
	fmt.Fprintf(&b, "    %s %s by %s: %s\n", s.Law, s.Outcome, s.Cause, s.Explanation)
	for _, trial := range s.Trials {
		fmt.Fprintf(&b, "    %s\n", trial)
	}
	fmt.Fprintf(&b, "    Remedy: %s\n", s.Remedy)
	w.kinds[kind] = append(w.kinds[kind], b.String())
}

// path returns a path for a file with the given name and text. Different scenarios may have the same name and seed.
// Therefore, if a file with this name but a different text already exists, path adds a number to the name.
func (w *Wrongs) path(name, text string) string {
	path := filepath.Join(w.folder, name+".yaml")
	for n := 2; ; n++ {
		there, err := os.ReadFile(path)
		if err != nil || string(there) == text {
			return path
		}
		path = filepath.Join(w.folder, fmt.Sprintf("%s-%d.yaml", name, n))
	}
}

// Count returns the number of cases whose kind begins with the given prefix.
func (w *Wrongs) Count(prefix string) (n int) {
	for kind, cases := range w.kinds {
		if strings.HasPrefix(kind, prefix) {
			n += len(cases)
		}
	}
	return n
}

// mostLogged is the maximum number of cases of each kind that are logged. The complete list is in list.txt.
const mostLogged = 10

// report logs each kind's cases, starting with the most frequent kind, and writes list.txt.
func (w *Wrongs) report() {
	kinds := slices.SortedFunc(maps.Keys(w.kinds), func(a, b string) int {
		return cmp.Or(len(w.kinds[b])-len(w.kinds[a]), cmp.Compare(a, b))
	})
	var all strings.Builder
	for _, kind := range kinds {
		fmt.Fprintf(&all, "%5d  %s\n", len(w.kinds[kind]), kind)
	}
	for _, kind := range kinds {
		cases := w.kinds[kind]
		fmt.Fprintf(&all, "\n== %s (%d)\n\n%s", kind, len(cases), strings.Join(cases, "\n"))
		w.t.Logf("%s (%d)\n%s", kind, len(cases), strings.Join(cases[:min(len(cases), mostLogged)], "\n"))
	}
	w.write(filepath.Join(w.folder, "list.txt"), all.String())
}

func (w *Wrongs) write(path, text string) {
	w.t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		w.t.Fatal(err)
	}
}
