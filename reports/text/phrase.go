package text

// This file defines how counts, shares, lists and times are written in all of a report's output formats.

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Count formats a count with its noun, which it puts in the plural if necessary: "1 run", "12 runs".
func Count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// CountGrouped is like Count, but groups the digits of large numbers: "1,234,567 runs".
func CountGrouped(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Grouped(n) + " " + what + "s"
}

// Grouped formats a number with commas: "1,234,567". n must not be negative.
func Grouped(n int) string {
	digits := strconv.Itoa(n)
	var b strings.Builder
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(d)
	}
	return b.String()
}

// Large formats a number that may be very large. If it is a million or more, the result has two significant digits:
// "1.6 trillion", "1.2 × 10^21". n must not be negative.
func Large(n float64) string {
	if n < 999_500 {
		return Grouped(int(math.Round(n)))
	}
	mantissa, exponent, _ := strings.Cut(strconv.FormatFloat(n, 'e', 1, 64), "e+")
	power, _ := strconv.Atoi(exponent)
	if power >= 15 {
		return fmt.Sprintf("%s × 10^%d", mantissa, power)
	}
	scale, _ := strconv.ParseFloat(fmt.Sprintf("%se%d", mantissa, power%3), 64)
	name := [...]string{"million", "billion", "trillion"}[power/3-2]
	return strconv.FormatFloat(scale, 'f', -1, 64) + " " + name
}

// Percentage formats a share from 0 to 1 with two significant digits, or three if it is at least 99.5%: "4.2%", "100%".
func Percentage(share float64) string {
	digits := 2
	if share >= 0.995 {
		digits = 3
	}
	return strconv.FormatFloat(100*share, 'g', digits, 64) + "%"
}

// Join joins words with commas, but puts the given separator between the last two: with " or " it returns "a, b or c".
func Join(words []string, last string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + last + words[len(words)-1]
}

// Sentence turns words into a sentence with a capital letter and a period. The words must not be empty.
func Sentence(words string) string { return history.Capital(words) + "." }

// Lasting formats a duration in a suitable unit: "350 µs", "12 ms", "1.25 s", "31.0 s".
func Lasting(t history.Time) string {
	switch {
	case t >= 10e9:
		return strconv.FormatFloat(float64(t)/1e9, 'f', 1, 64) + " s"
	case t >= 1e9:
		return strconv.FormatFloat(float64(t)/1e9, 'f', 2, 64) + " s"
	case t >= 1e6:
		return strconv.FormatFloat(float64(t)/1e6, 'f', 0, 64) + " ms"
	}
	return strconv.FormatFloat(float64(t)/1e3, 'f', 0, 64) + " µs"
}

// Instant formats an instant of true time to the millisecond, with its unit: "10.131 s".
func Instant(t history.Time) string {
	if t == history.Never {
		return Clock(t)
	}
	return Clock(t) + " s"
}

// Clock formats an instant of true time without its unit, for a column in seconds: "10.131".
func Clock(t history.Time) string {
	if t == history.Never {
		return "never"
	}
	return strconv.FormatFloat(float64(t)/1e9, 'f', 3, 64)
}

// Microseconds is like Clock, but with microseconds: "10.131042".
func Microseconds(t history.Time) string {
	if t == history.Never {
		return Clock(t)
	}
	return strconv.FormatFloat(float64(t)/1e9, 'f', 6, 64)
}

// Milliseconds formats a time in ms with one decimal, without its unit.
func Milliseconds(d time.Duration) string { return strconv.FormatFloat(float64(d)/1e6, 'f', 1, 64) }

// Decimal formats a number below a hundred with one decimal, and a larger number with none.
func Decimal(x float64) string {
	if x < 99.95 {
		return strconv.FormatFloat(x, 'f', 1, 64)
	}
	return strconv.FormatFloat(x, 'f', 0, 64)
}
