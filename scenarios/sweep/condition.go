package sweep

import (
	"errors"
	"fmt"
	"go/constant"
	"go/token"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// This file parses conditions such as "restart >= ttl * 1.01 + 2ms". Conditions are evaluated exactly, because a
// rounding error of a nanosecond could miss the edge that an assertion is about. This is the grammar, from the weakest
// operator to the strongest:
//
//	condition  = condition "||" condition | condition "&&" condition
//	           | "!" condition | "(" condition ")" | comparison
//	comparison = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum        of one unit; words only == and !=
//	sum        = sum ( "+" | "-" ) product | product                     of one unit, or numbers and rates
//	product    = product ( "*" | "/" ) factor | factor   a duration by a number or rate, or by a duration
//	factor     = ( "-" | "+" ) factor | "(" sum ")" | KEY | WORD | NUMBER | DURATION | RATE
//
// KEY is a key that the sweep can vary (lock.ttl, servers.fsync, a fault's restart). WORD is a word that is a value of
// an axis. DURATION is written as in fault lines (1.5s, 2ms), and RATE is written as 1% or 10000ppm.

// kind is the type of a term in a condition.
type kind uint8

const (
	isWord kind = iota
	isDuration
	isNumber
	isRate // a fraction: 1% and 10000ppm mean 0.01
	isTruth
)

func (k kind) String() string {
	return [...]string{"a word", "a duration", "a number", "a rate", "a comparison"}[k]
}

// term is the result of parsing part of a condition. Its value counts only if the condition is evaluated at a point.
// The value is a bool for a comparison, a string for a word, and a number of nanoseconds for a duration.
type term struct {
	kind  kind
	value constant.Value
}

// lexeme matches one token in a condition: an operand (number, key or word), an operator, or any other character.
var lexeme = regexp.MustCompile(`([0-9][0-9A-Za-zµ]*(?:[._][0-9A-Za-zµ]+)*%?|` +
	`[A-Za-zµ][0-9A-Za-zµ]*(?:[._-][0-9A-Za-zµ]+)*)|&&|\|\||[=!<>]=|=>|=<|<>|[^ \t]`)

// operators maps operators to Go tokens, which define their precedence.
var operators = map[string]token.Token{"||": token.LOR, "&&": token.LAND, "==": token.EQL, "!=": token.NEQ,
	"<": token.LSS, "<=": token.LEQ, ">": token.GTR, ">=": token.GEQ, "+": token.ADD, "-": token.SUB, "*": token.MUL,
	"/": token.QUO, "!": token.NOT, "(": token.LPAREN, ")": token.RPAREN}

// operatorMeant maps mistyped operators to the correct ones.
var operatorMeant = map[string]string{"=": "==", "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<=", "≠": "!=", "&": "&&",
	"|": "||", "and": "&&", "or": "||", "not": "!", "×": "*", "−": "-", "<>": "!="}

// symbol is one token of the text. The last symbol is empty, to mark the end of the text.
type symbol struct {
	text    string
	at      int // offset in bytes
	operand bool
}

// parser parses a condition by operator precedence. If point is set, it also evaluates the condition at that point.
type parser struct {
	subject *Subject
	axes    []Axis
	text    string
	rest    []symbol
	point   *varied
}

func newParser(b *Subject, axes []Axis, text string) *parser {
	p := &parser{subject: b, axes: axes, text: text}
	for _, at := range lexeme.FindAllStringSubmatchIndex(text, -1) {
		p.rest = append(p.rest, symbol{text[at[0]:at[1]], at[0], at[2] >= 0})
	}
	p.rest = append(p.rest, symbol{at: len(text)})
	return p
}

// condition parses the rest of the text: a comparison, or several joined by operators. Errors are of type
// *nemesis.ParseError. The returned function evaluates the condition at a point. It returns an error if the condition
// cannot be evaluated for the scenario at that point.
func (p *parser) condition() (condition func(*varied) (bool, error), err error) {
	start := *p
	for _, s := range p.rest {
		switch meant, wrong := operatorMeant[s.text]; {
		case s.operand && wrong:
			return nil, p.errorAt(s.at, meant, "unknown word %q", s.text)
		case !s.operand && s.text != "" && operators[s.text] == token.ILLEGAL:
			return nil, p.errorAt(s.at, meant, "unknown operator %q", s.text)
		}
	}
	t, err := p.term(0)
	switch {
	case err != nil:
		return nil, err
	case p.rest[0].text != "":
		return nil, p.unexpected("an operator such as + or >=")
	case t.kind != isTruth:
		return nil, p.errorAt(start.rest[0].at, "", "expected a comparison such as restart >= ttl, found %s", t.kind)
	}
	return func(at *varied) (bool, error) {
		again := start
		again.point = at
		t, err := again.term(0)
		return err == nil && constant.BoolVal(t.value), err
	}, nil
}

// errorAt returns a parse error at the given byte offset.
func (p *parser) errorAt(offset int, nearest, format string, args ...any) error {
	return &nemesis.ParseError{Column: utf8.RuneCountInString(p.text[:offset]) + 1, Msg: fmt.Sprintf(format, args...),
		Nearest: nearest}
}

// unexpected returns an error that says what was expected at the current position. It suggests the nearest of the given
// words.
func (p *parser) unexpected(expected string, words ...string) error {
	found, text := "the end", p.rest[0].text
	if text != "" {
		found = fmt.Sprintf("%q", text)
	}
	return p.errorAt(p.rest[0].at, nearest.Word(text, words), "expected %s, found %s", expected, found)
}

// next returns the next symbol and advances past it.
func (p *parser) next() symbol {
	s := p.rest[0]
	p.rest = p.rest[1:]
	return s
}

// take advances past the next symbol if it equals text, and reports whether it did.
func (p *parser) take(text string) bool {
	is := p.rest[0].text == text
	if is {
		p.next()
	}
	return is
}

// term parses operands joined by operators whose precedence is higher than the given one.
func (p *parser) term(precedence int) (term, error) {
	left, err := p.factor()
	for err == nil && operators[p.rest[0].text].Precedence() > precedence {
		s := p.next()
		op := operators[s.text]
		var right term
		if right, err = p.term(op.Precedence()); err == nil {
			left, err = p.binary(op, s.at, left, right)
		}
	}
	return left, err
}

// factor parses an operand, a term in parentheses, or a factor after a sign or "!".
func (p *parser) factor() (term, error) {
	s := p.rest[0]
	op := operators[s.text]
	switch {
	case s.operand:
		return p.operand(p.next())
	case op == token.ADD || op == token.SUB || op == token.NOT:
		p.next()
		t, err := p.factor()
		if err == nil && ((t.kind == isTruth) != (op == token.NOT) || t.kind == isWord) {
			return t, p.errorAt(s.at, "", "%q cannot be applied to %s", s.text, t.kind)
		}
		if err == nil && p.point != nil {
			t.value = constant.UnaryOp(op, t.value, 0)
		}
		return t, err
	case p.take("("):
		t, err := p.term(0)
		if err == nil && !p.take(")") {
			err = p.unexpected(`")"`)
		}
		return t, err
	}
	return term{}, p.unexpected("a value such as ttl or 2ms")
}

// operand returns the term for a number, a key or a word.
func (p *parser) operand(s symbol) (term, error) {
	if s.text[0] <= '9' {
		return p.number(s)
	}
	k, err := p.subject.key(s.text)
	if err == nil {
		return p.key(s.at, k)
	}
	var words []string // the words that are values of an axis
	for _, a := range p.axes {
		for _, l := range a.Levels {
			if l.Unit == Words {
				words = append(words, l.Text)
			}
		}
	}
	if slices.Contains(words, s.text) {
		return term{isWord, constant.MakeString(s.text)}, nil
	}
	var unknown *unknownKey
	if !errors.As(err, &unknown) {
		return term{}, p.errorAt(s.at, "", "%s", err)
	}
	near := unknown.nearest
	if near == "" {
		near = nearest.Word(s.text, words)
	}
	if before, after, ok := cutLast(s.text, "-"); ok {
		if _, err := p.subject.key(before); err == nil {
			near = before + " - " + after
		}
	}
	return term{}, p.errorAt(s.at, near, "unknown key %q", s.text)
}

// number returns the term for a number, a duration or a rate.
func (p *parser) number(s symbol) (term, error) {
	unit := strings.TrimLeft(s.text, "0123456789.")
	v := constant.MakeFromLiteral(strings.TrimSuffix(s.text, unit), token.FLOAT, 0)
	switch {
	case v.Kind() == constant.Unknown:
		return term{}, p.errorAt(s.at, "", "expected a number, found %q", s.text)
	case unit == "":
		return term{isNumber, v}, nil
	case unit == "%":
		return term{isRate, constant.BinaryOp(v, token.QUO, constant.MakeInt64(100))}, nil
	case unit == "ppm":
		return term{isRate, constant.BinaryOp(v, token.QUO, million)}, nil
	}
	d, err := nemesis.ParseDuration(s.text)
	var bad *nemesis.ParseError
	if errors.As(err, &bad) {
		return term{}, p.errorAt(s.at, bad.Nearest, "%s, found %q", bad.Msg, s.text)
	}
	return term{isDuration, constant.MakeInt64(int64(d))}, nil
}

// key returns the term for a key. At a point, the key's value comes from an axis, or else from the scenario.
func (p *parser) key(at int, k *Key) (t term, err error) {
	t.kind = [...]kind{isWord, isDuration, isNumber, isRate}[k.Unit]
	axis := slices.IndexFunc(p.axes, func(a Axis) bool {
		return slices.ContainsFunc(a.Keys, func(of *Key) bool { return of.Path == k.Path })
	})
	switch {
	case axis >= 0 && p.axes[axis].unit() == Words:
		t.kind = isWord
	case axis < 0 && t.kind == isWord:
		return t, p.errorAt(at, "", "the values of %s are words: "+
			"they can be compared only if the sweep varies %[1]s", k.Path)
	}
	if p.point != nil {
		t.value, err = p.point.value(k)
	}
	return t, err
}

// binary applies an operator to two terms.
func (p *parser) binary(op token.Token, at int, a, b term) (t term, err error) {
	var ok bool
	if t.kind, ok = joined(op, a.kind, b.kind); !ok {
		return t, p.errorAt(at, "", "%s", unjoinable(op, a.kind, b.kind))
	}
	switch {
	case p.point == nil:
	case op == token.QUO && constant.Sign(b.value) == 0:
		return t, p.errorAt(at, "", "division by zero")
	case t.kind == isTruth && a.kind != isTruth:
		t.value = constant.MakeBool(constant.Compare(a.value, op, b.value))
	default:
		t.value = constant.BinaryOp(a.value, op, b.value)
	}
	return t, nil
}

// joined returns the kind of an operator's result. ok is false if the operator does not accept terms of these kinds.
func joined(op token.Token, a, b kind) (kind, bool) {
	share := func(k kind) bool { return k == isNumber || k == isRate }
	switch op {
	case token.LAND, token.LOR:
		return isTruth, a == isTruth && b == isTruth
	case token.EQL, token.NEQ:
		return isTruth, a == b && a != isTruth
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return isTruth, a == b && a != isTruth && a != isWord
	}
	switch {
	case share(a) && share(b):
		return max(a, b), true // 1 + 2% is a rate
	case a == isDuration && b == isDuration && op == token.QUO:
		return isNumber, true
	case a == isDuration && b == isDuration:
		return isDuration, op != token.MUL
	case a == isDuration && share(b):
		return isDuration, op == token.MUL || op == token.QUO
	}
	return isDuration, share(a) && b == isDuration && op == token.MUL
}

// unjoinable explains why an operator cannot be applied to two terms.
func unjoinable(op token.Token, a, b kind) string {
	hint := ""
	switch {
	case a == isTruth && b != isTruth && op.Precedence() == token.LSS.Precedence():
		hint = `: join two comparisons with "&&"`
	case a == isDuration && b == isNumber || a == isNumber && b == isDuration:
		hint = ": a duration needs a unit, as in 2ms"
	case a == isRate && b == isNumber || a == isNumber && b == isRate:
		hint = ": a rate needs a unit, as in 1% or 10000ppm"
	}
	return fmt.Sprintf("%q cannot combine %s and %s%s", op.String(), a, b, hint)
}
