package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
)

// jsonCalls lists invocations of every command that has --json. Together, a command's invocations print every part of
// its document.
var jsonCalls = map[string][][]string{
	"run": {
		{"run", "kleppmann-gc-pause"}, {"run", "minority-down"}, {"run", "fenced-everysec", "--seeds", "3"},
		{
			"run",
			"violated.yaml",
			"--seeds",
			"3",
		}, {"run", "kleppmann-gc-pause", "--seeds", "4", "--shard", "1/2", "--out", "runs-1"},
		{"run", "kleppmann-gc-pause", "--seeds", "4", "--shard", "2/2", "--out", "runs-2"},
		{"run", "gone.yaml"}, {"run", "gone.yaml", "--seeds", "2"}},
	"replay": {{"replay", "_runs/kleppmann-gc-pause-1/plan.txt"}},
	"explore": {{"explore", "gone.yaml", "--seeds", "8"},
		{"explore", "kleppmann-gc-pause", "--seeds", "12", "--shard", "1/2", "--out", "found-1"},
		{"explore", "kleppmann-gc-pause", "--seeds", "12", "--shard", "2/2", "--out", "found-2"}},
	"merge": {{"merge", "found-1", "found-2", "--out", "found"}, {"merge", "runs-1", "runs-2", "--out", "runs"}},
	"verify": {{"verify", "violated.yaml", "--kinds", "pause"}, {"verify", "holds.yaml", "--faults", "0"},
		{"verify", "gone.yaml", "--kinds", "shut down", "--budget", "100"}},
	"sweep": {
		{
			"sweep",
			"delayed-restart",
			"--vary",
			"restart=5s..12s/7s",
			"--seeds",
			"2",
			"--assert",
			"lease-exclusion holds when restart >= 1s",
			"--assert",
			"lease-exclusion holds when restart >= ttl * 1.1",
		},
		{
			"sweep",
			"violated.yaml",
			"--vary",
			"ttl=0s,10s",
			"--vary",
			"work.writes=0,1",
			"--seeds",
			"1",
			"--out",
			"grid",
		}},
	"live": {{"live", "quick.yaml"},
		{"live", "--agree", "--servers", "simulated", "tair-cad-release"}},
	"compare": {{"compare", "--seeds", "1"}},
	"corpus":  {{"corpus", "--seeds", "1", "--sound", "31"}},
	"odds":    {{"odds", "--runs", "20"}},
	"advise": {{"advise", "violated.yaml", "--seeds", "5", "--out", "saved"},
		{"advise", "holds.yaml", "--seeds", "5"}},
	"check": {{"check", "_runs/kleppmann-gc-pause-1/history.jsonl", "--out", "judged"},
		{"check", "jepsen.edn", "--lock", "mutex", "--reading", "strict", "--clock-error", "1ms"},
		{"check", "register.edn", "--initial", "0"}},
	"list":    {{"list"}, {"list", "etcd"}},
	"version": {{"version"}},
}

// TestTheKeysOfAllDocumentsHaveOneStyle checks the keys of every JSON document that a command prints.
func TestTheKeysOfAllDocumentsHaveOneStyle(t *testing.T) {
	for _, d := range described {
		if odd := reporttest.OddKeys(d.Object); len(odd) > 0 {
			t.Errorf("%s: %q", d.Is, odd)
		}
	}
}

// jsonFiles contains the scenarios that jsonCalls uses.
var jsonFiles = map[string]string{
	"violated.yaml": `name: violated
servers: {redis: 1}
lock: {protocol: set-nx-px, retry: {delay: 4s}}
work: {writes: 1}
faults:
  - pause client-1 for 15s after acquired
expect: {mutual-exclusion: holds}
promise: [mutual-exclusion]
`,
	"gone.yaml": `name: gone
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 1s, retry: {delay: 1s}}
limit: 30s
faults:
  - shut down redis-1 at 1ms
mix: {weights: {shut down: 1}, forever: 100%}
promise: [deadlock-freedom]
`,
	"quick.yaml": `name: quick
servers: {redis: 1}
lock: {protocol: set-nx-px, ttl: 500ms}
`,
	"jepsen.edn": `[{:type :ok, :f :acquire, :process 0}
{:type :invoke, :f :release, :process 0} {:type :fail, :f :release, :process 0}
{:type :info, :f :start, :process :nemesis} {:type :invoke, :f :acquire, :process 1}
`,
	"register.edn": `{:type :invoke, :f :read, :process 0} {:type :ok, :f :read, :value 1, :process 0}`,
	"holds.yaml": `name: holds
servers: {redis: 1}
lock: {protocol: set-nx-px, retry: {delay: 4s}}
`,
}

// costlyCalls contains the first words of the calls that are made only in continuous integration.
var costlyCalls = []string{"compare", "corpus", "sweep delayed-restart", "advise violated.yaml", "live --agree"}

func isCostly(call []string) bool {
	return slices.ContainsFunc(costlyCalls, func(words string) bool {
		return strings.HasPrefix(strings.Join(call, " "), words)
	})
}

// runsHere reports whether a call works on this system. Real-time runs need Linux.
func runsHere(call []string) bool { return call[0] != "live" || runtime.GOOS == "linux" }

// TestEveryCommandKeepsToTheSchema checks all commands that print JSON. It validates the documents that they print, and
// those in their output folders, against a single schema.
func TestEveryCommandKeepsToTheSchema(t *testing.T) {
	check := validator(t)
	t.Chdir(t.TempDir())
	for name, text := range jsonFiles {
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range newRoot().Commands() {
		if c.Flags().Lookup("json") != nil && jsonCalls[c.Name()] == nil {
			t.Errorf("%s has --json, and no call tests it", c.Name())
		}
	}
	order := []string{"run", "replay", "explore", "merge", "verify", "sweep", "compare", "corpus", "odds", "advise",
		"check", "list", "version", "live"}
	if len(order) != len(jsonCalls) {
		t.Errorf("%d of %d commands are called", len(order), len(jsonCalls))
	}
	for _, command := range order {
		for _, call := range jsonCalls[command] {
			if !runsHere(call) || !testkit.Thorough() && isCostly(call) {
				continue
			}
			var out, problems bytes.Buffer
			if code := run(append(call, "--json"), &out, &problems); code == exitBadInput {
				t.Errorf("%v: %s", call, problems.String())
				continue
			}
			if got := check(strings.Join(call, " "), out.Bytes()); got != command {
				t.Errorf("%v: the command is called %q", call, got)
			}
		}
	}
	left := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Name() != task.VerdictFile && d.Name() != "sweep.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err == nil {
			left++
			check(path, text)
		}
		return err
	})
	if err != nil || left < 10 {
		t.Errorf("%d documents were left: %v", left, err)
	}
}

// compiled returns the JSON schema, ready to validate documents.
func compiled(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := document.Schema(described)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	compiler := jsonschema.NewCompiler()
	if err := compiler.AddResource("fencepost.schema.json", parsed); err != nil {
		t.Fatal(err)
	}
	s, err := compiler.Compile("fencepost.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validator returns a function that validates a document against the schema and returns the name of the document's
// command.
func validator(t *testing.T) func(what string, text []byte) string {
	s := compiled(t)
	return func(what string, text []byte) string {
		t.Helper()
		printed, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return ""
		}
		if err := s.Validate(printed); err != nil {
			t.Errorf("%s: %v", what, err)
		}
		command, _ := printed.(map[string]any)["command"].(string)
		return command
	}
}

// TestTheSchemaIsWrittenDown checks the schema against a golden file. The diff shows what a change means for programs
// that read the JSON.
func TestTheSchemaIsWrittenDown(t *testing.T) {
	text, err := document.Schema(described)
	if err != nil {
		t.Fatal(err)
	}
	testkit.Golden(t, filepath.Join("testdata", "schema.json"), string(text))
}

// TestTheSchemaRefusesWrongDocuments checks that the schema rejects documents that no command may print.
func TestTheSchemaRefusesWrongDocuments(t *testing.T) {
	var out, problems bytes.Buffer
	t.Chdir(t.TempDir())
	if code := run([]string{"run", "kleppmann-gc-pause", "--json"}, &out, &problems); code != exitExpected {
		t.Fatal(problems.String())
	}
	s := compiled(t)
	for _, wrong := range [][2]string{
		{`"schema":"fencepost/1"`, `"schema":"fencepost/2"`}, {`"command":"run"`, `"command":"verify"`},
		{`"command":"run",`, ``},
		{`"seed":1`, `"seed":"1"`}, {`"remedies":`, `"remedy":`}, {`"outcome":"holds"`, `"outcome":"held"`},
		{`"mutual-exclusion":`, `"mutual exclusion":`}, {`"seed":1`, `"seed":1,"more":2`}} {
		text := strings.Replace(out.String(), wrong[0], wrong[1], 1)
		printed, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil || text == out.String() {
			t.Fatalf("%v: %v", wrong, err)
		}
		if s.Validate(printed) == nil {
			t.Errorf("%s in place of %s passes", wrong[1], wrong[0])
		}
	}
}
