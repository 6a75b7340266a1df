package main

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/spf13/pflag"
)

// leaks matches terms from Go and its libraries that mean nothing to a user.
var leaks = regexp.MustCompile(
	`strconv|yaml:|json:|csv:|%!|reflect|goroutine|invalid argument|invalid syntax|parse error|Go (struct|value)|\b(main|scenarios|search|nemesis|pflag|cobra|ast)\.[A-Z]`,
)

// refused runs a command that must fail because of bad input, and returns its error message.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if code := run(args, &out, &problems); code != exitBadInput {
		t.Errorf("%v: exit %d: %s", args, code, problems.String())
	}
	if leak := leaks.FindString(problems.String()); leak != "" || problems.Len() == 0 {
		t.Errorf("%v: %q in: %s", args, leak, problems.String())
	}
	return problems.String()
}

// TestEveryFlagSaysWhatItTakes checks that the error message for a wrong value says which values the flag takes. It
// skips flags whose value is plain text. A flag that takes a list must only reject the value.
func TestEveryFlagSaysWhatItTakes(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, c := range newRoot().Commands() {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() == "string" || f.Value.Type() == "stringArray" {
				return
			}
			for _, value := range []string{"x", "1e9999", "99999999999999999999999", "1.5x", `a"b`, "0x"} {
				if said := refused(t, c.Name(), "--"+f.Name+"="+value); !strings.Contains(
					said,
					"--"+f.Name+" needs ",
				) &&
					f.Value.Type() != "stringSlice" {
					t.Errorf("%s --%s=%s: %s", c.Name(), f.Name, value, said)
				}
				tried++
			}
		})
	}
	if tried < 100 {
		t.Errorf("only %d values were tried", tried)
	}
}

// TestWrongFilesAreToldInPlainWords checks that files are rejected with a plain error message if they are damaged, or
// have a different type or version.
func TestWrongFilesAreToldInPlainWords(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, text := range []string{"", "{", "[]", "{}", "null", `{"sum": 1}`, `{"sum": "x", "held": {}}`, `"\u001b"`,
		"scenario x\nseed 99999999999999999999999\n",
		"scenario ../x\nseed 1\npause x for 1s\n", "\x00", "name: [", "\t",
		"name: x\nservers: {redis: 99999999999999999999}\nlock: {protocol: redlock, ttl: 1e5}\n"} {
		for _, name := range []string{task.ExplorationFile, task.RunsFile, "plan.txt", "scenario"} {
			if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
				t.Fatal(err)
			}
		}
		refused(t, "explore", "--resume", ".")
		refused(t, "merge", ".")
		refused(t, "replay", "plan.txt")
		refused(t, "run", "scenario")
		refused(t, "run", "minority-down", "--plan", "plan.txt")
		refused(t, "sweep", "scenario", "--vary", "ttl=1s,2s")
	}
	for _, vary := range []string{"ttl", "ttl=", "ttl=5", "ttl=1..x", "ttl=1s..2s/5", "quorum=99999999999999999999",
		"restart=-5000", "nothing=1", "ttl=1s..2s/0s"} {
		refused(t, "sweep", "delayed-restart", "--vary", vary)
	}
	for _, claim := range []string{"x", "ownership", "ownership holds when", "ownership holds when ttl >",
		"ownership holds when ttl > 5", "ownership holds when 1e999 > ttl",
		"ownership holds when ttl * ttl > 1", `ownership holds when "ttl" > 1s`, "ownership holds when func() {}",
		"ownership holds when ttl[0] > 1s"} {
		refused(t, "sweep", "delayed-restart", "--vary", "ttl=1s,2s", "--assert", claim)
	}
	refused(t, "odds", "--chance", "x")
	refused(t, "run", "minority-down", "--shard", "x")
	refused(t, "verify", "minority-down", "--kinds", "x")
	if said := refused(t, "run", "minority-down", "--seed", "x"); !strings.HasPrefix(
		said,
		"fencepost: --seed needs a whole number from 0 to 18446744073709551615, not \"x\"\n",
	) {
		t.Error(said)
	}
}
