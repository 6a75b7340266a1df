package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// greeting is what HELLO asks for.
type greeting struct {
	Protocol       int64 // 2 or 3; 0 leaves it
	Auth           bool  // with User and Password
	User, Password string
	Rename         bool // to Name
	Name           string
}

// parseHello reads the arguments of HELLO.
func parseHello(args []string) (g greeting, trouble string) {
	if len(args) > 1 {
		v, ok := resp.ParseInt(args[1])
		switch {
		case !ok:
			return g, "ERR Protocol version is not an integer or out of range"
		case v < 2 || v > 3:
			return g, "NOPROTO unsupported protocol version"
		}
		g.Protocol = v
	}
	for i := 2; i < len(args); i++ {
		more := len(args) - 1 - i
		switch {
		case strings.EqualFold(args[i], "auth") && more >= 2:
			g.Auth, g.User, g.Password = true, args[i+1], args[i+2]
			i += 2
		case strings.EqualFold(args[i], "setname") && more >= 1:
			g.Rename, g.Name = true, args[i+1]
			if trouble := badName(g.Name); trouble != "" {
				return g, trouble
			}
			i++
		default:
			return g, "ERR Syntax error in HELLO option '" + clip(args[i], 128) + "'"
		}
	}
	return g, ""
}

// readFlags sets the flags that stand at the beginning of arguments, by their names in upper case, and returns what
// stands behind them.
func readFlags(args []string, flags map[string]*bool) (rest []string) {
	for i, a := range args {
		flag := flags[strings.ToUpper(a)]
		if flag == nil {
			return args[i:]
		}
		*flag = true
	}
	return nil
}

// badName says what is wrong with a connection's name; empty if nothing is.
func badName(name string) string {
	if strings.ContainsFunc(name, func(r rune) bool { return r < '!' || r > '~' }) {
		return "ERR Client names cannot contain spaces, newlines or special characters."
	}
	return ""
}

// scriptArgs splits the arguments of EVAL.
func scriptArgs(args []string) (keys, argv []string, trouble string) {
	count, ok := resp.ParseInt(args[2])
	switch {
	case !ok:
		return nil, nil, resp.ErrNotInt
	case count > int64(len(args)-3):
		return nil, nil, "ERR Number of keys can't be greater than number of args"
	case count < 0:
		return nil, nil, "ERR Number of keys can't be negative"
	}
	return args[3 : 3+count], args[3+count:], ""
}
