//go:build linux

package consulserver

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// player is a client that can also inject faults.
type player struct {
	sim.Env
	w    *sim.World
	conn int
	said []string
}

// patiently is the time limit for a reply that must arrive.
const patiently = time.Minute

// ask sends a request to a server as part of an attempt.
func (p *player) ask(server sim.ProcessID, timeout time.Duration, of history.Attempt, r http1.Request) consul.Answer {
	return consul.ReadAnswer(&p.Call(timeout, nil, sim.Request{Conn: sim.Conn{Server: server, N: p.conn},
		Args: r.Args(), Attempt: of, Phase: consul.Name(r.Args())})[0])
}

// say records a reply for the comparison. Indexes and session IDs differ, so it records only how often a key was
// acquired, and whether a session holds it.
func (p *player) say(a consul.Answer) {
	text := fmt.Sprint(a.Code)
	switch k, is := a.Pair(); {
	case a.Session() != "":
		text += " a session"
	case is && a.Code == 200:
		text += fmt.Sprintf(" %s=%s acquired %d times, held: %t", k.Key, k.Value, k.LockIndex, k.Session != "")
	default:
		text += " " + strings.TrimSpace(a.Body)
	}
	p.said = append(p.said, text)
}

// session creates a session and returns its ID.
func (p *player) session(server sim.ProcessID, of history.Attempt, ttl, delay string) string {
	a := p.ask(server, patiently, of, consul.CreateSession(consul.SessionOptions{TTL: ttl, LockDelay: delay}))
	p.say(a)
	return a.Session()
}

// until repeats a request, each time on a new connection, until want returns true for the reply.
func (p *player) until(server sim.ProcessID, of history.Attempt, r http1.Request, want func(consul.Answer) bool) {
	for end := p.Monotonic() + patiently; p.Monotonic() < end; p.Sleep(20 * time.Millisecond) {
		if a := p.ask(server, 3*time.Second, of, r); want(a) {
			p.say(a)
			return
		}
		p.conn++
	}
	p.said = append(p.said, fmt.Sprintf("never as wanted: %s %s", r.Method, r.URI))
}

// shows waits until a server has the given value for a key.
func (p *player) shows(server sim.ProcessID, key, value string) {
	p.until(server, "", own(key), func(a consul.Answer) bool {
		k, is := a.Pair()
		return is && string(k.Value) == value
	})
}

// own returns a request that reads a key from a server's own state.
func own(key string) http1.Request {
	return http1.Request{Method: "GET", URI: "/v1/kv/" + key + "?stale="}
}

func write(key, value string) http1.Request {
	return http1.Request{Method: "PUT", URI: "/v1/kv/" + key, Body: value}
}

// onLoop runs f on the world's goroutine.
func (p *player) onLoop(f func()) {
	p.w.At(p.w.Now(), f)
	p.Sleep(time.Millisecond)
}

// onBoth calls play with three real servers, and then with three simulated ones. Both times, the client must record the
// same results, and the same keys must be acquired and released.
func onBoth(t *testing.T, play func(p *player)) {
	t.Helper()
	testkit.ThoroughOnly(t)
	t.Parallel()
	var said [2][]string
	at := func(i int, w *sim.World) func(sim.Env) {
		return func(env sim.Env) {
			p := &player{Env: env, w: w}
			play(p)
			said[i] = p.said
		}
	}
	r, _ := start(t, 3)
	real := fleettest.RecordsOf(r.Run(at(0, r.World)))
	simulated := fleettest.Simulated(t, func(w *sim.World) {
		consul.New(consul.Config{Multiplier: quick}, members(3)).AddTo(w.AddServer)
	}, func(w *sim.World) func(sim.Env) { return at(1, w) })
	fleettest.SameLists(t, "answers", said[0], said[1])
	fleettest.SameLists(t, "records", real, fleettest.RecordsOf(simulated))
}

// TestASessionEnds checks that a session ends after twice its TTL, or at once if a fault ends it. This releases its
// key, and nobody can acquire the key until the lock delay has passed.
func TestASessionEnds(t *testing.T) {
	const lockDelay = 3 * time.Second
	for how, after := range map[string]time.Duration{"expires": 20 * time.Second, "is ended by a fault": 0} {
		t.Run(how, func(t *testing.T) {
			onBoth(t, func(p *player) {
				first := p.session("consul-2", "client-1/1", "10s", lockDelay.String())
				p.say(p.ask("consul-3", patiently, "client-1/1", consul.Acquire("l", first, "a")))
				start := p.Monotonic()
				if after == 0 {
					p.expireSessions()
				}
				p.until("consul-1", "", own("l"), func(a consul.Answer) bool {
					k, is := a.Pair()
					return is && k.Session == ""
				})
				p.inTime("released", start+after)
				second := p.session("consul-3", "client-1/2", "60s", "0s")
				acquire := consul.Acquire("l", second, "b")
				p.say(p.ask("consul-2", patiently, "client-1/2", acquire))
				p.until("consul-2", "client-1/2", acquire, consul.Answer.True)
				p.inTime("acquired", start+after+lockDelay)
				p.say(p.ask("consul-1", patiently, "", consul.GetKey("l", true, 0, 0)))
			})
		})
	}
}

// expireSessions injects the fault that ends the client's sessions.
func (p *player) expireSessions() {
	p.onLoop(func() {
		for _, m := range members(3) {
			p.w.ServerFault(m, sim.ServerFault{Kind: sim.ExpireSession, To: "client-1", Begin: true})
		}
	})
}

// inTime records whether it is the given time, or at most two seconds later.
func (p *player) inTime(what string, due time.Duration) {
	now := p.Monotonic()
	p.said = append(p.said, fmt.Sprintf("%s in time: %t", what, due <= now && now < due+2*time.Second))
}

// TestALeaderThatStops checks that another leader is elected if the leader stops. Acknowledged writes and sessions must
// be kept, and the server must receive what it has missed when it comes back.
func TestALeaderThatStops(t *testing.T) {
	for how, name := range map[sim.Stop]string{sim.PowerLoss: "power loss", sim.ShutDown: "shut down"} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(p *player) {
				first := p.session("consul-1", "client-1/1", "60s", "0s")
				p.say(p.ask("consul-1", patiently, "client-1/1", consul.Acquire("l", first, "a")))
				p.shows("consul-2", "l", "a")
				p.onLoop(func() { p.w.Stop("consul-1", how) })
				p.until("consul-2", "client-1/1", write("m", "x"), consul.Answer.True)
				p.say(p.ask("consul-3", patiently, "", consul.GetKey("l", true, 0, 0)))
				second := p.session("consul-3", "client-1/2", "60s", "0s")
				p.say(p.ask("consul-2", patiently, "client-1/2", consul.Acquire("l", second, "b")))
				p.say(p.ask("consul-2", patiently, "client-1/1", consul.ReleaseKey("l", first, "a")))
				p.say(p.ask("consul-3", patiently, "client-1/2", consul.Acquire("l", second, "b")))
				p.onLoop(func() { p.w.Restart("consul-1") })
				p.shows("consul-1", "l", "b")
				p.say(p.ask("consul-3", patiently, "client-1/2", consul.DestroySession(second)))
				p.say(p.ask("consul-1", patiently, "", consul.GetKey("l", true, 0, 0)))
			})
		})
	}
}

// TestAMemberThatIsCutOff checks that a server that is cut off from the others answers stale reads from its own data.
// Until the cut is healed, it must not answer any other request.
func TestAMemberThatIsCutOff(t *testing.T) {
	onBoth(t, func(p *player) {
		each := func(f func(from, to sim.ProcessID)) {
			p.onLoop(func() {
				for _, other := range members(2) {
					f("consul-3", other)
					f(other, "consul-3")
				}
			})
		}
		p.say(p.ask("consul-1", patiently, "client-1/1", write("a", "before")))
		p.shows("consul-3", "a", "before")
		each(p.w.Cut)
		p.say(p.ask("consul-1", patiently, "client-1/2", write("a", "after")))
		p.say(p.ask("consul-3", 300*time.Millisecond, "", consul.GetKey("a", false, 0, 0)))
		p.conn++
		p.say(p.ask("consul-3", patiently, "", own("a")))
		each(p.w.Heal)
		p.shows("consul-3", "a", "after")
	})
}

// TestAMemberThatIsPaused checks that a paused server answers once it is resumed.
func TestAMemberThatIsPaused(t *testing.T) {
	onBoth(t, func(p *player) {
		p.onLoop(func() { p.w.Pause("consul-2") })
		p.say(p.ask("consul-2", 300*time.Millisecond, "", own("a")))
		p.conn++
		p.say(p.ask("consul-1", patiently, "client-1/1", write("a", "meanwhile")))
		p.onLoop(func() { p.w.Resume("consul-2") })
		p.shows("consul-2", "a", "meanwhile")
	})
}
