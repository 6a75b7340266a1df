package reports

import (
	"encoding/xml"
	"strings"
	"testing"
)

var suite = Suite{Name: "run a|b", Repeat: "fencepost run a", Cases: []Case{
	{Group: "a", Name: "ownership", Result: Passed, Message: "holds"},
	{Group: "a", Name: "token-order", Result: Failed, Message: "expected holds, got <violated> | by\nsomething", Story: "client-1 \x00 & client-2\n```\n"},
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
	if c := s.Cases[0]; c.Failure != nil || c.Error != nil || c.Skipped != nil || c.Class != "a" || c.Name != "ownership" || c.Output != "holds" {
		t.Errorf("passed: %+v", c)
	}
	if c := s.Cases[1]; c.Failure == nil || c.Failure.Message != suite.Cases[1].Message || c.Failure.Text != "client-1  & client-2\n```\n" {
		t.Errorf("failed: %+v", c.Failure)
	}
	if s.Cases[2].Error == nil || s.Cases[3].Skipped == nil {
		t.Errorf("undecided or not run: %+v", s.Cases[2:])
	}
}

// A result that was forgotten is no pass.
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
		"````text\nclient-1 \x00 & client-2\n```\n````\n\n" +
		"Again: `fencepost run a`\n"
	if got := string(Markdown(suite)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
