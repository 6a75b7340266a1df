package format

import "strings"

// syntaxProblems has advice for text that is not valid YAML, chosen by words in the parser's message (goccy/go-yaml).
// The first match counts.
var syntaxProblems = []struct{ words, say string }{
	{"tab", "a tab stands here: YAML indents with spaces"},
	{"\t", "a tab stands here: YAML indents with spaces"},
	{"invalid header option", `a value that begins with > or | needs quotes, as in ">= 9s"`},
	{"reserved character", "a value that begins with @ or a backtick needs quotes"},
	{
		"escape character",
		`a backslash begins an escape here that does not exist: write \\, or put the text in single quotes`,
	},
	{"quoted text", "a quoted text has no end: write the second quote"},
	{"document separator", "a file holds one scenario: leave --- out"},
	{"document not started", "a line that begins with % is no key: put the value in quotes"},
	{"corresponding to ']'", "this ] closes no list: write [ before its first entry"},
	{"corresponding to '}'", "this } closes no mapping: write { before its first key"},
	{"']'", "a list has no end, or no comma between two entries: write [one, two]"},
	{"'}'", "a mapping has no end, or no comma between two keys: write {key: value, key: value}"},
	{"flow map", "a mapping has no end, or no comma between two keys: write {key: value, key: value}"},
	{"found ','", "two commas follow one another: write [one, two]"},
	{"sequence", "a list has one entry a line, each with - and all indented alike, or stands in brackets: [one, two]"},
}

// syntaxProblem returns our own description of what the YAML parser did not understand, and of what to write.
func syntaxProblem(message string) string {
	for _, p := range syntaxProblems {
		if strings.Contains(message, p.words) {
			return p.say
		}
	}
	return "this is no YAML: write key: value in a line of its own, the keys of one mapping indented alike"
}
