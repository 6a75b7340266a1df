package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
)

// hostile lists strings that a terminal would interpret as commands, or show in a different order.
var hostile = []string{"\x1b[2J", "\u009b2J", "\x7f", "\u202e", "\u2028", "a\rb", "\x07", "a\nb", "\x1b]0;x\x07"}

// checkClean checks that a command rejects its input with a message that is safe to show on a terminal.
func checkClean(t *testing.T, what string, args ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	code := run(args, &out, &problems)
	for _, text := range []string{out.String(), problems.String()} {
		if i := strings.IndexFunc(text, func(c rune) bool { return c != '\n' && history.Unprintable(c) }); i >= 0 ||
			!utf8.ValidString(text) {
			t.Errorf("%s: a control character is written: %q", what, text)
		}
	}
	if code != exitBadInput || problems.Len() == 0 {
		t.Errorf("%s: exit %d: %q", what, code, problems.String())
	}
	return problems.String()
}

// TestNoArgumentHasControlCharacters checks that malicious strings are rejected safely as arguments and flag values of
// every command.
func TestNoArgumentHasControlCharacters(t *testing.T) {
	t.Chdir(t.TempDir())
	tried := 0
	for _, c := range newRoot().Commands() {
		for _, bad := range hostile {
			checkClean(t, c.Name(), c.Name(), "x"+bad)
			checkClean(t, c.Name(), c.Name(), "--"+bad)
		}
		eachFlag(c, func(f *pflag.Flag) {
			for _, bad := range hostile {
				checkClean(t, c.Name()+" --"+f.Name, c.Name(), "x", "--"+f.Name+"="+bad)
				tried++
			}
		})
	}
	checkClean(t, "no command", "\x1b[2J")
	if entries, err := os.ReadDir("."); err != nil || len(entries) > 0 || tried < 100 {
		t.Errorf("%v was written, %d flags tried: %v", entries, tried, err)
	}
}

func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) { c.LocalFlags().VisitAll(visit) }

// TestNoEscapeOfAPlanIsPrinted checks that no malicious string is printed from any line of a plan, or from environment
// variables.
func TestNoEscapeOfAPlanIsPrinted(t *testing.T) {
	t.Chdir(t.TempDir())
	lines := []string{"# a plan", "scenario kleppmann-gc-pause", "seed 1", "pause client-1 for 15s after acquired",
		"cut client-1 | redis-4 at 0s for 30s # why"}
	for i := range lines {
		for at := range len(lines[i]) + 1 {
			bad := hostile[(i+at)%len(hostile)]
			if strings.Contains(bad, "\n") {
				continue // the text would begin another line
			}
			changed := append([]string{}, lines...)
			changed[i] = lines[i][:at] + bad + lines[i][at:]
			if err := os.WriteFile("plan.txt", []byte(strings.Join(changed, "\n")+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
			said := checkClean(t, changed[i], "replay", "plan.txt")
			if !strings.HasPrefix(said, fmt.Sprintf("plan.txt:%d:", i+1)) {
				t.Errorf("%q: %s", changed[i], said)
			}
		}
	}
	for _, name := range []string{"TEST_SHARD_INDEX", "JOB_COMPLETION_INDEX", "GITHUB_STEP_SUMMARY"} {
		for _, bad := range hostile {
			t.Setenv("TEST_TOTAL_SHARDS", "2")
			t.Setenv(name, "nowhere/"+bad)
			args := []string{"run", "setnx-holder-crash", "--seeds", "2", "--out", "out"}
			if name == "JOB_COMPLETION_INDEX" {
				args = append(args, "--shard", "/2")
			}
			if name == "GITHUB_STEP_SUMMARY" {
				t.Setenv("TEST_TOTAL_SHARDS", "")
			}
			checkClean(t, name, args...)
			t.Setenv(name, "")
		}
	}
}

// TestNoEscapeOfARecordIsPrinted checks that no malicious string from a record is printed. It puts one into many of the
// record's strings, one string at a time, and corrects the checksum.
func TestNoEscapeOfARecordIsPrinted(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range interruptedFiles {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		file        string
		make, again []string
	}{
		{task.RunsFile, []string{"run", "lost.yaml", "--seeds", "8", "--out", "out1"},
			[]string{"merge", "out1", "--out", "out"}},
		{task.ExplorationFile, []string{"explore", "promised.yaml", "--seeds", "40", "--out", "out2"},
			[]string{"explore", "--resume", "out2"}},
		{task.ExplorationFile, []string{"explore", "promised.yaml", "--seeds", "40", "--out", "out3"},
			[]string{"merge", "out3", "--out", "out"}},
	} {
		var out, problems bytes.Buffer
		if code := run(c.make, &out, &problems); code == exitBadInput {
			t.Fatal(problems.String())
		}
		path := c.make[len(c.make)-1] + "/" + c.file
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var record struct {
			Held json.RawMessage `json:"held"`
		}
		if err := json.Unmarshal(whole, &record); err != nil {
			t.Fatal(err)
		}
		quotes := strings.Split(string(record.Held), `"`) // no string of a record contains a quote
		if len(quotes) < 20 {
			t.Fatalf("the record has few strings: %s", whole)
		}
		for i := 1; i < len(quotes); i += testkit.Size(6, 2, 2) { // the texts between two quotes have odd positions
			bad, err := json.Marshal(hostile[i%len(hostile)])
			if err != nil {
				t.Fatal(err)
			}
			changed := append([]string{}, quotes...)
			changed[i] += strings.Trim(string(bad), `"`)
			held := strings.Join(changed, `"`)
			if err := os.WriteFile(path, fmt.Appendf(nil, `{"sum":"%x","held":%s}`, sha256.Sum256([]byte(held)), held),
				0o666); err != nil {
				t.Fatal(err)
			}
			checkClean(t, c.file+" "+quotes[i], c.again...)
		}
	}
}

// TestNothingHiddenReachesAPage checks malicious strings in every name and value of a recorded history. They must not
// appear unescaped in the page, in porcupine's views next to it or in the printed text, and their markup must have no
// effect.
func TestNothingHiddenReachesAPage(t *testing.T) {
	dir := t.TempDir()
	for i, bad := range append(hostile, "\u200b", "\ufeff", "\u2066", "\u200f", "<script>x</script>",
		"<img src=x onerror=x>", "</title>", "'\"&") {
		name := func(what string) string {
			text, err := json.Marshal(what + bad)
			if err != nil {
				t.Fatal(err)
			}
			return string(text)
		}
		var b strings.Builder
		for k, process := range []string{"p", "q"} {
			for n, what := range []string{
				`"type":"invoke","f":"acquire"`, `"type":"ok","f":"acquire","since":0,"granted":0,"until":9000`,
				`"type":"invoke","f":"write","value":` + name("v"), `"type":"ok","f":"write","value":` + name("v"),
				`"type":"fail","f":"extend","value":` + name("v")} {
				fmt.Fprintf(&b, `{"time":%d,"process":%s,"lock":%s,"attempt":%s,%s}`+"\n", 10*k+n, name(process), name("l"),
					name(process+"/1"), what)
			}
		}
		fmt.Fprintf(&b, `{"time":30,"process":"nemesis","type":"info","f":%s,"value":%s}`+"\n", name("f"), name("v"))
		fmt.Fprintf(&b, `{"time":40,"process":%s,"type":"ok","f":"key-set","lock":%s,"of":%s}`+"\n", name("s"), name("l"),
			name("p/1"))
		path, pages := filepath.Join(dir, fmt.Sprint(i, ".jsonl")), filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		if code := run([]string{"check", path, "--html", filepath.Join(pages, "p.html")}, &out, &problems); code !=
			exitOtherwise {
			t.Fatalf("%q: exit %d: %s%s", bad, code, out.String(), problems.String())
		}
		texts := map[string]string{"what is printed": out.String()}
		list, err := os.ReadDir(pages)
		if err != nil || len(list) < 2 {
			t.Fatalf("%q: %v, %v", bad, list, err)
		}
		for _, f := range list {
			text, err := os.ReadFile(filepath.Join(pages, f.Name()))
			if err != nil {
				t.Fatal(err)
			}
			texts[f.Name()] = string(text)
			if n := strings.Count(string(text), "<script>"); n != 1 || !strings.Contains(string(text), "'sha256-") {
				t.Errorf("%q: %s has %d scripts, or no policy", bad, f.Name(), n)
			}
		}
		for where, text := range texts {
			hidden := func(c rune) bool { return c != '\n' && c != '\t' && history.Unprintable(c) }
			if at := strings.IndexFunc(text, hidden); at >= 0 || !utf8.ValidString(text) {
				t.Errorf("%q: hidden in %s: %q", bad, where, text[max(0, at-50):min(len(text), at+10)])
			}
			for _, c := range bad { // in porcupine's views, a script reads the texts that are shown
				read := history.Escape(c)
				if strings.HasPrefix(where, "p-") && history.Unprintable(c) &&
					strings.Contains(strings.ReplaceAll(text, `\`+read, ""), read) {
					t.Errorf("%q: a script reads it in %s", bad, where)
				}
			}
		}
	}
}

// TestTwoDoNotResumeOneExploration checks that an exploration cannot be resumed while its folder is locked, as it would
// be by another process.
func TestTwoDoNotResumeOneExploration(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("promised.yaml", []byte(interruptedFiles["promised.yaml"]), 0o666); err != nil {
		t.Fatal(err)
	}
	var out, problems bytes.Buffer
	if code := run([]string{"explore", "promised.yaml", "--seeds", "8", "--out", "found"}, &out,
		&problems); code == exitBadInput {
		t.Fatal(problems.String())
	}
	other := output.New()
	if err := other.Take("found", "explore"); err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	if said := checkClean(t, "resume", "explore", "--resume", "found"); !strings.HasPrefix(said,
		"fencepost: another fencepost process is writing to the folder found") {
		t.Error(said)
	}
}
