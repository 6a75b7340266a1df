package search

import (
	"errors"
	"go/format"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios"
)

func TestTheFilesOfAShrunkViolation(t *testing.T) {
	r := mustShrink(t, parsed(t, noisy), noisyViolation(t))
	files := r.Files("locks_test", "")
	const plan = "# resource-safety is violated by superseded holder took effect; " +
		"repeat with: fencepost replay plan.txt; the run's digest is DIGEST\n" + `scenario ./scenario.yaml
seed 1
pause client-2 for 5s after acquired
`
	got := regexp.MustCompile(`[0-9a-f]{16}`).ReplaceAllString(string(files[0].Text), "DIGEST")
	if files[0].Name != "plan.txt" || got != plan {
		t.Errorf("%s:\n%s", files[0].Name, got)
	}
	if files[1].Name != "scenario.yaml" || string(files[1].Text) != string(r.Scenario.Text()) {
		t.Errorf("%s:\n%s", files[1].Name, files[1].Text)
	}
	test := `package locks_test

import (
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestNoisyResourceSafetySupersededHolderTookEffect fails as long as the resource accepts what a superseded holder sends.
// When you fix the lock in your code, fix it in the scenario too; do not change the faults.
func TestNoisyResourceSafetySupersededHolderTookEffect(t *testing.T) {
	const scenario = ` + "`" + string(r.Scenario.Text()) + "`" + `
	if err := scenarios.CheckLaw(scenario, 1, checker.ResourceSafety); err != nil {
		t.Fatal(err)
	}
}
`
	if files[2].Name != "noisy_resource_safety_superseded_holder_took_effect_test.go" || string(files[2].Text) != test {
		t.Errorf("%s:\n%s", files[2].Name, files[2].Text)
	}
}

// In a user's repository (a separate module that depends on this one), the generated test fails and says why. Once the
// lock is fixed, it passes.
func TestTheGoTestFailsUntilTheLockIsMended(t *testing.T) {
	testkit.FullOnly(t)
	r := mustShrink(t, parsed(t, noisy), noisyViolation(t))
	broken := string(r.goTest("locks_test"))
	mended := strings.NewReplacer("TestNoisy", "TestMended", "servers:",
		"resource: {fencing: on}\nservers:").Replace(broken)
	idle := strings.NewReplacer("TestNoisy", "TestIdle", "work: {writes: 1}\n", "").Replace(broken)
	dir := module(t)
	for name, text := range map[string]string{"broken_test.go": broken, "mended_test.go": mended,
		"idle_test.go": idle} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.Command("go", "test", "-v", "./...")
	c.Dir = dir
	c.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off")
	out, err := c.CombinedOutput()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != 1 {
		t.Fatalf("%v\n%s", err, out)
	}
	const name = "ResourceSafetySupersededHolderTookEffect"
	for _, want := range []string{
		"--- FAIL: TestNoisy" + name, "--- FAIL: TestIdle" + name, "--- PASS: TestMended" + name,
		"seed 1: resource-safety is violated by superseded holder took effect", r.Finding.Explanation, r.Finding.Remedy,
		"seed 1: resource-safety is unchecked",
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%q is missing in\n%s", want, out)
		}
	}
}

// module creates a module in a folder. It depends on this working copy and on its dependencies.
func module(t *testing.T) string {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sum, err := os.ReadFile(filepath.Join(root, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	const path = "github.com/fencepost-sim/fencepost"
	text := strings.Replace(string(mod), "module "+path, "module example.com/locks", 1)
	text = regexp.MustCompile(`(?m)^tool .*$`).ReplaceAllString(text, "")
	text += "\nrequire " + path + " v0.0.0\n\nreplace " + path + " => " + root + "\n"
	dir := t.TempDir()
	for name, content := range map[string][]byte{"go.mod": []byte(text), "go.sum": sum} {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// A shrunk violation's files have valid names and contents, both as Go and as scenarios, even if the scenario's name or
// content is unusual.
func TestFilesOfOddScenarios(t *testing.T) {
	for _, odd := range []struct{ name, source string }{
		{"a", "plain"},
		{"-1-x--y-", "with a `backquote`, a \\ and \"quotes\""},
		{strings.Repeat("long-name-", 6), "tab\tand ünïcode: #1"},
	} {
		text := strings.Replace(noisy, "name: noisy\n", "name: '"+odd.name+"'\nsource: '"+odd.source+"'\n", 1)
		r := mustShrink(t, parsed(t, text), noisyViolation(t))
		source := r.goTest("p")
		formatted, err := format.Source(source)
		if err != nil || string(formatted) != string(source) {
			t.Errorf("%s: %v; gofmt would make\n%s", odd.name, err, formatted)
		}
		if file := r.Files("p", "")[2].Name; file[0] == '_' || !strings.HasSuffix(file, "_test.go") {
			t.Errorf("%s: the test lies in %s", odd.name, file)
		}
		if r.Scenario.Source != odd.source || len(r.Scenario.Name) > 64 {
			t.Errorf("%s: %q, %q", odd.name, r.Scenario.Name, r.Scenario.Source)
		}
		checkFailsAgain(t, r)
	}
}

// All law and cause names can be part of a scenario's name. Package checker has a constant with the corresponding name
// for each law.
func TestNamesOfShrunkScenarios(t *testing.T) {
	files, err := filepath.Glob("../../checker/*.go")
	if err != nil {
		t.Fatal(err)
	}
	var source []byte
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	var causes []checker.Cause
	for _, c := range checker.Causes {
		for _, detail := range append([]string{""}, c.Details...) {
			causes = append(causes, checker.Cause{Kind: c.Kind, Detail: detail})
		}
	}
	for _, law := range checker.Laws {
		if !regexp.MustCompile(camel(string(law)) + ` +Law = "` + string(law) + `"`).Match(source) {
			t.Errorf("the checker has no constant %s", camel(string(law)))
		}
		for _, cause := range causes {
			for _, name := range []string{"x", "kleppmann-gc-pause", strings.Repeat("x", 64)} {
				got := nameOf(name, law, cause)
				text := strings.Replace(noisy, "name: noisy", "name: "+got, 1)
				if _, err := scenarios.Parse("x", []byte(text)); err != nil || !strings.HasPrefix(got, name[:1]) {
					t.Errorf("%s: %v", got, err)
				}
			}
		}
	}
	pause := checker.Cause{Kind: checker.HolderOutlivedLease, Detail: checker.ByPause}
	if got := nameOf("kleppmann-gc-pause", checker.MutualExclusion,
		pause); got != "kleppmann-gc-pause-mutual-exclusion-pause" {
		t.Error(got)
	}
}

// The sentence about other seeds that show the violation is correct for any number of seeds.
func TestHowManyOtherSeedsShowIt(t *testing.T) {
	for often, want := range map[int]string{0: "none of the seeds 1 to 16 does", 1: "so does one of the seeds",
		16: "so do 16 of the seeds"} {
		r := &Shrunk{Often: often}
		if got := r.summary("lock"); !strings.Contains(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
