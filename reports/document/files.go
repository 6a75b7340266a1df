package document

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// Page is a self-contained HTML page: it loads nothing, and shows everything but what moves without its script.
type Page struct {
	Path  string
	Write func(io.Writer) error // the error is the writer's
}

// fileWord makes a word that can stand in a file's name, and in a link to it.
func fileWord(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(`/\:*?"<>|#% `, r) || r < ' ' {
			return '_'
		}
		return r
	}, s)
}

// FileNames are words that stand in files' names, each for one thing.
type FileNames map[string]bool

// Of makes a word that can stand in a file's name and that no other thing has, on a file system that heeds no case
// either.
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
