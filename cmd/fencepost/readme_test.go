package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// blocks lists the program output blocks in the documents: the file, the name of the marks around the block, and the
// content between them. Blocks that take a long time to produce are checked only in a full run (see testkit.Full).
var blocks = []struct {
	file, mark string
	full       bool
	content    func(t *testing.T, root string) string
}{
	{"README.md", "output", false,
		func(t *testing.T, _ string) string { return picture(readmeOutput(t, "run", "kleppmann-gc-pause")) }},
	{"scenarios/search/README.md", "exploration", false, func(t *testing.T, _ string) string {
		return overview(readmeOutput(t, "explore", "kleppmann-gc-pause", "--seeds", "1000"))
	}},
	{"scenarios/sweep/README.md", "delayed restart", true, delayedRestart},
	{"scenarios/COMPARISON.md", "comparison", true,
		func(t *testing.T, _ string) string { return readmeOutput(t, "compare", "--seeds", "20") }},
	{"scenarios/TRACK-RECORD.md", "track record", false, func(t *testing.T, _ string) string { return trackRecord(t) }},
}

// TestDocumentsShowWhatTheCommandsSay checks that the documents show exactly what the program prints. -update rewrites
// the documents.
func TestDocumentsShowWhatTheCommandsSay(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range blocks {
		t.Run(b.file+" "+b.mark, func(t *testing.T) {
			if b.full && !*testkit.Update {
				testkit.FullOnly(t)
			}
			path := filepath.Join(root, b.file)
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			want := fill(t, string(text), b.mark, b.content(t, root))
			if want == string(text) {
				return
			}
			if !*testkit.Update {
				t.Fatalf("%s shows something else than the program; rewrite it with: go test ./cmd/fencepost -update",
					b.file)
			}
			testkit.Write(t, path, want)
		})
	}
}

// TestTheReadmeIsShort limits the README's length, because its readers have an hour at most.
func TestTheReadmeIsShort(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n > 200 {
		t.Errorf("%d lines, at most 200", n)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinksLeadSomewhere follows the links between the documents, including links to headings.
func TestLinksLeadSomewhere(t *testing.T) {
	followed := 0
	for _, path := range markdownFiles(t) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			file, heading, _ := strings.Cut(m[1], "#")
			if strings.Contains(m[1], "://") {
				continue
			}
			followed++
			target := path
			if file != "" {
				target = filepath.Join(filepath.Dir(path), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link to %s leads nowhere", path, m[1])
			} else if heading != "" && !slices.Contains(headings(t, target), heading) {
				t.Errorf("%s: %s has no heading %q, but %q", path, target, heading, headings(t, target))
			}
		}
	}
	if followed < 20 {
		t.Errorf("only %d links were followed", followed)
	}
}

// markdownFiles returns the project's Markdown files.
func markdownFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err == nil && (d.Name() == "node_modules" || d.Name() == "venv") {
			return fs.SkipDir
		}
		if d.IsDir() && (strings.HasPrefix(d.Name(), "_") || d.Name() == ".git" ||
			d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(path, ".md") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestEveryPageOpensWithWhatItsReaderCanDo checks that each page's first paragraph, before any table or code, says what
// users can do or know after reading the page.
func TestEveryPageOpensWithWhatItsReaderCanDo(t *testing.T) {
	for _, path := range markdownFiles(t) {
		if filepath.Base(path) == "PULL_REQUEST_TEMPLATE.md" { // this page is a form to fill in
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "\n\n")
		first, _, _ := strings.Cut(rest, "\n\n")
		words := strings.Join(strings.Fields(first), " ")
		if !strings.Contains(words, "After reading this page you can ") &&
			!strings.Contains(words, "After reading this page you know ") {
			t.Errorf("%s opens with %q: say first what its reader can do", path, words)
		}
	}
}

var (
	rowOfTable    = regexp.MustCompile(`(?m)^\| [^|]+\? [^|]*\|(.*)$`)
	commandInCode = regexp.MustCompile("`fencepost ([^`]+)`")
	// scenarioInCode matches a name of two or more words, with or without a command in front of it.
	scenarioInCode = regexp.MustCompile("`(?:fencepost (?:run|play|live) )?([a-z]+(?:-[a-z]+)+)[ `]")
)

// TestEachQuestionLeadsToAnAnswer checks that the README leads to the questions page, that each question there leads to
// a page, and that the commands and scenarios that answer them exist.
func TestEachQuestionLeadsToAnAnswer(t *testing.T) {
	if !strings.Contains(readFrom(t, "README.md"), "](scenarios/QUESTIONS.md)") {
		t.Error("the README does not link to the questions")
	}
	text := readFrom(t, "scenarios/QUESTIONS.md")
	rows := rowOfTable.FindAllStringSubmatch(text, -1)
	if n := strings.Count(text, "? |"); n < 10 || len(rows) < n {
		t.Fatalf("of %d questions %d were read", n, len(rows))
	}
	for _, row := range rows {
		if !link.MatchString(row[1]) {
			t.Errorf("this question leads to no page: %s", row[0])
		}
	}
	for _, m := range commandInCode.FindAllStringSubmatch(text, -1) {
		call := strings.Fields(strings.ReplaceAll(m[1], "'", ""))
		command, args, err := newRoot().Find(call)
		if err != nil || command == command.Root() {
			t.Errorf("%s: %v", m[0], err)
			continue
		}
		if i := slices.Index(args, "--client"); i >= 0 { // a command line in quotes
			args = args[:i]
		}
		command.InitDefaultHelpFlag()
		if err := command.ParseFlags(args); err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
	}
	for _, m := range scenarioInCode.FindAllStringSubmatch(text, -1) {
		if _, err := scenarios.Named(m[1]); err != nil {
			t.Errorf("%s: %v", m[0], err)
		}
	}
}

// headings returns the anchors that GitHub generates for a Markdown file's headings.
func headings(t *testing.T, path string) (anchors []string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if title, is := strings.CutPrefix(strings.TrimLeft(line, "#"), " "); is && strings.HasPrefix(line, "#") {
			anchors = append(anchors, strings.Join(strings.FieldsFunc(strings.ToLower(title), func(r rune) bool {
				return r != '-' && r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
			}), "-"))
		}
	}
	return anchors
}

// TestReadmeScenarioComesOutAsItSays runs the scenario that the README shows.
func TestReadmeScenarioComesOutAsItSays(t *testing.T) {
	text, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "```yaml\n")
	example, _, _ := strings.Cut(rest, "```")
	t.Chdir(t.TempDir())
	if err := os.WriteFile("example.yaml", []byte(example), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if code := run([]string{"run", "example.yaml", "--seeds", "200"}, &out, &problems); code != 0 {
		t.Errorf("exit %d\n%s%s", code, problems.String(), out.String())
	}
}

// fill replaces the text between the two marks that have the given name.
func fill(t *testing.T, text, name, content string) string {
	t.Helper()
	begin, end := fmt.Sprintf("<!-- %s: begin -->\n", name), fmt.Sprintf("<!-- %s: end -->", name)
	before, rest, hasBegin := strings.Cut(text, begin)
	_, after, hasEnd := strings.Cut(rest, end)
	if !hasBegin || !hasEnd {
		t.Fatalf("the marks of %s are missing", name)
	}
	return before + begin + content + end + after
}

// delayedRestart returns the output of the sweep shown in the document. root is the repository's path.
func delayedRestart(t *testing.T, root string) string {
	worst := filepath.Join(root, "scenarios/testdata/delayed-restart-worst-case.yaml")
	output := readmeOutput(t, "sweep", worst, "--law", "lease-exclusion", "--vary", "restart=0s..12s/500ms",
		"--assert", "lease-exclusion holds when restart >= ttl * 1.01 + 2ms", "--out", "maps")
	_, output, _ = strings.Cut(output, "\n\nlease-exclusion\n")
	output, _, _ = strings.Cut(output, "\n\nsigns ")
	lines := strings.Split("lease-exclusion\n"+output, "\n")
	lines = slices.DeleteFunc(lines, func(l string) bool {
		return l == "  again" || strings.Contains(l, "fencepost run") || strings.Contains(l, "maps/")
	})
	return "```text\n" + strings.Join(lines, "\n") + "\n```\n"
}

// picture returns what a run prints before its explanations.
func picture(output string) string {
	before, _, _ := strings.Cut(output, "\n\nmutual-exclusion violated")
	return before + "\n```\n"
}

// overview returns the part of an exploration's output that comes before its first finding's plan.
func overview(output string) string {
	before, _, _ := strings.Cut(output, "\n   again\n")
	return before + "\n```\n"
}

// readmeOutput returns what a command prints on an 80-column terminal.
func readmeOutput(t *testing.T, args ...string) string {
	t.Chdir(t.TempDir())
	t.Setenv("COLUMNS", "80")
	var out, problems bytes.Buffer
	if code := run(args, &out, &problems); code != exitExpected && code != exitOtherwise {
		t.Fatalf("exit %d: %s", code, problems.String())
	}
	return "```text\n" + out.String() + "```\n"
}

// trackRecord returns the catalog table: situation, scenario, verdict.
func trackRecord(t *testing.T) string {
	var b strings.Builder
	all, err := catalog()
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range all {
		fmt.Fprintf(&b, "\n**%s**\n\n| situation | scenario | verdict |\n|---|---|---|\n", section.title)
		for _, s := range section.scenarios {
			fmt.Fprintf(&b, "| %s | `%s` | %s |\n", s.Summary, s.Name, strings.Join(verdicts(s), "; "))
		}
	}
	return b.String() + "\n"
}

// verdicts returns a scenario's expectations. Those with the same outcome and cause are in one item.
func verdicts(s *scenarios.Scenario) []string {
	laws := map[string][]string{}
	var order []string
	for _, law := range checker.Laws {
		if e, named := s.Expect.Laws[law]; named {
			if laws[e.String()] == nil {
				order = append(order, e.String())
			}
			laws[e.String()] = append(laws[e.String()], string(law))
		}
	}
	var all []string
	for _, outcome := range order {
		how, cause, _ := strings.Cut(outcome, " by ")
		entry := strings.Join(laws[outcome], ", ") + " **" + how + "**"
		if cause != "" {
			entry += ": " + cause
		}
		all = append(all, entry)
	}
	for _, m := range s.Expect.Metrics {
		all = append(all, "`"+m.Name+"` "+m.Text)
	}
	return all
}

// TestLawsReadAlikeEverywhere compares the law tables in the documents with the laws' own descriptions, which reports
// show.
func TestLawsReadAlikeEverywhere(t *testing.T) {
	named := map[checker.Law]int{}
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range strings.Lines(string(text)) {
			name, rest, _ := strings.Cut(strings.TrimPrefix(line, "| `"), "` | ")
			says := checker.Law(name).Says()
			if says == "" || !strings.HasPrefix(line, "| `") {
				continue
			}
			named[checker.Law(name)]++
			if got, _, _ := strings.Cut(rest, " |"); got != says {
				t.Errorf("%s: %s\n%s says\n%s", path, name, got, says)
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, law := range checker.Laws {
		if named[law] == 0 {
			t.Errorf("no document says what %s is", law)
		}
	}
}
