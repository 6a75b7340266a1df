package redis

import (
	"cmp"
	"crypto/sha1"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// A lock can be stored in any type of key and acquired with many different commands. In every case, the records must
// show the same owner and, if a client removes another client's key, the same culprit. The test sends each variant in
// this file (see spelling) to a node over the wire. It compares the result with a model that knows only who holds the
// lock and until when.

const lockTTL = time.Second

// storage is a way to store a lock. In its commands, @lock and @twin stand for keys, and $owner and $ttl for values.
// The lock is free if the key @lock does not exist.
type storage struct {
	name  string
	take  []string
	owns  string // a condition in Lua that is true if the client owns the lock
	read  string // a command whose reply shows whether the client owns the lock
	shows func(reply, owner string) bool
	drop  []string // commands that delete the lock, whoever owns it
	all   string   // a command that lists the owner, and perhaps more
}

func isValue(reply, owner string) bool { return reply == owner }
func isOne(reply, _ string) bool       { return reply == "1" }
func isThere(reply, _ string) bool     { return reply != "null" }

var storages = []storage{
	{"string", []string{"SET @lock $owner PX $ttl"}, "redis.call('GET', @lock) == $owner", "GET @lock", isValue,
		[]string{"DEL @lock"}, "GET @lock"},
	{"hash field", []string{"HSET @lock who $owner", "PEXPIRE @lock $ttl"},
		"redis.call('HGET', @lock, 'who') == $owner", "HGET @lock who", isValue, []string{"DEL @lock"},
		"HGET @lock who"},
	{"hash counter", []string{"HINCRBY @lock $owner 1", "PEXPIRE @lock $ttl"},
		"redis.call('HEXISTS', @lock, $owner) == 1", "HEXISTS @lock $owner", isOne, []string{"DEL @lock"},
		"HKEYS @lock"},
	{"sorted set", []string{"ZADD @lock 1 $owner", "PEXPIRE @lock $ttl"}, "redis.call('ZSCORE', @lock, $owner)",
		"ZSCORE @lock $owner", isThere, []string{"ZREMRANGEBYRANK @lock 0 0"}, "ZRANGE @lock 0 0"},
	{"set", []string{"SADD @lock $owner", "PEXPIRE @lock $ttl"}, "redis.call('SISMEMBER', @lock, $owner) == 1",
		"SISMEMBER @lock $owner", isOne, []string{"DEL @lock"}, "SMEMBERS @lock"},
	{"list", []string{"LPUSH @lock $owner", "PEXPIRE @lock $ttl"}, "redis.call('LINDEX', @lock, 0) == $owner",
		"LINDEX @lock 0", isValue, []string{"LPOP @lock"}, "LINDEX @lock 0"},
	{"several keys", []string{"SET @twin $owner PX $ttl", "SET @lock $owner PX $ttl"},
		"redis.call('GET', @lock) == $owner", "GET @lock", isValue, []string{"DEL @twin @lock"}, "GET @lock"},
}

// forms lists the ways to send commands: as plain commands, in a transaction, and in scripts.
var forms = []string{"commands", "MULTI", "EVAL", "EVALSHA"}

// spelling is one way to implement the lock.
type spelling struct {
	storage
	form     string
	reversed bool // whether the order of keys and of arguments is reversed
	release  releasing
	value    func(client string, n int) string
}

// releasing is a way to release a lock.
type releasing string

const (
	checked  releasing = "checked"   // remove the key only if the client owns it
	blind    releasing = "blind"     // remove the key, whoever owns it
	readBack releasing = "read back" // remove the key if its owner is still the one that the client has just read
)

// takesAny reports whether a release also removes a lock that belongs to another owner.
func (r releasing) takesAny() bool { return r != checked }

func (s *spelling) String() string {
	return fmt.Sprintf("%s by %s, reversed %t, release %s", s.name, s.form, s.reversed, s.release)
}

// spellings returns every combination of a storage, a way to send commands, an argument order, and a way to release the
// lock.
func spellings() (all []*spelling) {
	values := []func(string, int) string{
		func(c string, n int) string { return c + "." + strconv.Itoa(n) },
		func(c string, n int) string { return strconv.Itoa(1000*int(c[0]) + n) }, // a value that looks like a TTL
		func(c string, n int) string { return fmt.Sprintf(`{"by":%q,"n":%d}`, c, n) },
	}
	for _, k := range storages {
		for _, form := range forms {
			for _, reversed := range []bool{false, true} {
				for _, r := range []releasing{checked, blind, readBack} {
					all = append(all, &spelling{k, form, reversed, r, values[len(all)%len(values)]})
				}
			}
		}
	}
	return all
}

// stageOf is a node with its clients, each on its own connection.
type stageOf struct {
	*machine
	*spelling
	callers sim.Callers
	clients map[string]*asker
	told    int // number of records passed to callers so far
}

// asker is a client with its connection to the node.
type asker struct {
	sim.Line
	stage  *stageOf
	name   string
	conn   uint64
	caller sim.Caller
	wire   sim.Wire
	n      int
	reply  string
	other  string // the value of another owner that the client has read; if empty, the client uses its own
	wrong  string // an error that the front end (sim.Front) reported
}

func (a *asker) Now() sim.Time  { return history.Time(a.stage.mono) }
func (a *asker) Deliver([]byte) {}

// Ask makes the node execute a request, and passes the resulting records to the front end (sim.Front).
func (a *asker) Ask(args []string, of history.Attempt, _ string) {
	m := a.stage.machine
	m.conn = a.conn
	reply := m.send(of, args...)
	for ; a.stage.told < len(m.events); a.stage.told++ {
		e := m.events[a.stage.told]
		if e.Sent = a.Now(); e.By != "" {
			a.stage.callers.Recorded(&e)
		}
	}
	a.wire.Arrived(a, []byte(*reply), sim.NewIncoming(history.Process(a.name), a.conn, of, args, nil))
	a.reply = readable(*reply)
}

// attempt returns the client's latest attempt. owner returns the value with which the client claims to own the lock.
func (a *asker) attempt() history.Attempt { return history.Attempt(a.name + "/" + strconv.Itoa(a.n)) }
func (a *asker) owner() string            { return cmp.Or(a.other, a.stage.value(a.name, a.n)) }

// do replaces the placeholders in a command and sends it.
func (a *asker) do(command string) string {
	args := strings.Fields(command)
	for i, w := range args {
		args[i] = a.word(w)
	}
	return a.send(args...)
}

func (a *asker) word(w string) string {
	switch w {
	case "$owner":
		return a.owner()
	case "$ttl":
		return strconv.FormatInt(lockTTL.Milliseconds(), 10)
	case "@lock":
		return "lock"
	case "@twin":
		return "lock:twin"
	}
	return w
}

func (a *asker) send(args ...string) string {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, w := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(w), w)
	}
	if err := a.wire.Written(a, b); err != nil {
		return err.Error()
	}
	return a.reply
}

// runIf runs the given commands if a condition is true. The spelling's form determines whether it sends them as plain
// commands, in a transaction or in a script. The condition is passed in two ways: as a Lua expression, and as a command
// with a function that judges the command's reply.
func (a *asker) runIf(lua, read string, is func(reply, owner string) bool, commands []string) bool {
	switch s := a.stage.spelling; s.form {
	case "commands":
		if read != "" && !is(a.do(read), a.owner()) {
			return false
		}
		for _, c := range commands {
			a.do(c)
		}
		return true
	case "MULTI":
		a.do("WATCH @lock")
		if read != "" && !is(a.do(read), a.owner()) {
			a.do("UNWATCH")
			return false
		}
		a.do("MULTI")
		for _, c := range commands {
			a.do(c)
		}
		return a.do("EXEC") != "null"
	}
	return a.script(lua, commands) == "1"
}

// script executes the commands with EVAL, or with EVALSHA if the script has been loaded.
func (a *asker) script(lua string, commands []string) string {
	text := "if not (" + lua + ") then return 0 end "
	for _, c := range commands {
		words := strings.Fields(c)
		for i, w := range words {
			if w[0] != '@' && w[0] != '$' {
				words[i] = "'" + w + "'"
			}
		}
		text += "redis.call(" + strings.Join(words, ", ") + ") "
	}
	text += "return 1"
	keys, args := []string{"@lock", "@twin"}, []string{"$owner", "$ttl"}
	if a.stage.reversed {
		slices.Reverse(keys)
		slices.Reverse(args)
	}
	request := []string{"EVAL", "", "2"}
	for i := range keys {
		text = strings.ReplaceAll(text, keys[i], fmt.Sprintf("KEYS[%d]", i+1))
		text = strings.ReplaceAll(text, args[i], fmt.Sprintf("ARGV[%d]", i+1))
	}
	for _, w := range slices.Concat(keys, args) {
		request = append(request, a.word(w))
	}
	if request[1] = text; a.stage.form == "EVALSHA" {
		a.send("SCRIPT", "LOAD", text)
		request[0], request[1] = "EVALSHA", fmt.Sprintf("%x", sha1.Sum([]byte(text)))
	}
	return a.send(request...)
}

// take starts a new attempt, which tries once to acquire the lock.
func (a *asker) take() bool {
	a.n++
	s := a.stage
	e := history.Event{Process: history.Process(a.name), Type: history.Invoke, F: history.Acquire, Lock: "lock"}
	s.note(e)
	a.caller.Begin(a.attempt(), a.Now())
	taken := a.runIf("redis.call('EXISTS', @lock) == 0", "EXISTS @lock",
		func(reply, _ string) bool { return reply == "0" }, s.storage.take)
	since, counted := a.caller.Try()
	if taken != slices.Equal(counted, []sim.ProcessID{"redis-1"}) || taken && since != a.Now() {
		a.wrong = fmt.Sprintf("taken %t, but it counted %v since %v", taken, counted, since)
	}
	e.Type = history.Fail
	if taken {
		e.Type, e.Attempt = history.OK, a.attempt()
		e.Grant = &history.Grant{Since: since, Granted: a.Now(), Until: since + history.Time(lockTTL)}
		for _, p := range counted {
			e.Grant.Counted = append(e.Grant.Counted, history.Process(p))
		}
	}
	s.note(e)
	return taken
}

// give releases the lock.
func (a *asker) give() {
	s := a.stage
	e := history.Event{Process: history.Process(a.name), Type: history.Invoke, F: history.Release, Lock: "lock",
		Attempt: a.attempt()}
	s.note(e)
	lua, read := s.owns, s.read
	switch s.release {
	case blind:
		lua, read = "true", ""
	case readBack:
		a.other = a.reads()
	}
	a.runIf(lua, read, s.shows, s.drop)
	a.other = ""
	e.Type = history.OK
	s.note(e)
}

// reads returns the owner value in the key. If there is no key, it returns a string that is not an owner value.
func (a *asker) reads() string { return strings.Trim(a.do(a.stage.all), "[]") }

// note records a client event.
func (s *stageOf) note(e history.Event) {
	e.Time, e.Index = history.Time(s.mono), len(s.events)
	s.events = append(s.events, e)
	s.told = len(s.events)
}

func newStage(s *spelling, names ...string) *stageOf {
	stage := &stageOf{machine: newMachine(Config{}), spelling: s, callers: front.Redis{}.Begin(),
		clients: map[string]*asker{}}
	for i, name := range names {
		a := &asker{stage: stage, name: name, conn: uint64(i + 1), caller: stage.callers.Caller(sim.ProcessID(name))}
		a.wire = a.caller.Wire("redis-1")
		stage.clients[name] = a
	}
	return stage
}

// outcome is a schedule's result: whether each acquire succeeded, and who removed whose lock.
type outcome struct {
	granted  []bool
	offenses []string // "a/1 removes b/1"
}

func (o *outcome) String() string { return fmt.Sprint(o.granted, o.offenses) }

// half is the time between two steps in a schedule. A lease ends two steps after the lock was acquired.
const half = lockTTL/2 + 10*time.Millisecond

// play executes a schedule: "a+" means that client a acquires the lock, and "a-" means that it releases the lock.
func (s *stageOf) play(schedule []string) (o outcome) {
	for _, step := range schedule {
		a := s.clients[step[:1]]
		if step[1] == '+' {
			o.granted = append(o.granted, a.take())
		} else {
			a.give()
		}
		s.sleep(half)
	}
	for _, e := range s.events {
		if (e.F == history.KeyGone || e.F == history.KeyProlonged) && e.By != "" && e.By != e.Of && e.Lock == "lock" {
			o.offenses = append(o.offenses, fmt.Sprintf("%s removes %s", e.By, e.Of))
		}
	}
	o.offenses = slices.Compact(o.offenses) // otherwise each field of a hash would count, since each has a record
	return o
}

// model returns the outcome that a lock's users would expect from a schedule.
func model(schedule []string, r releasing) (o outcome) {
	holder, ends, n := "", time.Duration(0), map[string]int{}
	for i, step := range schedule {
		now, client := time.Duration(i)*half, step[:1]
		if now >= ends {
			holder = ""
		}
		if step[1] == '+' {
			n[client]++
			free := holder == ""
			if o.granted = append(o.granted, free); free {
				holder, ends = client+"/"+strconv.Itoa(n[client]), now+lockTTL
			}
			continue
		}
		own := client + "/" + strconv.Itoa(n[client])
		if holder != "" && holder != own && r.takesAny() {
			o.offenses = append(o.offenses, own+" removes "+holder)
		}
		if holder == own || r.takesAny() {
			holder = ""
		}
	}
	return o
}

// schedules returns all schedules of a given length in which two clients acquire and release the lock. A client that
// has acquired the lock according to the model releases it in its next step, even if its lease has ended. Otherwise its
// next step is an acquire.
func schedules(length int, r releasing) (all [][]string) {
	var extend func(s []string, has map[string]bool)
	extend = func(s []string, has map[string]bool) {
		if len(s) == length {
			all = append(all, slices.Clone(s))
			return
		}
		for _, c := range []string{"a", "b"} {
			next := append(slices.Clone(s), c+"+")
			if has[c] {
				next[len(s)] = c + "-"
			}
			granted := model(next, r).granted
			extend(next, map[string]bool{c: !has[c] && granted[len(granted)-1],
				map[string]string{"a": "b", "b": "a"}[c]: has[map[string]string{"a": "b", "b": "a"}[c]]})
		}
	}
	extend(nil, map[string]bool{})
	return all
}

// TestWhoOwnsALockDoesNotDependOnItsSpelling checks that each schedule has the same outcome with every way to implement
// the lock (spelling) as in the model: which acquires succeed, who removes whose key, and the verdict on ownership.
func TestWhoOwnsALockDoesNotDependOnItsSpelling(t *testing.T) {
	length, number, offenses := testkit.Size(4, 4, 6), 0, 0
	for _, s := range spellings() {
		for _, schedule := range schedules(length, s.release) {
			if number++; number%testkit.Size(5, 1, 1) > 0 {
				continue
			}
			want := model(schedule, s.release)
			stage := newStage(s, "a", "b")
			if got := stage.play(schedule); got.String() != want.String() {
				t.Fatalf("%v: %v comes out as %v, want %v\n%s", s, schedule, &got, &want, stage.story())
			}
			offenses += len(want.offenses)
			if problem := stage.misjudged(&want); problem != "" {
				t.Fatalf("%v: %v: %s\n%s", s, schedule, problem, stage.story())
			}
		}
	}
	if offenses == 0 {
		t.Error("nobody removes another's key")
	}
}

// respellings lists, by storage name, other commands that set the storage's key.
var respellings = map[string][][]string{
	"string": {{"set @lock $owner px $ttl nx"}, {"SET @lock $owner NX EX 1"}, {"SETEX @lock 1 $owner"},
		{"PSETEX @lock $ttl $owner"}, {"SET @lock $owner", "PEXPIRE @lock $ttl"},
		{"SETNX @lock $owner", "EXPIRE @lock 1"}, {"GETSET @lock $owner", "PEXPIRE @lock $ttl NX"},
		{"MSET @lock $owner", "PEXPIRE @lock $ttl"}, {"APPEND @lock $owner", "PEXPIRE @lock $ttl"},
		{"SET @twin $owner PX $ttl", "RENAME @twin @lock"}, {"SET @twin $owner PX $ttl", "RENAMENX @twin @lock"}},
	"hash field": {{"HMSET @lock who $owner", "PEXPIRE @lock $ttl"}, {"HSETNX @lock who $owner", "EXPIRE @lock 1"},
		{"HSET @lock since 1 who $owner", "PEXPIRE @lock $ttl"}},
	"hash counter": {{"HSET @lock $owner 1", "PEXPIRE @lock $ttl"}, {"HSETNX @lock $owner 1", "EXPIRE @lock 1"}},
	"sorted set":   {{"ZADD @lock NX 1 $owner", "PEXPIRE @lock $ttl"}, {"ZINCRBY @lock 5 $owner", "EXPIRE @lock 1"}},
	"list":         {{"RPUSH @lock $owner", "PEXPIRE @lock $ttl"}},
	"several keys": {{"MSET @lock $owner @twin $owner", "PEXPIRE @twin $ttl", "PEXPIRE @lock $ttl"},
		{"SET @lock $owner PX $ttl", "SET @twin $owner PX $ttl"}},
}

// TestRespellingALockChangesNothing checks that the verdicts stay the same, including their causes and the clients that
// they name, if the commands are replaced by others that have the same effect. The owner values and the order of keys
// and arguments are changed as well.
func TestRespellingALockChangesNothing(t *testing.T) {
	told := func(s *spelling, schedule []string) string {
		stage := newStage(s, "a", "b")
		text := fmt.Sprint(stage.play(schedule))
		for _, f := range checker.Check(stage.history()).Findings {
			// Compare only violations, because some other laws can be checked for one variant of the lock but not for
			// another.
			if f.Outcome == checker.Violated {
				text += fmt.Sprintf("\n%s: %v, between %v", f.Law, f.Cause, f.Holders)
			}
		}
		return text
	}
	violations := 0
	for i, s := range spellings() {
		other := *s
		all := respellings[s.name]
		if len(all) == 0 {
			continue
		}
		for j, schedule := range schedules(4, s.release) {
			if (i+j)%testkit.Size(9, 1, 1) > 0 {
				continue
			}
			other.take = all[(i+j)%len(all)]
			other.reversed = !s.reversed
			other.value = func(c string, n int) string { return "1767" + strconv.Itoa(100*int(c[0])+n) }
			was, is := told(s, schedule), told(&other, schedule)
			if was != is {
				t.Fatalf("%v: %v\n%s\nbut by %v\n%s", s, schedule, was, other.take, is)
			}
			violations += strings.Count(is, "between")
		}
	}
	if violations == 0 {
		t.Error("no law is broken")
	}
}

// history returns what the clients and the node have recorded.
func (s *stageOf) history() *history.History {
	h := &history.History{Header: history.Header{Servers: []history.Process{"redis-1"}, Quorum: 1,
		TTL: history.Time(lockTTL), Service: history.Redis, End: history.Time(s.mono)}, Events: slices.Clone(s.events)}
	for i := range h.Events {
		if e := &h.Events[i]; e.F.IsKey() && e.Lock != "lock" {
			e.Lock = "another"
		}
	}
	return h
}

// misjudged describes how the checker misjudges a schedule, or returns "" if the verdict is right.
func (s *stageOf) misjudged(want *outcome) string {
	for _, a := range s.clients {
		if a.wrong != "" {
			return a.wrong
		}
	}
	f := checker.Check(s.history()).Of(checker.Ownership)
	switch {
	case len(want.offenses) == 0 && f.Outcome == checker.Violated:
		return f.Explanation
	case len(want.offenses) == 0:
		return ""
	case f.Outcome != checker.Violated:
		return "ownership: " + f.Outcome.String()
	}
	by, of, _ := strings.Cut(want.offenses[0], " removes ")
	holders := []history.Process{history.Process(by[:1]), history.Process(of[:1])}
	if !slices.Equal(f.Holders, holders) || f.Cause.Kind != checker.RemovedByNonOwner || f.Cause.Detail != "" {
		return fmt.Sprintf("%v between %v, want %v: %s", f.Cause, f.Holders, holders, f.Explanation)
	}
	return ""
}
