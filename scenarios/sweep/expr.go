package sweep

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/scanner"
	"strings"
	"unicode/utf8"

	"github.com/fencepost-sim/fencepost/nemesis"
)

// This file reads conditions such as "restart >= ttl * 1.01 + 2ms". Their operators are Go's, and so is their parser;
// keys, durations and percentages, which Go does not know, are put into its text as names of the same length, so that
// every place is one in the text as it was written. Arithmetic is exact (go/constant): an edge that an assertion names
// is hit, or missed by a nanosecond. Languages made for expressions in configuration compute in float64, know no units,
// and take the hyphen of a key for a minus; they would need the same disguise, and the check of units besides. The
// grammar, strongest last:
//
//	condition  = condition "||" condition | condition "&&" condition
//	           | "!" condition | "(" condition ")" | comparison
//	comparison = sum ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) sum        of one unit; words only == and !=
//	sum        = sum ( "+" | "-" ) product | product                     of one unit, or numbers and rates
//	product    = product ( "*" | "/" ) factor | factor   a duration by a number or rate, or by a duration
//	factor     = ( "-" | "+" ) factor | "(" sum ")" | KEY | WORD | NUMBER | DURATION | RATE
//
// KEY is one that the sweep can vary (lock.ttl, servers.fsync, a fault's restart), WORD one that an axis takes, a
// DURATION is as in fault lines (1.5s, 2ms), and a RATE is 1% or 10000ppm.

// termSort is what a term of a condition is.
type termSort uint8

const (
	isWord termSort = iota
	isDuration
	isNumber
	isRate // a share: 1% or 10000ppm is one hundredth
	isTruth
)

var termSorts = [...]string{"a word", "a duration", "a number", "a rate", "a comparison"}

func (s termSort) String() string { return termSorts[s] }

// term is a part of a condition.
type term struct {
	sort termSort
	// value computes the term at a point: a truth as a bool, a word as a string, a duration in nanoseconds.
	value func(*varied) (constant.Value, error)
}

func fixed(s termSort, v constant.Value) *term {
	return &term{s, func(*varied) (constant.Value, error) { return v, nil }}
}

// compiler turns the syntax of a condition into terms.
type compiler struct {
	subject  *Subject
	axes     []Axis
	text     string
	operands map[int]string // by their place in the text, in bytes
}

// condition reads text, which must be a comparison or several joined. A returned error is a *nemesis.ParseError.
func (b *Subject) condition(axes []Axis, text string) (*term, error) {
	c := &compiler{subject: b, axes: axes, text: text, operands: map[int]string{}}
	source, err := c.disguise()
	if err != nil {
		return nil, err
	}
	x, err := parser.ParseExpr(source)
	if err != nil {
		return nil, c.syntax(err)
	}
	t, err := c.compile(x)
	if err != nil {
		return nil, err
	}
	if t.sort != isTruth {
		return nil, c.errorAt(int(x.Pos())-1, "", "expected a comparison such as restart >= ttl, found %s", t.sort)
	}
	return t, nil
}

// errorAt is an error at a place in bytes.
func (c *compiler) errorAt(offset int, nearest, format string, args ...any) error {
	return &nemesis.ParseError{Column: utf8.RuneCountInString(c.text[:offset]) + 1, Msg: fmt.Sprintf(format, args...),
		Nearest: nearest}
}

// operators are those of conditions, longer ones before their beginnings.
var operators = []string{"&&", "||", "==", "!=", "<=", ">=", "<", ">", "!", "+", "-", "*", "/", "(", ")"}

// operatorMeant is what people write for an operator.
var operatorMeant = map[string]string{"=": "==", "=>": ">=", "=<": "<=", "≥": ">=", "≤": "<=", "≠": "!=", "&": "&&",
	"|": "||", "and": "&&", "or": "||", "not": "!", "×": "*", "−": "-", "<>": "!="}

// disguise puts names of the same length in place of all operands.
func (c *compiler) disguise() (string, error) {
	out := []byte(c.text)
	for i := 0; i < len(c.text); {
		n := operandLength(c.text[i:])
		if n > 0 {
			c.operands[i] = c.text[i : i+n]
			if meant, wrong := operatorMeant[c.text[i:i+n]]; wrong {
				return "", c.errorAt(i, meant, "unknown word %q", c.text[i:i+n])
			}
			copy(out[i:], "x"+strings.Repeat("_", n-1))
			i += n
			continue
		}
		n, err := c.operatorLength(i)
		if err != nil {
			return "", err
		}
		i += n
	}
	return string(out), nil
}

// operatorLength is the length of the operator or the white space at i.
func (c *compiler) operatorLength(i int) (int, error) {
	rest := c.text[i:]
	if rest[0] == ' ' || rest[0] == '\t' {
		return 1, nil
	}
	for _, wrong := range []string{"=>", "=<", "<>"} {
		if strings.HasPrefix(rest, wrong) {
			return 0, c.errorAt(i, operatorMeant[wrong], "unknown operator %q", wrong)
		}
	}
	for _, op := range operators {
		if strings.HasPrefix(rest, op) {
			return len(op), nil
		}
	}
	_, n := utf8.DecodeRuneInString(rest)
	return 0, c.errorAt(i, operatorMeant[rest[:n]], "unknown operator %q", rest[:n])
}

// operandLength is the length of the key, number or word that s begins with; zero if it begins with none. A hyphen or a
// dot belongs to it if a letter or a digit follows.
func operandLength(s string) int {
	n := 0
	for n < len(s) {
		switch {
		case isAlnum(s[n:]):
			_, size := utf8.DecodeRuneInString(s[n:])
			n += size
		case n > 0 && s[n] == '%' && isDigit(s[0]):
			return n + 1
		case n > 0 && (s[n] == '.' || s[n] == '-' && !isDigit(s[0]) || s[n] == '_') && n+1 < len(s) && isAlnum(s[n+1:]):
			n++
		default:
			return n
		}
	}
	return n
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isAlnum(s string) bool {
	return isDigit(s[0]) || 'a' <= s[0] && s[0] <= 'z' || 'A' <= s[0] && s[0] <= 'Z' || strings.HasPrefix(s, "µ")
}

// syntax says in a reader's words what Go's parser found wrong.
func (c *compiler) syntax(err error) error {
	var list scanner.ErrorList
	if !errors.As(err, &list) || len(list) == 0 {
		return c.errorAt(0, "", "%s", err)
	}
	at := min(max(list[0].Pos.Offset, 0), len(c.text))
	found := "the end"
	if rest := strings.TrimSpace(c.text[at:]); rest != "" {
		n := max(operandLength(rest), 1)
		found = fmt.Sprintf("%q", rest[:n])
	}
	expected := "an operator such as + or >="
	switch msg := list[0].Msg; {
	case strings.Contains(msg, "expected operand"):
		expected = "a value such as ttl or 2ms"
	case strings.Contains(msg, "expected ')'"):
		expected = `")"`
	}
	return c.errorAt(at, "", "expected %s, found %s", expected, found)
}

// compile turns a piece of syntax into a term.
func (c *compiler) compile(x ast.Expr) (*term, error) {
	at := int(x.Pos()) - 1
	switch x := x.(type) {
	case *ast.ParenExpr:
		return c.compile(x.X)
	case *ast.Ident:
		return c.operand(at)
	case *ast.UnaryExpr:
		t, err := c.compile(x.X)
		if err != nil {
			return nil, err
		}
		return c.unary(x, t)
	case *ast.BinaryExpr:
		a, err := c.compile(x.X)
		if err != nil {
			return nil, err
		}
		b, err := c.compile(x.Y)
		if err != nil {
			return nil, err
		}
		return c.binary(x, a, b)
	case *ast.CallExpr:
		return nil, c.errorAt(int(x.Lparen)-1, "", `expected an operator such as + or >=, found "("`)
	}
	return nil, c.errorAt(at, "", "expected a value such as ttl or 2ms, found %q", c.text[at:at+1])
}
