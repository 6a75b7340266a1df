package locks

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/scenarios/format"
)

// TestReasonsAreAboutWhatOthersTake checks that if a protocol explains why it does not accept a setting, some other
// protocol accepts it. Otherwise no user would ever see the explanation.
func TestReasonsAreAboutWhatOthersTake(t *testing.T) {
	reasons := 0
	for _, d := range Definitions() {
		for path, why := range d.Without {
			reasons++
			key, word := path, ""
			if !slices.ContainsFunc(Settings(), func(s Setting) bool { return s.Path == path }) {
				i := strings.LastIndex(path, ".")
				key, word = path[:i], path[i+1:]
			}
			takers := Taking(key, word)
			if len(takers) == 0 || slices.Contains(takers, d.Name) {
				t.Errorf("%s says why it does not take %s, which %v take", d.Name, path, takers)
			}
			if !strings.Contains(why, ": ") {
				t.Errorf("%s, %s: %q does not say what to write instead", d.Name, path, why)
			}
		}
	}
	if reasons < 15 {
		t.Errorf("only %d reasons", reasons)
	}
}

// TestDefaultsAreSetAndReadBack checks that the setting accepts every default, and that reading a setting returns the
// value that was set.
func TestDefaultsAreSetAndReadBack(t *testing.T) {
	for _, d := range Definitions() {
		var c Config
		d.Defaults(&c)
		for i := range d.Settings {
			s := &d.Settings[i]
			if s.Depends != "" || strings.HasPrefix(s.Path, "extension.") || strings.HasPrefix(s.Path, "wait.") {
				continue
			}
			if got := s.Get(&c); got != s.Standard {
				t.Errorf("%s: %s is %s, not %s", d.Name, s.Path, s.Form.Text(got), s.Form.Text(s.Standard))
			}
			if s.Form.Kind == format.Word && !slices.Contains(s.Form.Words, s.Standard.Word) {
				t.Errorf("%s: %s is %s by default, which it does not take", d.Name, s.Path, s.Standard.Word)
			}
		}
	}
}
