package reporttest

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Builder builds a history. Its At method sets the true time of the following events.
type Builder struct {
	H   history.History
	now history.Time
}

// NewHistory begins a history with the given numbers of clients and servers, one lock, and 10 s leases.
func NewHistory(clients, servers int) *Builder {
	t := &Builder{}
	for i := range clients {
		t.H.Header.Clients = append(t.H.Header.Clients, history.Process(fmt.Sprintf("client-%d", i+1)))
	}
	for i := range servers {
		t.H.Header.Servers = append(t.H.Header.Servers, history.Process(fmt.Sprintf("redis-%d", i+1)))
	}
	t.H.Header.Locks = []history.Lock{"lock"}
	t.H.Header.Quorum = servers/2 + 1
	t.H.Header.TTL = history.Of(10 * time.Second)
	return t
}

// Seconds converts seconds to a time, rounded to the microsecond.
func Seconds(s float64) history.Time { return history.Time(float64(s*1e6)+0.5) * 1000 }

// At sets the true time of the following events, in seconds.
func (t *Builder) At(s float64) *Builder { t.now = Seconds(s); return t }

// Add adds an event.
func (t *Builder) Add(e history.Event) *Builder {
	e.Index, e.Time = len(t.H.Events), t.now
	if e.Lock == "" && e.Process != history.Nemesis {
		e.Lock = "lock"
	}
	t.H.Events = append(t.H.Events, e)
	t.H.Header.End = max(t.H.Header.End, t.now)
	return t
}

// Client adds a client event.
func (t *Builder) Client(p string, f history.F, ty history.Type, attempt string) *Builder {
	return t.Add(history.Event{Process: history.Process(p), F: f, Type: ty, Attempt: history.Attempt(attempt)})
}

// Fault adds the beginning or end of a fault. line describes the fault as in a plan. If it cannot be parsed, the fault
// strikes the processes in targets.
func (t *Builder) Fault(ty history.Type, line string, targets ...history.Process) *Builder {
	if f, err := nemesis.Parse(line); err == nil {
		return t.Add(history.Event{Process: history.Nemesis, Type: ty, F: history.F(f.Kind.String()), Value: line,
			Fault: f.Struck()})
	}
	f, _, _ := strings.Cut(line, " ")
	return t.Add(history.Event{Process: history.Nemesis, Type: ty, F: history.F(f), Value: line,
		Fault: &history.Fault{On: targets}})
}

// Acquire adds an acquire that is called at time from and succeeds at time to. In between, the key is set on one server
// after another. The lease ends at time until.
func (t *Builder) Acquire(from, to, until float64, attempt string, tok history.Token, servers ...int) *Builder {
	p, _, _ := strings.Cut(attempt, "/")
	t.At(from).Client(p, history.Acquire, history.Invoke, attempt)
	return t.enter(from, to, until, attempt, tok, servers...)
}

// enter adds the return of a successful acquire whose call has already been added. The attempt sends its first request
// at time sent, and is granted the lock from time granted to time until. All times are in seconds.
func (t *Builder) enter(sent, granted, until float64, attempt string, tok history.Token, servers ...int) *Builder {
	p, _, _ := strings.Cut(attempt, "/")
	g := &history.Grant{Since: Seconds(sent), Granted: Seconds(granted), Until: Seconds(until)}
	for i, n := range servers {
		server := history.Process(fmt.Sprintf("redis-%d", n))
		t.At(sent + (granted-sent)*float64(i+1)/float64(len(servers)+1))
		t.Add(history.Event{Process: server, F: history.KeySet, Type: history.OK, Of: history.Attempt(attempt),
			By: history.Attempt(attempt), Until: t.now + t.H.Header.TTL})
		g.Counted = append(g.Counted, server)
	}
	return t.At(granted).Add(history.Event{Process: history.Process(p), F: history.Acquire, Type: history.OK,
		Attempt: history.Attempt(attempt), Token: tok, Grant: g})
}

// Gone removes an attempt's key from one server after another, 1 ms apart.
func (t *Builder) Gone(why history.Why, of, by string, from float64, servers ...int) *Builder {
	for i, n := range servers {
		t.At(from + float64(0.001*float64(i))).Add(history.Event{Process: history.Process(fmt.Sprintf("redis-%d", n)),
			F: history.KeyGone, Type: history.OK, Of: history.Attempt(of), By: history.Attempt(by), Why: why})
	}
	return t
}

// use adds a read or write. The resource decides 0.4 ms after the call, and the call returns after 0.8 ms.
func (t *Builder) use(s float64, op history.F, attempt, value string, tok history.Token, refused history.Why) *Builder {
	p, _, _ := strings.Cut(attempt, "/")
	ty := history.OK
	if refused != "" {
		ty = history.Fail
	}
	sent := value
	if op == history.Read {
		sent = ""
	}
	e := history.Event{Process: history.Process(p), F: op, Attempt: history.Attempt(attempt), Token: tok}
	e.Type, e.Value = history.Invoke, sent
	t.At(s).Add(e)
	t.At(s + 0.0004).Add(history.Event{Process: history.Resource, F: history.Apply, Type: ty, Op: op,
		Of: history.Attempt(attempt), Token: tok, Value: value, Why: refused})
	e.Type, e.Value, e.Why = ty, value, refused
	return t.At(s + 0.0008).Add(e)
}

// Release adds a release that is called at time from and returns at time to. In between, the key is removed from the
// servers.
func (t *Builder) Release(from, to float64, attempt string, servers ...int) *Builder {
	p, _, _ := strings.Cut(attempt, "/")
	t.At(from).Client(p, history.Release, history.Invoke, attempt)
	if len(servers) > 0 {
		t.Gone(history.Deleted, attempt, attempt, from+0.0005, servers...)
	}
	return t.At(to).Client(p, history.Release, history.OK, attempt)
}

// find returns the index of the first event that satisfies test.
func (t *Builder) find(test func(*history.Event) bool) int {
	for i := range t.H.Events {
		if test(&t.H.Events[i]) {
			return i
		}
	}
	panic("no such event")
}

// entered returns the index of the event at which an attempt acquired the lock.
func (t *Builder) entered(attempt string) int {
	return t.find(func(e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && e.Attempt == history.Attempt(attempt)
	})
}

// applied returns the index of the event at which the resource decided on an attempt's read or write.
func (t *Builder) applied(op history.F, attempt string) int {
	return t.find(func(e *history.Event) bool {
		return e.F == history.Apply && e.Op == op && e.Of == history.Attempt(attempt)
	})
}
