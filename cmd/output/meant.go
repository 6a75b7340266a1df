package output

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// DidYouMean returns the end of an error message about an unknown scenario. It suggests names, says where to find the
// list of all scenarios, or both.
func DidYouMean(names ...string) string {
	const most, all = 4, "; see: fencepost list"
	switch n := len(names); {
	case n == 0:
		return all
	case n == 1:
		return fmt.Sprintf(" (did you mean %q?)", names[0])
	case n > most:
		return DidYouMean(names[:most]...) + all
	}
	last := len(names) - 1
	return fmt.Sprintf(" (did you mean %s or %s?)", strings.Join(names[:last], ", "), names[last])
}

// Meant returns the names that the user may have meant by a word: either the most similar one, or all that contain the
// word.
func Meant(word string, names []string) []string {
	if near := nearest.Word(word, names); near != "" {
		return []string{near}
	}
	return nearest.Meant(word, names)
}
