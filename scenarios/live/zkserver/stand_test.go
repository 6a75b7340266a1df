//go:build linux

package zkserver

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// account returns the znodes that exist according to the records, as a checker would determine them, and the attempt
// that owns each one.
func account(t testing.TB, list []history.Event) map[string]history.Attempt {
	t.Helper()
	stands := map[string]history.Attempt{}
	for i := range list {
		e := &list[i]
		was, there := stands[e.Member]
		switch {
		case e.F == history.KeySet && there:
			t.Errorf("%q is set, which stands", linesOf(list[i:i+1]))
		case e.F == history.KeySet:
			stands[e.Member] = e.Of
		case !there || was != e.Of:
			t.Errorf("%q: there stands %q", linesOf(list[i:i+1]), was)
		case e.F == history.KeyGone:
			delete(stands, e.Member)
		}
	}
	return stands
}

// wander makes a client create and delete requests for a lock until the given time, changing its member and its session
// several times. Each znode contains the name of the attempt that created it.
func wander(c *client, number int, seed uint64, members []sim.ProcessID, end time.Duration) {
	d := rand.New(rand.NewPCG(seed, uint64(number)))
	c.asked = number * 100_000
	var mine []string
	session := int64(0)
	for attempts := 0; c.Monotonic() < end; {
		c.n++
		c.server = members[d.IntN(len(members))]
		now, ok := c.enter(time.Second, session, 4000)
		if ok {
			session = now
		}
		for ok && session != 0 && c.Monotonic() < end && d.IntN(40) > 0 {
			attempts++
			of := history.Attempt(fmt.Sprintf("client-%d/%d", number, attempts))
			switch n := d.IntN(10); {
			case n < 6:
				flags, data := []int32{jute.PersistentSequential, jute.EphemeralSequential,
					jute.EphemeralSequential}[d.IntN(3)], string(of)
				if flags == jute.PersistentSequential { // the znode has no session, so its owner is not recorded
					data = ""
				}
				a, answered := c.askFor(2*time.Second, of, jute.Create2, create("/locks/a/lock-", data, flags))
				if ok = answered && a.Code == ""; ok {
					mine = append(mine, a.Text())
				}
			case n < 9 && len(mine) > 0:
				_, ok = c.askFor(2*time.Second, of, jute.Delete, jute.Record(nil).Text(mine[0]).Int(-1))
				mine = mine[1:]
			case d.IntN(10) == 0:
				_, _ = c.askFor(2*time.Second, of, jute.CloseSession, nil)
				session, ok = 0, false
			}
		}
		c.Close(sim.Conn{Server: c.server, N: c.n})
		c.Sleep(time.Duration(d.IntN(100)) * time.Millisecond)
	}
}

// TestRecordsTellWhatStands makes clients request a lock while members crash, are stopped, and are cut off from each
// other. In the end, the records must show which znodes exist, and who created them.
func TestRecordsTellWhatStands(t *testing.T) {
	testkit.FullOnly(t)
	const runs, lasts = 6, time.Minute
	judged := false
	for seed := range uint64(runs) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) { judged = stands(t, seed, lasts) || judged })
	}
	if !judged {
		t.Error("in no run it could be compared")
	}
}

// stands executes one run, and reports whether the znodes could be compared with the records.
func stands(t *testing.T, seed uint64, lasts time.Duration) (judged bool) {
	r := start(t, 3)
	d := rand.New(rand.NewPCG(seed, 0))
	w := r.w
	at := 2 * time.Second
	for at < lasts-4*time.Second {
		m := r.members[d.IntN(3)]
		o := r.members[d.IntN(3)]
		begin, length := history.Of(at), history.Of(time.Duration(1000+d.IntN(3000))*time.Millisecond)
		switch kind := d.IntN(3); {
		case kind == 0:
			w.At(begin, func() { w.Stop(m, sim.PowerLoss) })
			w.At(begin+length, func() { w.Restart(m) })
		case kind == 1:
			w.At(begin, func() { w.Pause(m) })
			w.At(begin+length, func() { w.Resume(m) })
		case m != o:
			w.At(begin, func() { w.Cut(m, o); w.Cut(o, m) })
			w.At(begin+length, func() { w.Heal(m, o); w.Heal(o, m) })
		}
		at += length.Duration() + time.Duration(d.IntN(2000))*time.Millisecond
	}
	ready, done := &sim.Signal{}, 0
	clients := []func(*client){func(c *client) {
		c.connect(6000)
		c.folder("a")
		ready.Raise()
		for done < 3 {
			c.Sleep(100 * time.Millisecond)
		}
		differences := map[string]int{}
		for _, c.server = range r.members {
			for _, line := range c.differences() {
				differences[line]++
			}
		}
		t.Logf("%d records", len(recorded(w)))
		for line, n := range differences {
			if n < len(r.members) {
				t.Log("ZooKeeper's members differ, and nothing can be compared: ", line)
				return
			}
		}
		judged = true
		for line := range differences {
			t.Error(line)
		}
	}}
	for i := range 3 {
		clients = append(clients, func(c *client) {
			c.Sleep(sim.Forever, ready)
			wander(c, i+2, seed, r.members, lasts)
			done++
		})
	}
	r.play(clients...)
	return judged
}

// differences lists the differences between the records and a member's znodes.
func (c *client) differences() (list []string) {
	var want, before map[string]history.Attempt
	for c.n += 100; want == nil; c.n++ { // repeat until the member serves requests
		c.connect(6000)
		if _, ok := c.ask("", jute.Sync, jute.Record(nil).Text("/")); ok {
			before = account(c.t, recorded(c.w))
			want = c.standing()
		}
	}
	after := account(c.t, recorded(c.w)) // a session may have ended in the meantime
	is := func(list map[string]history.Attempt, name string, of history.Attempt) bool {
		was, there := list[name]
		return there && was == of
	}
	for name, of := range want {
		if !is(before, name, of) && !is(after, name, of) {
			list = append(list, fmt.Sprintf("%s is of %s, by the records of %q", name, of, after[name]))
		}
	}
	for name, of := range after {
		if _, there := want[name]; !there && is(before, name, of) {
			list = append(list, fmt.Sprintf("%s of %s stands by the records only", name, of))
		}
	}
	return list
}

// standing returns all of the server's requests for lock a, with the attempts that created them. It returns nil if the
// connection ends.
func (c *client) standing() map[string]history.Attempt {
	list := map[string]history.Attempt{}
	a, ok := c.ask("", jute.GetChildren2, jute.Record(nil).Text("/locks/a").Flag(false))
	if !ok {
		return nil
	}
	for _, name := range a.Texts() {
		x, there := c.ask("", jute.GetData, jute.Record(nil).Text("/locks/a/"+name).Flag(false))
		switch {
		case !there:
			return nil
		case x.Code == "": // with other codes, the session of the znode has ended in the meantime
			list[name] = history.Attempt(x.Text())
		}
	}
	return list
}

// TestMembersHaveTheTimesOfTheScenario checks that the members use the scenario's tickTime and syncLimit. If there are
// no such settings, they must use ZooKeeper's defaults, like the simulated ensemble.
func TestMembersHaveTheTimesOfTheScenario(t *testing.T) {
	testkit.ThoroughOnly(t)
	needsZooKeeper(t)
	for want, c := range map[string]Config{
		"tickTime=2000 syncLimit=5": {},
		"tickTime=500 syncLimit=3":  {TickTime: 500 * time.Millisecond, SyncLimit: 3}} {
		k, err := process.Start()
		if err != nil {
			t.Fatal(err)
		}
		c.Keeper, c.Members, c.Failed = k, fleettest.Names("zookeeper", 1), func(err error) { t.Error(err) }
		f, err := Launch(c, nil)
		if err == nil {
			var text []byte
			text, err = os.ReadFile(f.Server(c.Members[0]).(*member).file())
			for _, line := range strings.Fields(want) {
				if !slices.Contains(strings.Fields(string(text)), line) {
					t.Errorf("the configuration lacks %s:\n%s", line, text)
				}
			}
			f.End()
		}
		if err = errors.Join(err, k.Close()); err != nil {
			t.Fatal(err)
		}
	}
}
