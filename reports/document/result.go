package document

// Result says how an outcome compares with what was expected. It can be the outcome of one run, of runs with many
// seeds, or of an assertion.
type Result uint8

// Result values. The zero Result is not a pass.
const (
	NotJudged Result = iota
	Passed           // everything is as expected
	Failed           // something is not as expected
	Undecided        // nothing contradicts the expectation, but part of it could not be decided
)

var results = [...]struct {
	word, sign string
	words      string // says how the outcome compares with what was expected
	tone       Tone
}{
	NotJudged: {"not run", "–", NothingJudged, Plain}, Passed: {"passed", "✓", AsExpected, Good},
	Failed: {"failed", "✗", NotExpected, Bad}, Undecided: {"undecided", "?", "undecided", Open},
}

// String returns the result as one word.
func (r Result) String() string { return results[r].word }

// Words describes how the outcome compares with what was expected.
func Words(r Result) string { return results[r].words }

// Tone returns the result's tone (color).
func (r Result) Tone() Tone { return results[r].tone }

// Sign returns the result's one-character mark.
func (r Result) Sign() string { return results[r].sign }
