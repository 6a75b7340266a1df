//go:build linux

package etcdserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// player is a client that can also cause faults.
type player struct {
	sim.Env
	w    *sim.World
	conn int
	said []string
}

// patiently is the time allowed for an answer that must arrive.
const patiently = time.Minute

// ask sends a request to a member on behalf of an attempt.
func (p *player) ask(server sim.ProcessID, timeout time.Duration, of history.Attempt, args ...string) sim.Reply {
	return p.Call(timeout, nil, sim.Request{Conn: sim.Conn{Server: server, N: p.conn}, Args: args, Attempt: of,
		Phase: args[0]})[0]
}

// say records an answer for the comparison.
func (p *player) say(r sim.Reply) { p.said = append(p.said, string(r.Raw())) }

// insist repeats a request until it is answered without an error, each time on a new connection.
func (p *player) insist(server sim.ProcessID, of history.Attempt, args ...string) {
	for range 1000 {
		if r := p.ask(server, 3*time.Second, of, args...); r.Array() != nil {
			return
		}
		p.conn++
		p.Sleep(20 * time.Millisecond)
	}
}

// until repeats a request until the answer contains a text.
func (p *player) until(server sim.ProcessID, text string, args ...string) {
	for range 1000 {
		if r := p.ask(server, 3*time.Second, "", args...); strings.Contains(string(r.Raw()), text) {
			return
		}
		p.conn++
		p.Sleep(20 * time.Millisecond)
	}
	p.said = append(p.said, fmt.Sprintf("never %q: %s", args, text))
}

// gone waits until a key is deleted.
func (p *player) gone(key string) { p.until("etcd-1", ":0\r\n*0\r\n", "RANGE", key) }

// then makes something happen in the world now.
func (p *player) then(f func()) {
	p.w.At(p.w.Now(), f)
	p.Sleep(time.Millisecond)
}

// both runs play with three simulated members and with three real ones. What the client has recorded, and which keys
// appeared and vanished, must be the same.
func both(t *testing.T, play func(p *player)) {
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
	real := recordsOf(r.run(at(0, r.world)))
	w := sim.New(1, sim.Options{Endless: true})
	etcd.New(raft.Config{}, members(3)).AddTo(w.AddServer)
	done := runClients(w, []func(sim.Env){at(1, w)})
	w.Run(sim.Time(time.Hour), func() bool { return *done == 1 })
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	sameLists(t, "answers", said[0], said[1])
	sameLists(t, "records", real, recordsOf(w.Finish()))
}

// TestKeysGo: keys vanish when their lease ends or is revoked, and when they are deleted.
func TestKeysGo(t *testing.T) {
	testkit.FullOnly(t)
	both(t, func(p *player) {
		for i, ask := range [][]string{{"LEASE", "KEEPALIVE", "1"}, {"LEASE", "REVOKE", "2"}, {"DELETE", "l/3"},
			{"TXN", "IF", "CREATE", "l/4", ">", "1", "THEN", "2", "DELETE", "l/4"}} {
			id := fmt.Sprint(i + 1)
			key, of, ttl := "l/"+id, history.Attempt("client-1/"+id), "60"
			if i == 0 {
				ttl = "3" // this lease is to end
			}
			p.say(p.ask("etcd-2", patiently, of, "LEASE", "GRANT", ttl, id))
			p.say(p.ask("etcd-3", patiently, of+"0", "PUT", key, "x", "LEASE", id))
			if i > 1 {
				of = "client-2/1"
			}
			p.say(p.ask("etcd-1", patiently, of, ask...))
			p.gone(key)
		}
		p.until("etcd-2", ":0\r\n*0\r\n", "RANGE", "l/", "PREFIX", "SERIALIZABLE")
		p.until("etcd-3", ":0\r\n*0\r\n", "RANGE", "l/", "PREFIX", "SERIALIZABLE")
	})
}

// TestALeaderThatStops: another leader is elected, and restarts the full TTL of each lease. What was answered is kept,
// and the member that comes back learns what it has missed.
func TestALeaderThatStops(t *testing.T) {
	testkit.FullOnly(t)
	for how, name := range map[sim.Stop]string{sim.PowerLoss: "power loss", sim.ShutDown: "shut down"} {
		t.Run(name, func(t *testing.T) { leaderStops(t, how) })
	}
}

func leaderStops(t *testing.T, how sim.Stop) {
	both(t, func(p *player) {
		p.say(p.ask("etcd-1", patiently, "client-1/1", "LEASE", "GRANT", "60", "7"))
		p.say(p.ask("etcd-1", patiently, "client-1/1", "PUT", "l/7", "x", "LEASE", "7"))
		p.until("etcd-2", "l/7", "RANGE", "l/7", "SERIALIZABLE")
		p.until("etcd-3", "l/7", "RANGE", "l/7", "SERIALIZABLE")
		p.then(func() { p.w.Stop("etcd-1", how) })
		p.insist("etcd-2", "client-1/2", "TXN", "IF", "CREATE", "m", "=", "0", "THEN", "3", "PUT", "m", "y")
		p.until("etcd-3", ":3\r\n", "STATUS")
		p.then(func() { p.w.Restart("etcd-1") })
		p.until("etcd-1", "\r\nm\r\n", "RANGE", "m", "SERIALIZABLE")
		p.until("etcd-3", "\r\nm\r\n", "RANGE", "m", "SERIALIZABLE")
		p.insist("etcd-1", "client-2/1", "DELETE", "l/7")
		p.until("etcd-2", ":0\r\n*0\r\n", "RANGE", "l/7", "SERIALIZABLE")
		p.until("etcd-3", ":0\r\n*0\r\n", "RANGE", "l/7", "SERIALIZABLE")
	})
}

// TestAMemberThatIsCutOff: a member that is cut off from the others answers from its own data, but nothing that needs
// a quorum, until the cut is healed.
func TestAMemberThatIsCutOff(t *testing.T) {
	testkit.FullOnly(t)
	both(t, func(p *player) {
		each := func(f func(from, to sim.ProcessID)) {
			p.then(func() {
				for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
					f("etcd-3", other)
					f(other, "etcd-3")
				}
			})
		}
		p.say(p.ask("etcd-1", patiently, "client-1/1", "PUT", "a", "before"))
		p.until("etcd-3", "before", "RANGE", "a", "SERIALIZABLE")
		each(p.w.Cut)
		p.say(p.ask("etcd-1", patiently, "client-1/2", "PUT", "a", "after"))
		p.say(p.ask("etcd-3", 300*time.Millisecond, "", "RANGE", "a"))
		p.conn++
		p.say(p.ask("etcd-3", patiently, "", "RANGE", "a", "SERIALIZABLE"))
		each(p.w.Heal)
		p.until("etcd-3", "after", "RANGE", "a", "SERIALIZABLE")
		p.until("etcd-2", "after", "RANGE", "a", "SERIALIZABLE")
	})
}

// TestAMemberThatIsPaused: it answers once it is resumed.
func TestAMemberThatIsPaused(t *testing.T) {
	testkit.FullOnly(t)
	both(t, func(p *player) {
		p.then(func() { p.w.Pause("etcd-2") })
		p.say(p.ask("etcd-2", 300*time.Millisecond, "", "RANGE", "a", "SERIALIZABLE"))
		p.conn++
		p.say(p.ask("etcd-1", patiently, "client-1/1", "PUT", "a", "meanwhile"))
		p.then(func() { p.w.Resume("etcd-2") })
		p.until("etcd-2", "meanwhile", "RANGE", "a", "SERIALIZABLE")
		p.until("etcd-3", "meanwhile", "RANGE", "a", "SERIALIZABLE")
	})
}
