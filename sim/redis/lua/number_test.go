package lua

import (
	"fmt"
	"math"
	"testing"
)

// TestNumbersAreWrittenAsCDoes compares FormatNumber with the output of printf("%.*g") in glibc.
func TestNumbersAreWrittenAsCDoes(t *testing.T) {
	for _, c := range []struct {
		f      float64
		digits int
		want   string
	}{
		{3, 17, "3"}, {-7, 14, "-7"}, {0.1, 17, "0.10000000000000001"}, {0.1, 14, "0.1"}, {0.5, 17, "0.5"},
		{1e15, 17, "1000000000000000"}, {1e15, 14, "1e+15"}, {1e17, 17, "1e+17"}, {1e100, 14, "1e+100"},
		{0.0001, 14, "0.0001"}, {0.00001, 14, "1e-05"}, {1234567, 6, "1.23457e+06"}, {100, 6, "100"},
		{math.Copysign(0, -1), 17, "-0"}, {math.Inf(1), 17, "inf"}, {math.Inf(-1), 17, "-inf"}, {math.NaN(), 17, "nan"},
	} {
		check(t, fmt.Sprint(c.f, " in ", c.digits, " digits"), FormatNumber(c.f, c.digits), c.want)
	}
}
