package resp

import (
	"errors"
	"strconv"
	"strings"
)

// ParseInt parses a decimal integer as strictly as Redis: no plus sign, no leading zeros, no spaces.
func ParseInt(s string) (int64, bool) {
	digits := s
	if len(s) > 1 && s[0] == '-' {
		digits = s[1:]
		if digits == "0" {
			return 0, false
		}
	}
	if digits == "" || len(digits) > 1 && digits[0] == '0' || digits[0] < '0' || digits[0] > '9' {
		return 0, false
	}
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil
}

// ParseDouble parses a score like Redis. It accepts whatever C's strtod accepts, except leading white space, NaN, and
// numbers that are too large or too small for a double.
func ParseDouble(s string) (float64, bool) {
	if s == "" || strings.IndexByte(" \t\r\n\v\f", s[0]) >= 0 {
		return 0, false
	}
	f, ranged, ok := Strtod(s)
	return f, ok && !ranged
}

// Strtod parses all of s like C's strtod: a decimal, hexadecimal or infinite number, which may be preceded by white
// space. NaN is not accepted. ranged reports whether the number is too large or too small for a double.
func Strtod(s string) (f float64, ranged, ok bool) {
	s = strings.TrimLeft(s, " \t\r\n\v\f")
	if s == "" {
		return 0, false, true
	}
	digits := strings.ToLower(strings.TrimLeft(s, "+-"))
	if strings.HasPrefix(digits, "0x") && !strings.Contains(digits, "p") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	if errors.Is(err, strconv.ErrRange) {
		return f, true, true
	}
	mantissa, _, _ := strings.Cut(digits, "e")
	return f, f == 0 && strings.ContainsAny(mantissa, "123456789"), err == nil && f == f && !strings.Contains(s, "_")
}
