package homemade

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

const opening = `# Homemade locks

After reading this page you can compare your own lock on Redis with sound and broken ones of its kind, and you know
which mistake a test must find in each.

These are small Redis locks of the kinds that people write themselves: %d sound ones, and %d with one mistake
each. For each lock, the package states what a test must report, and why; its own tests compare that with what is
reported. Each lock is written in %d variants that must not change the results: the order of a script's
arguments, EVAL or EVALSHA, the spelling of SET's options, the form of the owner's value, and whether the lock reports
how long it is valid. In [libraries](../libraries), the same locks run on go-redis, redigo and rueidis.

    go test .                                              one variant of each lock, few seeds
    FENCEPOST_FULL=1 go test -timeout 2h -v .              all variants, each family of faults by itself, 200 seeds
    FENCEPOST_HOMEMADE=5 go test -v -run '/^zset$' .       the same with 5 seeds, for one lock

This page is generated from the locks: ` + "`go test -run TestReadme -update .`" + `

## Sound locks

Without faults, each lock keeps every law. Under pauses, network and restarts, which do not lose synced data, it keeps
LeaseLaws, and under clocks EfficiencyLaws. The lock named token keeps FencedLaws under all of them, and the locks named
record keep LeaseLaws.

| lock | why it is sound | under |
|---|---|---|
`

// TestReadme checks that README.md lists the locks with their explanations.
func TestReadme(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, opening, len(SoundLocks()), len(BrokenLocks()), len(Dresses))
	for _, l := range SoundLocks() {
		var kept []string
		for _, p := range l.Promises {
			kept = append(kept, p.Name)
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", l.Name, l.Why, strings.Join(kept, ", "))
	}
	b.WriteString("\n## Mistakes\n\n| lock | of | mistake | what must be reported |\n|---|---|---|---|\n")
	for _, l := range BrokenLocks() {
		var ways []string
		if l.Trial != "" {
			ways = append(ways, "the trial run reports it")
		}
		for _, s := range l.Shows {
			way := fmt.Sprintf("%s: %s", s.Law, s.Cause)
			if s.By != "" {
				way += " (by " + s.By + ")"
			}
			if len(s.Plan) > 0 {
				way += ", under `" + strings.ReplaceAll(strings.Join(s.Plan, "; "), "|", `\|`) + "`"
			}
			ways = append(ways, way)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", l.Name, l.Of, l.Mistake, strings.Join(ways, "; "))
	}
	testkit.Golden(t, "README.md", b.String())
}
