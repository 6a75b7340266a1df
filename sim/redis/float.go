package redis

import (
	"math"
	"math/big"
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Properties of the long double in which Redis does additions on x86-64: the number of mantissa bits, and the largest
// and smallest exponents.
const (
	mantissa   = 64
	greatestLD = 16384
	leastLD    = -16444
)

// parseFloat parses a number like strtold. It rejects NaN and numbers that a long double cannot represent.
func parseFloat(s string) (*big.Float, bool) {
	if s == "" || strings.ContainsAny(s, " \t\r\n\v\f_") {
		return nil, false
	}
	base := 10
	switch digits := strings.ToLower(strings.TrimLeft(s, "+-")); {
	case digits == "inf" || digits == "infinity":
		s = s[:len(s)-len(digits)] + "inf"
	case strings.HasPrefix(digits, "0x"):
		base = 0
	}
	v, _, err := big.ParseFloat(s, base, mantissa, big.ToNearestEven)
	if err != nil || outOfRange(v) {
		return nil, false
	}
	return v, true
}

func outOfRange(v *big.Float) bool {
	e := v.MantExp(nil)
	return !v.IsInf() && (e > greatestLD || v.Sign() != 0 && e < leastLD)
}

const errInfinite = "ERR increment would produce NaN or Infinity"

// formatFloat formats a number with 17 decimals and removes trailing zeros.
func formatFloat(v *big.Float) string {
	s := v.Text('f', 17)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// incrByFloat implements INCRBYFLOAT. The key keeps its owner and deadline. Redis logs the sum as a SET with KEEPTTL.
// The simulated node logs the addition instead, which has the same result and preserves the owner.
func incrByFloat(d *store.Data, args []string) {
	name := args[1]
	k, ok := findText(d, name)
	if !ok {
		return
	}
	old := "0"
	if k != nil {
		old = k.Value
	}
	v, ok := parseFloat(old)
	by, ok2 := parseFloat(args[2])
	if !ok || !ok2 {
		d.ReplyError(resp.ErrNotFloat)
		return
	}
	if v.IsInf() || by.IsInf() {
		d.ReplyError(errInfinite)
		return
	}
	total := new(big.Float).SetPrec(mantissa).Add(v, by)
	if outOfRange(total) {
		d.ReplyError(errInfinite)
		return
	}
	sum := formatFloat(total)
	d.LogCommand([]string{"INCRBYFLOAT", name, args[2]})
	d.SetNumber(name, sum, k)
	d.Notify(store.String, "incrbyfloat", name)
	d.ReplyBulk(sum)
}

// timeout parses a command's timeout, given in seconds, and returns it in milliseconds; 0 means forever
// (getTimeoutFromObjectOrReply, timeout.c).
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
		ms++ // round up
	}
	if ms < 0 {
		return 0, "ERR timeout is negative"
	}
	return ms, ""
}
