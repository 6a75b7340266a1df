package format

import (
	"bytes"
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Limits on the YAML parser's input. The parser's time and memory grow with the square of each of these numbers.
// Scenarios have a few hundred tokens and at most three levels on one line.
const (
	maxTokens  = 20_000
	maxNesting = 8
)

// yaml parses the text as a single YAML document of plain mappings, lists and scalars, and returns the document's body.
// If that fails, it reports a problem and returns nil.
func (r *Reader) yaml() ast.Node {
	text := bytes.TrimPrefix(r.text, []byte("\ufeff"))
	if r.checkText(text); r.failed() {
		return nil
	}
	r.lines = strings.Split(string(text), "\n")
	tokens := lexer.Tokenize(string(text))
	if r.checkTokens(tokens); r.failed() {
		return nil
	}
	// The reader reports duplicate keys itself, because it is faster and can carry on after them.
	parsed, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		r.syntax(err)
		return nil
	}
	return r.document(parsed)
}

// document returns the body of the file's only document. It reports a problem if there is none, or a second one.
func (r *Reader) document(parsed *ast.File) ast.Node {
	var body ast.Node
	for _, d := range parsed.Docs {
		switch {
		case d.Body == nil:
		case body != nil:
			r.Problem(StartOf(d.Body), "", "a second YAML document begins here; a file holds one scenario")
			return nil
		default:
			body = d.Body
		}
	}
	if body == nil {
		r.Problem(Place{1, 1}, "", "the file is empty; a scenario needs name, servers and lock")
	}
	return body
}

// checkText reports bytes that text editors do not write. If a file is not text, the error then says so, instead of
// reporting an invalid scenario.
func (r *Reader) checkText(text []byte) {
	place := Place{1, 1}
	for len(text) > 0 {
		c, size := utf8.DecodeRune(text)
		switch {
		case c == utf8.RuneError && size == 1:
			r.Problem(place, "", "the file is not UTF-8 text")
			return
		case history.Unprintable(c) && c != '\n' && c != '\t' && !(c == '\r' && bytes.HasPrefix(text, []byte("\r\n"))):
			r.Problem(place, "", "%s", history.NotText("file", c))
			return
		}
		text = text[size:]
		if place.Column++; c == '\n' {
			place = Place{place.Line + 1, 1}
		}
	}
}

// refused lists the YAML features that scenarios do not need. Aliases would let a small file expand into a huge one.
var refused = map[token.Type]string{
	token.AnchorType:     "anchors (&) are not allowed: write the value where it is needed",
	token.AliasType:      "aliases (*) are not allowed: write the value where it is needed",
	token.MergeKeyType:   "merge keys (<<) are not allowed: write the keys where they are needed",
	token.TagType:        "tags (!) are not allowed: the key determines the type of its value",
	token.DirectiveType:  "directives (%) are not allowed",
	token.MappingKeyType: "complex keys (?) are not allowed",
}

func (r *Reader) checkTokens(tokens token.Tokens) {
	depth, dashes, line := 0, 0, 0
	for i, t := range tokens {
		place := placeOf(t)
		if place.Line != line {
			dashes, line = 0, place.Line
		}
		switch t.Type {
		case token.MappingStartType, token.SequenceStartType:
			depth++
		case token.MappingEndType, token.SequenceEndType:
			depth--
		case token.SequenceEntryType:
			dashes++
		case token.InvalidType:
			r.notYAML(place, t.Error)
			return
		}
		if why := refused[t.Type]; why != "" {
			r.Problem(place, "", "%s", why)
			return
		}
		if depth > maxNesting || dashes > maxNesting {
			r.Problem(place, "", "nested too deep: nothing in a scenario needs more than %d levels", maxNesting)
			return
		}
		if i >= maxTokens {
			r.Problem(place, "", "the file has more than %d YAML tokens; no scenario is that long",
				maxTokens)
			return
		}
	}
}

// syntax reports an error from the YAML parser.
func (r *Reader) syntax(err error) {
	place, message := Place{1, 1}, err.Error()
	var at *yaml.SyntaxError
	if errors.As(err, &at) {
		message = at.Message
		if at.Token != nil {
			place = placeOf(at.Token)
		}
	}
	r.notYAML(place, message)
}

func (r *Reader) notYAML(place Place, message string) {
	r.Problem(place, "", "%s", syntaxProblem(message))
}

func placeOf(t *token.Token) Place {
	if t == nil || t.Position == nil {
		return Place{1, 1}
	}
	return Place{max(t.Position.Line, 1), max(t.Position.Column, 1)}
}

// StartOf returns the position at which a value starts. A block mapping starts at its first key.
func StartOf(n ast.Node) Place {
	if m, ok := n.(*ast.MappingNode); ok && !m.IsFlowStyle && len(m.Values) > 0 {
		n = m.Values[0].Key
	}
	return placeOf(n.GetToken())
}
