package document

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is a self-contained HTML page that does not load anything. Without its script, it still shows everything except
// animations.
type Page struct {
	Path  string
	Write func(io.Writer) error // writes the page; errors come from the writer
}

// fileWord replaces the characters of s that are unsafe in a file name or in a link to the file.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#% `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// FileNames is the set of words, in lower case, that are already used in file names. It is used to make each file name
// unique.
type FileNames map[string]bool

// Of turns s into a word that can be used in a file name, and adds the word to the set. The word is unique, even on
// file systems that ignore case.
func (n FileNames) Of(s string) string {
	const longest = 100
	word := fileWord(s)
	for len(word) > longest {
		_, size := utf8.DecodeLastRuneInString(word)
		word = word[:len(word)-size]
	}
	free := word
	for i := 2; n[strings.ToLower(free)]; i++ {
		free = fmt.Sprintf("%s-%d", word, i)
	}
	n[strings.ToLower(free)] = true
	return free
}
