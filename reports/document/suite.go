package document

import (
	"encoding/xml"
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Suite lists what a command checked, as test cases for a CI system.
type Suite struct {
	Name     string // the command and its argument: "run kleppmann-gc-pause"
	Verdict  string // the verdict in a few words; empty if there is no overall verdict
	Headline string // what happened, in a sentence or two; may be empty
	Note     string // a caveat about the headline; may be empty
	Cases    []Case
	Repeat   string // command to paste that checks everything again
	// Took is how long the command took by the host's clock. The cases are checked together, so JUnit XML gives each
	// checked case an equal share of this time.
	Took time.Duration
}

// Case is one test case of a Suite: something that a command checked.
type Case struct {
	Group  string // what the case belongs to, such as a scenario
	Name   string // what was checked: a law, a metric, an assertion
	Result Result
	// whether a law was violated; if so, the case is never marked as passed, even if the violation was expected
	Broken  bool
	Message string // the outcome and what was expected, in one line; empty if there is nothing to say
	Story   string // what happened, in several lines; may be empty
}

// summary returns the suite's verdict, headline and note as one string.
func (s *Suite) summary() string {
	if s.Verdict == "" || s.Headline == "" {
		return s.Verdict + s.Headline
	}
	return strings.TrimSpace(s.Verdict + ": " + s.Headline + "\n" + s.Note)
}

type junitSuites struct {
	XMLName xml.Name   `xml:"testsuites"`
	Suite   junitSuite `xml:"testsuite"`
}

type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
	Output   string      `xml:"system-out,omitempty"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure,omitempty"`
	Error   *junitNote `xml:"error,omitempty"`
	Skipped *junitNote `xml:"skipped,omitempty"`
	Output  string     `xml:"system-out,omitempty"`
}

type junitNote struct {
	Type    string `xml:"type,attr"`
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns the suite as XML for CI systems, in the format of Jenkins' junit-10.xsd. In it, an undecided case is an
// error, and a case that was not checked is skipped. Times are in seconds.
func JUnit(s Suite) ([]byte, error) {
	out := junitSuite{Name: forXML(s.Name), Tests: len(s.Cases), Time: inSeconds(s.Took),
		Output: forXML(s.summary())}
	judged := 0
	for _, c := range s.Cases {
		if c.Result != NotJudged {
			judged++
		}
	}
	for _, c := range s.Cases {
		j := junitCase{Class: forXML(c.Group), Name: forXML(c.Name), Time: inSeconds(0)}
		if c.Result != NotJudged {
			j.Time = inSeconds(s.Took / time.Duration(judged))
		}
		note := &junitNote{Type: c.Result.String(), Message: forXML(c.Message), Text: forXML(c.Story)}
		switch c.Result {
		case Passed:
			j.Output = forXML(strings.TrimSpace(c.Message + "\n" + c.Story))
		case Failed:
			j.Failure = note
			out.Failures++
		case Undecided:
			j.Error = note
			out.Errors++
		default:
			j.Skipped = note
			out.Skipped++
		}
		out.Cases = append(out.Cases, j)
	}
	text, err := xml.MarshalIndent(junitSuites{Suite: out}, "", "  ")
	if err != nil {
		return nil, err
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

// inSeconds formats a time in seconds with three decimals, as junit-10.xsd requires.
func inSeconds(d time.Duration) string {
	ms := d.Round(time.Millisecond).Milliseconds()
	return fmt.Sprintf("%d.%03d", ms/1000, ms%1000)
}

// forXML removes control characters, including all those that XML does not allow.
func forXML(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && history.Unprintable(r) || r == 0xfffe || r == 0xffff {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// Markdown returns the suite as Markdown for a GitHub step summary: a table, followed by the stories of all cases that
// did not pass.
func Markdown(s Suite) []byte {
	var b strings.Builder
	title := cell(s.Name)
	if s.Verdict != "" {
		title += ": " + cell(s.Verdict)
	}
	fmt.Fprintf(&b, "### fencepost %s\n\n", title)
	if s.Headline != "" {
		fmt.Fprintf(&b, "%s\n\n", cell(s.Headline))
	}
	if s.Note != "" {
		fmt.Fprintf(&b, "%s\n\n", cell(s.Note))
	}
	b.WriteString("| | what | result |\n|---|---|---|\n")
	for _, c := range s.Cases {
		name := c.Name
		if c.Group != "" {
			name = c.Group + ": " + c.Name
		}
		sign := c.Result.Sign()
		if c.Broken {
			sign = Failed.Sign()
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", sign, cell(name), cell(c.Message))
	}
	for _, c := range s.Cases {
		if c.Result != Passed && c.Story != "" {
			fence := backticks(c.Story, 2) // at least three backticks
			fmt.Fprintf(&b, "\n**%s** %s\n\n%stext\n%s\n%s\n", cell(c.Name), cell(c.Message), fence,
				betweenFences(c.Story), fence)
		}
	}
	if s.Repeat != "" {
		fmt.Fprintf(&b, "\nAgain: %s\n", codeSpan(s.Repeat))
	}
	return []byte(b.String())
}

// betweenFences makes each line safe to print between code fences.
func betweenFences(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	for i := range lines {
		lines[i] = text.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

// codeSpan returns text as an inline code span, whatever characters the text contains (CommonMark 0.31, 6.1).
func codeSpan(words string) string {
	words = text.Printable(words)
	ticks := backticks(words, 0)
	if strings.HasPrefix(words, "`") || strings.HasSuffix(words, "`") || strings.TrimSpace(words) != words {
		words = " " + words + " " // Markdown removes these spaces again
	}
	return ticks + words + ticks
}

// backticks returns a sequence of backticks that is longer than any such sequence in the text and contains more than
// the given number of backticks.
func backticks(text string, more int) string {
	longest, run := more, 0
	for _, r := range text {
		if run++; r != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return strings.Repeat("`", longest+1)
}

// cell escapes text so that it stays within one cell of a Markdown table and is not interpreted as markup.
func cell(s string) string {
	return strings.NewReplacer("|", `\|`, "<", "&lt;", `\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]",
		`\]`, "~", `\~`, "&", "&amp;").
		Replace(text.Printable(s))
}

// OpenCases returns an undecided case for each reason why a decision is not possible.
func OpenCases(group string, reasons []string) (cases []Case) {
	for _, open := range reasons {
		cases = append(cases, Case{Group: group, Name: "complete", Result: Undecided, Message: open})
	}
	return cases
}

// InterruptedCases returns one undecided case if the work was interrupted, so that the interruption shows up in CI
// systems. Otherwise, it returns nil.
func InterruptedCases(group string, interrupted bool) []Case {
	if !interrupted {
		return nil
	}
	return OpenCases(group, []string{Interruption})
}
