package lua

import (
	"math"
	"strconv"
	"strings"
)

// spec is a conversion specification of C's printf, without its verb. Go's fmt does not follow C's rules: it pads
// infinity with zeros, counts characters instead of bytes, and needs more than 20 digits before it uses an exponent.
type spec struct {
	left, plus, space, sharp, zero bool // the flags '-', '+', ' ', '#' and '0'
	width, precision               int  // the precision is -1 if there is none
}

// readSpec parses a specification for which isSpec returns true.
func readSpec(s string) (p spec) {
	rest := strings.TrimLeft(s, "-+ #0")
	has := func(flag string) bool { return strings.Contains(s[:len(s)-len(rest)], flag) }
	p = spec{left: has("-"), plus: has("+"), space: has(" "), sharp: has("#"), zero: has("0"), precision: -1}
	width, precision, dot := strings.Cut(rest, ".")
	p.width, _ = strconv.Atoi(width) // fails only if there is no width
	if dot {
		p.precision, _ = strconv.Atoi(precision) // fails only if there are no digits, which means 0
	}
	return p
}

// pad fills text up to the width. Zeros are put between the prefix, which is a sign or 0x, and the digits.
func (p spec) pad(prefix, digits string) string {
	missing := max(p.width-len(prefix)-len(digits), 0)
	switch {
	case p.left:
		return prefix + digits + strings.Repeat(" ", missing)
	case p.zero:
		return prefix + strings.Repeat("0", missing) + digits
	}
	return strings.Repeat(" ", missing) + prefix + digits
}

// text formats a string.
func (p spec) text(s string) string {
	if p.precision >= 0 {
		s = s[:min(len(s), p.precision)]
	}
	p.zero = false
	return p.pad("", s)
}

// sign returns the sign of a number: '-', or what the flags put before numbers that are not negative.
func (p spec) sign(negative bool) string {
	switch {
	case negative:
		return "-"
	case p.plus:
		return "+"
	case p.space:
		return " "
	}
	return ""
}

// signed formats an integer for %d.
func (p spec) signed(v int64) string {
	size := uint64(v)
	if v < 0 {
		size = -size
	}
	return p.integer(p.sign(v < 0), size, 10)
}

// integer formats an integer with the given base: 8, 10 or 16.
func (p spec) integer(prefix string, v uint64, base int) string {
	digits := strconv.FormatUint(v, base)
	if p.precision >= 0 {
		if p.zero = false; v == 0 {
			digits = ""
		}
		digits = strings.Repeat("0", max(p.precision-len(digits), 0)) + digits
	}
	switch {
	case p.sharp && base == 8 && !strings.HasPrefix(digits, "0"):
		digits = "0" + digits
	case p.sharp && base == 16 && v != 0:
		prefix = "0x"
	}
	return p.pad(prefix, digits)
}

// float formats a floating-point number for the verb e, f or g.
func (p spec) float(verb byte, f float64) string {
	sign, precision := p.sign(math.Signbit(f)), p.precision
	f = math.Abs(f)
	if precision < 0 {
		precision = 6
	}
	var digits string
	switch {
	case f != f, math.IsInf(f, 0):
		p.zero = false
		digits = FormatNumber(f, 6)
	case verb == 'g':
		digits = cGeneral(f, max(precision, 1), p.sharp)
	default:
		digits = strconv.FormatFloat(f, verb, precision, 64)
		if p.sharp && precision == 0 {
			end := strings.IndexByte(digits+"e", 'e')
			digits = digits[:end] + "." + digits[end:]
		}
	}
	return p.pad(sign, digits)
}

// cGeneral formats a finite number like C's %.<digits>g or, if sharp is set, like %#.<digits>g, which keeps zeros at
// the end. The caller handles all other values.
func cGeneral(f float64, digits int, sharp bool) string {
	s := strconv.FormatFloat(f, 'e', digits-1, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	x, _ := strconv.Atoi(exponent)
	if exponent = "e" + exponent; x >= -4 && x < digits { // like C, Go writes at least two digits of the exponent
		mantissa, exponent = strconv.FormatFloat(f, 'f', digits-1-x, 64), ""
	}
	dot := strings.Contains(mantissa, ".")
	switch {
	case sharp && !dot:
		mantissa += "."
	case !sharp && dot:
		mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	}
	return mantissa + exponent
}
