package sweep

import (
	"fmt"
	"go/constant"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/document"
)

// Assertion is a claim on how a law comes out wherever a condition is true.
type Assertion struct {
	Text string // "lease-exclusion holds when restart >= ttl * 1.01 + 2ms"
	Law  checker.Law
	Want checker.Outcome // Holds: in every run; Violated: in at least one
	when *term
}

// Assertion reads "LAW holds when CONDITION" or "LAW is violated when CONDITION" for a sweep over the given axes. A
// returned error is a *nemesis.ParseError whose column counts in text.
func (b *Subject) Assertion(axes []Axis, text string) (*Assertion, error) {
	a := &Assertion{Text: strings.TrimSpace(text)}
	p := phrase{text: text}
	word := p.next()
	var laws []string
	for _, law := range checker.Laws {
		laws = append(laws, string(law))
		if string(law) == word {
			a.Law = law
		}
	}
	if a.Law == "" {
		return nil, p.unexpected("a law ("+listed(laws, "or")+")", laws...)
	}
	switch p.next() {
	case "holds":
		a.Want = checker.Holds
	case "is":
		if a.Want = checker.Violated; p.next() != "violated" {
			return nil, p.unexpected(`"violated"`, "violated")
		}
	default:
		return nil, p.unexpected(`"holds when" or "is violated when"`, "holds", "is violated")
	}
	if p.next() != "when" {
		return nil, p.unexpected(`"when" and a condition`, "when")
	}
	blank := strings.Map(func(rune) rune { return ' ' }, text[:p.end])
	var err error
	a.when, err = b.condition(axes, blank+text[p.end:])
	return a, err
}

// phrase is a text that is read word by word.
type phrase struct {
	text       string
	begin, end int // of the last word, in bytes
}

// next is the next word, empty at the end.
func (p *phrase) next() string {
	rest := p.text[p.end:]
	p.begin = p.end + len(rest) - len(strings.TrimLeft(rest, " \t"))
	p.end = p.begin
	for p.end < len(p.text) && p.text[p.end] != ' ' && p.text[p.end] != '\t' {
		p.end++
	}
	return p.text[p.begin:p.end]
}

// unexpected says that the last word is wrong.
func (p *phrase) unexpected(expected string, words ...string) error {
	found, word := "the end", p.text[p.begin:p.end]
	if word != "" {
		found = fmt.Sprintf("%q", word)
	}
	return &nemesis.ParseError{Column: len([]rune(p.text[:p.begin])) + 1,
		Msg: "expected " + expected + ", found " + found, Nearest: nearest.Word(word, words)}
}

// applies reports whether the condition is true at a point that is a valid scenario.
func (a *Assertion) applies(v *varied) (bool, error) {
	truth, err := a.when.value(v)
	if err != nil {
		return false, fmt.Errorf("%q: %w", a.Text, err)
	}
	return constant.BoolVal(truth), nil
}

// Asserted is what a sweep has made of an assertion.
type Asserted struct {
	*Assertion
	// Standing is AsExpected if the law came out as claimed at every point tried at which the condition was true,
	// Otherwise if it did not at some point, NotDecidable if it could not be told at one, and NotJudged if there was no
	// such point.
	Standing document.Result
	Points   int    // tried at which the condition was true, those between the points of the grid included
	Unjudged int    // of them, at which the law was undecided
	Counter  *Point // the first at which the law came out otherwise; nil if there is none
	// Seed is a seed that shows it: the lowest that broke a law that should hold, or else the first of all.
	Seed uint64
	// True says for each point of the grid whether the condition is true there, Turns where that changes in between.
	True  []bool
	Turns []Turn
}

// Turn is where a condition begins to be true on the way between two points of the grid, or ends.
type Turn struct {
	Point int // the one before it, by its number in the grid
	Axis  int
	At    Level // the outermost value at which it is true
}

// count takes a point into account at which the condition is true.
func (a *Asserted) count(p *Point, from uint64) {
	state := p.State(a.Law)
	if state == Invalid || state == Unjudged && p.cut {
		return
	}
	met := state == Safe
	if a.Want == checker.Violated {
		met = state == Broken || state == Chance
	}
	a.Points++
	switch {
	case met:
	case state == Unjudged:
		a.Unjudged++
	case a.Counter == nil:
		a.Counter, a.Seed = p, from
		for _, f := range p.Findings {
			if f.Law == a.Law && a.Want == checker.Holds {
				a.Seed = f.First
				break
			}
		}
	}
	switch {
	case a.Counter != nil:
		a.Standing = document.Failed
	case a.Unjudged > 0:
		a.Standing = document.Undecided
	default:
		a.Standing = document.Passed
	}
}
