package scenarios

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/format"
)

var errorCases = filepath.Join("testdata", "format", "errors.txt")

type errorCase struct{ title, text, want string }

// readErrorCases returns the cases in the test's file, and the text before the first case.
func readErrorCases(t testing.TB) (head string, cases []errorCase) {
	content, err := os.ReadFile(errorCases)
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(string(content), "\n== ")
	for _, part := range parts[1:] {
		title, rest, _ := strings.Cut(part, "\n")
		text, want, ok := strings.Cut("\n"+rest+"\n", "\n--\n")
		if !ok {
			t.Fatalf("%s: case %q has no --", errorCases, title)
		}
		cases = append(cases, errorCase{title, strings.TrimPrefix(text+"\n", "\n"), strings.TrimRight(want, "\n")})
	}
	return parts[0], cases
}

// For each bad file, the errors are exactly those listed in the case, and no scenario is returned.
func TestFormatErrors(t *testing.T) {
	head, cases := readErrorCases(t)
	out := head + "\n"
	for _, c := range cases {
		s, err := Parse("f.yaml", []byte(c.text))
		if err == nil || s != nil {
			t.Fatalf("%s: no error, or a scenario beside it: %v", c.title, s)
		}
		got := fmt.Sprint(err)
		if got != c.want && !*testkit.Update {
			t.Errorf("%s:\n%s\ngot\n%s\nwant\n%s", c.title, c.text, got, c.want)
		}
		out += "== " + c.title + "\n" + c.text + "--\n" + got + "\n"
	}
	if *testkit.Update {
		testkit.Write(t, errorCases, out)
	}
}

// Each problem is reported at the column of the wrong word in the file.
func TestColumnsPointAtTheWord(t *testing.T) {
	const head = "name: x\nservers: {redis: 5}\nlock: {protocol: redlock}\n"
	for text, word := range map[string]string{
		"faults:\n  - pause client-1 for 15x after acquired":                      "15x",
		"faults:\n  - \"pause client-1 for 15s after aquired\"":                   "aquired",
		"faults: ['cut client-1 | redis-9 at 1s']":                                "redis-9",
		"faults: [pause client-1 for 1s at 3s, 'pause  client-1   for 1s at 3h']": "3h",
		"# über\nfaults:\n\n  # über\n  -    pause  clinet-1  for 1s at 1s":       "clinet-1",
		"network: {delay: '1ms..2mm'}":                                            "2mm",
		"network: {tail: '1% 1ms..2mm'}":                                          "2mm",
		"expect: {ownership: \"violated by nothing\"}":                            "nothing",
		"expect: {metrics: {unavailability: '> ninety'}}":                         "ninety",
		"expect: {metrics: {unavailability: 1s.. ninety}}":                        "ninety",
		"expect: {ownership: violated by lost in crash (oops)}":                   "oops",
	} {
		text = head + text + "\n"
		_, err := Parse("f.yaml", []byte(text))
		var bad *format.Error
		if !errors.As(err, &bad) || len(bad.Problems) != 1 {
			t.Errorf("%s: expected one problem, got %v", text, err)
			continue
		}
		p := bad.Problems[0]
		line := []rune(strings.Split(text, "\n")[p.Line-1])
		if !strings.HasPrefix(string(line[p.Column-1:]), word) {
			t.Errorf("%s: column %d is not at %q: %v", text, p.Column, word, err)
		}
	}
}

func TestNoText(t *testing.T) {
	for text, want := range map[string]string{
		"name: x\n\x00": "f.yaml:2:1: the file is not text: it has the control character " +
			"U+0000 here",
		"name: x\u200b": "f.yaml:1:8: the file has the zero-width character U+200B here, " +
			"which nobody can see: remove it",
		"name: \u202ex": "f.yaml:1:7: the file has the direction mark U+202E here, " +
			"which nobody can see: remove it",
		"name: \xff": "f.yaml:1:7: the file is not UTF-8 text",
		"name: x\rlock": "f.yaml:1:8: the file is not text: it has the control character " +
			"U+000D here",
		strings.Repeat("#", format.MaxFile+1): "f.yaml: the file has 1048577 bytes; a scenario has at most 1048576 " +
			"(1 MiB)",
		strings.Repeat("a: 1\n", 7000): "f.yaml:6667:4: the file has more than 20000 YAML tokens; " +
			"no scenario is that long",
		"a: " + strings.Repeat("{a: ", 9): "f.yaml:1:36: nested too deep: nothing in a scenario needs more than " +
			"8 levels",
	} {
		if s, err := Parse("f.yaml", []byte(text)); fmt.Sprint(err) != want || s != nil {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

func TestManyProblemsAreCutShort(t *testing.T) {
	_, err := Parse("f.yaml", []byte(strings.Repeat("a: 1\n", 30)))
	lines := strings.Split(fmt.Sprint(err), "\n")
	if len(lines) != 11 || lines[10] != "f.yaml: and 23 more" {
		t.Errorf("%d lines: %v", len(lines), err)
	}
}

// Parsing allocates at most 1 GiB in total even for the worst known files of the permitted size. By default, only some
// of them are tried.
func TestHostileFilesCostLittle(t *testing.T) {
	fill := func(s string) []byte { return []byte(strings.Repeat(s, format.MaxFile/len(s))) }
	for i, unit := range []string{"[", "{", "- ", "? ", ": ", "*a ", "&a ", "'", "''", "\"", "\n", " ", "#\n", "a",
		"a:\n", "a: ", "|\n", ", ", "a: [\n", "}"} {
		if !testkit.Full() && i%testkit.Size(20, 10, 1) > 0 {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := Parse("f.yaml", fill(unit)); err == nil {
			t.Errorf("%q: no error", unit)
		}
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > 1<<30 {
			t.Errorf("%q: %d MiB allocated", unit, used>>20)
		}
	}
}

// FuzzParseScenario checks that parsing any text returns a scenario, or problems with positions inside the text.
// Parsing the text again must give the same result.
func FuzzParseScenario(f *testing.F) {
	_, cases := readErrorCases(f)
	for _, c := range cases {
		f.Add([]byte(c.text))
	}
	f.Add([]byte(oneRedis))
	f.Add([]byte(example(f)))
	f.Fuzz(func(t *testing.T, text []byte) {
		s, err := Parse("f.yaml", text)
		_, again := Parse("f.yaml", text)
		if fmt.Sprint(err) != fmt.Sprint(again) || (s == nil) != (err != nil) {
			t.Fatalf("%v, then %v; scenario %v", err, again, s)
		}
		if err == nil {
			if len(s.Clients) == 0 || len(s.Servers.asked()) == 0 || s.Name == "" {
				t.Fatalf("half a scenario: %+v", s)
			}
			return
		}
		var bad *format.Error
		if !errors.As(err, &bad) {
			t.Fatal(err)
		}
		for i, p := range bad.Problems {
			if p.Message == "" || p.Line < 0 || p.Line > strings.Count(string(text), "\n")+1 {
				t.Fatalf("no place in the text: %v", p)
			}
			if i > 0 && p.Line < bad.Problems[i-1].Line {
				t.Fatalf("out of order: %v", err)
			}
		}
	})
}
