package nemesis

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/fencepost-sim/fencepost/checker/nearest"
)

// MaxDuration is the longest duration, and the latest time, that can be used in a fault or a scenario.
const MaxDuration = 24 * time.Hour

// MaxPPM is the largest drift in either direction. With this drift, a clock runs at half or one and a half times the
// true rate.
const MaxPPM = 500_000

// SlowestPPM limits the sum of all drifts of one process: its clocks must keep running at no less than a tenth of the
// true rate.
const SlowestPPM = 900_000

// units lists the duration units, the most likely ones first.
var units = []string{"s", "ms", "us", "µs", "ns", "m", "h"}

// unitsMeant maps units that are often written by mistake to the correct units.
var unitsMeant = map[string]string{
	"sec": "s", "secs": "s", "second": "s", "seconds": "s",
	"msec": "ms", "msecs": "ms", "millisecond": "ms", "milliseconds": "ms", "millis": "ms",
	"usec": "us", "usecs": "us", "microsecond": "us", "microseconds": "us", "micros": "us",
	"nsec": "ns", "nsecs": "ns", "nanosecond": "ns", "nanoseconds": "ns", "nanos": "ns",
	"min": "m", "mins": "m", "minute": "m", "minutes": "m",
	"hr": "h", "hrs": "h", "hour": "h", "hours": "h",
}

// Error messages for invalid durations.
const (
	notDuration = "expected a duration such as 500ms"
	needsUnit   = "a duration needs a unit: write "
	tooLong     = "a duration must be at most 24h"
)

// WithUnit suggests durations that may have been meant by a number without a unit. A whole number of at least 1000
// probably means milliseconds, as in Redis. Any other number may mean seconds or milliseconds. Each suggestion begins
// with sign.
func WithUnit(sign, number string) string {
	v, err := strconv.ParseFloat(number, 64)
	switch {
	case err == nil && v == 0:
		return sign + "0s"
	case err == nil && v >= 1000 && v <= 1e9 && v == float64(int64(v)):
		return fmt.Sprintf("%s%sms or %s%ss", sign, number, sign, strconv.FormatFloat(v/1000, 'f', -1, 64))
	}
	return fmt.Sprintf("%s%ss or %s%sms", sign, number, sign, number)
}

// ParseDuration parses a duration in the form used in fault lines and scenario files: from 0s to MaxDuration, with a
// unit but without a sign. Any error that it returns is a *ParseError.
func ParseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, &ParseError{Column: 1, Msg: notDuration}
	}
	d, problem, near := parseDuration(text)
	if problem != "" {
		return 0, &ParseError{Column: 1, Msg: problem, Nearest: near}
	}
	return d, nil
}

// FormatDuration formats a duration as in fault lines, with a sign only if it is negative: 90s, 1.2s, -500ms.
func FormatDuration(d time.Duration) string {
	if d < 0 {
		return string(appendDuration([]byte("-"), d))
	}
	return string(appendDuration(nil, d))
}

// parseDuration parses a duration in Go's notation, without a sign. If this fails, problem describes what is wrong, and
// near is a similar valid duration, if there is one.
func parseDuration(text string) (d time.Duration, problem, near string) {
	if text[0] == '+' || text[0] == '-' {
		return 0, "a duration must not have a sign here", strings.TrimLeft(text, "+-")
	}
	d, err := time.ParseDuration(text)
	number, unit := splitUnit(text)
	meant := nearestUnit(strings.TrimSpace(unit))
	switch {
	case text == "0": // the only number that Go accepts without a unit
		return 0, needsUnit + "0s", ""
	case err == nil && d <= MaxDuration:
		return d, "", ""
	case err == nil:
		return 0, tooLong, ""
	case strings.Trim(number, ".") == "" || strings.Count(number, ".") > 1:
		return 0, notDuration, ""
	case unit == "":
		return 0, needsUnit + WithUnit("", number), ""
	case strings.IndexFunc(unit, unicode.IsLetter) < 0: // such as 5%
		return 0, notDuration, ""
	case meant == unit: // the unit is valid, so Go has rejected the number because it has too many digits
		return 0, tooLong, ""
	case meant == strings.TrimSpace(unit):
		return 0, notDuration, number + meant
	case meant != "":
		return 0, "unknown unit " + quote(unit), number + meant
	}
	return 0, "unknown unit " + quote(unit), ""
}

// splitUnit separates a number from its unit: "1.2sec" yields "1.2" and "sec".
func splitUnit(text string) (number, unit string) {
	n := len(text) - len(strings.TrimLeft(text, "0123456789."))
	return text[:n], text[n:]
}

func nearestUnit(unit string) string {
	if slices.Contains(units, unit) {
		return unit
	}
	if meant, ok := unitsMeant[strings.ToLower(unit)]; ok {
		return meant
	}
	return nearest.Word(unit, units)
}

// appendDuration appends d with all its decimals, in the largest of the units s, ms, us and ns that is not larger than
// d: 90s, 1.2s, 500ms. It does not use minutes and hours, because durations are easier to compare without them. It
// ignores d's sign.
func appendDuration(b []byte, d time.Duration) []byte {
	d = max(d, -d)
	unit, name := time.Nanosecond, "ns"
	switch {
	case d >= time.Second || d == 0:
		unit, name = time.Second, "s"
	case d >= time.Millisecond:
		unit, name = time.Millisecond, "ms"
	case d >= time.Microsecond:
		unit, name = time.Microsecond, "us"
	}
	b = strconv.AppendInt(b, int64(d/unit), 10)
	if rest := d % unit; rest != 0 {
		b = append(b, '.')
		for rest != 0 {
			rest *= 10
			b = append(b, byte('0'+rest/unit))
			rest %= unit
		}
	}
	return append(b, name...)
}

// appendSign appends "+" or "-". Jumps and drifts always have a sign.
func appendSign(b []byte, negative bool) []byte {
	if negative {
		return append(b, '-')
	}
	return append(b, '+')
}

// splitSign removes the sign from the beginning of a string. ok is false if there is no sign.
func splitSign(text string) (negative bool, rest string, ok bool) {
	switch text[0] {
	case '+':
		return false, text[1:], true
	case '-':
		return true, text[1:], true
	}
	return false, text, false
}

// parsePPM parses a signed rate such as +20000ppm.
func parsePPM(text string) (ppm int, problem, nearest string) {
	negative, rest, signed := splitSign(text)
	digits, isPPM := strings.CutSuffix(rest, "ppm")
	n, err := strconv.Atoi(digits)
	switch {
	case err != nil || digits[0] == '+' || digits[0] == '-':
		return 0, "expected a rate such as +200ppm", ""
	case !signed:
		return 0, "a rate needs a sign", "+" + digits + "ppm"
	case !isPPM:
		return 0, "a rate needs its unit, ppm", text + "ppm"
	case n == 0:
		return 0, "a rate of zero changes nothing", ""
	case n > MaxPPM:
		return 0, "a rate must be at most 500000ppm either way", ""
	case negative:
		return -n, "", ""
	}
	return n, "", ""
}

// ordinal returns n with its suffix: 1st, 2nd, 3rd, 4th, 11th, 21st.
func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
