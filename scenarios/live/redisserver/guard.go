package redisserver

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// guard restricts a run's clients on a user's server to the run's keys. It lets a command pass only if it knows which
// of the command's arguments are keys, and all of them begin with the prefix. The guard has its own table of commands,
// and does not ask the server which arguments are keys. Before each script it inserts a prologue that applies the same
// rule to the commands that the script calls.
type guard struct {
	prefix  string
	lasts   string            // time to live, in ms, for keys that have none
	scripts map[string]string // scripts that clients have loaded, by SHA-1
}

func newGuard(prefix string, lasts time.Duration) *guard {
	return &guard{prefix, strconv.FormatInt(lasts.Milliseconds(), 10), map[string]string{}}
}

// passing contains the permitted commands that take keys: those that the simulated node supports, and those listed in
// others.
var passing = func() map[string]redis.Keyed {
	all := map[string]redis.Keyed{}
	for _, c := range slices.Concat(redis.Keys(), others) {
		all[c.Name] = c
	}
	return all
}()

var others = []redis.Keyed{
	{Name: "getbit", First: 1, Last: 1, Step: 1, Reads: true},
	{Name: "object", First: 2, Last: 2, Step: 1, Reads: true},
	{Name: "setbit", First: 1, Last: 1, Step: 1},
	{Name: "hincrbyfloat", First: 1, Last: 1, Step: 1},
	{Name: "spop", First: 1, Last: 1, Step: 1},
	{Name: "bzpopmin", First: 1, Last: -2, Step: 1},
	{Name: "bzpopmax", First: 1, Last: -2, Step: 1},
}

// keyless lists the permitted commands that do not take keys. They affect only the connection.
var keyless = strings.Fields("ping echo time hello multi exec discard unwatch info role wait waitaof command quit " +
	"subscribe unsubscribe psubscribe punsubscribe ssubscribe sunsubscribe")

// harmless lists the permitted subcommands of CLIENT. They affect only the connection.
var harmless = strings.Fields(
	"id info getname setname setinfo no-evict no-touch tracking trackinginfo caching getredir")

func keysOf(c redis.Keyed, args []string) (keys []string) {
	last := c.Last
	if last < 0 {
		last += len(args)
	}
	for i := c.First; i <= last && i < len(args); i += c.Step {
		keys = append(keys, args[i])
	}
	return keys
}

// admit returns the form in which a command is sent to the server, and the keys that it may write. If the command must
// not be sent, admit returns the reply to the client instead: an error, or the guard's own answer to SCRIPT LOAD or
// SCRIPT EXISTS.
func (g *guard) admit(name string, args []string, multi bool) (as, writes []string, answer []byte) {
	sub := ""
	if len(args) > 1 {
		sub = strings.ToLower(args[1])
	}
	c, isKeyed := passing[name]
	switch {
	case isKeyed:
		keys := keysOf(c, args)
		switch answer = g.outside(keys); {
		case len(keys) == 0:
			return nil, nil, refuses("%s needs a key", strings.ToUpper(name))
		case answer != nil || c.Reads:
			return args, nil, answer
		}
		return args, keys, nil
	case name == "eval", name == "evalsha":
		return g.script(name, args)
	case name == "script" && !multi && sub == "load" && len(args) == 3:
		g.scripts[sum(args[2])] = args[2]
		return nil, nil, sim.AppendBulk(nil, sum(args[2]))
	case name == "script" && !multi && sub == "exists":
		answer = sim.AppendArray(nil, len(args)-2)
		for _, s := range args[2:] {
			known := int64(0)
			if g.scripts[strings.ToLower(s)] != "" {
				known = 1
			}
			answer = sim.AppendInt(answer, known)
		}
		return nil, nil, answer
	case name == "publish" && len(args) > 1, name == "spublish" && len(args) > 1:
		if !strings.Contains(args[1], g.prefix) {
			return nil, nil, refuses("channel names must contain %q, but this one does not: %.64q", g.prefix, args[1])
		}
		return args, nil, nil
	case name == "client" && slices.Contains(harmless, sub), slices.Contains(keyless, name):
		return args, nil, nil
	}
	return nil, nil, refuses("%.64s is refused, because it might change or show more than the keys of the run",
		strings.ToUpper(name))
}

// script is like admit, but for EVAL and EVALSHA. It replaces either command with an EVAL of the prologue followed by
// the script. The prologue applies the guard's rule to the script's own commands.
func (g *guard) script(name string, args []string) (as, writes []string, answer []byte) {
	count := -1
	if len(args) > 2 {
		if n, err := strconv.Atoi(args[2]); err == nil {
			count = n
		}
	}
	if count < 0 || len(args)-3 < count {
		return nil, nil, refuses("%s needs a number of keys, and then the keys", strings.ToUpper(name))
	}
	text := args[1]
	if name == "evalsha" {
		var known bool
		if text, known = g.scripts[strings.ToLower(text)]; !known {
			return nil, nil, []byte("-NOSCRIPT No matching script. Please use EVAL.\r\n")
		}
	}
	if strings.HasPrefix(text, "#!") {
		return nil, nil, refuses("flags in the first line of a script are not supported")
	}
	g.scripts[sum(text)] = text
	return append([]string{"EVAL", g.prologue() + text}, args[2:]...), nil, g.outside(args[3 : 3+count])
}

// outside returns the error reply to a command that has a key without the run's prefix, or nil if all keys have the
// prefix.
func (g *guard) outside(keys []string) []byte {
	for _, key := range keys {
		if !strings.HasPrefix(key, g.prefix) {
			return refuses("keys must begin with %q, but this one does not: %.64q", g.prefix, key)
		}
	}
	return nil
}

func refuses(format string, a ...any) []byte {
	return sim.AppendLine(nil, '-', "ERR fencepost: on a server that you started, "+fmt.Sprintf(format, a...))
}

// serveGuarded carries out a request on a user's server. In the same packet, it sends a second command that gives the
// written keys a time to live. If this process is killed, the server has received either both commands or neither.
func (x *life) serveGuarded(l *link, name string, r *request) error {
	args, writes, refusal := x.s.guard.admit(name, r.args, l.multi)
	switch {
	case refusal != nil && !l.multi:
		x.do(func() { r.Reply(refusal) })
		return nil
	case refusal != nil:
		args, writes = []string{"FENCEPOST"}, nil // a command that does not exist: the server aborts the transaction
	}
	r.args = args
	switch {
	case l.multi && name == "exec":
		writes, l.writes = l.writes, nil
	case l.multi:
		writes, l.writes = nil, append(l.writes, writes...)
	}
	want, requests := l.answers(name, args), [][]string{args}
	l.limited = len(writes) > 0
	if l.limited {
		want++
		requests = append(requests, x.s.guard.limit(writes))
	}
	if l.w.send(requests...) != nil {
		return x.lose(l, r)
	}
	if !l.multi && mayBlock(name, args) { // drain will handle the reply
		l.blocked, l.want = r, want
		return nil
	}
	pushes, answer, err := l.await(want, x.Context.Done())
	if err == nil {
		answer, err = x.withoutLimit(l, answer)
	}
	if err != nil {
		return x.lost(l, r, pushes, err)
	}
	if refusal != nil {
		answer = refusal
	}
	if l.keepTransaction(name, r, answer); !l.multi {
		l.writes = nil
	}
	return x.finish(l, r, pushes, answer)
}

// withoutLimit removes the last value of a reply if it is the result of the added command that gives keys a time to
// live. If that command failed although the client's own command did not, the run ends.
func (x *life) withoutLimit(l *link, values []byte) ([]byte, error) {
	if !l.limited {
		return values, nil
	}
	last := 0
	for at := 0; at < len(values); at += resp.Size(values[at:]) {
		last = at
	}
	if v, _ := resp.Parse(values[last:]); v.Kind != ':' && values[0] != '-' {
		err := fmt.Errorf("%s refused to give the run's keys a time to live: %s", x.s.name, v.Text)
		x.Fail(err)
		return nil, err
	}
	return values[:last], nil
}

func sum(text string) string {
	s := sha1.Sum([]byte(text))
	return hex.EncodeToString(s[:])
}

// limit returns a command that gives a time to live to those of the given keys that have none.
func (g *guard) limit(keys []string) []string {
	const script = `for _, key in ipairs(KEYS) do
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, ARGV[1]) end
end
return 0`
	return append(append([]string{"EVAL", script, strconv.Itoa(len(keys))}, keys...), g.lasts)
}

// prologue returns Lua code that replaces redis.call and redis.pcall in a script with functions that apply the guard's
// rule. These functions permit the commands in the table, with keys under the prefix, and give these keys a time to
// live if they have none. They also permit a few commands that take no keys. The code also hides other ways to reach
// the real functions. It is a single line, so that the script's lines keep their numbers.
func (g *guard) prologue() string {
	var table strings.Builder
	for _, name := range slices.Sorted(maps.Keys(passing)) {
		c := passing[name]
		fmt.Fprintf(&table, "['%s']={%d,%d,%d,%t},", name, c.First, c.Last, c.Step, !c.Reads)
	}
	return strings.ReplaceAll(fmt.Sprintf(prologue, table.String(), lua(g.prefix), g.lasts), "\n", " ")
}

const prologue = `local redis, server, _G, getfenv, setfenv, loadstring, load, dofile, loadfile = (function()
local R, T, P, L = redis, {%s}, %s, %s
local lower, sub, find, tostring, select, pairs, error, rawtype = string.lower, string.sub, string.find, tostring,
select, pairs, error, type
local function denied(name, a, n)
local s = T[name]
if name == 'time' or name == 'ping' or name == 'echo' then return nil, {} end
if name == 'publish' then
if find(tostring(a[1]), P, 1, true) then return nil, {} end
return 'channel' end
if not s then return 'command' end
local last, keys = s[2], {}
if last < 0 then last = n + 1 + last end
for i = s[1], last, s[3] do
local k = a[i]
if rawtype(k) ~= 'string' or sub(k, 1, #P) ~= P then return 'key' end
if s[4] then keys[#keys + 1] = k end
end
return nil, keys end
local function guarded(call, fails)
return function(name, ...)
local why, keys = denied(lower(tostring(name)), {...}, select('#', ...))
if why then return fails('fencepost: on a server that you started, a script may not use this ' .. why .. ': '
.. tostring(name) .. ' ' .. tostring((...))) end
local answer = call(name, ...)
for _, k in pairs(keys) do
if R.call('PTTL', k) == -1 then R.call('PEXPIRE', k, L) end
end
return answer end end
local own = {call = guarded(R.call, function(text) error(text, 0) end),
pcall = guarded(R.pcall, function(text) return {err = 'ERR ' .. text} end)}
for _, name in pairs({'error_reply', 'status_reply', 'sha1hex', 'setresp', 'replicate_commands', 'log', 'LOG_DEBUG',
'LOG_VERBOSE', 'LOG_NOTICE', 'LOG_WARNING'}) do own[name] = R[name] end
return own, own end)();`

// lua quotes a string as a Lua string literal.
func lua(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(text) {
		fmt.Fprintf(&b, `\%03d`, c)
	}
	b.WriteByte('"')
	return b.String()
}
