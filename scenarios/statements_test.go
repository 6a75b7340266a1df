package scenarios_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the rows of the table on the page that has the given title for its first column. Each row maps column
// titles to cells.
func table(t *testing.T, page, first string) (rows []map[string]string) {
	t.Helper()
	var titles []string
	for _, line := range strings.Split(read(t, page), "\n") {
		inside, isRow := strings.CutPrefix(line, "| ")
		if !isRow {
			if strings.HasPrefix(line, "|---") {
				continue
			}
			titles = nil
			continue
		}
		cells := strings.Split(strings.TrimSuffix(inside, " |"), " | ")
		switch {
		case titles == nil:
			if titles = cells; cells[0] != first {
				titles = []string{""}
			}
		case titles[0] == first:
			if len(cells) != len(titles) {
				t.Fatalf("%s: %q has %d cells, the table %d", page, line, len(cells), len(titles))
			}
			row := map[string]string{}
			for i := range cells {
				row[titles[i]] = cells[i]
			}
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("%s has no table of %s", page, first)
	}
	return rows
}

var (
	quoted   = regexp.MustCompile("`([^`]+)`")
	commands = regexp.MustCompile(
		`^fencepost (compare|odds)( --[a-z]+ [0-9]+)*$|^go test \./[a-z/]+ -run Test[A-Za-z]+$`)
)

func TestStatementsNameWhatThereIs(t *testing.T) {
	for _, row := range statements(t) {
		kind, why, _ := strings.Cut(row["verdict"], ": ")
		shown := quoted.FindAllStringSubmatch(row["shown by"], -1)
		switch {
		case kind != "agrees" && kind != "differs" && kind != "missing":
			t.Errorf("%s: verdict %q", row["it says"], row["verdict"])
		case kind != "agrees" && why == "":
			t.Errorf("%s: %s without a reason", row["it says"], kind)
		case (kind == "missing") != (len(shown) == 0):
			t.Errorf("%s: %s, shown by %q", row["it says"], kind, row["shown by"])
		}
		for _, by := range shown {
			if _, err := scenarios.Named(by[1]); err != nil && !commands.MatchString(by[1]) {
				t.Errorf("%s: %v", row["it says"], err)
			}
		}
	}
}

func TestStatementsAreCounted(t *testing.T) {
	all := statements(t)
	count := map[string]int{}
	for _, row := range all {
		kind, _, _ := strings.Cut(row["verdict"], ":")
		count[kind]++
	}
	says := fmt.Sprintf("%d statements: %d are shown, of which %d come out as the document says and %d otherwise; "+
		"%d are not\nsimulated, and say why.",
		len(all), count["agrees"]+count["differs"], count["agrees"], count["differs"], count["missing"])
	if !strings.Contains(read(t, "STATEMENTS.md"), says) {
		t.Errorf("STATEMENTS.md must say: %s", says)
	}
}

func statements(t *testing.T) []map[string]string { return table(t, "STATEMENTS.md", "document") }

// cited returns the citations that a scenario may name as its source. For documents, it includes their short names.
func cited(t *testing.T) map[string]string {
	all := map[string]string{}
	for _, row := range table(t, "STATEMENTS.md", "short") {
		all[row["cited as"]] = row["short"]
	}
	for _, row := range table(t, "STATEMENTS.md", "cited as") {
		all[row["cited as"]] = ""
	}
	return all
}

// A scenario in the catalog names a document as its source only if it shows a statement from that document.
func TestSourcesNameADocumentOnlyForWhatStandsInIt(t *testing.T) {
	shows := map[string][]string{} // the documents that each scenario illustrates
	for _, row := range statements(t) {
		for _, by := range quoted.FindAllStringSubmatch(row["shown by"], -1) {
			shows[by[1]] = append(shows[by[1]], row["document"])
		}
	}
	citations := cited(t)
	for _, name := range scenarios.Names() {
		s, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		document, known := citations[s.Source]
		switch {
		case !known:
			t.Errorf("%s: %q is not cited so in STATEMENTS.md", name, s.Source)
		case document != "" && !slices.Contains(shows[name], document):
			t.Errorf("%s names %s as its source, but shows no statement of it", name, document)
		}
	}
}

func TestSourcesOfTheCorpusAreCited(t *testing.T) {
	files, err := filepath.Glob("corpus/locks/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	citations := cited(t)
	for _, f := range files {
		s, err := scenarios.Load(f)
		if err != nil {
			t.Fatal(err)
		}
		if _, known := citations[s.Source]; !known {
			t.Errorf("%s: %q is not cited so in STATEMENTS.md", f, s.Source)
		}
	}
}

// Published text does not refer to files that are not published.
func TestNoDocumentIsNamedByItsFile(t *testing.T) {
	stored := regexp.MustCompile(`00[0-4]_[0-9a-f]{16}\b`)
	root := ".."
	seen := 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && strings.HasPrefix(d.Name(), ".") {
			return filepath.SkipDir
		}
		if d.IsDir() || !slices.Contains([]string{".go", ".md", ".yaml", ".txtar", ".txt", ".html"},
			filepath.Ext(path)) {
			return nil
		}
		text, err := os.ReadFile(path)
		seen++
		if found := stored.Find(text); found != nil {
			t.Errorf("%s names %s", path, found)
		}
		return err
	})
	if err != nil || seen < 300 {
		t.Error(seen, err)
	}
}
