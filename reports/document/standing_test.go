package document

import (
	"strings"
	"testing"
)

// Only a pass has the mark, the color and the words of a pass. If a law was broken or something was not checked, none
// of them appear.
func TestOnlyAPassLooksLikeOne(t *testing.T) {
	said := map[string]bool{}
	for code := range 1 << 7 {
		s := Standing{Result: Result(code & 3), Broken: code>>2&1 == 1, Held: code>>3&1 == 1,
			Named: code>>4&1 == 1, Promise: code>>5&1 == 1, Excused: code>>6 == 1}
		if s.Excused && !s.Broken || s.Broken && s.Held || s.Result == Failed && !s.Broken && !s.Named {
			continue // this combination cannot occur
		}
		words := s.Words()
		said[words] = true
		pass := s.Result == Passed && !s.Broken && (s.Held || s.Named || s.Promise)
		if green := s.Tone() == Good; green != pass || s.Mark().Sign() == "✓" != pass {
			t.Errorf("%+v is marked %s, green: %t", s, s.Mark().Sign(), green)
		}
		otherwise := s.Result == Failed
		judged := (s.Result == Passed || otherwise) && !s.Promise
		if judged && s.Broken != strings.Contains(words, "broken") ||
			s.Named && judged && strings.Contains(words, "not as expected") != otherwise ||
			!s.Named && (s.Broken || s.Held) && strings.Contains(words, "expected") {
			t.Errorf("%+v is %q", s, words)
		}
	}
	if len(said) != 13 {
		t.Errorf("%d verdicts: %v", len(said), said)
	}
}
