// Package lua runs the scripts of a simulated Redis in gopher-lua, sealed: no script leaves anything to the next, and
// none sees anything of the host. It knows no data: whoever makes an [Engine] carries out the commands of its scripts
// ([Call]), and keeps the scripts. It also writes numbers as C does ([FormatNumber]), and recognises different
// spellings of one script ([Tokens]).
//
// Known differences from Redis: the wording of Lua's own errors; numbers that are no integers below 1e15, when the
// operator .. writes them; strings as the bounds of a for loop, which are an error; the order of keys that a hash table
// has; the length of a table that is filled from its end; pairs, which shows nothing of the tables of libraries. What
// is not provided at all says so: the libraries cmsgpack, struct, bit and coroutine, and some functions of the others
// (seal.go).
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

// chunk is what Redis calls a script in error messages.
const chunk = "user_script"

// maxInstructions ends a script that runs for ever. Redis would let it run, and answer BUSY to everybody else.
const maxInstructions = 5_000_000

// maxReply bounds what a script can answer, bytes.
const maxReply = 64 << 20

// Call carries out a command that a script asks for. Its reply in RESP2 is read before the next call. trouble is an
// error before the command was tried, with its code and without the leading '-'; there is no reply then.
type Call func(args []string, resp3 bool) (reply []byte, trouble string)

// Engine is a Lua state, kept between scripts. Scripts cannot leave anything in it: every table that outlives a script
// is sealed (seal.go), and KEYS and ARGV are new each time. Only the sequence of math.random continues from script to
// script, as in Redis 7, until the process ends ([Engine.EndLife]).
type Engine struct {
	command Call
	version string
	random  lrand48
	state   *lua.LState
	env     *lua.LTable // what scripts see as _G: empty, sealed
	globals *lua.LTable // what env shows
	sealed  map[*lua.LTable]bool
	null    *lua.LUserData // cjson.null
	budget  budget
	args    []string // of the current redis.call
	reply   []byte   // of the current script
	line    int      // in the script, of the latest error that was raised
	client3 bool     // the reply may be in RESP3
	script3 bool     // the script has asked for RESP3 by redis.setresp(3)
}

// budget counts instructions: gopher-lua asks a context before each whether it is done.
type budget struct {
	left int
	done chan struct{} // closed
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

// Script is a compiled script, of one Engine.
type Script struct {
	sha      string
	function *lua.LFunction
}

// New makes an engine for scripts whose commands call carries out, of a Redis of the given version.
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

// EndLife begins the sequence of math.random anew, as a process does that is started.
func (e *Engine) EndLife() { e.random = bornWith }

// Compile turns a text into a function of the sealed environment. sha is the hexadecimal SHA1 by which errors name the
// script. A text that is no Lua is an error with its line.
func (e *Engine) Compile(text, sha string) (s *Script, err error) {
	defer func() {
		if r := recover(); r != nil { // the compiler's way to refuse some texts
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

// Run executes a script and gives its reply, in RESP3 or RESP2, which holds until the next Run.
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

// explain is the error reply for a script that failed.
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

// lineOf reads the line from the start of a message ("user_script:3: …"); without one it is otherwise.
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

// raise throws an error as redis.call does: a table with the message, uncaught if nobody catches it.
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
