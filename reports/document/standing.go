package document

import (
	"maps"
	"slices"
)

// Standing is how a run, many runs, or one law in them stand to what is expected. Every form of a report says it in the
// same words and marks it alike; where a law was broken, neither is that of a pass.
type Standing struct {
	Result Result
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

// verdicts are all words that a Standing can have, in the order of the alphabet.
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

// nothing reports whether there was nothing to judge.
func (s Standing) nothing() bool {
	return s.Result == NotJudged || s.Result == Passed && s.came() == "" && !s.Named && !s.Promise
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
	if s.Result == Passed {
		return AsExpected
	}
	return NotExpected
}

// Tone is that of the words.
func (s Standing) Tone() Tone {
	switch {
	case s.Result == Failed:
		return Bad
	case s.Result == Passed && !s.Broken && !s.nothing():
		return Good
	}
	return Open
}

// Mark is the result whose sign marks it: where a law was broken, it is not that of a pass.
func (s Standing) Mark() Result {
	switch {
	case s.Broken:
		return Failed
	case s.nothing():
		return NotJudged
	}
	return s.Result
}
