package format

import "strings"

// syntaxProblems lists advice for text that is not valid YAML. The first entry whose words occur in the parser's
// message (goccy/go-yaml) is used.
var syntaxProblems = []struct{ words, say string }{
	{"tab", "a tab in the indentation: YAML indents with spaces"},
	{"\t", "a tab in the indentation: YAML indents with spaces"},
	{"invalid header option", `a value that begins with > or | needs quotes, as in ">= 9s"`},
	{"reserved character", "a value that begins with @ or a backtick needs quotes"},
	{
		"escape character",
		`unknown escape after a backslash: write \\, or put the text in single quotes`,
	},
	{"quoted text", "a quoted text has no closing quote: add it"},
	{"document separator", "a file holds one scenario: remove ---"},
	{"document not started", "a line cannot begin with %: put the value in quotes"},
	{"corresponding to ']'", "this ] closes no list: write [ before the list's first entry"},
	{"corresponding to '}'", "this } closes no mapping: write { before the mapping's first key"},
	{"']'", "a list is not closed, or a comma between two entries is missing: write [one, two]"},
	{"'}'", "a mapping is not closed, or a comma between two keys is missing: write {key: value, key: " +
		"value}"},
	{"flow map", "a mapping is not closed, or a comma between two keys is missing: write {key: value, key: " +
		"value}"},
	{"found ','", "two commas in a row: write [one, two]"},
	{"sequence", "write a list with one entry per line, each after a - and with the same indentation, " +
		"or in brackets: " +
		"[one, two]"},
}

// syntaxProblem describes the problem reported by the YAML parser's message, and says what to write instead.
func syntaxProblem(message string) string {
	for _, p := range syntaxProblems {
		if strings.Contains(message, p.words) {
			return p.say
		}
	}
	return "this is not valid YAML: write each key: value on its own line, and indent the keys of one mapping alike"
}
