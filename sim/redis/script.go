package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/command"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

const maxText = 1 << 20 // bytes of one script

// compile has the script in compiled form; trouble is the error if its text is no Lua.
func (n *Node) compile(t *command.Script) (trouble string) {
	if n.scripts.Engine == nil {
		n.scripts.Engine = lua.New(version, n.callFromScript)
	}
	if err := n.scripts.Compile(t); err != nil {
		return "ERR Error compiling script (new function): " + err.Error()
	}
	return ""
}

func eval(n *Node, args []string) {
	if len(args[1]) > maxText {
		n.data.ReplyError("ERR fencepost: the script is longer than a megabyte")
		return
	}
	keys, argv, trouble := command.ScriptArgs(args)
	if trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	t := n.scripts.Load(args[1])
	n.runScript(t, keys, argv)
}

func evalSHA(n *Node, args []string) {
	keys, argv, trouble := command.ScriptArgs(args)
	if trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	t := n.scripts.Known(args[1])
	if t == nil {
		n.data.ReplyError("NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	n.runScript(t, keys, argv)
}

// runScript executes a script by its twin if it has one that takes the case on, else in Lua.
func (n *Node) runScript(t *command.Script, keys, argv []string) {
	restricted := n.repl.restricted && n.refusesWrites() != "" // Lua finds the write that is refused
	n.inScript = true
	done := t.Twin != nil && !restricted && !n.tracking.Remembers(n.conn) && t.Twin(n.data, keys, argv)
	n.inScript = false
	if done {
		return
	}
	if trouble := n.compile(t); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	from, resp3 := len(n.data.Out), n.data.RESP3
	n.inScript, n.scriptKeys = true, keys
	reply := n.scripts.Engine.Run(t.Lua, keys, argv, resp3)
	n.inScript, n.data.RESP3 = false, resp3
	n.data.Out = append(n.data.Out[:from], reply...)
}

// callFromScript executes a command for a script.
func (n *Node) callFromScript(args []string, resp3 bool) (reply []byte, trouble string) {
	c := findCommand(args[0])
	switch {
	case c == nil:
		if text := command.Unknown(args); len(text) > 14 && text[:14] == "ERR fencepost:" {
			return nil, text
		}
		return nil, "ERR Unknown Redis command called from script"
	case c.Flags&command.NoScript != 0:
		return nil, "ERR This Redis command is not allowed from script"
	case c.Refusal(args) != "":
		return nil, "ERR Wrong number of args calling Redis command from script"
	}
	from := len(n.data.Out)
	n.data.RESP3 = resp3
	n.dispatch(args)
	reply, n.data.Out = n.data.Out[from:], n.data.Out[:from]
	return reply, ""
}

func script(n *Node, args []string) {
	switch strings.ToLower(args[1]) {
	case "load":
		n.loadScript(args[2])
	case "exists":
		n.data.ReplyLen(len(args) - 2)
		for _, sha := range args[2:] {
			n.data.ReplyBool(n.scripts.Known(sha) != nil)
		}
	case "flush":
		if len(args) > 3 || len(args) == 3 && !command.IsOneOf(args[2], "SYNC", "ASYNC") {
			n.data.ReplyError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
			return
		}
		n.scripts.Forget()
		n.data.ReplyOK()
	}
}

func (n *Node) loadScript(text string) {
	if len(text) > maxText {
		n.data.ReplyError("ERR fencepost: the script is longer than a megabyte")
		return
	}
	t := n.scripts.Load(text)
	if trouble := n.compile(t); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.data.ReplyBulk(t.SHA)
}
