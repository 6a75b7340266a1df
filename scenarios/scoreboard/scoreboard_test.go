package scoreboard

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// here returns the scoreboard built from the files in this folder.
func here(t *testing.T) *Board {
	t.Helper()
	b, err := New(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPagesShowTheResults checks that the pages agree with the results. With -update, it rewrites the pages.
func TestPagesShowTheResults(t *testing.T) {
	for name, page := range here(t).Pages() {
		testkit.Golden(t, name, page)
	}
}

// TestGoRowsAreTheResultsOfTheGoLibraries checks that go.json agrees with the Go libraries' results, and that these say
// in how many runs each law was decided. With -update, it rewrites go.json.
func TestGoRowsAreTheResultsOfTheGoLibraries(t *testing.T) {
	got, err := Collect(os.DirFS("../locktest/libraries"))
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, GoResults, string(got))
	rows, promises, err := goRows(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	used := map[string]bool{}
	for _, r := range rows {
		p := promiseOf(promises, r.Name)
		if p == nil {
			t.Errorf("go.yaml does not say what %s promises", r.Name)
			continue
		}
		used[p.Prefix] = true
		for _, o := range r.Result.Outcomes {
			for _, law := range judged {
				if n, ok := o.Decided[law]; !ok || n > o.Runs {
					t.Errorf("%s, %s: %s was decided in %d of %d runs", r.Name, o.Family, law, n, o.Runs)
				}
			}
		}
	}
	for _, p := range promises {
		if !used[p.Prefix] || !strings.HasPrefix(p.Stated, "https://") {
			t.Errorf("go.yaml: no row begins with %q, or %q is no address", p.Prefix, p.Stated)
		}
	}
}

// TestScenariosFollowTheirRows checks that each row's scenarios agree with the row. With -update, it rewrites them.
func TestScenariosFollowTheirRows(t *testing.T) {
	for _, e := range folders(t) {
		for _, f := range Families {
			if !f.Applies(&e.Row) {
				continue
			}
			name := filepath.Join(e.Folder(), f.Name+".yaml")
			testkit.Golden(t, name, e.Scenario(f))
			s, err := scenarios.Load(name)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if !slices.Equal(s.Promise.Laws, e.laws()) {
				t.Errorf("%s promises %v, not %v", name, s.Promise.Laws, e.laws())
			}
		}
		for n, a := range e.Aimed {
			name, text := e.AimedScenario(n)
			testkit.Golden(t, filepath.Join(e.Folder(), name), text)
			if _, err := scenarios.Load(filepath.Join(e.Folder(), name)); err != nil {
				t.Error(err)
			}
			if !slices.ContainsFunc(Families, func(f Family) bool { return f.Name == a.Family }) {
				t.Errorf("%s: %q is no family", e.Name, a.Family)
			}
		}
	}
}

// folders returns the entries that have folders.
func folders(t *testing.T) (all []entry) {
	for _, e := range here(t).entries {
		if !e.ofGo {
			all = append(all, e)
		}
	}
	if len(all) == 0 {
		t.Fatal("there is no row")
	}
	return all
}

// TestRowsAreWhole checks that each row contains everything that its page needs. It must have either a result or a
// reason for not having one.
func TestRowsAreWhole(t *testing.T) {
	for _, e := range folders(t) {
		for key, value := range map[string]string{"library": e.Library, "language": e.Language, "version": e.Version,
			"setting": e.Setting, "promise": e.Promise} {
			if value == "" {
				t.Errorf("%s: row.yaml has no %s", e.Name, key)
			}
		}
		if !strings.HasPrefix(e.Stated, "https://") {
			t.Errorf("%s: the place of the promise is %q, not an address", e.Name, e.Stated)
		}
		if e.result == nil && e.Client == "" && e.NotTried == "" || e.result != nil && e.NotTried != "" {
			t.Errorf("%s: a row has a result, or a command that gives one, or says why it has none", e.Name)
		}
	}
}

// TestFindingsAreExplained checks that each finding has an explanation, and that each explanation belongs to a finding.
func TestFindingsAreExplained(t *testing.T) {
	b := here(t)
	used := map[*Explanation]bool{}
	for i := range b.entries {
		e := &b.entries[i]
		if e.ofGo || e.result == nil {
			continue
		}
		for _, f := range e.result.Findings {
			x := e.explanation(&f)
			if x == nil || strings.TrimSpace(x.Text) == "" {
				t.Errorf("%s: row.yaml does not explain %s by %s", e.Name, f.Law, f.Cause)
			}
			used[x] = true
		}
		for i := range e.Explains {
			if x := &e.Explains[i]; !used[x] {
				t.Errorf("%s: row.yaml explains %s by %q, which was not found", e.Name, x.Law, x.Cause)
			}
		}
	}
	for i := range b.causes {
		if x := &b.causes[i]; !used[x] {
			t.Errorf("causes.yaml explains %s by %q, which no row has", x.Law, x.Cause)
		}
	}
}

// TestRealServersRanFindings checks that each statement about a real server is about a finding or a hand-written fault
// in its row.
func TestRealServersRanFindings(t *testing.T) {
	said := 0
	for _, e := range folders(t) {
		for _, r := range e.Real {
			said++
			is := slices.ContainsFunc(e.Aimed, func(a Aimed) bool { return a.Law == r.Law && a.Cause == r.Cause }) ||
				e.result != nil && slices.ContainsFunc(e.result.Findings, func(f Finding) bool {
					return f.Law == r.Law && f.Cause == r.Cause
				})
			if !is {
				t.Errorf("%s: real names %s by %s, which the row did not find", e.Name, r.Law, r.Cause)
			}
			if r.Server == "" || !r.Broke && r.Text == "" {
				t.Errorf("%s: real names no server, or does not say what happened: %+v", e.Name, r)
			}
		}
	}
	if said < 5 {
		t.Errorf("only %d findings were run on a real server", said)
	}
}

// TestCountsAgreeWithFindings checks that results are consistent. A law has a cause if and only if it is broken. Each
// result says in how many runs a law was decided, and the law is not broken in more. Each cause has a finding unless
// its run could not be repeated. Each family was explored with as many schedules as the row specifies.
func TestCountsAgreeWithFindings(t *testing.T) {
	for _, e := range folders(t) {
		if e.result == nil {
			continue
		}
		for _, o := range e.result.Outcomes {
			for _, law := range e.laws() {
				caused := slices.ContainsFunc(o.Causes, func(b Broken) bool { return b.Law == law })
				if caused != (o.Broke[law] > 0) {
					t.Errorf("%s, %s: %s broke in %d runs, and has causes: %v", e.Name, o.Family, law, o.Broke[law],
						caused)
				}
				if n, ok := o.Decided[law]; !ok || n < o.Broke[law] || n > o.Runs-o.Failed {
					t.Errorf("%s, %s: %s was decided in %d of %d runs", e.Name, o.Family, law, n, o.Runs)
				}
			}
			for _, b := range o.Causes {
				has := slices.ContainsFunc(e.result.Findings, func(f Finding) bool {
					return f.Law == b.Law && f.Cause == b.Cause
				})
				if !has && o.Unstable == 0 {
					t.Errorf("%s, %s: %s by %s has no finding", e.Name, o.Family, b.Law, b.Cause)
				}
			}
			if o.Runs != e.Seeds {
				t.Errorf("%s, %s: %d runs, and the row says %d", e.Name, o.Family, o.Runs, e.Seeds)
			}
		}
	}
}

// TestPlansAreThoseOfTheResults checks each finding's plan file and scenario file. It also checks that a row's folder
// does not contain unknown files.
func TestPlansAreThoseOfTheResults(t *testing.T) {
	for _, e := range folders(t) {
		known := map[string]bool{"row.yaml": true, "README.md": true}
		for _, f := range Families {
			if f.Applies(&e.Row) {
				known[f.Name+".yaml"] = true
			}
		}
		for n := range e.Aimed {
			name, _ := e.AimedScenario(n)
			known[name] = true
		}
		if e.result != nil {
			known["result.json"] = true
			for _, f := range e.result.Findings {
				known[f.Folder] = true
				checkPlan(t, filepath.Join(e.Folder(), f.Folder), &f)
			}
		}
		inside, err := os.ReadDir(e.Folder())
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range inside {
			if !known[file.Name()] {
				t.Errorf("%s: %s belongs to no result: remove it", e.Folder(), file.Name())
			}
		}
	}
}

// checkPlan checks that the plan and the scenario in a folder have the faults of the finding, and fit each other.
func checkPlan(t *testing.T, folder string, f *Finding) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(folder, search.PlanFile))
	if err != nil {
		t.Error(err)
		return
	}
	plan, err := nemesis.ParsePlan(folder, text)
	if err != nil {
		t.Errorf("%s: %v", folder, err)
		return
	}
	s, err := scenarios.Load(filepath.Join(folder, search.ScenarioFile))
	if err != nil {
		t.Error(err)
		return
	}
	if err := plan.Validate(s.Targets()); err != nil {
		t.Errorf("%s: %v", folder, err)
	}
	for name, p := range map[string]nemesis.Plan{"plan": plan, "scenario": s.Plan(plan.Seed)} {
		var lines []string
		for _, fault := range p.Faults {
			lines = append(lines, fault.String())
		}
		if !slices.Equal(lines, f.Plan) {
			t.Errorf("%s: the %s has the faults %q, and the result %q", folder, name, lines, f.Plan)
		}
	}
}

// TestMarks checks the letters in a cell. A broken promise adds one letter, no matter how many runs broke it. If only
// hand-written faults broke the promise, its letter is in parentheses. If no run decided whether the promise is kept,
// its letter has a question mark.
func TestMarks(t *testing.T) {
	type counts = map[checker.Law]int
	all := counts{checker.LeaseExclusion: 5, checker.Ownership: 5, checker.ResourceSafety: 5,
		checker.DeadlockFreedom: 5}
	excluded := []Aimed{{Family: "pauses", Law: checker.LeaseExclusion}}
	for _, c := range []struct {
		broke, decided counts
		aimed          []Aimed
		want           string
	}{
		{nil, all, nil, "·"},
		{counts{checker.LeaseExclusion: 1}, all, nil, "E"},
		{counts{checker.ResourceSafety: 2, checker.LeaseExclusion: 1, checker.Ownership: 3}, all, nil, "EOD"},
		{counts{checker.DeadlockFreedom: 1, checker.FaultTolerance: 1}, all, nil, "W"},
		{nil, all, excluded, "(E)"},
		{counts{checker.ResourceSafety: 1}, all, []Aimed{{Family: "pauses", Law: checker.LeaseExclusion},
			{Family: "pauses", Law: checker.ResourceSafety}, {Family: "network", Law: checker.Ownership}}, "D (E)"},
		{nil, nil, nil, "E?O?D?W?"},
		{nil, nil, excluded, "O?D?W? (E)"},
		{counts{checker.LeaseExclusion: 1}, counts{checker.LeaseExclusion: 2, checker.ResourceSafety: 5,
			checker.FaultTolerance: 1}, excluded, "EO?"},
	} {
		e := &entry{Row: Row{Aimed: c.aimed}, result: &Result{Outcomes: []Outcome{{Family: "pauses", Runs: 5,
			Broke: c.broke, Decided: c.decided}}}}
		if got := e.marks("pauses"); got != c.want {
			t.Errorf("%+v is shown as %q", c, got)
		}
		if got := e.marks("clocks"); got != "" {
			t.Errorf("a family that was not tried is shown as %q", got)
		}
	}
}

// TestTheWebPageHasEveryRow checks that the HTML page has a section on each row, and that the row's name links to it.
func TestTheWebPageHasEveryRow(t *testing.T) {
	b := here(t)
	var page strings.Builder
	if err := b.Document().HTML(&page, "scoreboard.html"); err != nil {
		t.Fatal(err)
	}
	for _, e := range b.entries {
		if !strings.Contains(page.String(), e.Language+": "+e.Name+"<") {
			t.Errorf("the page has no section of %s", e.Name)
		}
		for _, part := range []string{`<a href="#` + e.Name + `">`, `<a id="` + e.Name + `">`} {
			if strings.Count(page.String(), part) != 1 {
				t.Errorf("%s: the page does not have exactly one %s", e.Name, part)
			}
		}
		if _, err := os.Stat(path.Clean(e.page)); err != nil {
			t.Errorf("%s: its page is not there: %v", e.Name, err)
		}
	}
}

// TestVersionsArePinned checks that a row's install command installs the versions that the row states, for example
// "redis 8.1.0 on CPython 3.11.2". The last part is the language version, which the command does not install.
func TestVersionsArePinned(t *testing.T) {
	workers := map[string]func(library, version string) (file, pin string){
		"python-locks": func(l, v string) (string, string) { return "requirements.txt", `(?m)^` + l + `==` + v + `$` },
		"js-locks":     func(l, v string) (string, string) { return "package.json", l + `(-\d+)?(": "|@)` + v + `"` },
		"rust-locks": func(l, v string) (string, string) {
			return "Cargo.lock", `(?m)^name = "` + l + `"\nversion = "` + v + `"$`
		},
		"java-locks": func(l, v string) (string, string) {
			return "pom.xml", `(?i)<artifactId>[^<]*` + l + `[^<]*</artifactId>\s*<version>` + v + `</version>`
		},
	}
	for _, e := range folders(t) {
		worker := ""
		for name := range workers {
			if strings.Contains(e.Install, "/workers/"+name) {
				worker = name
			}
		}
		pairs := strings.Split(strings.ToLower(e.Version), " on ")
		if worker == "" || len(pairs) < 2 {
			t.Errorf("%s: %q or %q is of another form", e.Name, e.Install, e.Version)
			continue
		}
		for _, pair := range pairs[:len(pairs)-1] {
			at := strings.LastIndex(pair, " ")
			file, pin := workers[worker](regexp.QuoteMeta(pair[:max(at, 0)]), regexp.QuoteMeta(pair[at+1:]))
			text, err := os.ReadFile(filepath.Join("..", "live", "workers", worker, file))
			if err != nil {
				t.Fatal(err)
			}
			if !regexp.MustCompile(pin).Match(text) {
				t.Errorf("%s: %s of %s does not install %s", e.Name, file, worker, pair)
			}
		}
	}
}

// TestBrokenFilesAreErrors checks that a file that is missing or malformed is an error that names the file, and not a
// scoreboard with fewer rows.
func TestBrokenFilesAreErrors(t *testing.T) {
	whole := map[string]string{"causes.yaml": "[]", "libraries/x/row.yaml": "library: x", GoResults: "[]",
		"go.yaml": "[]"}
	folder := func(name, text string) fs.FS {
		files := fstest.MapFS{}
		for other, content := range whole {
			files[other] = &fstest.MapFile{Data: []byte(content)}
		}
		if delete(files, name); text != "" {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		return files
	}
	if b, err := New(folder("", "")); err != nil || len(b.entries) != 1 {
		t.Fatalf("whole files: %+v, %v", b, err)
	}
	for _, c := range []struct{ name, text string }{
		{"causes.yaml", ""}, {"causes.yaml", "- laws: ownership"},
		{"libraries/x/row.yaml", "libary: x"}, {"libraries/x/result.json", "{"},
		{GoResults, ""}, {GoResults, "{}"}, {"go.yaml", ""}, {"go.yaml", "- promises: none"},
	} {
		if b, err := New(folder(c.name, c.text)); err == nil || !strings.Contains(err.Error(), c.name) {
			t.Errorf("%s: %q: %+v, %v", c.name, c.text, b, err)
		}
	}
	for page, want := range map[string]string{"": "findings/y.md", "- Version: 1\n": "no lines with the version",
		"- Version: 1\n- Setting: one\n": "unexpected end"} {
		files := fstest.MapFS{"testdata/y.json": {Data: []byte("{")}}
		if page != "" {
			files["findings/y.md"] = &fstest.MapFile{Data: []byte(page)}
		}
		if text, err := Collect(files); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %s, %v", page, text, err)
		}
	}
}
