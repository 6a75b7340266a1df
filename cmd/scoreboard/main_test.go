package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
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
)

// copied returns a copy of the repository's folders that the program reads, and makes it the current folder.
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

// TestARowThatCannotBeRunKeepsItsResult renews a row in a copy of the repository, where its library is not installed.
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

// TestFindingsComeOutAgain replays each finding whose library is installed. The run must break the finding's law with
// the same cause.
func TestFindingsComeOutAgain(t *testing.T) {
	testkit.FullOnly(t)
	t.Chdir(filepath.Join("..", ".."))
	rows, err := scoreboard.Rows(os.DirFS(room))
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		var result scoreboard.Result
		text, err := os.ReadFile(filepath.Join(room, r.Folder(), "result.json"))
		if err == nil {
			err = json.Unmarshal(text, &result)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		program, _, _ := strings.Cut(r.Client, " ")
		if _, err := exec.LookPath(program); len(result.Findings) == 0 || err != nil {
			t.Logf("%s: not installed, or without a finding", r.Name)
			continue
		}
		for n, a := range r.Aimed {
			t.Run(r.Name+"/aimed", func(t *testing.T) {
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
			t.Run(r.Name+"/"+f.Folder, func(t *testing.T) { comesOut(t, &r, &f) })
		}
	}
}

// comesOut replays a finding.
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
	if !slices.ContainsFunc(s.Judge(run).Verdict.Findings, func(x checker.Finding) bool {
		return x.Law == law && x.Cause.String() == cause
	}) {
		t.Errorf("it should break %s by %s", law, cause)
	}
}
