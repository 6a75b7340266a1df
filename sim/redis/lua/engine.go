// Package lua runs a simulated Redis server's scripts with gopher-lua. Scripts are isolated: a script cannot affect
// later scripts and cannot observe the host. The package does not store any data: the code that creates an [Engine]
// stores the scripts, and executes the commands that they call ([Call]). The package also formats numbers as C does
// ([FormatNumber]), and recognizes equivalent variants of a script ([Tokens]).
package lua

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"

	"github.com/fencepost-sim/fencepost/sim"
)

// chunk is what Redis's error messages call a script.
const chunk = "user_script"

// maxInstructions is the number of instructions after which a script is stopped. Redis would let it keep running, and
// reply BUSY to all other clients.
const maxInstructions = 5_000_000

// maxReply is the maximum length, in bytes, of a script's reply and of a text that cjson.encode returns.
const maxReply = 64 << 20

// Call executes a command for a script. The engine reads the RESP reply before the next call. If the command is
// refused, there is no reply; instead, trouble contains the error, including its code but not the leading '-'.
type Call func(args []string, resp3 bool) (reply []byte, trouble string)

// Engine is a Lua state that runs one script after another. Scripts cannot leave anything behind in it: every table
// that outlives a script is sealed (seal.go), and KEYS and ARGV are new for each script. As in Redis 7, only
// math.random's sequence continues from script to script, until the process ends ([Engine.EndLife]).
type Engine struct {
	command Call
	version string
	random  lrand48
	state   *lua.LState
	env     *lua.LTable // the table that scripts see as _G; it is empty and sealed
	globals *lua.LTable // the fields that scripts see in env
	redis   *lua.LTable // the library redis
	library libraryState
	sealed  map[*lua.LTable]bool
	null    *lua.LUserData // the value cjson.null
	budget  budget
	args    []string // arguments of the current redis.call
	reply   []byte   // reply of the current script
	line    int      // line of the last error raised in the script
	client3 bool     // the reply may use RESP3
	script3 bool     // the script has switched to RESP3 with redis.setresp(3)
}

// budget limits the number of instructions. It implements context.Context, because gopher-lua checks before each
// instruction whether its context is done.
type budget struct {
	left int
	done chan struct{} // always closed
}

func (b *budget) Done() <-chan struct{} {
	if b.left--; b.left >= 0 {
		return nil
	}
	return b.done
}

func (b *budget) Err() error                  { return context.Canceled }
func (b *budget) Deadline() (time.Time, bool) { return time.Time{}, false }
func (b *budget) Value(any) any               { return nil }

// Script is a script compiled for one Engine.
type Script struct {
	sha      string
	function *lua.LFunction
}

// New returns an engine for a Redis server of the given version. The engine calls execute for each command that a
// script calls.
func New(version string, execute Call) *Engine {
	e := &Engine{command: execute, version: version, random: bornWith, sealed: map[*lua.LTable]bool{}}
	e.budget.done = make(chan struct{})
	close(e.budget.done)
	e.state = lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 2048, RegistryMaxSize: 1 << 17,
		RegistryGrowStep: 2048})
	e.state.SetContext(&e.budget)
	e.openLibraries()
	return e
}

// EndLife restarts math.random's sequence, because a new process is starting.
func (e *Engine) EndLife() { e.random = bornWith }

// Compile compiles a script for execution in the sealed environment. sha is the script's SHA-1 in hex, which identifies
// the script in errors. If the text is not valid Lua, the error gives the line number.
func (e *Engine) Compile(text, sha string) (s *Script, err error) {
	if strings.HasPrefix(text, "#!") {
		return nil, fmt.Errorf("fencepost: flags in the first line of a script are not simulated")
	}
	f, err := e.compile(text, chunk)
	if err != nil {
		return nil, err
	}
	f.Env = e.env
	return &Script{sha, f}, nil
}

// compile compiles Lua source code. chunk is its name in error messages.
func (e *Engine) compile(text, chunk string) (f *lua.LFunction, err error) {
	defer func() {
		if r := recover(); r != nil { // the compiler panics on some invalid texts
			f, err = nil, fmt.Errorf("%s: %v", chunk, r)
		}
	}()
	tree, err := parse.Parse(strings.NewReader(text), chunk)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	convertOperands(tree)
	proto, err := lua.Compile(tree, chunk)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	return e.state.NewFunctionFromProto(proto), nil
}

// Run runs a script and returns its reply, in RESP3 if resp3 is true and otherwise in RESP2. The reply is valid until
// the next Run.
func (e *Engine) Run(s *Script, keys, argv []string, resp3 bool) (reply []byte) {
	L := e.state
	e.globals.RawSetString("KEYS", listOf(L, keys))
	e.globals.RawSetString("ARGV", listOf(L, argv))
	L.Push(s.function)
	return e.run(0, s.sha, chunk, resp3)
}

// run calls the function on the Lua stack with the arguments that follow it. name and chunk identify the function in
// error messages.
func (e *Engine) run(arguments int, name, chunk string, resp3 bool) (reply []byte) {
	L := e.state
	e.budget.left = maxInstructions
	e.line = 1
	e.client3, e.script3 = resp3, false
	e.reply = e.reply[:0]
	if err := L.PCall(arguments, 1, nil); err != nil {
		L.SetTop(0)
		e.replyError(e.textOf(err) + " script: " + name + ", on @" + chunk + ":" + strconv.Itoa(e.line) + ".")
		return e.reply
	}
	e.answer(L.Get(-1), 0)
	L.SetTop(0)
	if len(e.reply) > maxReply {
		e.reply = e.reply[:0]
		e.replyError("ERR fencepost: the script's reply is longer than 64 MB")
	}
	return e.reply
}

func (e *Engine) replyError(text string) { e.reply = sim.AppendLine(e.reply, '-', text) }

func listOf(L *lua.LState, words []string) *lua.LTable {
	t := L.CreateTable(len(words), 0)
	for _, w := range words {
		t.Append(lua.LString(w))
	}
	return t
}

// textOf returns the text of an error raised by a script.
func (e *Engine) textOf(err error) string {
	text := "ERR " + err.Error()
	if e.budget.left < 0 {
		text = "ERR fencepost: the script ran more than " + strconv.Itoa(maxInstructions) +
			" instructions; Redis would answer BUSY until SCRIPT KILL"
	} else if api, ok := err.(*lua.ApiError); ok {
		switch o := api.Object.(type) {
		case *lua.LTable:
			text = "ERR unknown error"
			if said, ok := o.RawGetString("err").(lua.LString); ok {
				text = string(said)
			}
		case lua.LString:
			text = "ERR " + string(o)
			e.line = lineOf(string(o), e.line)
		default:
			text = "ERR " + e.toString(e.state, o)
		}
	}
	return text
}

// raise raises an error as redis.call does. The error is a table containing the message.
func (e *Engine) raise(L *lua.LState, text string) int {
	e.line = lineOf(L.Where(1), e.line)
	L.Error(errorTable(L, text), 0)
	return 0
}

func errorTable(L *lua.LState, text string) *lua.LTable {
	t := L.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}
