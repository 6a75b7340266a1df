package redis

import (
	"crypto/sha1"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

const maxText = 1 << 20 // maximum size of a script or a library, in bytes

// compile compiles the script if necessary. It returns an error message if the script is not valid Lua.
func (n *Node) compile(t *compiledScript) (trouble string) {
	n.engine()
	if err := n.scripts.compile(t); err != nil {
		return "ERR Error compiling script (new function): " + err.Error()
	}
	return ""
}

// engine returns the node's Lua engine.
func (n *Node) engine() *lua.Engine {
	if n.scripts.Engine == nil {
		n.scripts.Engine = lua.New(n.cfg.Version.String(), n.callFromScript)
	}
	return n.scripts.Engine
}

const tooLong = "ERR fencepost: the script is longer than a megabyte"

const errNoScript = "NOSCRIPT No matching script. Please use EVAL."

// eval implements EVAL, EVAL_RO, EVALSHA and EVALSHA_RO.
func eval(byHash, readOnly bool) func(n *Node, args []string) {
	return func(n *Node, args []string) {
		if !byHash && len(args[1]) > maxText {
			n.data.ReplyError(tooLong)
			return
		}
		if byHash && len(args[1]) != sha1.Size*2 { // Redis checks this before the number of keys
			n.data.ReplyError(errNoScript)
			return
		}
		keys, argv, trouble := scriptArgs(args)
		if trouble != "" {
			n.data.ReplyError(trouble)
			return
		}
		find := n.scripts.load
		if byHash {
			find = n.scripts.lookUp
		}
		if t := find(args[1]); t != nil {
			n.runScript(t, keys, argv, readOnly)
		} else {
			n.data.ReplyError(errNoScript)
		}
	}
}

// runScript executes a script. It uses the script's twin in Go if there is one that can handle the case, and otherwise
// Lua.
func (n *Node) runScript(t *compiledScript, keys, argv []string, readOnly bool) {
	n.inScript, n.readOnly = true, readOnly
	looks := n.data.Looks()
	defer n.data.Forget(looks)
	n.data.Command(history.CheckedNothing)
	done := t.Twin != nil && !n.needsLua() && t.Twin(n.data, keys, argv)
	n.inScript = false
	if done {
		return
	}
	n.data.Forget(looks)
	if trouble := n.compile(t); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.inLua(keys, func(resp3 bool) []byte { return n.scripts.Engine.Run(t.Lua, keys, argv, resp3) })
}

// inLua replies with the result of run, which executes a script or a function with the given keys.
func (n *Node) inLua(keys []string, run func(resp3 bool) []byte) {
	from, resp3 := len(n.data.Out), n.data.RESP3
	n.inScript, n.scriptKeys = true, keys
	reply := run(resp3)
	n.inScript, n.data.RESP3 = false, resp3
	n.data.Out = append(n.data.Out[:from], reply...)
}

// needsLua reports whether a script must be executed in Lua even if it has a twin, which is the same script written in
// Go (twins.go). A twin only reads and writes keys. It cannot be used if the script must refuse writes, if the keys
// that it reads must be remembered for a client that tracks keys, or if notifications must be published.
func (n *Node) needsLua() bool {
	return n.readOnly || n.data.Notifies != 0 || n.repl.restricted && n.refusesWrites() != "" ||
		n.tracking.remembers(n.conn)
}

// callFromScript executes a command for a script.
func (n *Node) callFromScript(args []string, resp3 bool) (reply []byte, trouble string) {
	c := n.find(args[0])
	switch {
	case c == nil:
		if refusedBecause(n.cfg.Version, strings.ToLower(args[0])) != "" {
			return nil, unknownCommand(n.cfg.Version, args)
		}
		return nil, "ERR Unknown Redis command called from script"
	case c.Flags&noScript != 0:
		return nil, "ERR This Redis command is not allowed from script"
	case c.refusalOf(n.cfg.Version, args) != "":
		return nil, "ERR Wrong number of args calling Redis command from script"
	case n.readOnly && (c.Flags&write != 0 || isOneOf(c.Name, "PUBLISH", "SPUBLISH")):
		return nil, "ERR Write commands are not allowed from read-only scripts."
	}
	if trouble := n.outOfReach(c, args); trouble != "" {
		return nil, trouble
	}
	from := len(n.data.Out)
	n.data.RESP3 = resp3
	n.dispatch(args)
	if c.run == nil { // a data command
		c.look(n.data, args)
	}
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
			n.data.ReplyBool(n.scripts.lookUp(sha) != nil)
		}
	case "flush":
		if len(args) > 3 || len(args) == 3 && !isOneOf(args[2], "SYNC", "ASYNC") {
			n.data.ReplyError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
			return
		}
		n.scripts.forget()
		n.data.ReplyOK()
	}
}

func (n *Node) loadScript(text string) {
	if len(text) > maxText {
		n.data.ReplyError(tooLong)
		return
	}
	t := n.scripts.load(text)
	if trouble := n.compile(t); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.data.ReplyBulk(t.SHA)
}
