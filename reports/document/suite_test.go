package document

import (
	"encoding/xml"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

var suite = Suite{Name: "run a|b", Repeat: "fencepost run a", Cases: []Case{
	{Group: "a", Name: "ownership", Result: Passed, Message: "holds"},
	{Group: "a", Name: "token-order", Result: Failed,
		Message: "expected holds, got <violated> | by\nsomething", Story: "client-1 \x00 & client-2\n```\n"},
	{Group: "a", Name: "deadlock-freedom", Result: Undecided, Message: "the limit came first"},
	{Group: "a", Name: "fault-tolerance", Message: "unchecked"},
}}

func TestJUnitCountsEachResultOnce(t *testing.T) {
	text, err := JUnit(suite)
	if err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	s := got.Suite
	if s.Name != "run a|b" || s.Tests != 4 || s.Failures != 1 || s.Errors != 1 || s.Skipped != 1 || len(s.Cases) != 4 {
		t.Errorf("%+v", s)
	}
	if c := s.Cases[0]; c.Failure != nil || c.Error != nil || c.Skipped != nil || c.Class != "a" ||
		c.Name != "ownership" || c.Output != "holds" {
		t.Errorf("passed: %+v", c)
	}
	if c := s.Cases[1]; c.Failure == nil || c.Failure.Message != suite.Cases[1].Message ||
		c.Failure.Text != "client-1  & client-2\n```\n" {
		t.Errorf("failed: %+v", c.Failure)
	}
	if s.Cases[2].Error == nil || s.Cases[3].Skipped == nil {
		t.Errorf("undecided or not run: %+v", s.Cases[2:])
	}
}

// The checked cases share the command's time. Skipped cases take no time.
func TestJUnitSharesTheTime(t *testing.T) {
	timed := suite
	timed.Took = 3*time.Second + 1234567*time.Nanosecond
	text, err := JUnit(timed)
	if err != nil {
		t.Fatal(err)
	}
	var got junitSuites
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if s := got.Suite; s.Time != "3.001" || s.Cases[0].Time != "1.000" || s.Cases[2].Time != "1.000" ||
		s.Cases[3].Time != "0.000" {
		t.Errorf("%s", text)
	}
}

// A case without a result does not count as passed.
func TestAnEmptyCaseIsSkipped(t *testing.T) {
	text, err := JUnit(Suite{Cases: []Case{{Name: "x"}}})
	if err != nil || !strings.Contains(string(text), "<skipped") {
		t.Errorf("%s, %v", text, err)
	}
}

func TestMarkdownIsATableAndStories(t *testing.T) {
	const want = "### fencepost run a\\|b\n\n| | what | result |\n|---|---|---|\n" +
		"| ✓ | a: ownership | holds |\n" +
		"| ✗ | a: token-order | expected holds, got &lt;violated> \\| by something |\n" +
		"| ? | a: deadlock-freedom | the limit came first |\n" +
		"| – | a: fault-tolerance | unchecked |\n\n" +
		"**token-order** expected holds, got &lt;violated> \\| by something\n\n" +
		"````text\nclient-1   & client-2\n```\n````\n\n" +
		"Again: `fencepost run a`\n"
	if got := string(Markdown(suite)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A summary shows every character of a name, message or command as it is. No character can start code or a link, or end
// a table cell early.
func TestMarkdownIsNotBrokenOutOf(t *testing.T) {
	for _, bad := range []string{"a`b", "`", "``` x", "a```b`", "[x](http://y)", "*x*", "<img>", "a|b", `\\|`,
		"\x1b[2J", "a\nb", "_x_", "&lt;", " a "} {
		text := string(Markdown(Suite{Name: bad, Repeat: "run " + bad,
			Cases: []Case{{Group: bad, Name: bad, Result: Failed, Message: bad, Story: bad}}}))
		lines := strings.Split(text, "\n")
		if row := lines[4]; strings.Count(strings.ReplaceAll(row, `\\`, ""), "|")-
			strings.Count(strings.ReplaceAll(row, `\\`, ""), `\|`) != 4 {
			t.Errorf("%q: the row has other cells: %s", bad, row)
		}
		for _, line := range []string{lines[0], lines[4], lines[6]} {
			for _, sign := range "`*_[]<" {
				bare := strings.NewReplacer(`\\`, "", `\`+string(sign), "", "**", "").Replace(line)
				if strings.ContainsRune(bare, sign) {
					t.Errorf("%q: %q means something in %s", bad, sign, line)
				}
			}
		}
		runs := regexp.MustCompile("`+").FindAllStringIndex(lines[len(lines)-2], -1)
		for k, r := range runs { // a code span ends at the next run of backticks that is as long as the opening run
			if k > 0 && r[1]-r[0] == runs[0][1]-runs[0][0] && r[1] != len(lines[len(lines)-2]) {
				t.Errorf("%q: the command is broken out of: %s", bad, lines[len(lines)-2])
			}
		}
		if last := runs[len(runs)-1]; last[1]-last[0] != runs[0][1]-runs[0][0] {
			t.Errorf("%q: the command does not end: %s", bad, lines[len(lines)-2])
		}
		if strings.ContainsFunc(text, func(c rune) bool { return c != '\n' && history.Unprintable(c) }) {
			t.Errorf("%q: a control character is written: %q", bad, text)
		}
	}
}
