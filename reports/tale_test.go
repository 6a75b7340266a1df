package reports

import (
	"fmt"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// tale writes a history by hand: at sets the true time of what follows.
type tale struct {
	h   history.History
	now history.Time
}

func newTale(clients, servers int) *tale {
	t := &tale{}
	for i := range clients {
		t.h.Header.Clients = append(t.h.Header.Clients, history.Process(fmt.Sprintf("client-%d", i+1)))
	}
	for i := range servers {
		t.h.Header.Servers = append(t.h.Header.Servers, history.Process(fmt.Sprintf("redis-%d", i+1)))
	}
	t.h.Header.Locks = []history.Lock{"lock"}
	t.h.Header.Quorum = servers/2 + 1
	t.h.Header.TTL = history.Of(10 * time.Second)
	return t
}

func seconds(s float64) history.Time { return history.Time(s*1e6+0.5) * 1000 }

func (t *tale) at(s float64) *tale { t.now = seconds(s); return t }

func (t *tale) add(e history.Event) *tale {
	e.Index, e.Time = len(t.h.Events), t.now
	if e.Lock == "" && e.Process != history.Nemesis {
		e.Lock = "lock"
	}
	t.h.Events = append(t.h.Events, e)
	t.h.Header.End = max(t.h.Header.End, t.now)
	return t
}

func (t *tale) client(p string, f history.F, ty history.Type, attempt string) *tale {
	return t.add(history.Event{Process: history.Process(p), F: f, Type: ty, Attempt: history.Attempt(attempt)})
}

func (t *tale) fault(ty history.Type, line string, on ...history.Process) *tale {
	if f, err := nemesis.Parse(line); err == nil {
		return t.add(history.Event{Process: history.Nemesis, Type: ty, F: history.F(f.Kind.String()), Value: line, Fault: f.Struck()})
	}
	f, _, _ := strings.Cut(line, " ")
	return t.add(history.Event{Process: history.Nemesis, Type: ty, F: history.F(f), Value: line, Fault: &history.Fault{On: on}})
}

// acquire asks at from, sets the key on the servers in between, and enters at the time to.
func (t *tale) acquire(from, to, until float64, attempt string, tok history.Token, servers ...int) *tale {
	p, _, _ := strings.Cut(attempt, "/")
	t.at(from).client(p, history.Acquire, history.Invoke, attempt)
	return t.enter(from, to, until, attempt, tok, servers...)
}

// enter is the attempt of an acquire, called before, that succeeds: it asks the servers from the time from on.
func (t *tale) enter(from, to, until float64, attempt string, tok history.Token, servers ...int) *tale {
	p, _, _ := strings.Cut(attempt, "/")
	g := &history.Grant{Since: seconds(from), Granted: seconds(to), Until: seconds(until)}
	for i, n := range servers {
		server := history.Process(fmt.Sprintf("redis-%d", n))
		t.at(from + (to-from)*float64(i+1)/float64(len(servers)+1))
		t.add(history.Event{Process: server, F: history.KeySet, Type: history.OK, Of: history.Attempt(attempt),
			By: history.Attempt(attempt), Until: t.now + t.h.Header.TTL})
		g.Counted = append(g.Counted, server)
	}
	return t.at(to).add(history.Event{Process: history.Process(p), F: history.Acquire, Type: history.OK,
		Attempt: history.Attempt(attempt), Token: tok, Grant: g})
}

func (t *tale) gone(why history.Why, of, by string, from float64, servers ...int) *tale {
	for i, n := range servers {
		t.at(from + 0.001*float64(i)).add(history.Event{Process: history.Process(fmt.Sprintf("redis-%d", n)),
			F: history.KeyGone, Type: history.OK, Of: history.Attempt(of), By: history.Attempt(by), Why: why})
	}
	return t
}

// use reads or writes: the call, the resource's judgement 0.4 ms later, the return 0.8 ms later.
func (t *tale) use(s float64, op history.F, attempt, value string, tok history.Token, refused history.Why) *tale {
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
	t.at(s).add(e)
	t.at(s + 0.0004).add(history.Event{Process: history.Resource, F: history.Apply, Type: ty, Op: op,
		Of: history.Attempt(attempt), Token: tok, Value: value, Why: refused})
	e.Type, e.Value, e.Why = ty, value, refused
	return t.at(s + 0.0008).add(e)
}

func (t *tale) release(from, to float64, attempt string, servers ...int) *tale {
	p, _, _ := strings.Cut(attempt, "/")
	t.at(from).client(p, history.Release, history.Invoke, attempt)
	if len(servers) > 0 {
		t.gone(history.Deleted, attempt, attempt, from+0.0005, servers...)
	}
	return t.at(to).client(p, history.Release, history.OK, attempt)
}

// find returns the position of the first event that the test accepts.
func (t *tale) find(test func(*history.Event) bool) int {
	for i := range t.h.Events {
		if test(&t.h.Events[i]) {
			return i
		}
	}
	panic("no such event")
}

func (t *tale) entered(attempt string) int {
	return t.find(func(e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && e.Attempt == history.Attempt(attempt)
	})
}

func (t *tale) applied(op history.F, attempt string) int {
	return t.find(func(e *history.Event) bool {
		return e.F == history.Apply && e.Op == op && e.Of == history.Attempt(attempt)
	})
}

const kleppmannPause = "pause client-1 for 15s after acquired"

// kleppmann is the pause that outlives the lease.
func kleppmann() *Run {
	t := newTale(2, 5)
	t.acquire(0.001, 0.012, 9.889, "client-1/1", 0, 1, 2, 3, 4, 5)
	t.fault(history.Invoke, kleppmannPause, "client-1")
	t.at(0.013).client("client-2", history.Acquire, history.Invoke, "")
	t.gone(history.Expired, "client-1/1", "", 10.003, 1, 2, 3, 4, 5)
	t.enter(10.122, 10.131, 20.011, "client-2/9", 0, 1, 2, 3, 4, 5)
	t.use(10.132, history.Read, "client-2/9", "", 0, "")
	t.use(10.134, history.Write, "client-2/9", "client-2's", 0, "")
	t.release(10.234, 10.240, "client-2/9", 1, 2, 3, 4, 5)
	t.at(15.012).fault(history.OK, kleppmannPause, "client-1")
	t.use(15.0125, history.Read, "client-1/1", "client-2's", 0, "")
	t.use(15.014, history.Write, "client-1/1", "client-1's", 0, "")
	t.release(15.115, 15.121, "client-1/1")
	stale := []int{t.applied(history.Read, "client-2/9"), t.applied(history.Write, "client-1/1")}
	return &Run{
		Scenario: "kleppmann-gc-pause",
		Summary:  "A client pauses past its lease and writes after another client has taken over.",
		Source:   "an author, a title, https://example.org",
		Seed:     1, Digest: "9f86d081884c7d65", Plan: []string{kleppmannPause}, OK: true,
		Expected: []ExpectLine{
			{string(checker.LeaseExclusion), "holds", "holds", true},
			{string(checker.MutualExclusion), "violated by holder outlived its lease", "violated by holder outlived its lease (pause)", true},
			{string(checker.ResourceSafety), "violated", "violated by superseded holder took effect", true},
			{"fencing_token_reject_rate", "0", "0", true},
		},
		Verdict: checker.Verdict{Findings: []checker.Finding{
			{Law: checker.LeaseExclusion, Outcome: checker.Holds, Explanation: "2 leases, none overlapped."},
			{Law: checker.MutualExclusion, Outcome: checker.Violated,
				Cause:  checker.Cause{Kind: checker.HolderOutlivedLease, Detail: "pause"},
				Remedy: "a fencing token: the resource refuses a write whose token is lower than one it has seen",
				Witness: []int{t.entered("client-1/1"), t.find(func(e *history.Event) bool { return e.Process == history.Nemesis }),
					t.entered("client-2/9")},
				Explanation: "client-1 acquired the lock at 0.012 s and was told that it holds until 9.889 s. A pause struck it at " +
					"0.012 s and lasted until 15.012 s. Its keys expired on time, client-2 acquired at 10.131 s, and client-1, " +
					"which could not know, went on in its section."},
			{Law: checker.ResourceSafety, Outcome: checker.Violated,
				Cause:  checker.Cause{Kind: checker.StaleEffect},
				Remedy: "a fencing token", Witness: stale,
				Explanation: "The resource accepted a read of client-2 at 10.132 s and after it, at 15.014 s, a write of client-1, " +
					"whose grant client-2's had superseded."},
			{Law: checker.Ownership, Outcome: checker.Holds, Explanation: "5 keys deleted, each by its owner."},
			{Law: checker.TokenOrder, Explanation: "no tokens"},
			{Law: checker.DeadlockFreedom, Outcome: checker.Holds, Explanation: "nobody was stuck"},
			{Law: checker.FaultTolerance, Outcome: checker.Holds, Explanation: "2 acquisitions within the bound"},
		}},
		History: &t.h, Events: 143, Simulated: t.h.Header.End.Duration(),
		Metrics: checker.Measure(&t.h),
		Repeat:  "fencepost run kleppmann-gc-pause --seed 1",
	}
}
