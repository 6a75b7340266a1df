package redis

// This file defines data commands. A data command describes what a Redis command does to the store. This package
// implements the commands on strings, on whole keys and on deadlines. miniredis executes the other ones. Where
// miniredis's replies differ from Redis 7.0's, a check runs first and gives Redis's reply (correct.go). Scripts that
// many locks use are also implemented in Go (twins.go): like commands, they only find, compare and change keys.

import (
	"cmp"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// flag is a property of a command.
type flag uint16

const (
	write     flag = 1 << iota // the command may change data
	noScript                   // Redis does not allow the command in scripts
	immediate                  // inside MULTI, the command is executed immediately
	listener                   // the command is allowed on a connection with subscriptions
	unlessNil                  // some replies mean that nothing was changed (see saysNothing)
	scored                     // the reply contains a sorted set's scores
	naming                     // all arguments after the key are fields or members
	unordered                  // the reply is an array whose order Redis does not define; the node sorts it
	asMap                      // the reply is a map in RESP3
	asSet                      // the reply is a set in RESP3
	calls                      // the command calls a function
)

// command is an entry in one of the command tables (commands.go, table.go).
type command struct {
	Name  string // in lower case
	Arity int    // number of arguments including the name; negative: at least that many
	Flags flag
	// run executes the command. If run is nil, miniredis executes the command, unless the "first" field holds a
	// function that has already replied.
	run   func(d *store.Data, args []string)
	first func(d *store.Data, args []string) (answered bool)
	keys  keyRange // the default is the first argument for a data command, and none for other commands
	// checks says what the command checks about a key in the step in which it changes the key. If the command only
	// reads, it says what the reply shows about the key. It does not depend on the arguments. By default, writing
	// commands check nothing and reading commands check the value.
	checks history.Check
	Subs   arities // the subcommands, if the command has any
	// writers are the subcommands that may change data.
	writers []string
	In      versionRange // versions that have the command in this form
}

// arities maps each subcommand to its number of arguments, including the command and the subcommand. A negative number
// is a minimum.
type arities map[string]int

// keyRange specifies which of a command's arguments are keys, as COMMAND INFO does: the arguments from first to last,
// in steps of step. A negative last counts from the end. Apart from FLUSHALL and FLUSHDB, a data command does not
// change any keys outside this range.
type keyRange struct{ first, last, step int }

var (
	noKey      = keyRange{1, 0, 1}
	oneKey     = keyRange{1, 1, 1}
	twoKeys    = keyRange{1, 2, 1}
	allKeys    = keyRange{1, -1, 1}
	keysValues = keyRange{1, -1, 2} // keys and values alternate
	keysLast   = keyRange{1, -2, 1} // all arguments are keys except the last
)

// Keyed is a command that has keys. The keys are the arguments from First to Last, in steps of Step. A negative Last
// counts from the end.
type Keyed struct {
	Name              string // lower case
	First, Last, Step int
	Reads             bool // the command does not change its keys
}

// Keys lists the simulated commands that have keys, for all versions.
func Keys() (list []Keyed) {
	add := func(c *command, standard keyRange) {
		at := c.keys
		if at == (keyRange{}) {
			at = standard
		}
		if at.last != 0 {
			list = append(list, Keyed{c.Name, at.first, at.last, at.step, c.Flags&write == 0})
		}
	}
	for _, c := range allCommands() {
		add(c, oneKey)
	}
	for i := range nodeCommands {
		add(nodeCommands[i].command, noKey)
	}
	return list
}

// dataCommands maps lower-case names to data commands.
var dataCommands = map[string]*command{}

func init() {
	for _, c := range allCommands() {
		dataCommands[c.Name] = c
	}
}

func allCommands() (list []*command) {
	for _, table := range [][]command{ownCommands, passedCommands} {
		for i := range table {
			list = append(list, &table[i])
		}
	}
	return list
}

func (c *command) carryOut(d *store.Data, args []string) {
	d.Command(max(c.checks, history.CheckedNothing))
	switch {
	case c.run != nil:
		c.run(d, args)
	case c.first == nil || !c.first(d, args):
		passOn(d, c, args)
	}
}

// onlyReads returns the keys that the command reads, or nil if it writes or has no keys (CMD_READONLY in Redis).
func (c *command) onlyReads(args []string) []string {
	switch {
	case c.Flags&write != 0 || c.keys == noKey:
		return nil
	case c.keys == allKeys:
		return args[1:]
	}
	return args[1:2]
}

// look records what the command has read, because a later command in the same script or transaction may depend on it.
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

// refusalOf returns the error reply if a server of the given version refuses the command before accessing any data. It
// returns "" if the server accepts the command.
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

// wrongArity returns the error for a command with too many or too few arguments.
func wrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// clip shortens a client's string to limit bytes, because Redis's error messages quote at most that many.
func clip(s string, limit int) string { return s[:min(len(s), limit)] }

// greeting is the parsed content of a HELLO command.
type greeting struct {
	Protocol       int64 // RESP version, 2 or 3; 0: unchanged
	Auth           bool  // authenticate with User and Password
	User, Password string
	Rename         bool // rename the connection to Name
	Name           string
}

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

// readFlags reads flags from the beginning of the arguments. It sets the flags that it finds, and returns the remaining
// arguments. The map's names are in upper case.
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

// badName returns an error if a connection name is not allowed, and "" otherwise.
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
