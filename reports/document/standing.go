package document

import (
	"maps"
	"slices"
)

// Standing says how a run, many runs, or the outcomes for one law compare with what is expected. All of a report's
// output formats use its words and its mark. If a law was broken, the words and the mark never look like a pass, even
// if the violation was expected.
type Standing struct {
	Result Result
	Broken bool // whether a law was violated
	Held   bool // whether some law holds and no law was violated
	// Named says whether the expectation names an outcome. If not, the only expectation is that no law is violated.
	Named   bool
	Promise bool // whether the comparison is with what was promised, not with what is expected
	Excused bool // whether no violation breaks a promise, given its cause
}

// Words returns the verdict: "held, as expected", "broken, as expected", "broken, not as expected", "undecided".
func (s Standing) Words() string {
	switch {
	case s.Result == Undecided:
		return Undecided.String()
	case s.nothing():
		return NothingJudged
	case s.Promise && s.Result == Failed:
		return "promise broken"
	case s.Promise:
		return "promises kept"
	case s.Excused && s.Result == Passed:
		return "broken, " + NotPromised
	case s.came() == "":
		return s.expectation()
	case !s.Named:
		return s.came()
	}
	return s.came() + ", " + s.expectation()
}

// verdicts lists the possible results of Words, in alphabetical order.
func verdicts() []string {
	said := map[string]bool{}
	for code := range 1 << 7 {
		flag := func(bit int) bool { return code>>bit&1 == 1 }
		s := Standing{Result(code & 3), flag(2), flag(3), flag(4), flag(5), flag(6)}
		if !(s.Excused && !s.Broken || s.Broken && s.Held || s.Result == Failed && !s.Broken && !s.Named) {
			said[s.Words()] = true
		}
	}
	return slices.Sorted(maps.Keys(said))
}

// nothing reports whether the standing has neither a verdict nor an expectation to compare.
func (s Standing) nothing() bool {
	return s.Result == NotJudged || s.Result == Passed && s.came() == "" && !s.Named && !s.Promise
}

// came returns "broken" if a law was broken, "held" if laws held, and otherwise "".
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
	if s.Result == Passed {
		return AsExpected
	}
	return NotExpected
}

// Tone returns the tone for the words.
func (s Standing) Tone() Tone {
	switch {
	case s.Result == Failed:
		return Bad
	case s.Result == Passed && !s.Broken && !s.nothing():
		return Good
	}
	return Open
}

// Mark returns the result whose symbol (see Result.Sign) is shown next to the verdict. If a law was broken, it is never
// Passed.
func (s Standing) Mark() Result {
	switch {
	case s.Broken:
		return Failed
	case s.nothing():
		return NotJudged
	}
	return s.Result
}
