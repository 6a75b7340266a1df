//go:build linux

package etcdserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// player is a client that can also inject faults.
type player struct {
	sim.Env
	w     *sim.World
	conn  int
	calls uint64 // number of calls with a single request
	said  []string
}

// patiently is the time limit for a response that must arrive.
const patiently = time.Minute

// ask sends a call to a member as part of an attempt.
func (p *player) ask(server sim.ProcessID, timeout time.Duration, of history.Attempt, c etcd.Call) (etcd.Response,
	error) {
	if c.Stream = 1; !etcd.Streaming(c.Path) {
		p.calls++
		c.Stream += 2 * p.calls
	}
	r := p.Call(timeout, nil, sim.Request{Conn: sim.Conn{Server: server, N: p.conn}, Args: c.Args(), Attempt: of,
		Phase: c.Path})[0]
	return c.Read(&r)
}

// say records a response or an error for the comparison. It omits the revision from a response about a lease, because
// that depends on what the member has applied by then.
func (p *player) say(r etcd.Response, err error) {
	if r.Lease != 0 {
		r.Revision = 0
	}
	p.said = append(p.said, shown(r, err))
}

// until repeats a call, each time on a new connection, until want returns true for the response.
func (p *player) until(server sim.ProcessID, of history.Attempt, c etcd.Call, want func(etcd.Response) bool) {
	for range 1000 {
		if r, err := p.ask(server, 3*time.Second, of, c); err == nil && want(r) {
			return
		}
		p.conn++
		p.Sleep(20 * time.Millisecond)
	}
	p.said = append(p.said, fmt.Sprintf("never as wanted: %s %q", c.Path, c.Message))
}

// insist repeats a call until it gets a response.
func (p *player) insist(server sim.ProcessID, of history.Attempt, c etcd.Call) {
	p.until(server, of, c, func(etcd.Response) bool { return true })
}

// shows waits until a member has the given value for the key.
func (p *player) shows(server sim.ProcessID, key, value string) {
	p.until(server, "", readOwn(key), func(r etcd.Response) bool { return len(r.Keys) > 0 && r.Keys[0].Value == value })
}

// lacks waits until a range call to a member does not return any keys.
func (p *player) lacks(server sim.ProcessID, c etcd.Call) {
	p.until(server, "", c, func(r etcd.Response) bool { return r.Count == 0 })
}

// readOwn returns a call that reads a key from a member's own state, without a quorum.
func readOwn(key string) etcd.Call {
	return etcd.Op{Kind: etcd.Range, Key: key, Serializable: true}.Call()
}

func get(key string) etcd.Call { return etcd.Op{Kind: etcd.Range, Key: key}.Call() }

func put(key, value string, lease int64) etcd.Call {
	return etcd.Op{Kind: etcd.Put, Key: key, Value: value, Lease: lease}.Call()
}

func remove(key string) etcd.Call { return etcd.Op{Kind: etcd.Delete, Key: key}.Call() }

// ifCreated returns a transaction that performs an operation if a key's create revision satisfies a comparison.
func ifCreated(rel byte, revision int64, o etcd.Op) etcd.Call {
	t := etcd.Txn{Conditions: []etcd.Compare{{Target: "CREATE", Key: o.Key, Rel: rel, Number: revision}},
		Then: []etcd.Op{o}}
	return t.Call()
}

// onLoop runs f on the world's goroutine.
func (p *player) onLoop(f func()) {
	p.w.At(p.w.Now(), f)
	p.Sleep(time.Millisecond)
}

// onBoth calls play with three simulated members, and then with three real ones. Both times, the client must record the
// same results, and the same keys must appear and vanish.
func onBoth(t *testing.T, play func(p *player)) {
	t.Helper()
	t.Parallel()
	testkit.Needs(t, program)
	var said [2][]string
	at := func(i int, w *sim.World) func(sim.Env) {
		return func(env sim.Env) {
			p := &player{Env: env, w: w}
			play(p)
			said[i] = p.said
		}
	}
	r := start(t, 3)
	real := fleettest.RecordsOf(r.Run(at(0, r.World)))
	simulated := fleettest.Simulated(t, addMembers(3), func(w *sim.World) func(sim.Env) { return at(1, w) })
	fleettest.SameLists(t, "answers", said[0], said[1])
	fleettest.SameLists(t, "records", real, fleettest.RecordsOf(simulated))
}

// TestKeysGo checks that keys vanish when their lease ends or is revoked, and when they are deleted.
func TestKeysGo(t *testing.T) {
	testkit.FullOnly(t)
	onBoth(t, func(p *player) {
		for i, c := range []etcd.Call{etcd.KeepLeaseAlive(1), etcd.RevokeLease(2), remove("l/3"),
			ifCreated('>', 1, etcd.Op{Kind: etcd.Delete, Key: "l/4"})} {
			id, ttl := int64(i+1), int64(60)
			key, of := fmt.Sprint("l/", id), history.Attempt(fmt.Sprint("client-1/", id))
			if i == 0 {
				ttl = 3 // this lease is meant to end
			}
			p.say(p.ask("etcd-2", patiently, of, etcd.GrantLease(ttl, id)))
			p.say(p.ask("etcd-3", patiently, of+"0", put(key, "x", id)))
			if i > 1 {
				of = "client-2/1"
			}
			p.say(p.ask("etcd-1", patiently, of, c))
			p.lacks("etcd-1", get(key))
		}
		all := etcd.Op{Kind: etcd.Range, Key: "l/", End: etcd.Prefix("l/"), Serializable: true}.Call()
		p.lacks("etcd-2", all)
		p.lacks("etcd-3", all)
	})
}

// TestALeaderThatStops checks that another leader is elected if the leader stops, and that each lease starts again with
// its full TTL. Acknowledged writes must be kept, and the member must receive what it has missed when it comes back.
func TestALeaderThatStops(t *testing.T) {
	testkit.FullOnly(t)
	for how, name := range map[sim.Stop]string{sim.PowerLoss: "power loss", sim.ShutDown: "shut down"} {
		t.Run(name, func(t *testing.T) { leaderStops(t, how) })
	}
}

func leaderStops(t *testing.T, how sim.Stop) {
	onBoth(t, func(p *player) {
		p.say(p.ask("etcd-1", patiently, "client-1/1", etcd.GrantLease(60, 7)))
		p.say(p.ask("etcd-1", patiently, "client-1/1", put("l/7", "x", 7)))
		p.shows("etcd-2", "l/7", "x")
		p.shows("etcd-3", "l/7", "x")
		p.onLoop(func() { p.w.Stop("etcd-1", how) })
		p.insist("etcd-2", "client-1/2", ifCreated('=', 0, etcd.Op{Kind: etcd.Put, Key: "m", Value: "y"}))
		p.until("etcd-3", "", etcd.AskStatus(), func(r etcd.Response) bool { return r.Revision == 3 })
		p.onLoop(func() { p.w.Restart("etcd-1") })
		p.shows("etcd-1", "m", "y")
		p.shows("etcd-3", "m", "y")
		p.insist("etcd-1", "client-2/1", remove("l/7"))
		p.lacks("etcd-2", readOwn("l/7"))
		p.lacks("etcd-3", readOwn("l/7"))
	})
}

// TestAMemberThatIsCutOff checks that a member that is cut off from the others answers requests from its own data.
// Until the cut is healed, it must not answer any request that needs a quorum.
func TestAMemberThatIsCutOff(t *testing.T) {
	testkit.FullOnly(t)
	onBoth(t, func(p *player) {
		each := func(f func(from, to sim.ProcessID)) {
			p.onLoop(func() {
				for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
					f("etcd-3", other)
					f(other, "etcd-3")
				}
			})
		}
		p.say(p.ask("etcd-1", patiently, "client-1/1", put("a", "before", 0)))
		p.shows("etcd-3", "a", "before")
		each(p.w.Cut)
		p.say(p.ask("etcd-1", patiently, "client-1/2", put("a", "after", 0)))
		p.say(p.ask("etcd-3", 300*time.Millisecond, "", get("a")))
		p.conn++
		p.say(p.ask("etcd-3", patiently, "", readOwn("a")))
		each(p.w.Heal)
		p.shows("etcd-3", "a", "after")
		p.shows("etcd-2", "a", "after")
	})
}

// TestAMemberThatIsPaused checks that a paused member answers once it is resumed.
func TestAMemberThatIsPaused(t *testing.T) {
	testkit.FullOnly(t)
	onBoth(t, func(p *player) {
		p.onLoop(func() { p.w.Pause("etcd-2") })
		p.say(p.ask("etcd-2", 300*time.Millisecond, "", readOwn("a")))
		p.conn++
		p.say(p.ask("etcd-1", patiently, "client-1/1", put("a", "meanwhile", 0)))
		p.onLoop(func() { p.w.Resume("etcd-2") })
		p.shows("etcd-2", "a", "meanwhile")
		p.shows("etcd-3", "a", "meanwhile")
	})
}
