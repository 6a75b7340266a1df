package redis

import (
	"strings"

	"github.com/fencepost-sim/fencepost/sim/redis/command"
	"github.com/fencepost-sim/fencepost/sim/redis/lua"
)

const (
	maxScripts  = 256     // kept beyond the life that loaded them
	maxCompiled = 64      // kept compiled: a compiled script takes some 17 KB
	maxText     = 1 << 20 // bytes of one script
)

// scriptText is a script as one life of the node or several have seen it.
type scriptText struct {
	sha  string // hexadecimal SHA1 of text
	text string
	life uint64       // the life that last loaded it
	twin command.Twin // the same in Go, for well-known scripts
	lua  *lua.Script
}

// scripts are the scripts known to a node. What a life has not loaded it does not know, though its compiled form may
// be at hand.
type scripts struct {
	life     uint64
	byText   map[string]*scriptText
	bySHA    map[string]*scriptText
	compiled int
	engine   *lua.Engine // made when first needed
}

// endLife ends a life.
func (s *scripts) endLife() {
	s.forget()
	if s.engine != nil {
		s.engine.EndLife()
	}
}

// forget makes all scripts unknown, as the end of a life and SCRIPT FLUSH do.
func (s *scripts) forget() {
	s.life++
	if len(s.bySHA) > maxScripts {
		clear(s.byText)
		clear(s.bySHA)
		s.compiled = 0
	}
}

// load makes a text known to this life. It is not compiled yet.
func (s *scripts) load(text string) *scriptText {
	t := s.byText[text]
	if t == nil {
		sha := lua.SHA1Hex(text)
		t = &scriptText{sha: sha, text: text, twin: command.FindTwin(text)}
		if s.byText == nil {
			s.byText, s.bySHA = map[string]*scriptText{}, map[string]*scriptText{}
		}
		s.byText[text], s.bySHA[t.sha] = t, t
	}
	t.life = s.life
	return t
}

// known finds a script that this life has loaded.
func (s *scripts) known(sha string) *scriptText {
	t := s.bySHA[sha]
	if t == nil {
		t = s.bySHA[strings.ToLower(sha)]
	}
	if t == nil || t.life != s.life {
		return nil
	}
	return t
}

// compile has the script in compiled form; trouble is the error if its text is no Lua.
func (n *Node) compile(t *scriptText) (trouble string) {
	if t.lua != nil {
		return ""
	}
	s := &n.scripts
	if s.engine == nil {
		s.engine = lua.New(version, n.callFromScript)
	}
	if s.compiled >= maxCompiled {
		for _, other := range s.bySHA {
			other.lua = nil
		}
		s.compiled = 0
	}
	compiled, err := s.engine.Compile(t.text, t.sha)
	if err != nil {
		t.life = 0
		return "ERR Error compiling script (new function): " + err.Error()
	}
	t.lua = compiled
	s.compiled++
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
	t := n.scripts.load(args[1])
	n.runScript(t, keys, argv)
}

func evalSHA(n *Node, args []string) {
	keys, argv, trouble := command.ScriptArgs(args)
	if trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	t := n.scripts.known(args[1])
	if t == nil {
		n.data.ReplyError("NOSCRIPT No matching script. Please use EVAL.")
		return
	}
	n.runScript(t, keys, argv)
}

// runScript executes a script by its twin if it has one that takes the case on, else in Lua.
func (n *Node) runScript(t *scriptText, keys, argv []string) {
	restricted := n.repl.restricted && n.refusesWrites() != "" // Lua finds the write that is refused
	n.inScript = true
	done := t.twin != nil && !restricted && !n.tracking.Remembers(n.conn) && t.twin(n.data, keys, argv)
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
	reply := n.scripts.engine.Run(t.lua, keys, argv, resp3)
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
			n.data.ReplyBool(n.scripts.known(sha) != nil)
		}
	case "flush":
		if len(args) > 3 || len(args) == 3 && !command.IsOneOf(args[2], "SYNC", "ASYNC") {
			n.data.ReplyError("ERR SCRIPT FLUSH only support SYNC|ASYNC option")
			return
		}
		n.scripts.forget()
		n.data.ReplyOK()
	}
}

func (n *Node) loadScript(text string) {
	if len(text) > maxText {
		n.data.ReplyError("ERR fencepost: the script is longer than a megabyte")
		return
	}
	t := n.scripts.load(text)
	if trouble := n.compile(t); trouble != "" {
		n.data.ReplyError(trouble)
		return
	}
	n.data.ReplyBulk(t.sha)
}
