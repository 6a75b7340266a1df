package etcd

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// TestRequestsAreReadAsTheyWereMade checks that members decode exactly what clients encode.
func TestRequestsAreReadAsTheyWereMade(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		want := randomTxn(r, 2)
		call := want.Call()
		if got, err := readTxn([]byte(call.Message)); err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%+v, %v, want %+v", got, err, want)
		}
		o := randomOp(r, 0)
		if got, _ := o.Call().Ops(); !reflect.DeepEqual(got, []Op{o}) {
			t.Fatalf("%+v, want %+v", got, o)
		}
	}
	w := Watch{Key: "a", End: "b", From: 7}
	if err := readFields(w.Call().Message, func(b []byte) error {
		c, err := readWatchCreation(b)
		if c.Watch != w {
			t.Errorf("%+v, want %+v", c.Watch, w)
		}
		return err
	}); err != nil {
		t.Error(err)
	}
}

// TestAMethodIsSimulatedOrListed checks that no method is both simulated and listed as not simulated. Otherwise users
// would be told that a simulated method is refused.
func TestAMethodIsSimulatedOrListed(t *testing.T) {
	for path := range methods {
		if NotSimulated(path) {
			t.Errorf("%s is in methods and in notSimulated", path)
		}
	}
}

// TestResponsesAreDecoded checks that members serve every call that a modeled client can make, and that the response
// has a revision.
func TestResponsesAreDecoded(t *testing.T) {
	d := newDesk(t)
	d.ask(1, GrantLease(60, 9))
	for _, c := range []Call{get("a").Call(), put("a", "x", 9).Call(), remove("a").Call(), (&Txn{}).Call(),
		KeepLeaseAlive(9), LeaseTimeToLive(9), AskStatus(), Watch{Key: "a"}.Call(), RevokeLease(9)} {
		var r Response
		err := errMalformed
		d.AddClient(sim.ProcessID(c.Path), d.Now(), func(env sim.Env) {
			c.Stream = 1
			at := sim.Conn{Server: "etcd-2"}
			r, err = c.Read(&env.Call(time.Minute, nil, sim.Request{Conn: at, Args: c.Args()})[0])
		})
		d.pass(time.Second)
		if err != nil || r.Revision == 0 || r.Member == 0 {
			t.Errorf("%s: %+v, %v", c.Path, r, err)
		}
	}
}

func some[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

func randomTxn(r *rand.Rand, deep int) (t Txn) {
	for range r.IntN(3) {
		c := Compare{Target: some(r, targets...), Key: some(r, "", "a"), End: some(r, "", "b"),
			Rel: some(r, relations...)}
		if c.Target == "VALUE" {
			c.Text = some(r, "", "x")
		} else {
			c.Number = some[int64](r, 0, 1, -1, 1<<40)
		}
		t.Conditions = append(t.Conditions, c)
	}
	for _, branch := range []*[]Op{&t.Then, &t.Else} {
		for range r.IntN(3) {
			*branch = append(*branch, randomOp(r, deep))
		}
	}
	return t
}

func randomOp(r *rand.Rand, deep int) Op {
	yes := func() bool { return r.IntN(2) == 0 }
	number := func() int64 { return some[int64](r, 0, 1, 1<<40) }
	o := Op{Kind: Kind(1 + r.IntN(3+min(deep, 1))), Key: some(r, "", "a", "\xff")}
	switch o.Kind {
	case Nested:
		t := randomTxn(r, deep-1)
		return Op{Kind: Nested, Txn: &t}
	case Put:
		o.Value, o.Lease, o.Previous, o.KeepValue, o.KeepLease = some(r, "", "v"), number(), yes(), yes(), yes()
		return o
	case Delete:
		o.End, o.Previous = some(r, "", "b"), yes()
		return o
	}
	return Op{Kind: Range, Key: o.Key, End: some(r, "", "b"), Revision: number(), KeysOnly: yes(), CountOnly: yes(),
		Order: some(r, orders...), Descending: yes(), Limit: r.IntN(3), MinCreate: number(), MaxCreate: number(),
		MinMod: number(), MaxMod: number(), Serializable: yes()}
}
