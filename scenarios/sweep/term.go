package sweep

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/token"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// million is how many ppm are all.
var million = constant.MakeInt64(1_000_000)

// operand makes a term of the number, key or word at a place.
func (c *compiler) operand(at int) (*term, error) {
	text := c.operands[at]
	if isDigit(text[0]) {
		return c.number(at, text)
	}
	k, err := c.subject.key(text)
	if err == nil {
		return c.key(at, k)
	}
	var words []string // that an axis takes
	for _, a := range c.axes {
		for _, l := range a.Levels {
			if l.Unit == Words {
				words = append(words, l.Text)
			}
		}
	}
	if slices.Contains(words, text) {
		return fixed(isWord, constant.MakeString(text)), nil
	}
	var unknown *unknownKey
	if !errors.As(err, &unknown) {
		return nil, c.errorAt(at, "", "%s", err)
	}
	near := unknown.nearest
	if near == "" {
		near = nearest.Word(text, words)
	}
	if before, after, ok := cutLast(text, "-"); ok {
		if _, err := c.subject.key(before); err == nil {
			near = before + " - " + after
		}
	}
	return nil, c.errorAt(at, near, "unknown key %q", text)
}

// number makes a term of a number, a duration or a rate.
func (c *compiler) number(at int, text string) (*term, error) {
	digits := strings.TrimLeft(text, "0123456789.")
	number, unit := text[:len(text)-len(digits)], digits
	v := constant.MakeFromLiteral(number, token.FLOAT, 0)
	switch {
	case v.Kind() == constant.Unknown:
		return nil, c.errorAt(at, "", "expected a number, found %q", text)
	case unit == "":
		return fixed(isNumber, v), nil
	case unit == "%":
		return fixed(isRate, constant.BinaryOp(v, token.QUO, constant.MakeInt64(100))), nil
	case unit == "ppm":
		return fixed(isRate, constant.BinaryOp(v, token.QUO, million)), nil
	}
	d, err := nemesis.ParseDuration(text)
	var bad *nemesis.ParseError
	if errors.As(err, &bad) {
		return nil, c.errorAt(at, bad.Nearest, "%s, found %q", bad.Msg, text)
	}
	return fixed(isDuration, constant.MakeInt64(int64(d))), nil
}

// key makes a term of a key: of the value that an axis gives it, or of what it is in the scenario.
func (c *compiler) key(at int, k *Key) (*term, error) {
	t := &term{sort: [...]termSort{isWord, isDuration, isNumber, isRate}[k.Unit]}
	onAxis := false
	for i := range c.axes {
		if slices.ContainsFunc(c.axes[i].Keys, func(of *Key) bool { return of.Path == k.Path }) {
			onAxis = true
			if c.axes[i].Unit() == Words {
				t.sort = isWord
			}
		}
	}
	if t.sort == isWord && !onAxis {
		return nil, c.errorAt(at, "", "%s takes words, which can be compared only where they are varied", k.Path)
	}
	t.value = func(v *varied) (constant.Value, error) { return v.value(k) }
	return t, nil
}

// unary is a sign before a quantity, or a not before a truth.
func (c *compiler) unary(x *ast.UnaryExpr, t *term) (*term, error) {
	if (t.sort == isTruth) != (x.Op == token.NOT) || t.sort == isWord {
		return nil, c.errorAt(int(x.Pos())-1, "", "%q does not go before %s", x.Op.String(), t.sort)
	}
	return &term{t.sort, func(v *varied) (constant.Value, error) {
		y, err := t.value(v)
		if err != nil {
			return nil, err
		}
		return constant.UnaryOp(x.Op, y, 0), nil
	}}, nil
}

// binary joins two terms.
func (c *compiler) binary(x *ast.BinaryExpr, a, b *term) (*term, error) {
	sort, ok := combined(x.Op, a.sort, b.sort)
	at := int(x.OpPos) - 1
	if !ok {
		return nil, c.errorAt(at, "", "%s", unjoinable(x.Op, a.sort, b.sort))
	}
	return &term{sort, func(v *varied) (constant.Value, error) {
		y, err := a.value(v)
		if err != nil {
			return nil, err
		}
		z, err := b.value(v)
		switch {
		case err != nil:
			return nil, err
		case x.Op == token.QUO && constant.Sign(z) == 0:
			return nil, c.errorAt(at, "", "division by zero")
		case sort == isTruth && a.sort != isTruth:
			return constant.MakeBool(constant.Compare(y, x.Op, z)), nil
		}
		return constant.BinaryOp(y, x.Op, z), nil
	}}, nil
}

// combined is the kind of what an operator makes of two terms.
func combined(op token.Token, a, b termSort) (termSort, bool) {
	share := func(s termSort) bool { return s == isNumber || s == isRate }
	switch op {
	case token.LAND, token.LOR:
		return isTruth, a == isTruth && b == isTruth
	case token.EQL, token.NEQ:
		return isTruth, a == b && a != isTruth
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		return isTruth, a == b && a != isTruth && a != isWord
	case token.ADD, token.SUB:
		if share(a) && share(b) {
			return max(a, b), true // 1 + 2% is a rate
		}
		return a, a == b && a == isDuration
	case token.MUL, token.QUO:
		switch {
		case share(a) && share(b):
			return max(a, b), true
		case op == token.QUO && a == isDuration && b == isDuration:
			return isNumber, true
		case op == token.MUL && share(a):
			return b, b == isDuration
		}
		return a, a == isDuration && share(b)
	}
	return 0, false
}

// unjoinable says why an operator makes nothing of two terms.
func unjoinable(op token.Token, a, b termSort) string {
	hint := ""
	switch {
	case a == isTruth && b != isTruth && op.Precedence() == token.LSS.Precedence():
		hint = `: join two comparisons with "&&"`
	case a == isDuration && b == isNumber || a == isNumber && b == isDuration:
		hint = ": a duration needs a unit, as in 2ms"
	case a == isRate && b == isNumber || a == isNumber && b == isRate:
		hint = ": a rate needs a unit, as in 1% or 10000ppm"
	}
	return fmt.Sprintf("%q does not join %s and %s%s", op.String(), a, b, hint)
}

// value is what a key stands for at a point: exactly, and a rate as a share.
func (v *varied) value(k *Key) (constant.Value, error) {
	if l, ok := v.given[k.Path]; ok {
		if l.Unit == Words {
			return constant.MakeString(l.Text), nil
		}
		return k.exact(l.N), nil
	}
	if n, ok := v.read(k); ok {
		return k.exact(n), nil
	}
	return nil, fmt.Errorf("%s is no single number in this scenario: it is not in use, or a range, or a word", k.Path)
}

// exact is a number in the key's unit as a condition computes with it.
func (k *Key) exact(n int64) constant.Value {
	v := constant.MakeInt64(n)
	if k.Unit == Rates {
		return constant.BinaryOp(v, token.QUO, million)
	}
	return v
}

// read takes the number of a key that no axis varies out of the scenario.
func (v *varied) read(k *Key) (int64, bool) {
	switch {
	case k.fault > 0:
		return k.readFault(v.faults)
	case k.client != "":
		for i := range v.scenario.Clients {
			if c := &v.scenario.Clients[i]; string(c.ID) == k.client {
				return k.read(v.scenario, c)
			}
		}
		return 0, false
	case k.read == nil: // a link
		text, _ := v.doc.Get(k.Path)
		n, err := k.parseNumber(text)
		return n, err == nil
	}
	s := v.withoutOverrides()
	if s == nil {
		return 0, false
	}
	return k.read(s, &s.Clients[0])
}
