package front

import (
	"crypto/sha1"
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

const (
	acquireScript = `return redis.call("SET", KEYS[1], ARGV[1], "NX", "PX", ARGV[2])`
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then return redis.call("del",KEYS[1]) else return 0 end`
)

// line is a sim.Line that stores the requests sent on it.
type line struct {
	sim.Line
	now   sim.Time
	asked []*sim.Incoming
}

func (l *line) Now() sim.Time    { return l.now }
func (l *line) Deliver(b []byte) {}
func (l *line) Ask(args []string, of history.Attempt, _ string) {
	l.asked = append(l.asked, &sim.Incoming{Attempt: of, Args: args})
}

// resp encodes a request the way a client does.
func resp(args ...string) []byte {
	b := fmt.Appendf(nil, "*%d\r\n", len(args))
	for _, a := range args {
		b = fmt.Appendf(b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b
}

// stage is the front end (Redis) with clients. The test acts as the servers.
type stage struct {
	*testing.T
	all     sim.Callers
	clients map[string]sim.Caller
	lines   map[string]*line
	wires   map[string]sim.Wire
	now     sim.Time
}

func newStage(t *testing.T) *stage {
	return &stage{t, Redis{}.Begin(), map[string]sim.Caller{}, map[string]*line{}, map[string]sim.Wire{}, 0}
}

func (s *stage) client(name string) sim.Caller {
	if s.clients[name] == nil {
		s.clients[name] = s.all.Caller(sim.ProcessID(name))
	}
	return s.clients[name]
}

// ask makes a client send a request to a server. It returns the request that the server receives.
func (s *stage) ask(client, server string, args ...string) *sim.Incoming {
	s.Helper()
	at := client + ">" + server
	if s.lines[at] == nil {
		s.lines[at], s.wires[at] = &line{}, s.client(client).Wire(sim.ProcessID(server))
	}
	l := s.lines[at]
	s.now++
	l.now = s.now
	if err := s.wires[at].Written(l, resp(args...)); err != nil {
		s.Fatal(err)
	}
	return l.asked[len(l.asked)-1]
}

// does has a server record an effect of the client's last request.
func (s *stage) does(server string, e history.Event) {
	e.Process, e.Lock, e.Sent, e.Type = history.Process(server), "lock", s.now, history.OK
	s.all.Recorded(&e)
}

func (s *stage) answer(client, server string, to *sim.Incoming, reply string) {
	at := client + ">" + server
	s.wires[at].Arrived(s.lines[at], []byte(reply), to)
}

// TestAConnectionBelongsToAClient checks that a request belongs to its connection's client, no matter what it contains.
// If it contains a value written by one of the client's earlier attempts, it belongs to that attempt, unless the client
// is requesting the lock.
func TestAConnectionBelongsToAClient(t *testing.T) {
	s := newStage(t)
	of := func(client string, want history.Attempt, args ...string) {
		t.Helper()
		if got := s.ask(client, "redis-1", args...).Attempt; got != want {
			t.Errorf("%v of %s is of %s, want %s", args, client, got, want)
		}
	}
	a, b := s.client("a"), s.client("b")
	a.Begin("a/1", 0)
	of("a", "a/1", "SET", "lock", "value-1", "NX")
	s.does("redis-1", history.Event{F: history.KeySet, Of: "a/1", By: "a/1", Value: "value-1"})
	a.Try()
	of("a", "a/1", "EVAL", releaseScript, "1", "lock", "value-1")
	b.Begin("b/1", 0)
	b.Try()
	for _, args := range [][]string{{"EVAL", releaseScript, "1", "lock", "value-1"}, {"DEL", "lock"},
		{"HDEL", "lock", "value-1"}, {"EVAL", "x", "1", "lock", "8000", "value-1"}} {
		of("b", "b/1", args...)
	}
	a.Begin("a/2", 0)
	of("a", "a/2", "SET", "lock", "value-2", "NX")
	s.does("redis-1", history.Event{F: history.KeySet, Of: "a/2", By: "a/2", Member: "value-2", Value: "8000"})
	of("a", "a/2", "EVAL", releaseScript, "1", "lock", "value-1")
	a.Try()
	of("a", "a/1", "EVAL", releaseScript, "1", "lock", "value-1")
	of("a", "a/1", "EVAL", releaseScript, "1", "lock", "8000", "value-1")
	of("a", "a/2", "HDEL", "lock", "value-2")
	of("a", "a/2", "DEL", "lock")
	a.Begin("a/3", 0) // this client uses the same value for all attempts
	of("a", "a/3", "SET", "lock", "value-2", "NX")
	a.Try()
	of("a", "a/3", "PING")
}

// TestARequestBelongsToItsTask checks the requests of a client with several tasks. A request that is sent while a task
// is in a call belongs to that task's attempt, even if it contains another task's value. A request may also come from
// code that an earlier call has left running. Such a request belongs to the attempt whose value it contains or, if
// there is none, to the only attempt that is requesting the lock. If several attempts are requesting it, the request is
// rejected unless it is not about any key.
func TestARequestBelongsToItsTask(t *testing.T) {
	s := newStage(t)
	a := s.client("a").(sim.Tasks)
	of := func(task int, calling bool, want history.Attempt, args ...string) {
		t.Helper()
		a.Turn(task, calling)
		if got := s.ask("a", "redis-1", args...).Attempt; got != want {
			t.Errorf("%v of task %d is of %s, want %s", args, task, got, want)
		}
	}
	for i, attempt := range []history.Attempt{"a/1", "a/2"} {
		a.Turn(i+1, true)
		a.Begin(attempt, 0)
	}
	of(2, true, "a/2", "SET", "lock", "value-2", "NX")
	s.does("redis-1", history.Event{F: history.KeySet, Of: "a/2", By: "a/2", Value: "value-2"})
	of(1, true, "a/1", "SET", "lock", "value-1", "NX")
	of(0, false, "a/2", "HELLO", "3")
	of(0, false, "a/2", "PEXPIRE", "lock", "value-2")
	for _, task := range []int{0, 1} {
		a.Turn(task, false)
		err := s.wires["a>redis-1"].Written(s.lines["a>redis-1"], resp("SET", "lock", "value-3", "NX"))
		if err == nil || !strings.Contains(err.Error(), "SET was sent by a goroutine") {
			t.Errorf("task %d: %v", task, err)
		}
	}
	a.Turn(2, true)
	if since, granted := a.Try(); since != 1 || len(granted) != 1 {
		t.Errorf("task 2 has asked since %v, and was granted the lock by %v", since, granted)
	}
	of(2, false, "a/1", "SET", "lock", "value-3", "NX")
	of(1, true, "a/1", "EVAL", releaseScript, "1", "lock", "value-2")
	a.Turn(1, true)
	if _, granted := a.Try(); len(granted) > 0 {
		t.Errorf("task 1 was granted the lock by %v", granted)
	}
	of(1, false, "a/2", "EVAL", releaseScript, "1", "lock", "value-2")
	of(1, false, "a/1", "DEL", "lock")
	of(2, true, "a/2", "DEL", "lock")
}

// TestTheRoundThatAcquires checks that only the requests in the client's last try count. The effects of the requests
// determine which of them belong to that try.
func TestTheRoundThatAcquires(t *testing.T) {
	hash := fmt.Sprintf("%X", sha1.Sum([]byte(acquireScript)))
	set := []string{"SET", "lock", "v", "NX"}
	script := []string{"EVAL", acquireScript, "1", "lock", "v", "8"}
	for name, test := range map[string]struct {
		args  []string
		steps string // each step is a server, the effect and the reply; ">" separates requests
		want  string
	}{
		"at once":          {set, "redis-1 set +OK", "1 [redis-1]"},
		"at the third try": {set, "redis-1 - $-1 > redis-1 - $-1 > redis-1 set +OK", "3 [redis-1]"},
		"never":            {set, "redis-1 - $-1 > redis-1 - $-1", "0 []"},
		"by a script":      {script, "redis-1 - :0 > redis-1 set :1", "2 [redis-1]"},
		"by a script that answers otherwise": {[]string{"EVAL", acquireScript, "1", "lock", "8", "v"}, "redis-1 set :0",
			"1 [redis-1]"},
		"by its hash": {[]string{"EVALSHA", hash, "1", "lock", "v", "8"}, "redis-1 - :0 > redis-1 set :1",
			"2 [redis-1]"},
		"of a hash":              {[]string{"HSET", "lock", "v", "1"}, "redis-1 set :1", "1 [redis-1]"},
		"of its own earlier key": {script, "redis-1 keep :1", "1 [redis-1]"},
		"of a token":             {[]string{"BLPOP", "lock", "0"}, "redis-1 pop *2", "1 [redis-1]"},
		"at three servers": {set, "redis-1 set +OK > redis-2 - $-1 > redis-3 set +OK",
			"1 [redis-1 redis-3]"},
		"at three servers, at the second try": {set, "redis-1 set +OK > redis-2 - $-1 > redis-3 - $-1 > " +
			"redis-2 set +OK > redis-3 set +OK > redis-1 - $-1", "4 [redis-2 redis-3]"},
		"refused, and sent again": {set, "redis-1 set +OK > redis-2 - -LOADING > redis-2 set +OK",
			"1 [redis-1 redis-2]"},
		"not answered, and sent again": {set, "redis-1 set +OK > redis-2 - ? > redis-2 set +OK",
			"1 [redis-1 redis-2]"},
		"not answered, and found to be there": {set, "redis-1 set ? > redis-1 - $-1", "1 [redis-1]"},
		"not answered at one of three, and not counted": {set, "redis-1 set ? > redis-2 set +OK > redis-3 set +OK",
			"1 [redis-2 redis-3]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			c := s.client("c")
			c.Begin("c/0", 0)
			c.Begin("c/1", 0)
			for _, step := range strings.Split(test.steps, " > ") {
				words := strings.Fields(step)
				server := words[0]
				to := s.ask("c", server, test.args...)
				switch words[1] {
				case "set":
					s.does(server, history.Event{F: history.KeySet, Of: "c/1", By: "c/1", Value: "v"})
				case "keep":
					s.does(server, history.Event{F: history.KeyProlonged, Of: "c/0", By: "c/1"})
				case "pop":
					s.does(server, history.Event{F: history.KeyGone, Of: "d/1", By: "c/1", Why: history.Deleted,
						Checked: history.CheckedPresence})
				}
				if words[2] != "?" {
					s.answer("c", server, to, words[2]+"\r\n")
				}
			}
			since, granted := c.Try()
			if got := fmt.Sprint(int64(since), granted); got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestARoundOfSeveralKeys checks that requests for different keys on the same server belong to the same try, and that a
// second request for the same key begins the next one. The same goes for transactions, which are identified by their
// EXEC.
func TestARoundOfSeveralKeys(t *testing.T) {
	s := newStage(t)
	c := s.client("c")
	c.Begin("c/1", 0)
	for _, key := range []string{"0:lock", "1:lock", "0:lock", "1:lock"} {
		to := s.ask("c", "redis-1", "EVAL", acquireScript, "1", key, "v", "8")
		s.does("redis-1", history.Event{F: history.KeySet, Of: "c/1", By: "c/1"})
		s.answer("c", "redis-1", to, ":1\r\n")
	}
	if since, granted := c.Try(); since != 3 || len(granted) != 1 {
		t.Error(since, granted)
	}
	c.Begin("c/2", 9)
	for range 2 {
		for _, args := range [][]string{{"MULTI"}, {"ZADD", "lock", "1", "v"}, {"EXEC"}} {
			to := s.ask("c", "redis-1", args...)
			s.now--
			s.answer("c", "redis-1", to, "+OK\r\n")
		}
		s.now++
		s.does("redis-1", history.Event{F: history.KeySet, Of: "c/2", By: "c/2", Member: "v"})
	}
	if since, granted := c.Try(); since != s.now || len(granted) != 1 {
		t.Error(since, granted)
	}
}
