package remote

import (
	"flag"
	"io"
	"slices"
	"strings"
	"testing"
)

// TestTheFlagsOfATestAreThoseOfItsProcesses checks that the user's flags are passed on as they were written, and that
// flags that go test sets for this process are not passed on.
func TestTheFlagsOfATestAreThoseOfItsProcesses(t *testing.T) {
	for args, want := range map[string]string{
		"":                             "",
		"-test.run=^A$ -test.v":        "",
		"-test.short -test.run ^A$":    "-test.short",
		"-form=zadd":                   "-form=zadd",
		"--form zadd -test.count=1":    "--form zadd",
		"-test.v -all -form=a -form=b": "-all -form=a -form=b",
		"-all=false -plan=x -test.timeout 1m a -form=b": "-all=false a -form=b",
		"-all -- -form":          "-all -- -form",
		"-plan x -test.v=true b": "b",
	} {
		set := flag.NewFlagSet("", flag.ContinueOnError)
		set.SetOutput(io.Discard)
		for _, name := range []string{"test.run", "test.count", "test.timeout", "form", "plan"} {
			set.String(name, "", "")
		}
		for _, name := range []string{"test.v", "test.short", "all"} {
			set.Bool(name, false, "")
		}
		given := strings.Fields(args)
		if err := set.Parse(given); err != nil {
			t.Fatal(err)
		}
		if got := own(set, given, "plan"); !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
}
