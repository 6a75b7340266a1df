// Package lua runs the scripts of a simulated Redis in gopher-lua, in isolation: no script leaves anything behind for
// the next one, and none can observe the host. The package stores no data: the creator of an [Engine] carries out the
// commands of its scripts ([Call]) and stores the scripts. It also formats numbers as C does ([FormatNumber]), and
// recognizes different spellings of the same script ([Tokens]).
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

// chunk is the name of a script in Redis's error messages.
const chunk = "user_script"

// maxInstructions ends a script that runs forever. Redis would let it run, and reply BUSY to all other clients.
const maxInstructions = 5_000_000

// maxReply is the maximum length of a script's reply in bytes.
const maxReply = 64 << 20

// Call carries out a command that a script calls. The engine reads its RESP reply before the next call. If the command
// is refused before it is executed, trouble is the error, with its code and without the leading '-', and there is no
// reply.
type Call func(args []string, resp3 bool) (reply []byte, trouble string)

// Engine is a Lua state that is kept between scripts. Scripts cannot leave anything in it: every table that outlives a
// script is sealed (seal.go), and KEYS and ARGV are new each time. Only the sequence of math.random continues from
// script to script, as in Redis 7, until the process ends ([Engine.EndLife]).
type Engine struct {
	command Call
	version string
	random  lrand48
	state   *lua.LState
	env     *lua.LTable // what scripts see as _G; it is empty and sealed
	globals *lua.LTable // the contents that are visible through env
	sealed  map[*lua.LTable]bool
	null    *lua.LUserData // cjson.null
	budget  budget
	args    []string // arguments of the current redis.call
	reply   []byte   // reply of the current script
	line    int      // line of the latest error that was raised in the script
	client3 bool     // the reply may use RESP3
	script3 bool     // the script has switched to RESP3 by redis.setresp(3)
}

// budget counts instructions. It is a context: before each instruction, gopher-lua checks whether it is done.
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

// Script is a script that was compiled for one Engine.
type Script struct {
	sha      string
	function *lua.LFunction
}

// New returns an engine for a Redis of the given version. call carries out the commands of its scripts.
func New(version string, call Call) *Engine {
	e := &Engine{command: call, version: version, random: bornWith, sealed: map[*lua.LTable]bool{}}
	e.budget.done = make(chan struct{})
	close(e.budget.done)
	e.state = lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 2048, RegistryMaxSize: 1 << 17,
		RegistryGrowStep: 2048})
	e.state.SetContext(&e.budget)
	e.openLibraries()
	return e
}

// EndLife restarts the sequence of math.random, as in a new process.
func (e *Engine) EndLife() { e.random = bornWith }

// Compile compiles a text into a function of the sealed environment. sha is the hexadecimal SHA-1 by which errors name
// the script. If the text is not Lua, the error states the line.
func (e *Engine) Compile(text, sha string) (s *Script, err error) {
	defer func() {
		if r := recover(); r != nil { // the compiler refuses some texts by a panic
			s, err = nil, fmt.Errorf("%s: %v", chunk, r)
		}
	}()
	if strings.HasPrefix(text, "#!") {
		return nil, fmt.Errorf("fencepost: flags in the first line of a script are not simulated")
	}
	tree, err := parse.Parse(strings.NewReader(text), chunk)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	proto, err := lua.Compile(tree, chunk)
	if err != nil {
		return nil, fmt.Errorf("%s", strings.TrimSpace(err.Error()))
	}
	f := e.state.NewFunctionFromProto(proto)
	f.Env = e.env
	return &Script{sha, f}, nil
}

// Run executes a script and returns its reply, in RESP3 or RESP2. The reply is valid until the next Run.
func (e *Engine) Run(s *Script, keys, argv []string, resp3 bool) (reply []byte) {
	L := e.state
	e.globals.RawSetString("KEYS", listOf(L, keys))
	e.globals.RawSetString("ARGV", listOf(L, argv))
	e.budget.left = maxInstructions
	e.line = 1
	e.client3, e.script3 = resp3, false
	e.reply = e.reply[:0]
	L.Push(s.function)
	if err := L.PCall(0, 1, nil); err != nil {
		L.SetTop(0)
		e.replyError(e.explain(err, s))
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

// explain returns the error reply for a script that failed.
func (e *Engine) explain(err error, s *Script) string {
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
		}
	}
	return text + " script: " + s.sha + ", on @" + chunk + ":" + strconv.Itoa(e.line) + "."
}

// lineOf returns the line at the start of a message ("user_script:3: …"), or otherwise if there is none.
func lineOf(message string, otherwise int) int {
	rest, ok := strings.CutPrefix(message, chunk+":")
	if !ok {
		return otherwise
	}
	digits, _, _ := strings.Cut(rest, ":")
	if line, err := strconv.Atoi(digits); err == nil {
		return line
	}
	return otherwise
}

// raise raises an error as redis.call does: as a table with the message.
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
