package history

import (
	"fmt"
	"math"
	"math/big"
	"regexp"
	"strconv"
)

// wholeNumber converts an EDN value that must be a 64-bit whole number. It accepts every form that EDN allows: 1, +1
// and 1N, but also 1M, 1.0 and 1e3. It rejects a floating-point number that is so large that it may have been rounded.
func wholeNumber[T ~int | ~int64](key string, v any) (T, error) {
	const exact = 1 << 53 // the smallest float64 that two whole numbers are rounded to
	n := new(big.Int)
	whole := true
	switch v := v.(type) {
	case int64:
		return T(v), nil
	case *big.Int:
		n = v
	case big.Int: // inside a collection, this is the library's type for 1N
		n = &v
	case *big.Float: // the library's type for 1M; inside a collection, it uses float64
		_, rest := v.Int(n)
		whole = rest == big.Exact
	case float64:
		if v == math.Trunc(v) && math.Abs(v) >= exact {
			return 0, fmt.Errorf("%s %s may have been rounded: "+
				"write it as a whole number, without a decimal point or exponent", key, show(v))
		}
		whole = v == math.Trunc(v)
		n.SetInt64(int64(v))
	default:
		whole = false
	}
	switch {
	case !whole:
		return 0, fmt.Errorf("%s %s is not a whole number", key, show(v))
	case !n.IsInt64():
		return 0, fmt.Errorf("%s %s does not fit in 64 bits", key, short(n))
	}
	return T(n.Int64()), nil
}

// isNumber reports whether a value is any kind of number.
func isNumber(v any) bool {
	switch v.(type) {
	case int64, float64, *big.Int, big.Int, *big.Float:
		return true
	}
	return false
}

// numberText formats a number so that two numbers have the same text if and only if Clojure's = says they are equal.
// Numbers of different kinds, such as 1, 1.0 and 1M, are not equal. ok is false if v is not a number. It is also false
// for any float64 except zero, because its usual EDN text already has this property.
func numberText(v any) (text string, ok bool) {
	switch v := v.(type) {
	case int64:
		return strconv.FormatInt(v, 10), true
	case *big.Int: // in Clojure, 1N equals 1
		return v.String(), true
	case big.Int: // the type of 1N inside a collection
		return v.String(), true
	case *big.Float:
		return v.Text('g', -1) + "M", true
	case float64:
		if v == 0 {
			return "0.0", true // -0.0 is equal to 0.0
		}
	}
	return "", false
}

// Patterns for the number forms in EDN, and for ratios, which only Clojure's reader accepts.
var (
	ednInteger = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)N?$`)
	ednFloat   = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?M?$`)
	ratio      = regexp.MustCompile(`^[+-]?[0-9]+/[0-9]+$`)
)

// badNumber finds the first number in EDN text that is invalid or does not fit its type, and says what is wrong with
// it. It returns "" if all numbers are fine.
func badNumber(text []byte) string {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == '"' || c == ';':
			i = afterQuoted(text, i)
		case c == '\\':
			i += 2
		case isDelimiter(c):
			i++
		default:
			from := i
			for i < len(text) && !isDelimiter(text[i]) && text[i] != '"' && text[i] != ';' {
				i++
			}
			if why := wrongNumber(string(text[from:i])); why != "" {
				return why
			}
		}
	}
	return ""
}

// afterQuoted returns the index after the string or comment that begins at i.
func afterQuoted(text []byte, i int) int {
	end := byte('"')
	if text[i] == ';' {
		end = '\n'
	}
	for i++; i < len(text) && text[i] != end; i++ {
		if text[i] == '\\' && end == '"' {
			i++
		}
	}
	return i + 1
}

func isDelimiter(c byte) bool {
	switch c {
	case '(', ')', '[', ']', '{', '}':
		return true
	}
	return isBlank(c)
}

// wrongNumber says what is wrong with a word that begins like a number. It returns "" if the word is a valid number or
// not a number at all.
func wrongNumber(word string) string {
	digits := word
	if digits[0] == '+' || digits[0] == '-' {
		digits = digits[1:]
	}
	symbolic := word == "##Inf" || word == "##-Inf" || word == "##NaN"
	switch {
	case symbolic:
		return fmt.Sprintf("%s is not a number in EDN", word)
	case digits == "" || digits[0] < '0' || digits[0] > '9':
		return ""
	case ratio.MatchString(word):
		return fmt.Sprintf("%s is a ratio, which EDN does not have: write a decimal number", word)
	case !ednInteger.MatchString(word) && !ednFloat.MatchString(word):
		return fmt.Sprintf("%s is not a number in EDN: write it in decimal digits, without leading zeros", word)
	}
	last := word[len(word)-1]
	if _, err := strconv.ParseInt(word, 10, 64); ednInteger.MatchString(word) && last != 'N' && err != nil {
		return fmt.Sprintf("%s does not fit in 64 bits: EDN writes such a number with an N at its end", word)
	}
	if _, err := strconv.ParseFloat(word, 64); ednFloat.MatchString(word) && last != 'M' && err != nil {
		return fmt.Sprintf("%s is too large for a floating-point number: "+
			"EDN writes such a number with an M at its end", word)
	}
	return ""
}
