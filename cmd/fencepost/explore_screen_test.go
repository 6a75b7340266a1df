package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestExplorationsOfSimpleLocksFitAScreen checks that the exploration report on a simple lock fits on one screen with
// fifty lines of eighty columns, and that the most serious finding comes first.
func TestExplorationsOfSimpleLocksFitAScreen(t *testing.T) {
	testkit.FullOnly(t)
	for name, opening := range map[string]string{"kleppmann-gc-pause": "promised the lock at once",
		"set-nx-px-holder-crash": "inside at once"} {
		var out, errs bytes.Buffer
		if code := run([]string{"explore", name, "--out", filepath.Join(t.TempDir(), "found")}, &out,
			&errs); code != 1 || errs.Len() > 0 {
			t.Fatalf("%s: exit %d, %s", name, code, &errs)
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		if len(lines) > 50 {
			t.Errorf("%s takes %d lines", name, len(lines))
		}
		for _, l := range lines {
			if utf8.RuneCountInString(l) > 80 {
				t.Errorf("%s: %d columns: %s", name, utf8.RuneCountInString(l), l)
			}
		}
		_, found, _ := strings.Cut(out.String(), "\n\n ✗ ")
		if first, _, _ := strings.Cut(found, ":"); !strings.Contains(first, opening) {
			t.Errorf("%s opens with %q", name, first)
		}
		plan, plans := "", 0
		for _, l := range lines {
			if p, is := strings.CutPrefix(l, "   plan    "); is && p == plan {
				t.Errorf("%s shows the plan %q twice", name, p)
			} else if is {
				plan, plans = p, plans+1
			}
		}
		if plans == 0 {
			t.Errorf("%s shows no plan", name)
		}
	}
}
