//go:build linux

package zkserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
)

// transcript is what a client received. Since a real ensemble has other zxids and session ids than a simulated one, the
// transcript names them by the order of their first appearance.
type transcript struct {
	lines []string
	names map[int64]string
}

// number returns the name of a zxid or a session id.
func (tr *transcript) number(n int64) string {
	if n == 0 {
		return "0"
	}
	if tr.names[n] == "" {
		tr.names[n] = fmt.Sprint("#", len(tr.names)+1)
	}
	return tr.names[n]
}

func (tr *transcript) stat(a *zookeeper.Answer, at int) string {
	s := a.Stat(at)
	return fmt.Sprintf("c%s m%s p%s v%d cv%d e%s n%d", tr.number(int64(s.Czxid)), tr.number(int64(s.Mzxid)),
		tr.number(int64(s.Pzxid)), s.Version, s.Cversion, tr.number(int64(s.EphemeralOwner)), s.NumChildren)
}

// answer appends an answer to the transcript.
func (tr *transcript) answer(args []string, a zookeeper.Answer, ok bool) {
	line := fmt.Sprintf("%q: ", args)
	switch {
	case !ok:
		line += "closed"
	case a.Code != "":
		line += string(a.Code)
	case args[0] == zookeeper.ReqConnect:
		line += fmt.Sprint("session ", tr.number(a.Int(0)), " ", a.Int(1))
	case args[0] == zookeeper.ReqExists:
		line += tr.stat(&a, 0)
	case args[0] == zookeeper.ReqCreate, args[0] == zookeeper.ReqSetData, args[0] == zookeeper.ReqGetData:
		line += a.Text(0) + " " + tr.stat(&a, 1)
	case args[0] == zookeeper.ReqChildren:
		line += tr.stat(&a, 0)
		for i := zookeeper.StatLength; i < len(a.List); i++ {
			line += " " + a.Text(i)
		}
	}
	tr.lines = append(tr.lines, fmt.Sprintf("%s after %d events", line, a.Events))
}

// listen appends the events that were pushed on a connection, up to the given event number. It sorts them: when a
// session ends, a real ensemble deletes its znodes in the order of its hashes.
func (tr *transcript) listen(c *client, until int64) {
	var events []string
	for n := int64(0); n < until; {
		data, status := c.Receive(sim.Conn{Server: c.server, N: c.n}, time.Minute)
		number, e, ok := zookeeper.ReadEvent(data)
		events = append(events, fmt.Sprint("event ", e, " ", status))
		if n = number; !ok {
			break
		}
	}
	slices.Sort(events)
	tr.lines = append(tr.lines, events...)
}

// paths are the paths that requests use. wrong are paths that no znode can have, and the root.
var paths = []string{"/t", "/t/a", "/t/a/x", "/t/b", "/t/b/y", "/t/c", "/t/a/q-", "/t/b/q-"}

var wrong = []string{"", "t", "/t/", "//t", "/t/.", "/t/../u", "/", "/t//a"}

// draw draws a random request.
func draw(d *rand.Rand, made []string) []string {
	path := paths[d.IntN(len(paths))]
	if len(made) > 0 && d.IntN(3) == 0 {
		path = made[d.IntN(len(made))]
	}
	watch := strconv.Itoa(d.IntN(2))
	version := strconv.Itoa(d.IntN(4) - 1)
	switch d.IntN(16) {
	case 0, 1, 2, 3:
		return []string{zookeeper.ReqCreate, path, fmt.Sprint("data ", d.IntN(100)), strconv.Itoa(d.IntN(4))}
	case 4, 5:
		return []string{zookeeper.ReqDelete, path, version}
	case 6, 7:
		return []string{zookeeper.ReqSetData, path, fmt.Sprint("more ", d.IntN(100)), version}
	case 8, 9:
		return []string{zookeeper.ReqExists, path, watch}
	case 10:
		return []string{zookeeper.ReqGetData, path, watch}
	case 11, 12:
		return []string{zookeeper.ReqChildren, path, watch}
	case 13:
		return []string{[]string{zookeeper.ReqPing, zookeeper.ReqSync}[d.IntN(2)]}
	case 14:
		kinds := []string{zookeeper.WatchData, zookeeper.WatchExists, zookeeper.WatchChild}
		args := []string{zookeeper.ReqWatches, "0"}
		if d.IntN(2) == 0 {
			args[1] = strconv.FormatInt(1<<60, 10)
		}
		for range d.IntN(4) {
			args = append(args, kinds[d.IntN(3)], paths[d.IntN(len(paths))])
		}
		return args
	}
	bad, parts := wrong[d.IntN(len(wrong))], wrong[1:6] // a real ensemble has znodes of its own in the root
	part := parts[d.IntN(len(parts))]
	return [][]string{{zookeeper.ReqCreate, part, "x", strconv.Itoa(d.IntN(6))}, {zookeeper.ReqDelete, bad, "-1"},
		{zookeeper.ReqSetData, part, "x", "-1"}, {zookeeper.ReqExists, part, "0"}, {zookeeper.ReqChildren, part, "1"},
		{zookeeper.ReqCreate, path, "x", "9"}, {zookeeper.ReqExists, path}, {"NONSENSE"}}[d.IntN(8)]
}

// converse has a client make random requests on three connections, each with a session of its own, one request at a
// time. At the end the sessions are closed one after the other. If there are several members, the connections are to
// different members, and a member catches up with the leader before each request. The transcript is nil if members
// close their connections meanwhile, as they do for an election.
func converse(c *client, members []sim.ProcessID, seed uint64, requests int) []string {
	d := rand.New(rand.NewPCG(seed, 1))
	tr := &transcript{names: map[int64]string{}}
	var made []string
	pushed, lost := [3]int64{}, false
	say := func(n int, args ...string) {
		c.n, c.server = n, members[n%len(members)]
		if args[0] != zookeeper.ReqConnect && len(members) > 1 && !lost {
			_, ok := c.ask("", zookeeper.ReqSync)
			lost = !ok
		}
		if lost {
			return
		}
		a, ok := c.ask("", args...)
		tr.answer(args, a, ok)
		if ok && a.Events > pushed[n] {
			tr.listen(c, a.Events)
			pushed[n] = a.Events
		}
		if args[0] == zookeeper.ReqCreate && a.Code == "" {
			made = append(made, a.Text(0))
		}
	}
	for n := range 3 {
		say(n, zookeeper.ReqConnect, "0", strconv.Itoa(1000+10_000*n), "0")
	}
	say(0, zookeeper.ReqCreate, "/t", "", "0")
	for range requests {
		say(d.IntN(3), draw(d, made)...)
	}
	for n := range 3 {
		for o := n; o < 3; o++ {
			say(o, zookeeper.ReqPing)
		}
		say(n, zookeeper.ReqClose)
	}
	if lost {
		return nil
	}
	return tr.lines
}

// TestAnswersAreThoseOfTheSimulatedEnsemble: random requests on several sessions get the same answers and events from a
// real ensemble as from a simulated one.
func TestAnswersAreThoseOfTheSimulatedEnsemble(t *testing.T) {
	testkit.FullOnly(t)
	const runs, requests = 10, 3000
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { agrees(t, seed, requests) })
	}
}

func agrees(t *testing.T, seed uint64, requests int) {
	var r *rig
	var real, simulated []string
	for tries := 0; tries < 3 && real == nil; tries++ {
		r = start(t, 1+2*int(seed%2))
		r.play(func(c *client) { real = converse(c, r.members, seed, requests) })
	}
	w := sim.New(1, sim.Options{})
	zookeeper.NewEnsemble(zookeeper.Config{}, r.members).AddTo(w.AddServer)
	w.AddClient("client-1", 0, func(e sim.Env) {
		simulated = converse(&client{t: t, Env: e, w: w}, r.members, seed, requests)
	})
	w.Run(history.Of(time.Hour), nil)
	if len(simulated) < requests {
		t.Fatalf("the simulated ensemble answered %d requests", len(simulated))
	}
	for i := range min(len(real), len(simulated)) {
		if real[i] != simulated[i] {
			t.Fatalf("after\n%s\nreal      %s\nsimulated %s", strings.Join(simulated[max(0, i-6):i], "\n"), real[i],
				simulated[i])
		}
	}
	if !slices.Equal(real, simulated) {
		t.Fatalf("%d lines and %d", len(real), len(simulated))
	}
}
