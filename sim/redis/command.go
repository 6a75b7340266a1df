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
	run   func(n *Node, args []string)
	first func(n *Node, args []string) (answered bool)
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

// commands finds a command by its name in lower or upper case.
var commands = map[string]*command{}

func init() {
	for _, table := range [][]command{ownCommands, passedCommands} {
		for i := range table {
			c := &table[i]
			commands[c.name] = c
			commands[strings.ToUpper(c.name)] = c
		}
	}
}

func findCommand(name string) *command {
	if c := commands[name]; c != nil {
		return c
	}
	return commands[strings.ToLower(name)]
}

// dispatch executes a command, or queues it in a transaction, and appends its reply to out.
func (n *Node) dispatch(args []string) {
	if len(args) == 0 {
		n.replyError("ERR fencepost: a request without a command")
		return
	}
	c := findCommand(args[0])
	trouble := refusal(c, args)
	if trouble == "" && n.repl.restricted && c.flags&write != 0 {
		trouble = n.refusesWrites()
	}
	if trouble == "" {
		trouble = n.refusesListener(c, append(args, "")[1])
	}
	if trouble != "" {
		n.refuse(c, trouble)
		return
	}
	if t := n.transaction(); t != nil && c.flags&immediate == 0 {
		t.queue = append(t.queue, append([]string(nil), args...))
		n.replyStatus("QUEUED")
		return
	}
	if !n.replaying() {
		n.expireDue()
	}
	if c.run != nil {
		c.run(n, args)
		return
	}
	if c.first == nil || !c.first(n, args) {
		n.passOn(c, args)
	}
}

// refuse answers with the error with which a command (nil: an unknown one) is refused. An open transaction will not be
// executed; an EXEC ends it.
func (n *Node) refuse(c *command, trouble string) {
	t := n.transaction()
	if c != nil && c.name == "exec" {
		trouble = "EXECABORT Transaction discarded because of: " + strings.TrimPrefix(trouble, "ERR ")
		if conn := n.conns[n.conn]; conn != nil {
			n.leave(conn)
		}
	} else if t != nil {
		t.refused = true
	}
	n.replyError(trouble)
}

// refusal is the error with which a command is refused before anything is looked at, or nothing.
func refusal(c *command, args []string) string {
	if c == nil {
		return unknown(args)
	}
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
