package redis

import "strings"

// flag says what is special about a command.
type flag uint8

const (
	write     flag = 1 << iota // may change data
	noScript                   // Redis does not allow it in scripts
	immediate                  // executed at once inside MULTI
	listener                   // allowed on a connection that has subscriptions
	unlessNil                  // a reply of 0 or null means that nothing was changed
	scored                     // its reply holds scores of a sorted set
	unordered                  // its reply is an array whose order Redis leaves open; the node sorts it
)

// command is a row of the table of commands.
type command struct {
	name  string // lower case
	arity int    // number of arguments with the name; negative: at least
	flags flag
	// run carries the command out. Commands without it are passed on to miniredis, unless first has answered.
	run   func(d *dataset, args []string)
	first func(d *dataset, args []string) (answered bool)
	keys  keyRange // of a command that is passed on
	subs  arities  // of a command with subcommands
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
		dataCommands[c.name] = c
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

// do carries the command out on the data.
func (c *command) do(d *dataset, args []string) {
	switch {
	case c.run != nil:
		c.run(d, args)
	case c.first == nil || !c.first(d, args):
		passOn(d, c, args)
	}
}

// refusal is the error with which a command is refused before anything is looked at, or nothing.
func (c *command) refusal(args []string) string {
	name, arity := c.name, c.arity
	if c.subs != nil && len(args) > 1 {
		sub := strings.ToLower(args[1])
		known := false
		if arity, known = c.subs[sub]; !known {
			return unknownSub(c.name, args[1])
		}
		name += "|" + sub
	}
	if arity > 0 && len(args) != arity || len(args) < -arity {
		return wrongArity(name)
	}
	return ""
}

func unknownSub(command, sub string) string {
	return "ERR unknown subcommand '" + clip(sub, 128) + "'. Try " + strings.ToUpper(command) + " HELP."
}

func wrongArity(name string) string {
	return "ERR wrong number of arguments for '" + name + "' command"
}

// unknown is the error for a command that Redis does not have, or that fencepost does not simulate.
func unknown(args []string) string {
	name := strings.ToLower(args[0])
	if why, ok := notSimulated[name]; ok {
		return "ERR fencepost: " + strings.ToUpper(name) + " is not simulated: " + why
	}
	var b strings.Builder
	b.WriteString("ERR unknown command '" + clip(args[0], 128) + "', with args beginning with: ")
	for i, a := range args[1:] {
		if i == 20 || b.Len() > 256 {
			break
		}
		b.WriteString("'" + clip(a, 128) + "' ")
	}
	return b.String()
}

func clip(s string, limit int) string { return s[:min(len(s), limit)] }
