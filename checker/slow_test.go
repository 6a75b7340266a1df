package checker

import (
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// stream makes the tests use other random histories, for example: go test ./checker -run AreReadAsWritten -stream 10.
var stream = flag.Uint64("stream", 9, "the random stream of the histories that are read twice")

// TestTheLawsAreReadAsWritten checks that the checker and the literal implementation of the laws (package slow) agree
// on every law. It uses small histories that contain almost everything that a history can record, whether it makes
// sense or not.
func TestTheLawsAreReadAsWritten(t *testing.T) {
	rounds := testkit.Size(500, 2_000, 60_000)
	seen := compareReadings(t, rounds, func(g *gossip, round int) {
		g.anything(12 + round%30)
		g.rewrite()
	})
	for _, law := range Laws {
		for _, o := range []Outcome{Unchecked, Holds, Violated} {
			if n := seen[string(law)+" "+o.String()]; n < rounds/500 {
				t.Errorf("%s: %v in %d of %d rounds only", law, o, n, rounds)
			}
		}
		least := rounds / 500
		switch law {
		case FaultTolerance: // this law has one cause
			continue
		case ResourceSafety: // few histories are long enough to break this law
			least = rounds / 20_000
		}
		if n := seen["further "+string(law)]; n < least {
			t.Errorf("%s: broken by several causes in %d of %d rounds only", law, n, rounds)
		}
	}
}

// TestCausesAreReadAsWritten checks that both implementations find the same causes. It uses histories with two grants
// that overlap, and all kinds of records of their keys.
func TestCausesAreReadAsWritten(t *testing.T) {
	rounds := testkit.Size(6_000, 6_000, 60_000)
	seen := compareReadings(t, rounds, func(g *gossip, _ int) { g.twoGrants() })
	for _, kind := range []CauseKind{CountedWithoutQuorum, GrantedTwice, DeposedMaster, ValidityMiscounted,
		ExpiredEarly, LeaseNotRechecked, RemovedByNonOwner, RemovedByOwner, LostInCrash, LostInFailover, SessionExpired,
		Evicted, RemovedByOperator, CauseNotRecorded} {
		if n := sumOf(seen, string(kind)); n < rounds/6000 {
			t.Errorf("%q was the cause in %d of %d rounds only", kind, n, rounds)
		}
	}
	if late := (Cause{RemovedByOwner, LateTry}).String(); seen[late] < rounds/6000 {
		t.Errorf("%q was the cause in %d of %d rounds only", late, seen[late], rounds)
	}
}

// TestReignsAreReadAsWritten compares the two implementations on two grants from a service. Its members replace each
// other as leader, and each new leader takes over the leases.
func TestReignsAreReadAsWritten(t *testing.T) {
	rounds := testkit.Size(1_500, 6_000, 60_000)
	seen := compareReadings(t, rounds, func(g *gossip, _ int) {
		g.reigns = true
		g.twoGrants()
	})
	for _, kind := range []CauseKind{DeposedMaster, ValidityMiscounted, ExpiredEarly} {
		if n := sumOf(seen, string(kind)); n < max(1, rounds/6000) {
			t.Errorf("%q was the cause in %d of %d rounds only", kind, n, rounds)
		}
	}
}

// TestJoinedKeysAreReadAsWritten compares the two implementations on a client that does not set its own key, but
// extends another client's key, like a reader that joins other readers. A third client also gets the lock.
func TestJoinedKeysAreReadAsWritten(t *testing.T) {
	rounds := testkit.Size(750, 3_000, 60_000)
	seen := compareReadings(t, rounds, func(g *gossip, _ int) { g.joinedKey() })
	for _, kind := range []CauseKind{ValidityMiscounted, ExpiredEarly, RemovedByNonOwner, RemovedByOwner,
		CauseNotRecorded} {
		if n := sumOf(seen, string(kind)); n < rounds/100 {
			t.Errorf("%q was the cause in %d of %d rounds only", kind, n, rounds)
		}
	}
}

// compareReadings judges random histories with both implementations, and counts the outcomes and causes.
func compareReadings(t *testing.T, rounds int, fill func(g *gossip, round int)) map[string]int {
	t.Helper()
	var c Checker
	seen := map[string]int{}
	for round := range rounds {
		g := newGossip(uint64(round), *stream)
		fill(g, round)
		v := c.Check(g.h)
		read := slow.Check(g.h)
		for _, law := range Laws {
			got, want := v.Of(law), read.Of(string(law))
			seen[want.Law+" "+want.Outcome]++
			if len(got.Further) > 0 {
				seen["further "+want.Law]++
			}
			for _, b := range want.Breaches {
				seen[b.Cause]++
			}
			consistent(t, "gossip", got)
			if difference := differs(got, want); difference != "" && !(g.shared && difference != "outcome") {
				t.Fatalf("stream %d, round %d, %s: %s: the checker says\n%s\nthe law read literally %+v\n%s",
					*stream, round, law, difference, show(got), want, encoded(t, g.h))
			}
		}
	}
	return seen
}

func sumOf(seen map[string]int, prefix string) (n int) {
	for what, some := range seen {
		if strings.HasPrefix(what, prefix) {
			n += some
		}
	}
	return n
}

// differs describes how the two implementations' findings differ. It returns "" if they agree.
func differs(got Finding, want slow.Finding) string {
	if got.Law == ResourceSafety && got.Outcome == Undecided && want.Outcome == slow.Holds {
		return "" // the resource's records contradict those of the clients
	}
	var reported []slow.Reported
	for b := range got.Breaches() {
		reported = append(reported, slow.Reported{Cause: b.Cause.String(), Witness: b.Witness})
	}
	return want.Differs(got.Outcome.String(), reported)
}

func encoded(t *testing.T, h *history.History) string {
	var b strings.Builder
	if err := history.Encode(&b, h); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// gossip makes a random history. The history has three clients, each of which does one thing at a time. It also has two
// servers, a resource, and faults. The server and resource records are arbitrary.
type gossip struct {
	r       *rand.Rand
	h       *history.History
	now     history.Time
	clients [3]talker
	faults  []history.Event // active faults
	reigns  bool            // the servers are members of a service whose leader changes
	shared  bool            // several attempts have the same name, so records do not show whose key they are about
}

func newGossip(a, b uint64) *gossip {
	return &gossip{r: rand.New(rand.NewPCG(a, b)), h: &history.History{}}
}

type talker struct {
	asking, releasing bool
	lock              history.Lock
	attempt           history.Attempt
	called            history.Time
	shared            bool
	asked             int
	holds             []history.Event // the client's successful acquires
}

var (
	gossipServers = []history.Process{"redis-1", "redis-2"}
	gossipFaults  = []string{"pause client-1 for 3s at 1s", "pause redis-1 for 3s at 1s",
		"cut client-1 | redis-1 at 1s for 2s",
		"cut redis-1 -> redis-2 at 1s for 2s", "crash redis-1 losing everything at 1s, restart after 2s",
		"crash redis-2 losing unsynced writes at 1s",
		"jump redis-1 clock by +3s at 1s", "delay client-2 -> redis-1 by 1s at 1s for 5s",
		"fail over redis-1 to redis-2 at 1s",
		"slow fsync of redis-1 by 1s at 1s for 2s", "break client-1 | redis-2 before reply 1",
		"shut down redis-2 at 1s, restart after 1s",
		"expire session of client-1 at 2s", "expire session of client-3 at 2s",
		"drift client-2 clock by +1000ppm at 1s", "evict key of a on redis-1 at 1s", "flush redis-2 at 1s",
		"client pause on redis-1 for 3s at 1s"}
	gossipWhys = []history.Why{history.Expired, history.Expired, history.Deleted, history.Flushed, history.LostUnsynced,
		history.LostUnpersisted, history.LostDisk, history.Expired, history.LostInFailover,
		history.NotRecorded, history.Evicted, history.DeletedByOperator, history.FlushedByOperator}
)

// anything adds n random events.
func (g *gossip) anything(n int) {
	r := g.r
	h := &g.h.Header
	*h = history.Header{Servers: gossipServers, Quorum: 1 + r.IntN(2), TTL: history.Time(r.IntN(8)) * 1e6,
		Hold:  history.Time(r.IntN(2)) * 1e6,
		Slack: history.Time(r.IntN(3)) * 1e6, Bound: history.Time(1+r.IntN(4)) * 1e6, Uncapped: r.IntN(2) == 0,
		Locks: []history.Lock{"a"}}
	if r.IntN(3) == 0 {
		h.Groups = [][]history.Process{gossipServers}
	}
	if n%4 == 0 {
		h.Asked = map[history.Process]history.Time{}
	}
	if n%3 > 0 {
		h.Order = history.Order{Slack: history.Time(n%2) * 1e6, Turn: history.Time(1+n%5) * 1e6}
	}
	quiet := r.IntN(2) == 0 // the history has no faults
	for len(g.h.Events) < n {
		switch k := r.IntN(12); {
		case k < 7:
			g.talk(r.IntN(3))
		case k < 9:
			g.serve()
		case k < 11:
			g.apply()
		case !quiet:
			g.strike()
		}
	}
	h.End = g.now + history.Time(r.IntN(6))*1e6
}

// twoGrants adds two grants, with the servers' records of their keys before and after each.
func (g *gossip) twoGrants() {
	r := g.r
	h := &g.h.Header
	*h = history.Header{Servers: gossipServers, Quorum: 1, TTL: 9e6}
	if g.reigns || r.IntN(3) == 0 {
		h.Groups = [][]history.Process{gossipServers}
	}
	if g.reigns {
		h.Quorum = len(gossipServers)
	}
	if r.IntN(8) == 0 { // a third client that may pass the lock to one of the two
		g.clients[2].asked = 1
		e := history.Event{Process: "client-3", Type: history.Invoke, F: history.Acquire, Lock: "a"}
		g.add(e)
		e.Type, e.Attempt, e.Grant = history.OK, "client-3/1", g.grant(0)
		g.add(e)
		e.Type, e.F, e.Grant = history.Invoke, history.Release, nil
		g.add(e)
	}
	for i := range 2 {
		p := history.Process(fmt.Sprintf("client-%d", i+1))
		g.add(history.Event{Process: p, Type: history.Invoke, F: history.Acquire, Lock: "a"})
		g.clients[i].asked = 1
	}
	for _, i := range r.Perm(2) {
		for range 1 + r.IntN(7) {
			switch g.serve(); r.IntN(12) {
			case 0:
				g.strike()
			case 1:
				line := fmt.Sprintf("expire session of client-%d at 2s", i+1)
				e := history.Event{Process: history.Nemesis, Type: history.Invoke, Value: line}
				e.F, e.Fault = struck(line, nil)
				g.add(e)
			}
		}
		p := history.Process(fmt.Sprintf("client-%d", i+1))
		e := history.Event{Process: p, F: history.Acquire, Lock: "a", Attempt: history.Attempt(p + "/1"),
			Grant: g.grant(0)}
		if e.Grant.Until = e.Grant.Granted + history.Time(r.IntN(30))*1e6; r.IntN(3) == 0 {
			e.Grant.Until = e.Grant.Granted - 1e6
		}
		if g.add(e); r.IntN(4) == 0 {
			g.serve()
			e.F, e.Grant = history.Extend, g.grant(g.now)
			g.add(e)
		}
	}
	if r.IntN(8) == 0 { // each client has a member of its own
		for i := range g.h.Events {
			if e := &g.h.Events[i]; e.F.IsKey() {
				e.Member = string(e.Of)
			}
		}
	}
	h.End = g.now
}

// joinedKey adds grants to three clients. The first client sets a key. The second does not set one, but extends the
// first client's key. The third gets the lock as well. In between, the first client may release the lock, and its key
// may disappear.
func (g *gossip) joinedKey() {
	r := g.r
	g.h.Header = history.Header{Servers: gossipServers[:1], Quorum: 1, TTL: 9e6, Locks: []history.Lock{"a"}}
	hold := func(i int, f history.F, of history.Attempt) {
		p := history.Process(fmt.Sprintf("client-%d", i))
		e := history.Event{Process: p, Type: history.Invoke, F: history.Acquire, Lock: "a", Shared: i > 1}
		g.add(e)
		asked := g.now
		by := history.Attempt(p + "/1")
		g.add(history.Event{Process: "redis-1", F: f, Lock: "a", Of: cmp.Or(of, by), By: by,
			Checked: history.CheckedValue, Until: g.now + history.Time(r.IntN(20))*1e6})
		e.Type, e.Attempt = history.OK, by
		e.Grant = &history.Grant{Since: asked, Granted: g.now, Until: g.now + history.Time(4+r.IntN(20))*1e6,
			Counted: gossipServers[:1]}
		g.add(e)
	}
	hold(3, history.KeySet, "")
	hold(2, history.KeyProlonged, "client-3/1")
	if r.IntN(2) == 0 {
		g.add(history.Event{Process: "client-3", Type: history.Invoke, F: history.Release, Lock: "a",
			Attempt: "client-3/1"})
	}
	for range r.IntN(3) {
		e := history.Event{Process: "redis-1", F: history.KeyGone, Lock: "a", Of: "client-3/1",
			By: history.Attempt(fmt.Sprintf("client-%d/1", 1+r.IntN(3))), Why: history.Deleted,
			Checked: history.Check(r.IntN(int(history.CheckedLapse) + 1))}
		if r.IntN(4) == 0 {
			e.Why, e.By, e.Checked = gossipWhys[r.IntN(len(gossipWhys))], "", history.CheckNotRecorded
		}
		g.add(e)
	}
	hold(1, history.KeySet, "")
	g.h.Header.End = g.now
}

// rewrite changes the history into one that another recorder might have made. The new history records less or uses
// other names.
func (g *gossip) rewrite() {
	r, h := g.r, g.h
	if r.IntN(3) == 0 {
		return
	}
	if r.IntN(4) == 0 {
		h.Header.Clients = []history.Process{"client-1", "client-2", history.Probe}
	}
	probed := h.Header.Clients != nil
	onlyOutcomes, sameNames, noNames := r.IntN(6) == 0, r.IntN(6) == 0, r.IntN(8) == 0
	noGrants, someGrants, noTokens, members, byInfo := r.IntN(6) == 0, r.IntN(5) == 0, r.IntN(3) == 0, r.IntN(3) == 0,
		r.IntN(6) == 0
	var kept []history.Event
	for _, e := range h.Events {
		isLock := e.F == history.Acquire || e.F == history.Extend || e.F == history.Release || e.F == history.Lost
		switch {
		case isLock && onlyOutcomes && e.Type == history.Invoke:
			continue
		case e.Process == history.Nemesis && byInfo:
			e = history.Event{Index: e.Index, Time: e.Time, Process: e.Process, Type: history.Info,
				F: jepsenFaults[r.IntN(len(jepsenFaults))]}
		case isLock && noNames:
			e.Attempt = ""
		case sameNames:
			g.shared = true
			e.Attempt, e.Of, e.By = ownerName(e.Attempt), ownerName(e.Of), ownerName(e.By)
		}
		if isLock && (noGrants || someGrants && r.IntN(2) == 0) {
			e.Grant = nil
		}
		if noTokens {
			e.Token = 0
		}
		if probed && e.Process == "client-3" {
			e.Process = history.Probe
		}
		if isKey := e.F == history.KeySet || e.F == history.KeyProlonged || e.F == history.KeyGone; isKey && members {
			e.Member = []string{"", "m"}[r.IntN(2)]
		}
		if e.F == history.KeySet && r.IntN(6) == 0 {
			e.Until = history.Never
		}
		if e.F == history.Read && r.IntN(4) == 0 {
			e.Value = "unheard of"
		}
		kept = append(kept, e)
	}
	h.Events = kept
}

var jepsenFaults = []history.F{"start-partition", "stop-partition", "kill", "start", "pause", "resume", "start", "stop",
	"partition", "heal", "check-offsets"}

// ownerName returns the name that a client uses for all its attempts.
func ownerName(a history.Attempt) history.Attempt {
	name, _, _ := strings.Cut(string(a), "/")
	return history.Attempt(name)
}

func (g *gossip) add(e history.Event) {
	g.now += history.Time(g.r.IntN(3)) * 1e6
	e.Index, e.Time = 2*len(g.h.Events), g.now
	if e.Type == 0 {
		e.Type = history.OK
	}
	g.h.Events = append(g.h.Events, e)
}

func (g *gossip) talk(i int) {
	c, r := &g.clients[i], g.r
	p := history.Process(fmt.Sprintf("client-%d", i+1))
	outcome := []history.Type{history.OK, history.OK, history.OK, history.Fail, history.Info}[r.IntN(5)]
	switch k := r.IntN(16); {
	case k == 0:
		g.add(history.Event{Process: p, Type: history.Info, F: history.Crashed})
		if crash := &g.h.Events[len(g.h.Events)-1]; r.IntN(2) == 0 && crash.Time > 0 {
			crash.Until = 1 + history.Time(r.Int64N(int64(crash.Time)))/1e6*1e6
		}
		*c = talker{asked: c.asked}
	case c.asking:
		c.asking = false
		e := history.Event{Process: p, Type: outcome, F: history.Acquire, Lock: c.lock}
		if outcome == history.OK {
			e.Attempt, e.Token, e.Grant, e.Shared = c.attempt, history.Token(r.IntN(6)), g.grant(c.called), c.shared
			c.holds = append(c.holds, e)
		}
		g.add(e)
	case c.releasing:
		c.releasing = false
		g.add(history.Event{Process: p, Type: outcome, F: history.Release, Lock: c.lock, Attempt: c.attempt})
	case len(c.holds) == 0 || len(c.holds) == 1 && k < 4:
		c.asked++
		c.asking, c.lock, c.attempt, c.shared = true, history.Lock("aab"[r.IntN(3):][:1]),
			history.Attempt(fmt.Sprintf("%s/%d", p, c.asked)), r.IntN(6) == 0
		g.add(history.Event{Process: p, Type: history.Invoke, F: history.Acquire, Lock: c.lock, Shared: c.shared})
		c.called = g.now
	case k < 8:
		held := c.holds[r.IntN(len(c.holds))]
		g.add(history.Event{Process: p, F: history.Extend, Lock: held.Lock, Attempt: held.Attempt,
			Grant: g.grant(held.Time)})
	case k < 9:
		held := c.holds[0]
		g.add(history.Event{Process: p, Type: history.Info, F: history.Lost, Lock: held.Lock, Attempt: held.Attempt})
	default:
		held := c.holds[0]
		c.holds, c.releasing, c.lock, c.attempt = c.holds[1:], true, held.Lock, held.Attempt
		g.add(history.Event{Process: p, Type: history.Invoke, F: history.Release, Lock: c.lock, Attempt: c.attempt})
	}
}

// grant returns a random grant that was requested after the given time and decided by now. The grant is valid for a
// while, or was never valid.
func (g *gossip) grant(from history.Time) *history.Grant {
	since := from + history.Time(g.r.Int64N(int64(g.now-from)/1e6+1))*1e6
	granted := since + history.Time(g.r.Int64N(int64(g.now-since)/1e6+1))*1e6
	return &history.Grant{Since: since, Granted: granted, Until: granted + history.Time(g.r.IntN(9)-1)*1e6,
		Open: since/1e6%4 == 3, Told: since/1e6%4 == 1,
		Counted: [][]history.Process{gossipServers, gossipServers, gossipServers[:1], gossipServers[1:],
			nil}[g.r.IntN(5)]}
}

func (g *gossip) someAttempt() history.Attempt {
	i := g.r.IntN(3)
	return history.Attempt(fmt.Sprintf("client-%d/%d", i+1, max(1, g.clients[i].asked-g.r.IntN(2))))
}

// serve adds a record for a recent attempt's key.
func (g *gossip) serve() {
	r := g.r
	servers := gossipServers[r.IntN(2):][:1]
	if r.IntN(2) == 0 {
		servers = gossipServers
	}
	e := history.Event{F: history.KeySet, Lock: "a", Of: g.someAttempt()}
	e.By = e.Of
	if r.IntN(8) == 0 {
		e.By = g.someAttempt()
	}
	switch r.IntN(5) {
	case 0, 1:
		e.F, e.Why = history.KeyGone, gossipWhys[r.IntN(len(gossipWhys))]
	case 2:
		e.F = history.KeyProlonged
	}
	if g.reigns && r.IntN(3) == 0 {
		servers = gossipServers[r.IntN(2):][:1]
		if e.F, e.Why = history.KeyProlonged, ""; r.IntN(3) == 0 {
			e.By = "" // a new leader takes over the leases
		}
	}
	switch {
	case e.F != history.KeyGone:
		e.Until = g.now + history.Time(r.IntN(12))*1e6
	case e.Why == history.Deleted && r.IntN(4) > 0 && g.now > 1e6:
		e.Sent = history.Time(1+r.Int64N(int64(g.now)/2e6+1)) * 1e6
	}
	if n := len(g.h.Events); e.By != "" && n%3 == 0 {
		e.Checked = history.Check(n / 3 % (int(history.CheckedLapse) + 1))
	}
	for _, e.Process = range servers {
		g.add(e)
	}
}

func (g *gossip) apply() {
	r := g.r
	e := history.Event{Process: history.Resource, F: history.Apply, Op: history.Read,
		Lock: history.Lock("aab"[r.IntN(3):][:1]), Of: g.someAttempt(), Value: "0"}
	for _, o := range slices.Backward(g.h.Events) {
		if o.F == history.Apply && o.Type == history.OK && o.Lock == e.Lock {
			e.Value = o.Value
			break
		}
	}
	if r.IntN(2) == 0 {
		e.Op, e.Value = history.Write, fmt.Sprint(r.IntN(3))
	}
	if r.IntN(4) == 0 {
		e.Type, e.Why = history.Fail, history.StaleToken
	}
	if r.IntN(8) == 0 {
		e.Of = ""
	}
	if r.IntN(3) == 0 && e.Of != "" { // the key is recorded by its client
		p, _, _ := strings.Cut(string(e.Of), "/")
		e.Process, e.F, e.Attempt = history.Process(p), e.Op, e.Of
		e.Op, e.Of, e.Type = "", "", history.Type(1+r.IntN(4))
	}
	g.add(e)
}

func (g *gossip) strike() {
	if len(g.faults) > 0 && g.r.IntN(3) > 0 {
		e := g.faults[0]
		e.Type, g.faults = history.OK, g.faults[1:]
		g.add(e)
		return
	}
	e := history.Event{Process: history.Nemesis, Type: history.Invoke, Value: gossipFaults[g.r.IntN(len(gossipFaults))]}
	e.F, e.Fault = struck(e.Value, nil)
	g.add(e)
	if e.Fault.Ends {
		g.faults = append(g.faults, e)
	}
}
