package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/scoreboard"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// copied returns a copy of the repository folders that the program reads, and makes it the current folder.
func copied(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range []string{"scenarios/scoreboard", "scenarios/locktest/libraries/testdata",
		"scenarios/locktest/libraries/findings"} {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.CopyFS(to, os.DirFS(filepath.Join("..", "..", name))); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	return dir
}

// TestARowThatCannotBeRunKeepsItsResult tries to rerun a scoreboard row in a copy of the repository where that row's
// library is not installed. The row must keep its old result.
func TestARowThatCannotBeRunKeepsItsResult(t *testing.T) {
	copied(t)
	result := filepath.Join(room, "libraries", "redis-py", "result.json")
	before, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	page := filepath.Join(room, "README.md")
	want, err := os.ReadFile(page)
	if err == nil {
		err = os.Remove(page)
	}
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := renew(t.Context(), []string{"redis-py"}, &out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "redis-py keeps its result: pauses: ") {
		t.Errorf("it does not say why the row keeps its result: %s", &out)
	}
	if after, err := os.ReadFile(result); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the result has changed: %v", err)
	}
	if got, err := os.ReadFile(page); err != nil || !bytes.Equal(got, want) {
		t.Errorf("the page was not written as it was: %v", err)
	}
}

// TestMistakes checks the errors for a row that does not exist, and for a current folder that is not the repository.
func TestMistakes(t *testing.T) {
	copied(t)
	err := renew(t.Context(), []string{"redis-pie"}, &bytes.Buffer{})
	if err == nil || !strings.Contains(err.Error(), "there is no row redis-pie") {
		t.Errorf("a row that is not there: %v", err)
	}
	t.Chdir(t.TempDir())
	if err := renew(t.Context(), nil, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "top of the") {
		t.Errorf("another folder: %v", err)
	}
}

// TestAnInterruptLeavesARowAsItWas tries to rerun a scoreboard row after an interrupt. None of the files may change.
func TestAnInterruptLeavesARowAsItWas(t *testing.T) {
	testkit.Needs(t, "/usr/bin/python3")
	dir := copied(t)
	file := filepath.Join(dir, room, "libraries", "redis-py", "row.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, _, _ := strings.Cut(string(text), "client: ")
	if err := os.WriteFile(file, []byte(before+"client: /usr/bin/python3 -m http.server\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	contents := func() map[string]string {
		all := map[string]string{}
		if err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				var content []byte
				content, err = os.ReadFile(filepath.Join(dir, name))
				all[name] = string(content)
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		return all
	}
	was := contents()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	err = renew(ctx, []string{"redis-py"}, &bytes.Buffer{})
	if err == nil || !strings.HasPrefix(err.Error(), "interrupted: ") {
		t.Errorf("the error is %v", err)
	}
	if !maps.Equal(was, contents()) {
		t.Error("files have changed")
	}
}

// TestWorkersOfAllLanguagesRun runs one client in each language once, without faults. Each run must keep all of its
// scenario's promises.
func TestWorkersOfAllLanguagesRun(t *testing.T) {
	testkit.ThoroughOnly(t)
	t.Chdir(filepath.Join("..", ".."))
	rows, err := scoreboard.Rows(os.DirFS(room))
	if err != nil {
		t.Fatal(err)
	}
	ran := map[string]bool{}
	for _, r := range rows {
		if ran[r.Language] || r.Client == "" {
			continue
		}
		ran[r.Language] = true
		t.Run(r.Language, func(t *testing.T) {
			if err := traced.Allowed(); err != nil {
				testkit.Lacks(t, err)
			}
			needsFilesOf(t, &r)
			s, guest, err := task.OpenWith(filepath.Join(room, r.Folder(), "pauses.yaml"), "", r.Client)
			if err != nil {
				t.Fatal(err)
			}
			defer guest.Close()
			run, err := scenarios.NewRunner(s).Run(nemesis.Plan{Scenario: s.Name, Seed: 2})
			if err != nil {
				t.Fatal(err)
			}
			verdict := s.Judge(run).Verdict
			for _, law := range s.Promise.Laws {
				o := verdict.Of(law).Outcome
				if o != checker.Holds && (law == checker.LeaseExclusion || o != checker.Unchecked) {
					t.Errorf("%s, %s: %s", r.Name, law, o)
				}
			}
		})
	}
	if len(ran) < 4 {
		t.Errorf("only the languages %v have rows", ran)
	}
}

// needsFilesOf skips the test or fails it (see testkit.Lacks) if row r's client is not installed.
func needsFilesOf(t *testing.T, r *scoreboard.Row) {
	t.Helper()
	words := strings.FieldsFunc(r.Client, func(c rune) bool { return strings.ContainsRune(` "=:*`, c) })
	if script := slices.IndexFunc(words, func(w string) bool { return strings.HasSuffix(w, ".js") }); script >= 0 {
		words = append(words, filepath.Join(filepath.Dir(words[script]), "node_modules"))
	}
	for _, word := range words {
		if _, err := os.Stat(word); strings.Contains(word, "/") && err != nil {
			testkit.Lacks(t, fmt.Errorf("%w; install it with: %s", err, strings.TrimSpace(r.Install)))
		}
	}
	program, _, _ := strings.Cut(r.Client, " ")
	testkit.Needs(t, program)
}

// TestFindingsComeOutAgain replays each finding. The run must break the finding's law with the same cause.
func TestFindingsComeOutAgain(t *testing.T) {
	testkit.FullOnly(t)
	t.Chdir(filepath.Join("..", ".."))
	rows, err := scoreboard.Rows(os.DirFS(room))
	if err != nil {
		t.Fatal(err)
	}
	replayed := 0
	for _, r := range rows {
		var result scoreboard.Result
		text, err := os.ReadFile(filepath.Join(room, r.Folder(), "result.json"))
		if err == nil {
			err = json.Unmarshal(text, &result)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		if len(result.Findings)+len(r.Aimed) == 0 {
			continue
		}
		replayed += len(r.Aimed) + len(result.Findings)
		t.Run(r.Name, func(t *testing.T) {
			needsFilesOf(t, &r)
			for n, a := range r.Aimed {
				t.Run("aimed", func(t *testing.T) {
					file, _ := r.AimedScenario(n)
					s, guest, err := task.OpenWith(filepath.Join(room, r.Folder(), file), "", r.Client)
					if err != nil {
						t.Fatal(err)
					}
					defer guest.Close()
					breaks(t, s, s.Plan(1), a.Law, a.Cause)
				})
			}
			for _, f := range result.Findings {
				t.Run(f.Folder, func(t *testing.T) { comesOut(t, &r, &f) })
			}
		})
	}
	if replayed == 0 {
		t.Error("no finding was replayed")
	}
}

// comesOut replays a finding, which must break the same law again with the same cause.
func comesOut(t *testing.T, r *scoreboard.Row, f *scoreboard.Finding) {
	folder := filepath.Join(room, r.Folder(), f.Folder)
	s, guest, err := task.OpenWith(filepath.Join(folder, search.ScenarioFile), "", r.Client)
	if err != nil {
		t.Fatal(err)
	}
	defer guest.Close()
	path := filepath.Join(folder, search.PlanFile)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := nemesis.ParsePlan(path, text)
	if err != nil {
		t.Fatal(err)
	}
	breaks(t, s, plan, f.Law, f.Cause)
}

// breaks runs a plan, which must break a law with the given cause.
func breaks(t *testing.T, s *scenarios.Scenario, plan nemesis.Plan, law checker.Law, cause string) {
	t.Helper()
	run, err := scenarios.NewRunner(s).Run(plan)
	if err != nil {
		t.Fatal(err)
	}
	for b := range s.Judge(run).Verdict.Breaches() {
		if b.Law == law && b.Cause.String() == cause {
			return
		}
	}
	t.Errorf("it should break %s by %s", law, cause)
}
