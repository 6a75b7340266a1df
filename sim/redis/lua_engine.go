package redis

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// luaFunction is a compiled script.
type luaFunction = *lua.LFunction

// chunk is what Redis calls a script in error messages.
const chunk = "user_script"

// maxInstructions ends a script that runs for ever. Redis would let it run, and answer BUSY to everybody else.
const maxInstructions = 5_000_000

// maxReply bounds what a script can answer, bytes.
const maxReply = 64 << 20

// engine is the Lua state of a node, kept between scripts. Scripts cannot leave anything in it: every table that
// outlives a script is sealed (lua_seal.go), and KEYS and ARGV are new each time. Only the sequence of math.random goes
// on from script to script, as in Redis 7; it starts anew with each life of the node.
type engine struct {
	n       *Node
	state   *lua.LState
	env     *lua.LTable // what scripts see as _G: empty, sealed
	globals *lua.LTable // what env shows
	sealed  map[*lua.LTable]bool
	budget  budget
	args    []string // of the current redis.call
	line    int      // in the script, of the latest error that was raised
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

func newEngine(n *Node) *engine {
	e := &engine{n: n, sealed: map[*lua.LTable]bool{}}
	e.budget.done = make(chan struct{})
	close(e.budget.done)
	e.state = lua.NewState(lua.Options{SkipOpenLibs: true, RegistrySize: 2048, RegistryMaxSize: 1 << 17, RegistryGrowStep: 2048})
	e.state.SetContext(&e.budget)
	e.openLibraries()
	return e
}

// compile turns a text into a function of the sealed environment.
func (e *engine) compile(text string) (f luaFunction, err error) {
	defer func() {
		if r := recover(); r != nil { // the compiler's way to refuse some texts
			f, err = nil, fmt.Errorf("%s: %v", chunk, r)
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
	f = e.state.NewFunctionFromProto(proto)
	f.Env = e.env
	return f, nil
}

// run executes a script and appends its reply to the node's.
func (e *engine) run(t *scriptText, keys, argv []string) {
	L := e.state
	e.globals.RawSetString("KEYS", listOf(L, keys))
	e.globals.RawSetString("ARGV", listOf(L, argv))
	e.budget.left = maxInstructions
	e.line = 1
	from := len(e.n.out)
	L.Push(t.lua)
	if err := L.PCall(0, 1, nil); err != nil {
		L.SetTop(0)
		e.n.out = e.n.out[:from]
		e.n.replyError(e.explain(err, t))
		return
	}
	e.answer(L.Get(-1), 0)
	L.SetTop(0)
	if len(e.n.out)-from > maxReply {
		e.n.out = e.n.out[:from]
		e.n.replyError("ERR fencepost: the script's reply is longer than 64 MB")
	}
}

func listOf(L *lua.LState, words []string) *lua.LTable {
	t := L.CreateTable(len(words), 0)
	for _, w := range words {
		t.Append(lua.LString(w))
	}
	return t
}

// explain is the error reply for a script that failed.
func (e *engine) explain(err error, t *scriptText) string {
	text := "ERR " + err.Error()
	if e.budget.left < 0 {
		text = "ERR fencepost: the script ran more than " + strconv.Itoa(maxInstructions) +
			" instructions; Redis would answer BUSY until SCRIPT KILL"
	} else if api, ok := err.(*lua.ApiError); ok {
		switch o := api.Object.(type) {
		case *lua.LTable:
			text = "ERR unknown error"
			if s, ok := o.RawGetString("err").(lua.LString); ok {
				text = string(s)
			}
		case lua.LString:
			text = "ERR " + string(o)
			e.line = lineOf(string(o), e.line)
		}
	}
	return text + " script: " + t.sha + ", on @" + chunk + ":" + strconv.Itoa(e.line) + "."
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
func (e *engine) raise(L *lua.LState, text string) int {
	e.line = lineOf(L.Where(1), e.line)
	L.Error(errorTable(L, text), 0)
	return 0
}

func errorTable(L *lua.LState, text string) *lua.LTable {
	t := L.CreateTable(0, 1)
	t.RawSetString("err", lua.LString(text))
	return t
}
