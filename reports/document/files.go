package document

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is a self-contained HTML page: it loads nothing, and without its script it still shows everything except
// animations.
type Page struct {
	Path  string
	Write func(io.Writer) error // the error is the writer's
}

// fileWord replaces the characters of s that are unsafe in a file's name or in a link to the file.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#% `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// FileNames is a set of words used in files' names, in lower case. It makes them unique.
type FileNames map[string]bool

// Of turns s into a word for the name of a file and adds it to the set. The word is unique, also on file systems that
// ignore case.
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
