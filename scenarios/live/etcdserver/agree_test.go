//go:build linux

package etcdserver

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet/fleettest"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// script generates random calls with responses that do not depend on the time.
type script struct {
	random  *rand.Rand
	granted int64
}

var names = []string{"a", "a/1", "a/2", "b", "b/1", "c"}

func pick[T any](s *script, from ...T) T { return from[s.random.IntN(len(from))] }

// lease usually returns the ID of a lease that has been granted, and sometimes an ID that does not belong to any lease.
func (s *script) lease() int64 { return 1 + s.random.Int64N(s.granted+2) }

// bound usually returns 0, which means no bound, and sometimes a random revision.
func (s *script) bound() int64 { return pick(s, 0, 0, 0, 0, 0, s.random.Int64N(40)) }

func (s *script) op() etcd.Op {
	o := etcd.Op{Kind: pick(s, etcd.Put, etcd.Put, etcd.Delete, etcd.Range), Key: pick(s, names...)}
	switch {
	case o.Kind == etcd.Put:
		o.Value, o.Lease = pick(s, "", "x", "y z", "ü\x00"), pick(s, 0, 0, s.lease())
		return o
	case s.random.IntN(3) == 0:
		o.End = etcd.Prefix(o.Key)
	}
	if o.Kind == etcd.Range {
		o.Order, o.Descending = pick(s, etcd.ByKey, etcd.ByCreate, etcd.ByMod), pick(s, true, false)
		o.Limit, o.Serializable = pick(s, 0, 0, 1, 2), pick(s, true, false)
		o.MinCreate, o.MaxCreate, o.MinMod, o.MaxMod = s.bound(), s.bound(), s.bound(), s.bound()
	}
	return o
}

func (s *script) txn() (t etcd.Txn) {
	for range s.random.IntN(3) {
		c := etcd.Compare{Target: pick(s, "CREATE", "MOD", "VERSION", "LEASE", "VALUE"), Key: pick(s, names...),
			Rel: pick[byte](s, '=', '!', '<', '>')}
		if c.Target == "VALUE" {
			c.Text = pick(s, "", "x", "y z")
		} else {
			c.Number = s.random.Int64N(4)
		}
		t.Conditions = append(t.Conditions, c)
	}
	for _, branch := range []*[]etcd.Op{&t.Then, &t.Else} {
		for range s.random.IntN(3) {
			*branch = append(*branch, s.op())
		}
	}
	return t
}

// next returns a random call.
func (s *script) next() etcd.Call {
	switch s.random.IntN(12) {
	case 0:
		s.granted++
		return etcd.GrantLease(pick[int64](s, 1000, 2000), s.granted)
	case 1:
		return etcd.RevokeLease(s.lease())
	case 2:
		return etcd.KeepLeaseAlive(s.lease())
	case 3:
		return etcd.LeaseTimeToLive(s.lease())
	case 4, 5, 6:
		t := s.txn()
		return t.Call()
	case 7:
		return pick(s, etcd.AskStatus(), etcd.Op{Kind: etcd.Put}.Call(), etcd.Op{Kind: etcd.Range}.Call())
	}
	return s.op().Call()
}

// watches lists the script's watches, each on its own connection.
var watches = []etcd.Watch{{Key: "a", End: "b", From: 2}, {Key: "c"}}

// play returns a client that makes a script's calls, and appends all responses and pushed events to said.
func play(calls []etcd.Call, said *[]string) func(sim.Env) {
	return func(env sim.Env) {
		p := &player{Env: env}
		ask := func(conn int, c etcd.Call, of history.Attempt) {
			p.conn = conn
			r, err := p.ask("etcd-1", patiently, of, c)
			*said = append(*said, fmt.Sprintf("%s %q: %s", c.Path, c.Message, shown(r, err)))
		}
		for i, w := range watches {
			ask(i, w.Call(), "")
		}
		for i, c := range calls {
			ask(2+i%2, c, history.Attempt(fmt.Sprint("client-1/", i)))
		}
		for i, w := range watches { // read events until the last put has been pushed
			ask(2, etcd.Op{Kind: etcd.Put, Key: w.Key, Value: "the end"}.Call(), "")
			for over := false; !over; {
				b, status := env.Receive(sim.Conn{Server: "etcd-1", N: i}, time.Minute)
				r, err := etcd.ReadPush(b)
				for _, e := range r.Events { // etcd may send several revisions in one response
					*said = append(*said, fmt.Sprintf("watch %d: %+v", i, e))
				}
				over = status != sim.Answered || err != nil || len(r.Events) == 0 ||
					r.Events[len(r.Events)-1].Value == "the end"
			}
		}
	}
}

// shown returns a response as text for the comparison. It omits member IDs and a lease's remaining time, which keeps
// decreasing.
func shown(r etcd.Response, err error) string {
	if r.Member = 0; r.Leader != 0 {
		r.Leader = 1
	}
	if r.Granted != 0 {
		r.TTL = min(r.TTL, 1)
	}
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", r)
}

// TestARealMemberAnswersAndRecordsAsTheSimulated sends random calls to a real and a simulated member. It compares their
// records and, except for leases' remaining time, their responses.
func TestARealMemberAnswersAndRecordsAsTheSimulated(t *testing.T) {
	scripts, length := 3, 150
	if testkit.Full() {
		scripts, length = 25, 400
	}
	for seed := range uint64(scripts) {
		s := script{random: rand.New(rand.NewPCG(seed, 7))}
		var calls []etcd.Call
		for range length {
			calls = append(calls, s.next())
		}
		var real, simulated []string
		realHistory := start(t, 1).Run(play(calls, &real))
		simulatedHistory := fleettest.Simulated(t, addMembers(1), func(*sim.World) func(sim.Env) {
			return play(calls, &simulated)
		})
		fleettest.SameLists(t, "responses", real, simulated)
		fleettest.SameLists(t, "records", fleettest.RecordsOf(realHistory), fleettest.RecordsOf(simulatedHistory))
	}
}

// addMembers returns a function that adds n simulated members to a world.
func addMembers(n int) func(*sim.World) {
	return func(w *sim.World) { etcd.New(raft.Config{}, members(n)).AddTo(w.AddServer) }
}
