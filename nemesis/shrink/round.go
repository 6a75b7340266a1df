package shrink

import "time"

// This file defines which of two numbers is rounder, and so easier to read and remember. A counterexample should use
// round numbers: "a pause of 20s" instead of "a pause of 17.386s", if the failure occurs with both.

// roughness measures how far a number is from being round: the rounder of two numbers has the smaller roughness. The
// first of the following rules that distinguishes two numbers decides which of them is rounder:
//
//   - the number with fewer significant digits
//   - the number whose last significant digit is 5, or whose only significant digit is 1 or 2
//   - the number in which the decimal place of the first digit is closer to that of 10^home
//   - the smaller number
//
// Different numbers have different roughness. n must not be negative; the roughness of 0 is 0.
func roughness(n int64, home int) int64 {
	if n == 0 {
		return 0
	}
	mantissa, digits, zeros := significant(n)
	uneven := int64(1)
	if last := mantissa % 10; last == 5 || digits == 1 && last <= 2 {
		uneven = 0
	}
	away := 2 * (digits - 1 + zeros - home) // twice the distance of the first digit from home; odd if it is below home
	if away < 0 {
		away = -away - 1
	}
	// The mantissa has at most 14 digits: the largest duration is a day, in nanoseconds.
	return ((2*int64(digits)+uneven)*64+int64(away))*100_000_000_000_000 + mantissa
}

// significant returns the digits of n without trailing zeros, the number of these digits, and the number of trailing
// zeros.
func significant(n int64) (mantissa int64, digits, zeros int) {
	for mantissa = n; mantissa%10 == 0; mantissa /= 10 {
		zeros++
	}
	for rest := mantissa; rest > 0; rest /= 10 {
		digits++
	}
	return mantissa, digits, zeros
}

// rounder returns numbers that may be rounder than n, so that they can be tried instead. They are n rounded down and up
// to fewer digits, and to a last digit of 0 or 5. If n has only one digit, they also include the numbers with other
// digits. In addition, the list contains 1, 2 and 5 times each power of ten from 10^lowest to 10^highest. It may
// contain duplicates, and numbers that are not rounder than n. For 0, the list is empty. n must not be negative.
func rounder(n int64, lowest, highest int) []int64 {
	if n == 0 {
		return nil
	}
	var list []int64
	_, digits, zeros := significant(n)
	for kept := 1; kept <= digits; kept++ {
		unit := power(zeros + digits - kept)
		list = append(list, n/unit*unit, n/unit*unit+unit)
		if kept > 1 {
			list = append(list, n/(5*unit)*(5*unit), n/(5*unit)*(5*unit)+5*unit)
		}
	}
	for digit := int64(1); digits == 1 && digit <= 9; digit++ {
		list = append(list, digit*power(zeros))
	}
	for tens := lowest; tens <= highest; tens++ {
		list = append(list, power(tens), 2*power(tens), 5*power(tens))
	}
	return list
}

func power(tens int) int64 {
	p := int64(1)
	for range tens {
		p *= 10
	}
	return p
}

// second is the exponent of one second, which is 10^9 ns. Durations near a second count as the roundest.
const second = 9

func durationRoughness(d time.Duration) int64 { return roughness(int64(max(d, -d)), second) }

// rounderDurations returns round durations, both near d and from 1 ms to 500 s. All have the same sign as d.
func rounderDurations(d time.Duration) []time.Duration {
	sign := time.Duration(1)
	if d < 0 {
		sign = -1
	}
	var list []time.Duration
	for _, n := range rounder(int64(d*sign), second-3, second+2) {
		list = append(list, time.Duration(n)*sign)
	}
	return list
}

// weaker returns drifts that are rounder than ppm and have the same sign.
func weaker(ppm int) []int {
	sign := 1
	if ppm < 0 {
		sign = -1
	}
	var list []int
	for _, n := range rounder(int64(ppm*sign), 0, 5) {
		list = append(list, int(n)*sign)
	}
	return list
}

// smaller returns the numbers below n to try instead of n: first 1 to 12, then n/2, n/4 and so on, each followed by its
// difference from n, and finally n-1. For n = 100, these are 1 to 12, 50, 50, 25, 75 and 99.
func smaller(n int) []int {
	var list []int
	for i := 1; i < n && i <= 12; i++ {
		list = append(list, i)
	}
	for i := n / 2; i > 12; i /= 2 {
		list = append(list, i, n-i)
	}
	if n > 13 {
		list = append(list, n-1)
	}
	return list
}
