package checker

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// lawCase is a history from testdata/laws, with the findings that it must lead to.
type lawCase struct {
	opening string // comments, the case's name and the laws to judge
	name    string
	laws    []Law
	history string
	want    string
}

// lawCases reads the cases in a file. A case begins with "case NAME", followed by "judge LAW …", the history up to
// "----", and the findings up to the next blank line.
func lawCases(t *testing.T, text string) (cases []lawCase) {
	t.Helper()
	var c lawCase
	inFindings := false
	for line := range strings.Lines(text + "\n\n") {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case inFindings && strings.TrimSpace(line) == "":
			cases, c, inFindings = append(cases, c), lawCase{}, false
		case inFindings:
			c.want += line
		case word == "----":
			inFindings = true
		case c.laws != nil:
			c.history += line
		default:
			c.opening += line
			if word == "case" {
				c.name = rest
			}
			if word == "judge" {
				for _, l := range strings.Fields(rest) {
					if !isLaw(l) {
						t.Fatalf("%s: no law %q", c.name, l)
					}
					c.laws = append(c.laws, Law(l))
				}
			}
		}
	}
	if strings.TrimSpace(c.opening) != "" {
		t.Fatalf("the last case, %q, has no findings", c.name)
	}
	return cases
}

func TestLaws(t *testing.T) {
	files, err := filepath.Glob("testdata/laws/*.txt")
	if err != nil || len(files) != len(Laws) {
		t.Fatalf("%d files for %d laws: %v", len(files), len(Laws), err)
	}
	seen := map[Law]map[Outcome]bool{}
	var checker Checker // the Checker is reused: nothing of one history may affect the judgment of the next
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var rewritten strings.Builder
		for _, c := range lawCases(t, string(text)) {
			h := fromLog(t, c.history)
			v := checker.Check(h)
			got := ""
			for _, law := range c.laws {
				f := v.Of(law)
				got += show(f)
				if seen[law] == nil {
					seen[law] = map[Outcome]bool{}
				}
				seen[law][f.Outcome] = true
				consistent(t, c.name, f)
			}
			rewritten.WriteString(c.opening + c.history + "----\n" + got + "\n")
			if got != c.want && !*testkit.Update {
				t.Errorf("%s: %s\ngot\n%s\nwant\n%s", file, c.name, got, c.want)
			}
			sameFromFile(t, c.name, h, v)
		}
		if *testkit.Update {
			if err := os.WriteFile(file, []byte(strings.TrimSuffix(rewritten.String(), "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, law := range Laws {
		for _, o := range []Outcome{Unchecked, Holds, Violated} {
			if !seen[law][o] {
				t.Errorf("no case in which %s is %v", law, o)
			}
		}
	}
}

// consistent checks the properties that every finding must have.
func consistent(t *testing.T, name string, f Finding) {
	t.Helper()
	for i := range f.Further {
		b := &f.Further[i]
		if f.By(b.Cause) != b || b.Law != f.Law || b.Outcome != Violated || len(b.Further) > 0 {
			t.Errorf("%s: %s has a further breach by %s: %+v", name, f.Came(), b.Cause, b)
		}
		consistent(t, name, *b)
	}
	for _, slip := range []string{",,", ", .", " ,", "  ", ".."} {
		if strings.Contains(f.Explanation, slip) {
			t.Errorf("%s: %q in %q", name, slip, f.Explanation)
		}
	}
	violated := f.Outcome == Violated
	if violated != (f.Cause.Kind != "") || violated != (f.Remedy != "") || violated != (len(f.Witness) > 0) ||
		f.Explanation == "" {
		t.Errorf("%s: a finding that is %v has cause %q, remedy %q, witness %v, explanation %q", name, f.Outcome,
			f.Cause, f.Remedy, f.Witness, f.Explanation)
	}
	if f.About != "" && (!violated || len(f.Holders) == 2 && !slices.Contains(f.Holders, f.About)) {
		t.Errorf("%s: a finding about %s, that is %v between %v", name, f.About, f.Outcome, f.Holders)
	}
	j := f.Judges
	switch two := f.Law == MutualExclusion && f.Outcome != Unchecked; {
	case two != (j != Judges{}),
		violated && two && (j.Interval != Refuted || j.Porcupine == Allowed),
		f.Outcome == Holds && two && (j.Interval != Allowed || j.Porcupine == Refuted),
		f.Outcome == Undecided && two && !j.differ() && j.Interval != Open:
		t.Errorf("%s: %s is %v by %v", name, f.Law, f.Outcome, j)
	}
	switch clash := f.Law == LeaseExclusion || f.Law == MutualExclusion; {
	case !violated, f.Cause.Kind == CountedWithoutQuorum, f.Cause.Kind == CauseNotRecorded:
	case clash && f.About == "":
		t.Errorf("%s: %s by %s is about nobody", name, f.Law, f.Cause)
	case f.Cause.Kind == StuckBehindCrashed && f.About == "", f.Cause.Kind == StuckBehindUncapped && f.About == "":
		t.Errorf("%s: nobody is in the way by %s", name, f.Cause)
	}
}

// sameFromFile checks that a history still has the same verdict after it has been written to a file and read again.
func sameFromFile(t *testing.T, name string, h *history.History, want Verdict) {
	t.Helper()
	var b bytes.Buffer
	if err := history.Encode(&b, h); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	again, err := history.Decode(&b)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	for i, got := range Check(again).Findings {
		if !reflect.DeepEqual(got, want.Findings[i]) {
			t.Errorf("%s: read back from a file, it is judged\n%s\ninstead of\n%s", name, show(got),
				show(want.Findings[i]))
		}
	}
}

func TestEveryCauseHasARemedy(t *testing.T) {
	for _, c := range Causes {
		if len(remedies[c.Kind]) == 0 {
			t.Errorf("no remedy against %q", c.Kind)
		}
	}
	if len(remedies) != len(Causes) {
		t.Errorf("%d remedies, %d causes", len(remedies), len(Causes))
	}
}

func TestJudgingChangesNothing(t *testing.T) {
	h := busy(t, 400)
	var before, after bytes.Buffer
	if err := history.Encode(&before, h); err != nil {
		t.Fatal(err)
	}
	Check(h)
	Measure(h)
	Evidence(h, 1)
	if err := history.Encode(&after, h); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before.Bytes(), after.Bytes()) {
		t.Error("the history has changed")
	}
}
