package document

// Result is how what came out compares with what was expected: of a run, of the runs of many seeds, of an assertion.
type Result uint8

// The zero Result is no pass.
const (
	NotJudged Result = iota
	Passed           // everything came out as expected
	Failed           // something did not
	Undecided        // nothing came out otherwise, but something named could not be decided
)

var results = [...]struct {
	word, sign string
	words      string // how what came out compares with what was expected
	tone       Tone
}{
	NotJudged: {"not run", "–", NothingJudged, Plain}, Passed: {"passed", "✓", AsExpected, Good},
	Failed: {"failed", "✗", NotExpected, Bad}, Undecided: {"undecided", "?", "undecided", Open},
}

// String is the result in a word.
func (r Result) String() string { return results[r].word }

// Words say how what came out compares with what was expected.
func Words(r Result) string { return results[r].words }

// Tone is that of the result.
func (r Result) Tone() Tone { return results[r].tone }

// Sign is the mark of the result.
func (r Result) Sign() string { return results[r].sign }
