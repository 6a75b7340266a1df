package redis

// The commands about data: their table, and what each does to the store. Those that have to do with existence, time or
// ownership are carried out here, those that are only about values by miniredis; where that answers otherwise than
// Redis 7.0, a check in front of it gives Redis's answer (correct.go). Well-known scripts of locks are carried out in
// Go as well (twins.go), since they do what commands do.

import (
	"cmp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// flag says what is special about a command.
type flag uint16

const (
	write     flag = 1 << iota // may change data
	noScript                   // Redis does not allow it in scripts
	immediate                  // executed at once inside MULTI
	listener                   // allowed on a connection that has subscriptions
	unlessNil                  // a reply of 0 or null means that nothing was changed
	scored                     // its reply holds scores of a sorted set
	naming                     // its arguments from the third on are the fields or members that it is about
	unordered                  // its reply is an array whose order Redis leaves open; the node sorts it
	asMap                      // its reply is a map in RESP3
	asSet                      // its reply is a set in RESP3
	anyKeys                    // all its arguments are keys
	noKeys                     // none of them is
)

// command is a row of the table of commands.
type command struct {
	Name  string // lower case
	Arity int    // number of arguments with the name; negative: at least
	Flags flag
	// run carries the command out. Commands without it are passed on to miniredis, unless first has answered.
	run   func(d *store.Data, args []string)
	first func(d *store.Data, args []string) (answered bool)
	keys  keyRange // of a command that is passed on
	// checks is what a command that writes makes its change depend on, whatever its arguments are, or what one that
	// reads shows of a key; by default nothing, and the value.
	checks history.Check
	Subs   arities      // of a command with subcommands
	In     versionRange // that have it, as it stands here
}

// arities are the numbers of arguments of subcommands, counted as a command's.
type arities map[string]int

// keyRange says which arguments of a command are keys that it looks up, from first to last. A write changes no others.
type keyRange struct{ first, last int }

var (
	noKey   = keyRange{1, 0}
	oneKey  = keyRange{1, 1}
	twoKeys = keyRange{1, 2}
)

// dataCommands finds one of these commands by its name in lower case.
var dataCommands = map[string]*command{}

func init() {
	for _, c := range allCommands() {
		dataCommands[c.Name] = c
	}
}

// allCommands are the commands that are about data.
func allCommands() (list []*command) {
	for _, table := range [][]command{ownCommands, passedCommands} {
		for i := range table {
			list = append(list, &table[i])
		}
	}
	return list
}

// carryOut carries the command out on the data.
func (c *command) carryOut(d *store.Data, args []string) {
	d.Command(max(c.checks, history.CheckedNothing))
	switch {
	case c.run != nil:
		c.run(d, args)
	case c.first == nil || !c.first(d, args):
		passOn(d, c, args)
	}
}

// onlyReads are the keys that the command reads, if it does not write (CMD_READONLY in Redis).
func (c *command) onlyReads(args []string) []string {
	switch {
	case c.Flags&(write|noKeys) != 0:
		return nil
	case c.Flags&anyKeys != 0:
		return args[1:]
	}
	return args[1:2]
}

// look notes that what follows may depend on what the command has read.
func (c *command) look(d *store.Data, args []string) {
	check := cmp.Or(c.checks, history.CheckedValue)
	for _, key := range c.onlyReads(args) {
		if c.Flags&naming == 0 {
			d.Look(key, "", check)
			continue
		}
		for _, member := range args[2:] {
			d.Look(key, member, check)
		}
	}
}

// refusalOf is the error with which a server of a version refuses a command before it looks at anything, or nothing.
func (c *command) refusalOf(v Version, args []string) string {
	name, arity := c.Name, c.Arity
	if c.Subs != nil && len(args) > 1 {
		sub := strings.ToLower(args[1])
		known := false
		if arity, known = c.Subs[sub]; !known {
			return unknownSub(v, c.Name, args[1])
		}
		name += "|" + sub
	}
	if arity > 0 && len(args) != arity || len(args) < -arity {
		return wrongArity(name)
	}
	return ""
}

// wrongArity is the error for a command with too many arguments or too few.
func wrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// clip cuts what a client has sent to a length that an error quotes.
func clip(s string, limit int) string { return s[:min(len(s), limit)] }

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
