package report

import (
	"github.com/fencepost-sim/fencepost/reports/term"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

// Standing is how a run, many runs, or one law in them stand to what is expected. Every form of a report says it in the
// same words and marks it alike; where a law was broken, neither is that of a pass.
type Standing struct {
	Result expect.Standing
	Broken bool // a law was violated
	Held   bool // some law holds, and none was violated
	// Named says that something must come out. Where nothing is named, a law must not be violated.
	Named   bool
	Promise bool // it is held to what was promised, in place of what is expected
	Excused bool // all that was broken, was so by causes that break no promise
}

// Words are the verdict: "held, as expected", "broken, as expected", "broken, not as expected", "undecided".
func (s Standing) Words() string {
	switch {
	case s.Result == expect.NotDecidable:
		return Undecided
	case s.nothing():
		return NothingJudged
	case s.Promise && s.Result == expect.Otherwise:
		return "promise broken"
	case s.Promise:
		return "promises kept"
	case s.Excused && s.Result == expect.AsExpected:
		return "broken, " + NotPromised
	case s.came() == "":
		return s.expectation()
	case !s.Named:
		return s.came()
	}
	return s.came() + ", " + s.expectation()
}

// nothing reports whether there was nothing to judge.
func (s Standing) nothing() bool {
	return s.Result == expect.NotJudged || s.Result == expect.AsExpected && s.came() == "" && !s.Named && !s.Promise
}

// came is what became of the laws; empty if there is none.
func (s Standing) came() string {
	switch {
	case s.Broken:
		return "broken"
	case s.Held:
		return "held"
	}
	return ""
}

func (s Standing) expectation() string {
	if s.Result == expect.AsExpected {
		return AsExpected
	}
	return NotExpected
}

// Tone is the colour of the words.
func (s Standing) Tone() term.Style {
	switch {
	case s.Result == expect.Otherwise:
		return term.Red
	case s.Result == expect.AsExpected && !s.Broken && !s.nothing():
		return term.Green
	}
	return term.Yellow
}

// Class is the colour of the words on a page.
func (s Standing) Class() string {
	return map[term.Style]string{term.Red: "bad", term.Green: "good", term.Yellow: "open"}[s.Tone()]
}

// Sign is the mark.
func (s Standing) Sign() string {
	switch {
	case s.Broken:
		return ResultSign(expect.Otherwise)
	case s.nothing():
		return ResultSign(expect.NotJudged)
	}
	return ResultSign(s.Result)
}
