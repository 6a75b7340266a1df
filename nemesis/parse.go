package nemesis

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// ParseError says what is wrong with a fault's line, and where.
type ParseError struct {
	Column  int    // position of the first wrong rune, from 1; if something is missing, one past the end of the line
	Msg     string // what was expected, and what was found instead
	Nearest string // the nearest valid text to write instead; empty if there is none
}

// Error returns a message such as `column 3: expected "for", found "fro" (did you mean "for"?)`.
func (e *ParseError) Error() string { return "column " + strconv.Itoa(e.Column) + ": " + e.detail() }

// detail is like Error but omits the column, for callers that print the position themselves.
func (e *ParseError) detail() string {
	if e.Nearest == "" {
		return e.Msg
	}
	return e.Msg + " (did you mean " + quote(e.Nearest) + "?)"
}

// Parse parses a line that describes a fault. Words are separated by spaces or tabs. Unlike ParseFor, Parse does not
// know which processes the run has, so it accepts any process name. Any error that it returns is a *ParseError.
func Parse(line string) (Fault, error) {
	f, _, err := parseLine(line, nil)
	if err != nil {
		return Fault{}, err
	}
	return f, nil
}

// MarshalText returns the fault's line.
func (f Fault) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

// UnmarshalText parses the fault's line.
func (f *Fault) UnmarshalText(text []byte) (err error) {
	*f, err = Parse(string(text))
	return err
}

// parseLine parses a line. It also returns the parser, which knows where each word is. known contains the run's
// processes; it is nil if they are not known. headers are other words that may begin a line; errors may suggest them.
func parseLine(line string, known *Names, headers ...string) (Fault, *parser, *ParseError) {
	p := &parser{known: known}
	var err *ParseError
	if p.tokens, p.end, err = tokenize(line, p.space[:0]); err != nil {
		return Fault{}, p, err
	}
	f := Fault{Kind: p.kind(headers)}
	if d := f.Kind.definition(); d != nil {
		for i := range d.parts {
			if d.parts[i].parse(p, &f); p.err != nil {
				break
			}
		}
	}
	if p.err == nil && p.next < len(p.tokens) {
		p.expect("the end of the line")
		p.unexpected()
	}
	if p.err != nil {
		return Fault{}, p, p.err
	}
	return f, p, nil
}

// parser reads a line's tokens one by one. It keeps only the first error.
type parser struct {
	tokens []token
	next   int // index of the next token
	end    int // column after the last token
	known  *Names
	err    *ParseError
	// wanted lists the alternatives that the parser has tried at the next token, for an error message.
	wanted  [8]wanted
	wanting int
	space   [24]token // memory for tokens, enough for most lines
}

// wanted is one of the alternatives that would be valid at a position.
type wanted struct {
	what    string   // a description for users, or the literal word
	literal bool     // what is literal text of the line
	words   []string // valid words, suggested if the user's word is similar to one of them
}

// peek returns the text of the next token, or "" at the end of the line.
func (p *parser) peek() string {
	if p.next == len(p.tokens) {
		return ""
	}
	return p.tokens[p.next].text
}

func (p *parser) advance() {
	p.next++
	p.wanting = 0
}

// expect records something that would be valid as the next token, so that an error message can list it.
func (p *parser) expect(what string, words ...string) {
	p.want(wanted{what: what, words: words})
}

// accept skips the next token if it is the given word, and reports whether it was.
func (p *parser) accept(word string) bool {
	if p.peek() == word {
		p.advance()
		return true
	}
	p.want(wanted{what: word, literal: true})
	return false
}

func (p *parser) want(w wanted) {
	if p.wanting < len(p.wanted) {
		p.wanted[p.wanting] = w
		p.wanting++
	}
}

// require skips the given words, or reports an error if they do not come next.
func (p *parser) require(words []string) {
	for _, word := range words {
		if p.err == nil && !p.accept(word) {
			p.unexpected()
		}
	}
}

// unexpected reports an error at the next token. The message lists the alternatives that have been tried there.
func (p *parser) unexpected() {
	found, meant := p.peek(), ""
	var near []string
	msg := "expected "
	for i, w := range p.wanted[:p.wanting] {
		switch {
		case i > 0 && i == p.wanting-1:
			msg += " or "
		case i > 0:
			msg += ", "
		}
		if w.literal {
			msg += quote(w.what)
			near = append(near, w.what)
		} else {
			msg += w.what
		}
		if w.what == aProcess && p.known != nil {
			meant = p.known.closest(found, anyRole)
		}
		near = append(near, w.words...)
	}
	if meant == "" {
		meant = nearest.Word(found, near)
	}
	p.fail(msg+", found "+quoteFound(found), meant)
}

// fail records an error at the next token. Only the first error counts.
func (p *parser) fail(msg, nearest string) {
	column := p.end
	if p.next < len(p.tokens) {
		column = p.tokens[p.next].column
	}
	p.failAt(column, msg, nearest)
}

func (p *parser) failAt(column int, msg, nearest string) {
	if p.err == nil {
		p.err = &ParseError{Column: column, Msg: msg, Nearest: nearest}
	}
}

// kind returns the kind of fault whose opening words the line begins with, and skips these words. If there is no such
// kind, it returns 0.
func (p *parser) kind(headers []string) Kind {
	for _, k := range Kinds { // for example, "delay the 2nd DEL …" is a DelayMessage, like "delay message 5 …"
		if d := k.definition(); d.named != "" && len(p.tokens) > 1 && p.peek() == string(d.named) &&
			p.tokens[1].text == "the" {
			p.advance()
			return k
		}
	}
	best, bestWords, bestComplete := Kind(0), 0, false
	for _, k := range Kinds {
		n := p.opening(k)
		complete := n == len(k.definition().opening)
		if n > 0 && (best == 0 || complete && !bestComplete || complete == bestComplete && n > bestWords) {
			best, bestWords, bestComplete = k, n, complete
		}
	}
	if best == 0 {
		p.expect("a fault ("+strings.Join(kindWords(), ", ")+")", slices.Concat(headers, kindWords(), firstWords())...)
		p.unexpected()
		return 0
	}
	p.require(best.definition().opening)
	// After "delay", an error should also list "message", since "delay message" would be valid too.
	for _, k := range Kinds {
		if n := p.opening(k); n == bestWords && n < len(k.definition().opening) && p.err == nil {
			p.accept(k.definition().opening[n])
		}
	}
	return best
}

// opening returns how many of k's opening words the line begins with.
func (p *parser) opening(k Kind) int {
	words, n := k.definition().opening, 0
	for n < len(words) && n < len(p.tokens) && p.tokens[n].text == words[n] {
		n++
	}
	return n
}

// aProcess is how error messages describe an expected process name.
const aProcess = "a process such as client-1"

// process parses a process name.
func (p *parser) process() sim.ProcessID {
	text := p.peek()
	if !isProcess(text) {
		p.expect(aProcess)
		p.unexpected()
		return ""
	}
	p.advance()
	return sim.ProcessID(text)
}

// lock parses a lock's name.
func (p *parser) lock() history.Lock {
	text := p.peek()
	if text == "" || strings.ContainsAny(text, "\"|,>") {
		p.expect("the name of a lock")
		p.unexpected()
		return ""
	}
	p.advance()
	return history.Lock(text)
}

// processes parses one or more process names.
func (p *parser) processes() []sim.ProcessID {
	list := []sim.ProcessID{p.process()}
	for p.err == nil && isProcess(p.peek()) {
		list = append(list, p.process())
	}
	p.expect(aProcess)
	return list
}

// kindWords returns the names of all kinds, except those that begin with the name of another kind: "delay" also stands
// for "delay message".
func kindWords() []string {
	var list []string
	for _, k := range Kinds {
		begins := func(o Kind) bool { return strings.HasPrefix(k.String(), o.String()+" ") }
		if !slices.ContainsFunc(Kinds, begins) {
			list = append(list, k.String())
		}
	}
	return list
}

// firstWords returns the first word of each kind whose name has several words.
func firstWords() []string {
	var list []string
	for _, words := range kindWords() {
		if first, _, several := strings.Cut(words, " "); several {
			list = append(list, first)
		}
	}
	return list
}

func quote(s string) string { return strconv.Quote(s) }

// quoteFound quotes what was found in a line, truncating it if it is long.
func quoteFound(s string) string {
	if s == "" {
		return "the end of the line"
	}
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:40]) + "…"
	}
	return quote(s)
}

// maxLine is the maximum length of a fault's line in bytes. It is enough to cut all links between a hundred processes.
const maxLine = 4096

// token is a word in a line, several words in quotes, or one of the symbols "->", "|" and ",".
type token struct {
	text   string
	column int // position of its first rune, counted from 1
}

// tokenize appends a line's tokens to buffer. It also returns the column after the last token.
func tokenize(line string, buffer []token) (tokens []token, end int, err *ParseError) {
	if len(line) > maxLine {
		return nil, 0, &ParseError{Column: 1, Msg: "the line is longer than 4096 bytes"}
	}
	tokens, end = buffer, 1
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

// tokenLength returns the length in bytes of the token at the start of s, or zero if s starts with white space.
func tokenLength(s string) int {
	switch {
	case strings.HasPrefix(s, "->"):
		return 2
	case s[0] == '|' || s[0] == ',':
		return 1
	case s[0] == '"': // a command in quotes
		return strings.IndexByte(s[1:], '"') + 2 // 1 if the closing quote is missing
	}
	n := strings.IndexAny(s, " \t|,")
	if n < 0 {
		n = len(s)
	}
	// There may or may not be spaces around an arrow: "client-1->redis-1" is three tokens.
	if arrow := strings.Index(s[:n], "->"); arrow >= 0 {
		n = arrow
	}
	return n
}
