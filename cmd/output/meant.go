package output

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// DidYouMean completes a message about a scenario that does not exist, with suggestions or a reference to the list of
// all.
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

// Meant returns the names that may have been meant by a word: the nearest one, or those that contain the word.
func Meant(word string, names []string) []string {
	if near := nearest.Word(word, names); near != "" {
		return []string{near}
	}
	return nearest.Meant(word, names)
}
