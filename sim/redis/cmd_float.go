package redis

import (
	"math/big"
	"strconv"
	"strings"
)

// mantissa is the precision of the long double in which Redis adds on x86-64.
const mantissa = 64

// parseFloat reads a number as strtold does.
func parseFloat(s string) (*big.Float, bool) {
	if s == "" || strings.ContainsAny(s, " \t\r\n_") {
		return nil, false
	}
	if f, err := strconv.ParseFloat(s, 64); err != nil || f != f || f-f != 0 {
		return nil, false // also infinite or not a number
	}
	v, _, err := big.ParseFloat(s, 10, mantissa, big.ToNearestEven)
	return v, err == nil
}

// formatFloat writes 17 decimals and drops zeros at the end.
func formatFloat(v *big.Float) string {
	s := v.Text('f', 17)
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// incrByFloat is INCRBYFLOAT. The key keeps its owner and deadline. Redis logs the sum as a SET with KEEPTTL; here the
// addition is repeated, which gives the same and keeps the owner.
func incrByFloat(n *Node, args []string) {
	name := args[1]
	k := n.data.keys[name]
	old := "0"
	if k != nil {
		if !k.text {
			n.replyError(errWrongType)
			return
		}
		old = n.data.get(name)
	}
	v, ok := parseFloat(old)
	by, ok2 := parseFloat(args[2])
	if !ok || !ok2 {
		n.replyError(errNotFloat)
		return
	}
	sum := formatFloat(new(big.Float).SetPrec(mantissa).Add(v, by))
	n.logCommand([]string{"INCRBYFLOAT", name, args[2]})
	n.setNumber(name, sum, k)
	n.replyBulk(sum)
}
