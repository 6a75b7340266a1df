package redis

import (
	"math"
	"math/big"
)

// timeout reads the seconds for which a command may wait, as milliseconds; 0 is for ever (getTimeoutFromObjectOrReply,
// timeout.c).
func timeout(v Version, text string) (ms int64, trouble string) {
	f, ok := parseFloat(text)
	if !ok {
		return 0, "ERR timeout is not a float or out of range"
	}
	f = new(big.Float).SetPrec(mantissa).Mul(f, big.NewFloat(1000))
	if f.Cmp(big.NewFloat(math.MaxInt64)) >= 0 || f.Cmp(big.NewFloat(math.MinInt64)) < 0 {
		if v == Redis8 && f.Sign() > 0 {
			return 0, "ERR timeout is out of range"
		}
		return 0, "ERR timeout is negative" // the conversion overflows
	}
	ms, accuracy := f.Int64()
	if accuracy == big.Below {
		ms++ // ceil
	}
	if ms < 0 {
		return 0, "ERR timeout is negative"
	}
	return ms, ""
}
