package nemesis

import (
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/sim"
)

// ParseError says what is wrong with a fault line, and where.
type ParseError struct {
	Column  int    // of the first rune of what is wrong, from 1; just behind the line if something is missing
	Msg     string // what was expected and what stands there
	Nearest string // the nearest right text for what stands there; empty if nothing is near
}

// Error gives `column 3: expected "for", found "fro" (did you mean "for"?)`.
func (e *ParseError) Error() string { return "column " + strconv.Itoa(e.Column) + ": " + e.Detail() }

// Detail is Error without the column, for callers that state the place in their own way.
func (e *ParseError) Detail() string {
	if e.Nearest == "" {
		return e.Msg
	}
	return e.Msg + " (did you mean " + quote(e.Nearest) + "?)"
}

// Parse reads one fault line. Words are separated by spaces or tabs. It knows the grammar but not the run, so any
// process may be named; see ParseFor. A returned error is a *ParseError.
func Parse(line string) (Fault, error) {
	f, _, err := parseLine(line, nil)
	if err != nil {
		return Fault{}, err
	}
	return f, nil
}

// parseLine also returns the parser, which knows where the words of the line stand.
// Known are the processes of the run, nil if it is not known; headers are words that might have been meant in place of a
// fault.
func parseLine(line string, known *Names, headers ...string) (Fault, *parser, *ParseError) {
	p := &parser{known: known}
	var err *ParseError
	if p.tokens, p.end, err = tokenize(line, p.space[:0]); err != nil {
		return Fault{}, p, err
	}
	form := p.form(headers)
	var f Fault
	if form != nil {
		f.Kind = form.kind
		for i := range form.parts {
			if form.parts[i].parse(p, &f); p.err != nil {
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

// parser walks over the tokens of a line. The first error stays.
type parser struct {
	tokens []token
	next   int // index of the token to look at
	end    int // column just behind the last token
	known  *Names
	err    *ParseError
	// wanted is what would have been right at the next token, as far as it was tried; it makes the error message.
	wanted  [8]wanted
	wanting int
	space   [24]token // holds the tokens of most lines
}

// wanted is one thing that could stand at a place.
type wanted struct {
	what    string   // in a reader's words, or the literal word
	literal bool     // what stands in the line exactly so
	words   []string // right words to which a wrong one is compared, besides a literal what
}

// peek is the text of the next token, empty at the end of the line.
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

// expect notes that something would have been right at the next token.
func (p *parser) expect(what string, words ...string) {
	p.want(wanted{what: what, words: words})
}

// accept passes over a literal word if it stands next.
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

// require passes over words that must stand next.
func (p *parser) require(words []string) {
	for _, word := range words {
		if p.err == nil && !p.accept(word) {
			p.unexpected()
		}
	}
}

// unexpected fails at the next token with what was tried there.
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
			meant = p.known.meant(found, anyRole)
		}
		near = append(near, w.words...)
	}
	if meant == "" {
		meant = nearest.Word(found, near)
	}
	p.fail(msg+", found "+quoteFound(found), meant)
}

// fail fails at the next token. Only the first failure counts.
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

// form finds the form that the line opens with and passes over its opening words.
func (p *parser) form(headers []string) *form {
	best, bestWords, bestComplete := (*form)(nil), 0, false
	for i := range forms {
		n := p.opening(&forms[i])
		complete := n == len(forms[i].opening)
		if n > 0 && (best == nil || complete && !bestComplete || complete == bestComplete && n > bestWords) {
			best, bestWords, bestComplete = &forms[i], n, complete
		}
	}
	if best == nil {
		p.expect("a fault ("+kindList+")", append(headers, kindWords...)...)
		p.unexpected()
		return nil
	}
	p.require(best.opening)
	// "delay" was complete, but "delay message" would have been right as well.
	for i := range forms {
		if n := p.opening(&forms[i]); n == bestWords && n < len(forms[i].opening) && p.err == nil {
			p.accept(forms[i].opening[n])
		}
	}
	return best
}

// opening counts the words at the start of the line that are the opening words of f.
func (p *parser) opening(f *form) int {
	n := 0
	for n < len(f.opening) && n < len(p.tokens) && p.tokens[n].text == f.opening[n] {
		n++
	}
	return n
}

// aProcess is what an error says where a process should stand.
const aProcess = "a process such as client-1"

// process reads the name of a process.
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

// processes reads one or more names of processes.
func (p *parser) processes() []sim.ProcessID {
	list := []sim.ProcessID{p.process()}
	for p.err == nil && isProcess(p.peek()) {
		list = append(list, p.process())
	}
	p.expect(aProcess)
	return list
}

const kindList = "pause, jump, drift, crash, shut down, fail over, cut, delay, break, slow fsync, expire session"

// kindWords are what a wrong first word is compared to.
var kindWords = append(strings.Split(kindList, ", "), "shut", "fail", "slow", "expire")

func quote(s string) string { return strconv.Quote(s) }

// quoteFound quotes what stands in a line, cut short where it is long.
func quoteFound(s string) string {
	if s == "" {
		return "the end of the line"
	}
	if runes := []rune(s); len(runes) > 40 {
		s = string(runes[:40]) + "…"
	}
	return quote(s)
}
