package nemesis

import (
	"strings"
	"unicode/utf8"
)

// maxLine bounds the length of a fault line, in bytes. A cut of every link between a hundred processes fits.
const maxLine = 4096

// token is a word of a line, or one of the signs "->", "|" and ",".
type token struct {
	text   string
	column int // of its first rune, from 1
}

// tokenize appends the tokens of line to into. It also returns the column just behind the line's last token.
func tokenize(line string, into []token) (tokens []token, end int, err *ParseError) {
	if len(line) > maxLine {
		return nil, 0, &ParseError{Column: 1, Msg: "the line is longer than 4096 bytes"}
	}
	tokens, end = into, 1
	for column, rest := 1, line; rest != ""; {
		n := tokenLength(rest)
		text := rest[:max(n, 1)]
		if !utf8.ValidString(text) {
			return nil, 0, &ParseError{Column: column, Msg: "the text is not valid UTF-8"}
		}
		if n > 0 {
			tokens = append(tokens, token{text, column})
			end = column + utf8.RuneCountInString(text)
		}
		column += utf8.RuneCountInString(text)
		rest = rest[len(text):]
	}
	return tokens, end, nil
}

// tokenLength is the length in bytes of the token that s begins with, zero at white space.
func tokenLength(s string) int {
	switch {
	case strings.HasPrefix(s, "->"):
		return 2
	case s[0] == '|' || s[0] == ',':
		return 1
	}
	n := strings.IndexAny(s, " \t|,")
	if n < 0 {
		n = len(s)
	}
	// An arrow ends a word: "client-1->redis-1" is three tokens.
	if arrow := strings.Index(s[:n], "->"); arrow >= 0 {
		n = arrow
	}
	return n
}
