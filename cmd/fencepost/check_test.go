package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"html"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// TestAHistoryIsJudgedAsItsRunWas runs scenarios on every kind of service and checks the histories that they write.
// Each law must have the same outcome, cause and explanation as in the run's own verdict.
func TestAHistoryIsJudgedAsItsRunWas(t *testing.T) {
	t.Chdir(t.TempDir())
	type laws map[string]struct{ Outcome, Cause, Explanation string }
	judged := 0
	report := func(args ...string) (doc struct{ Laws laws }, code int) {
		t.Helper()
		var out, problems bytes.Buffer
		if code = run(args, &out, &problems); code == exitBadInput {
			t.Fatalf("%v: %s", args, problems.String())
		}
		if err := json.Unmarshal(out.Bytes(), &doc); err != nil {
			t.Fatal(err)
		}
		return doc, code
	}
	for i, name := range scenarios.Names() {
		if i%testkit.Size(24, 6, 1) != 0 {
			continue
		}
		was, _ := report("run", name, "--json", "--out", name)
		is, code := report("check", filepath.Join(name, task.HistoryFile), "--json")
		violated := false
		for law, f := range was.Laws {
			violated = violated || f.Outcome == "violated"
			got := is.Laws[law]
			judged++
			// The run's own explanation also says which faults were necessary. The check command cannot say this,
			// because it cannot repeat the run.
			if got.Outcome != f.Outcome || got.Cause != f.Cause || !strings.HasPrefix(f.Explanation, got.Explanation) ||
				(got.Explanation == "") != (f.Explanation == "") {
				t.Errorf("%s, %s: the run says %+v, its history %+v", name, law, f, got)
			}
		}
		if (code == exitOtherwise) != violated {
			t.Errorf("%s: exit %d", name, code)
		}
	}
	if judged < 20 {
		t.Errorf("only %d outcomes were compared", judged)
	}
}

func historySchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(history.Schema))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("history.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("history.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestHistoriesKeepToTheirSchema validates lines from real histories against the schema. It also changes, adds and
// removes single keys. The schema and the reader must agree on whether such a line is valid.
func TestHistoriesKeepToTheirSchema(t *testing.T) {
	s := historySchema(t)
	r := rand.New(rand.NewPCG(5, 13))
	agree := func(line string) (valid bool) {
		t.Helper()
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
		if err != nil {
			t.Fatalf("%v: %s", err, line)
		}
		wrong := s.Validate(doc)
		_, refused := history.Decode(strings.NewReader(line))
		if (wrong == nil && timesInOrder(line)) != (refused == nil) {
			t.Errorf("by the schema %v, by the reader %v: %s", wrong, refused, line)
		}
		return wrong == nil
	}
	keys := []string{"index", "time", "process", "type", "f", "op", "lock", "shared", "task", "attempt", "token",
		"value", "of", "member", "by", "checked", "why", "until", "since", "granted", "counted", "on", "to", "ends",
		"loses", "shift", "ppm", "tiem"}
	values := []any{0, -3, "x", "nemesis", "key-set", "key-gone", "invoke", "cas", "read", "everything", "value",
		"score", "expired", "evicted", true, false, []string{}, []string{"a"}, 1.5, nil}
	seen := map[bool]int{}
	for _, name := range []string{"kleppmann-gc-pause", "failover-loses-lock", "zookeeper-session-expiry",
		"restart-everysec", "partition-penalty", "skew-of-an-hour", "semaphore-clients-clock"} {
		sc, err := scenarios.Named(name)
		if err != nil {
			t.Fatal(err)
		}
		result, err := scenarios.NewRunner(sc).Run(sc.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := history.Encode(&b, result.History); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if !agree(line) {
				t.Errorf("a run leaves what is no line: %s", line)
			}
			if strings.HasPrefix(line, `{"header"`) {
				continue
			}
			var e map[string]any
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatal(err)
			}
			for range 4 {
				changed := map[string]any{}
				for k, v := range e {
					changed[k] = v
				}
				key := keys[r.IntN(len(keys))]
				if changed[key] = values[r.IntN(len(values))]; r.IntN(4) == 0 {
					delete(changed, key)
				}
				text, err := json.Marshal(changed)
				if err != nil {
					t.Fatal(err)
				}
				seen[agree(string(text))]++
			}
		}
	}
	if seen[true] < 100 || seen[false] < 100 {
		t.Errorf("%d changed lines were valid, %d were not", seen[true], seen[false])
	}
	for _, header := range []string{`{}`, `{"clock_error":5,"start":7,"reading":"strict","reentrant":true}`,
		`{"clock_error":-5}`, `{"reading":"lax"}`, `{"quorun":3}`, `{"ttl":"3s"}`, `{"ttl":-3}`, `{"seen":{"a":5}}`,
		`{"seen":{"a":5},"clock_error":1}`, `{"seen":{"a":5},"clock_error":0}`, `{"seen":{}}`,
		`{"clock_errors":{"a":5},"clock_error":5}`, `{"clock_errors":{"a":-5},"clock_error":5}`,
		`{"locks":["a"],"shards":[["a","b"]]}`, `{"initial":"nil"}`,
		`{"service":"consul"}`, `{"service":""}`, `{"service":"consull"}`,
		`{"measures":["fencing","own-value"]}`, `{"measures":["fencin"]}`, `{"unknown_measures":["fencin"]}`,
		`{"lapses":["part-of-owner"]}`, `{"lapses":["x"]}`,
		`{"initial":0}`} {
		agree(`{"header":` + header + `}`)
	}
}

// timesInOrder checks that a grant's times are in order: it was requested, then decided, and then returned to the
// holder. A schema cannot express this.
func timesInOrder(line string) bool {
	var e struct{ Since, Granted, Time *int64 }
	if json.Unmarshal([]byte(line), &e) != nil || e.Since == nil || e.Granted == nil || e.Time == nil {
		return true
	}
	return *e.Since <= *e.Granted && *e.Granted <= *e.Time
}

// TestTheSchemaNamesEveryKey checks that the schema names every key in headers and events.
func TestTheSchemaNamesEveryKey(t *testing.T) {
	var doc struct {
		Defs map[string]struct{ Properties map[string]any } `json:"$defs"`
	}
	if err := json.Unmarshal([]byte(history.Schema), &doc); err != nil {
		t.Fatal(err)
	}
	var header []string
	var of func(reflect.Type)
	of = func(s reflect.Type) {
		for f := range s.Fields() {
			if f.Anonymous {
				of(f.Type)
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			header = append(header, name)
		}
	}
	of(reflect.TypeFor[history.Header]())
	for _, key := range header {
		if doc.Defs["header"].Properties[key] == nil {
			t.Errorf("the schema does not name %q of a header", key)
		}
	}
	for key := range doc.Defs["header"].Properties {
		if !slices.Contains(header, key) {
			t.Errorf("the schema names %q of a header, which has none", key)
		}
	}
	for key := range doc.Defs["event"].Properties {
		_, err := history.Decode(strings.NewReader(`{"` + key + `":{}}`))
		if err == nil || strings.Contains(err.Error(), "unknown key") {
			t.Errorf("the schema names %q of an event: %v", key, err)
		}
	}
}

// The histories to judge come from github.com/jepsen-io/knossos v0.3.15. These are its commit, and the git hash of its
// data folder.
const (
	knossosCommit = "9242b067e78fc414832ac6acab8af44ddb5e0d60"
	knossosData   = "b97f77bc9fb8a935b512a541aff9f83fd006456d"
)

// knossos returns the path of the data folder in github.com/jepsen-io/knossos, which is not part of this project. If
// the environment variable FENCEPOST_KNOSSOS does not name the folder, a full test fetches it.
func knossos(t *testing.T) string {
	t.Helper()
	if dir := os.Getenv("FENCEPOST_KNOSSOS"); dir != "" {
		return dir
	}
	if !testkit.Full() {
		t.Skip("FENCEPOST_KNOSSOS names no folder with the data of github.com/jepsen-io/knossos")
	}
	dir := t.TempDir()
	git := func(args ...string) (string, error) {
		text, err := exec.Command("git", append([]string{"-C", dir}, args...)...).CombinedOutput()
		return strings.TrimSpace(string(text)), err
	}
	if text, err := git("init", "--quiet"); err != nil {
		t.Skipf("git: %v: %s", err, text)
	}
	text, err := git("fetch", "--quiet", "--depth", "1", "https://github.com/jepsen-io/knossos", knossosCommit)
	if err != nil {
		t.Skipf("github.com/jepsen-io/knossos cannot be fetched: %v: %s", err, text)
	}
	if sum, err := git("rev-parse", knossosCommit+":data"); err != nil || sum != knossosData {
		t.Fatalf("the data of github.com/jepsen-io/knossos have the sum %s, want %s: %v", sum, knossosData, err)
	}
	if text, err := git("checkout", "--quiet", knossosCommit); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return filepath.Join(dir, "data")
}

// published lists the flags for judging each kind of Knossos data. They specify the type of object that was recorded,
// or its initial value.
var published = map[string][]string{
	"mutex":          {"--lock", "mutex"},
	"cas-register":   {"--initial", "nil"},
	"multi-register": {"--initial", "0"},
}

// refuted lists, for each history that is not linearizable according to Knossos' own tests, the index of the first
// offending operation and the text that "fencepost check" reports for it.
var refuted = map[string]struct {
	at   int
	says string
}{
	"bad-analysis.edn":         {14, "read by process-21, which returned 2"},
	"cas-failure.edn":          {491, "read by process-70, which returned 0"},
	"immediate-failure.edn":    {3, "read by process-1, which returned 3"},
	"rethink-fail-minimal.edn": {4, "read by process-1, which returned 3"},
	"rethink-fail-smaller.edn": {217, "read by process-12, which returned 3"},
}

// TestPublishedHistoriesComeOutAsTheirFolderSays judges the histories that Jepsen published, interpreting failed
// releases strictly. Histories in folders named good must pass, and those in folders named bad must be reported as
// violations. A history in which nothing took effect never passes, because nothing was judged. With -v, the test
// reports the time and memory used for each history.
func TestPublishedHistoriesComeOutAsTheirFolderSays(t *testing.T) {
	seen := map[string]int{}
	err := filepath.WalkDir(knossos(t), func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".edn" {
			return err
		}
		verdict := filepath.Base(filepath.Dir(path))
		kind := filepath.Base(filepath.Dir(filepath.Dir(path)))
		flags, known := published[kind]
		text, err := os.ReadFile(path)
		if !known || err != nil {
			t.Errorf("%s: of a kind that is not judged: %v", path, err)
			return nil
		}
		want := map[string]int{"good": exitExpected, "bad": exitOtherwise}[verdict]
		if !bytes.Contains(text, []byte(":type :ok")) {
			want = exitUndecided
		}
		var out, problems bytes.Buffer
		start, before := time.Now(), allocated()
		code := run(append([]string{"check", path, "--reading", "strict", "--json"}, flags...), &out, &problems)
		t.Logf("%-14s %-4s exit %d  %5.1f ms  %5.1f MB allocated  %s", kind, verdict, code,
			float64(time.Since(start).Microseconds())/1000, float64(allocated()-before)/1e6, filepath.Base(path))
		if code != want {
			t.Errorf("%s: exit %d, want %d: %s%s", path, code, want, out.String(), problems.String())
		}
		if first, known := refuted[filepath.Base(path)]; known && !(strings.Contains(out.String(), first.says) &&
			strings.Contains(out.String(), fmt.Sprintf(`"index":%d,`, first.at))) {
			t.Errorf("%s: want %+v: %s", path, first, out.String())
		}
		seen[fmt.Sprint(kind, " ", verdict)]++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, some := range []string{"mutex bad", "cas-register good", "cas-register bad", "multi-register good"} {
		if seen[some] == 0 {
			t.Errorf("judged no %s", some)
		}
	}
	t.Log(seen)
}

// allocated returns how many bytes the process has allocated so far.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// TestPagesOfManyStaySmall checks that histories with a thousand simultaneous holders, five hundred locks or nine
// thousand sections produce pages that a browser can show. Both the text and the page must say what they leave out.
func TestPagesOfManyStaySmall(t *testing.T) {
	testkit.ThoroughOnly(t)
	t.Parallel()
	const mostFiles, mostBytes = 13, 8 << 20
	for name, c := range map[string]struct {
		sections int
		place    func(i int) (client, lock, enters, leaves int)
		says     []string
	}{
		"holders": {1000, func(i int) (int, int, int, int) { return i, 0, i, 2000 + i },
			[]string{"Only 48 of 1000 client lanes are drawn.", "Only the first 500 overlaps of two critical " +
				"sections are shaded."}},
		"locks": {500, func(i int) (int, int, int, int) { return i % 9, i, 2 * i, 2*i + 1 },
			[]string{"Porcupine's views show only 12 locks; those of 488 more are left out."}},
		"sections": {9000, func(i int) (int, int, int, int) { return i % 9, 0, 2 * i, 2*i + 1 },
			[]string{"3000 of 36000 events are drawn"}},
	} {
		dir := t.TempDir()
		var events []string
		at := map[int]string{}
		for i := range c.sections {
			client, lock, enters, leaves := c.place(i)
			line := func(at int, f, kind, rest string) string {
				return fmt.Sprintf(`{"time":%d,"process":"client-%d","type":%q,"f":%q,"lock":"lock-%d"%s}`+"\n", at, client,
					kind, f, lock, rest)
			}
			attempt := fmt.Sprintf(`,"attempt":"client-%d/%d"`, client, i)
			at[enters] += line(enters, "acquire", "invoke", "") + line(enters, "acquire", "ok", attempt)
			at[leaves] += line(leaves, "release", "invoke", attempt) + line(leaves, "release", "ok", attempt)
		}
		for _, when := range slices.Sorted(maps.Keys(at)) {
			events = append(events, at[when])
		}
		path := filepath.Join(dir, "h.jsonl")
		if err := os.WriteFile(path, []byte(strings.Join(events, "")), 0o600); err != nil {
			t.Fatal(err)
		}
		pages := filepath.Join(dir, "pages")
		var out, problems bytes.Buffer
		run([]string{"check", path, "--html", filepath.Join(pages, "p.html")}, &out, &problems)
		files, err := os.ReadDir(pages)
		if err != nil || len(files) > mostFiles {
			t.Errorf("%s: %d files, %v%s", name, len(files), err, problems.String())
		}
		page, err := os.ReadFile(filepath.Join(pages, "p.html"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if info, err := f.Info(); err != nil || info.Size() > mostBytes {
				t.Errorf("%s: %s has %d bytes, %v", name, f.Name(), info.Size(), err)
			}
		}
		text := strings.Join(strings.Fields(out.String()), " ")
		for _, says := range c.says {
			if !strings.Contains(text, says) || !strings.Contains(html.UnescapeString(string(page)), says) {
				t.Errorf("%s: not both text and page say %q:\n%s", name, says, out.String())
			}
		}
	}
}

// TestLawsJudgedAtTheEndCountOnlyIfBroken checks when an undecided law makes "check" exit with 3, and that the help
// says which laws are exceptions.
func TestLawsJudgedAtTheEndCountOnlyIfBroken(t *testing.T) {
	t.Chdir(t.TempDir())
	const history = `{"header":{"start":1,"clock_error":%d,"end":900000000,"ttl":50000000,"slack":1000000}}
{"time":0,"process":"a","type":"ok","f":"acquire","lock":"orders","attempt":"a/1"}
{"time":20000000,"process":"a","type":"invoke","f":"release","lock":"orders","attempt":"a/1"}
{"time":20000001,"process":"a","type":"ok","f":"release","lock":"orders","attempt":"a/1"}
{"time":60000000,"process":"b","type":"invoke","f":"acquire","lock":"orders"}
`
	const entered = `{"time":61000000,"process":"b","type":"ok","f":"acquire","lock":"orders","attempt":"b/1"}
`
	for _, c := range []struct {
		text string
		exit int
		want string
	}{
		{fmt.Sprintf(history, 0) + entered, exitExpected, "deadlock-freedom undecided"},
		{fmt.Sprintf(history, 1_000_000) + entered, exitExpected, "deadlock-freedom undecided"},
		{fmt.Sprintf(history, 0), exitOtherwise, "deadlock-freedom violated"},
		{fmt.Sprintf(history, 1_000_000_000), exitUndecided, "deadlock-freedom undecided"},
	} {
		if err := os.WriteFile("history.jsonl", []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var out, problems bytes.Buffer
		exit := run([]string{"check", "history.jsonl"}, &out, &problems)
		if said := strings.Join(strings.Fields(out.String()), " "); exit != c.exit || !strings.Contains(said, c.want) {
			t.Errorf("exit %d, want %d with %q:\n%s%s%s", exit, c.exit, c.want, c.text, out.String(),
				problems.String())
		}
	}
	help := strings.Join(strings.Fields(newCheck().Long), " ")
	var exceptions []string
	for _, law := range checker.Laws {
		if law.AtEnd() {
			exceptions = append(exceptions, string(law))
		}
	}
	want := strings.Join(exceptions, " and ") + " do not count if they are undecided"
	if !strings.Contains(help, want) {
		t.Errorf("the help does not say %q", want)
	}
}
