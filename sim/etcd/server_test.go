package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// desk is a world with 1 ms delays. Tests send one request at a time in it.
type desk struct {
	*sim.World
	*raft.Cluster
	t   testing.TB
	n   int
	log []string
}

func newDesk(t testing.TB) *desk { return newDeskOf(t, "etcd-1", "etcd-2", "etcd-3") }

func newDeskOf(t testing.TB, members ...sim.ProcessID) *desk {
	d := &desk{World: sim.New(3, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t}
	d.Cluster = New(raft.Config{}, members)
	d.AddTo(d.World.AddServer)
	return d
}

// get and the following functions return the operations that tests use.
func get(key string) Op { return Op{Kind: Range, Key: key} }

func own(key string) Op { return Op{Kind: Range, Key: key, Serializable: true} }

func all(prefix string) Op { return Op{Kind: Range, Key: prefix, End: prefixEnd(prefix)} }

func put(key, value string, lease int64) Op {
	return Op{Kind: Put, Key: key, Value: value, Lease: lease}
}

func remove(key string) Op { return Op{Kind: Delete, Key: key} }

func removeAll(prefix string) Op { return Op{Kind: Delete, Key: prefix, End: prefixEnd(prefix)} }

// show formats a response: the revision in brackets, and then the fields in the method's response.
func show(path string, r *Response) string {
	switch path {
	case rangePath:
		return fmt.Sprint([]any{r.Revision, r.Count, showKeys(r.Keys)})
	case deletePath:
		return fmt.Sprint([]any{r.Revision, r.Count})
	case txnPath:
		results := []string{}
		for i := range r.Results {
			of := &r.Results[i]
			switch {
			case of.Keys != nil:
				results = append(results, show(rangePath, of))
			case of.Count > 0:
				results = append(results, show(deletePath, of))
			default:
				results = append(results, show(putPath, of))
			}
		}
		return fmt.Sprint([]any{r.Revision, r.Succeeded, results})
	case leaseGrantPath, keepAlivePath:
		return fmt.Sprint([]any{r.Lease, r.TTL})
	case leaseTimeToLivePath:
		return fmt.Sprint([]any{r.Lease, r.TTL, r.Granted})
	}
	return fmt.Sprint([]any{r.Revision})
}

func showKeys(keys []KeyValue) (list []string) {
	for _, k := range keys {
		list = append(list, fmt.Sprint([]any{k.Key, k.Value, k.Create, k.Mod, k.Version, k.Lease}))
	}
	return list
}

// ask sends a call to a member, as a new client, and returns the response.
func (d *desk) ask(member int, c Call) string {
	d.t.Helper()
	return d.askFor("", member, c)
}

func (d *desk) askFor(attempt history.Attempt, member int, c Call) string {
	d.t.Helper()
	d.n++
	answer := ""
	d.AddClient(sim.ProcessID(fmt.Sprintf("client-%d", d.n)), d.Now(), func(env sim.Env) {
		at := sim.Conn{Server: sim.ProcessID(fmt.Sprintf("etcd-%d", member))}
		answer = call(env, at, 30*time.Second, attempt, c)
	})
	d.Run(d.Now()+sim.Time(time.Minute), func() bool { return answer != "" })
	if d.Err() != nil {
		d.t.Fatal(d.Err())
	}
	return answer
}

// call sends c to a member on the given connection. It returns the response or an error's text.
func call(env sim.Env, at sim.Conn, timeout time.Duration, of history.Attempt, c Call) string {
	c.Stream = 1
	r, err := c.Read(&env.Call(timeout, nil, sim.Request{Conn: at, Args: c.Args(), Attempt: of})[0])
	if err != nil {
		return err.Error()
	}
	return show(c.Path, &r)
}

func (d *desk) want(member int, c Call, answer string) {
	d.t.Helper()
	if got := d.ask(member, c); got != answer {
		d.t.Errorf("%s %q: %s, want %s", c.Path, c.Message, got, answer)
	}
}

func (d *desk) pass(by time.Duration) { d.Run(d.Now()+sim.Time(by), nil) }

// records lists the recorded key events.
func (d *desk) records() (all []string) {
	for _, e := range d.Finish().Events {
		switch e.F {
		case history.KeySet, history.KeyProlonged, history.KeyGone:
			all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s of:%s by:%s %s", e.F, e.Lock, e.Of, e.By, e.Why)))
		}
	}
	return all
}

func (d *desk) wantRecords(want ...string) {
	d.t.Helper()
	if got := d.records(); !slices.Equal(got, want) {
		d.t.Errorf("recorded\n  %s\nwant\n  %s", strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestKeysAndRevisions(t *testing.T) {
	d := newDesk(t)
	d.want(1, get("a").Call(), "[1 0 []]")
	d.want(1, put("a", "x", 0).Call(), "[2]")
	d.want(2, put("a", "y", 0).Call(), "[3]")
	d.want(3, get("a").Call(), "[3 1 [[a y 2 3 2 0]]]")
	d.want(1, remove("b").Call(), "[3 0]")
	d.want(1, remove("a").Call(), "[4 1]")
	d.want(1, put("a", "z", 0).Call(), "[5]")
	d.want(3, get("a").Call(), "[5 1 [[a z 5 5 1 0]]]")
	d.want(3, AskStatus(), "[5]")
}

func TestRanges(t *testing.T) {
	d := newDesk(t)
	for _, k := range []string{"l/c", "l/a", "l/b", "m"} {
		d.ask(1, put(k, "-", 0).Call())
	}
	d.ask(1, put("l/c", "again", 0).Call())
	in := func(change func(*Op)) Op {
		o := all("l/")
		change(&o)
		return o
	}
	for want, o := range map[string]Op{
		"l/a l/b l/c": all("l/"),
		"l/c l/b l/a": in(func(o *Op) { o.Descending = true }),
		"l/c":         in(func(o *Op) { o.Order, o.Limit = ByCreate, 1 }),
		"l/a l/b":     in(func(o *Op) { o.MinCreate = 3 }),
		"l/a":         in(func(o *Op) { o.Order, o.Descending, o.Limit, o.MaxCreate = ByCreate, true, 1, 3 }),
		"":            in(func(o *Op) { o.Order, o.Descending, o.Limit, o.MaxCreate = ByCreate, true, 1, 1 }),
		"l/b":         in(func(o *Op) { o.MinMod, o.MaxMod = 4, 4 }),
		"l/b l/c":     in(func(o *Op) { o.Order, o.MinMod = ByMod, 4 }),
		"m":           own("m"),
	} {
		var got []string
		for _, word := range strings.FieldsFunc(d.ask(2, o.Call()),
			func(r rune) bool { return strings.ContainsRune("[] ", r) }) {
			if strings.HasPrefix(word, "l/") || word == "m" {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%+v: %v, want %s", o, got, want)
		}
	}
}

func TestReadsAreLinearizableUnlessAskedOtherwise(t *testing.T) {
	d := newDesk(t)
	d.ask(1, put("a", "1", 0).Call())
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Cut("etcd-3", other)
		d.Cut(other, "etcd-3")
	}
	d.ask(1, put("a", "2", 0).Call())
	d.want(3, own("a").Call(), "[2 1 [[a 1 2 2 1 0]]]")
	d.want(3, get("a").Call(), errTimeout.Text)
	d.want(3, (&Txn{Then: []Op{get("a")}}).Call(), errTimeout.Text)
	d.want(3, put("a", "3", 0).Call(), errTimeout.Text)
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Heal("etcd-3", other)
		d.Heal(other, "etcd-3")
	}
	d.pass(time.Second)
	d.want(3, (&Txn{Then: []Op{get("a")}}).Call(), "[3 true [[3 1 [[a 2 2 3 2 0]]]]]")
}

func TestTransactions(t *testing.T) {
	d := newDesk(t)
	txn := func(then, otherwise []Op, conditions ...Compare) Call {
		t := Txn{Conditions: conditions, Then: then, Else: otherwise}
		return t.Call()
	}
	take := txn([]Op{put("l/1", "one", 0), all("l/")}, []Op{get("l/1")},
		Compare{Target: "CREATE", Key: "l/1", Rel: '='})
	d.want(1, take, "[2 true [[2] [2 1 [[l/1 one 2 2 1 0]]]]]")
	d.want(2, take, "[2 false [[2 1 [[l/1 one 2 2 1 0]]]]]")
	isOne := Compare{Target: "VALUE", Key: "l/1", Rel: '=', Text: "one"}
	d.want(1, txn([]Op{remove("l/1")}, nil, isOne, Compare{Target: "VERSION", Key: "l/1", Rel: '<', Number: 2},
		Compare{Target: "MOD", Key: "l/1", Rel: '>', Number: 1},
		Compare{Target: "LEASE", Key: "l/1", Rel: '!', Number: 5}), "[3 true [[3 1]]]")
	d.want(1, txn(nil, []Op{put("a", "1", 0), put("b", "2", 0)}, isOne), "[4 false [[4] [4]]]")
	d.want(1, get("b").Call(), "[4 1 [[b 2 4 4 1 0]]]")
	d.want(1, txn([]Op{put("a", "1", 77)}, nil), errLeaseNotFound.Text)
	const twice = "etcdserver: duplicate key given in txn request"
	d.want(1, txn([]Op{put("a", "1", 0), put("a", "2", 0)}, nil), twice)
	d.want(1, txn([]Op{put("ab", "1", 0), removeAll("a")}, []Op{removeAll("a")}), twice)
	d.want(1, txn([]Op{remove("a")}, []Op{put("a", "2", 0), remove("a")}), twice)
	d.want(1, txn([]Op{remove("none")}, nil), "[4 true [[4]]]")
	d.want(1, txn(nil, nil), "[4 true []]")
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	d := newDesk(t)
	for _, c := range []struct {
		Call
		want string
	}{
		{get("").Call(), errEmptyKey.Text},
		{put("", "v", 0).Call(), errEmptyKey.Text},
		{(&Txn{Conditions: []Compare{{Target: "MOD", Rel: '='}}}).Call(), errEmptyKey.Text},
		{GrantLease(9_999_999_999_999, 0), errTTLTooLarge.Text},
		{Call{Path: putPath, Message: "\xff"}, "grpc: error unmarshalling request: proto: malformed message"},
		{Call{Path: watchPath, Message: "\xff"}, "grpc: error unmarshalling request: proto: malformed message"},
		{Call{Path: kv + "Peek"}, "unknown method Peek for service etcdserverpb.KV"},
		{MoveLeader(1), "fencepost: etcdserverpb.Maintenance/MoveLeader is not simulated"},
	} {
		d.want(1, c.Call, c.want)
	}
	d.AddClient("none", d.Now(), func(env sim.Env) {
		for _, args := range [][]string{nil, {"GET"}, {putPath}, {http1.Word}} {
			r := env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: "etcd-1"}, Args: args})[0]
			if !strings.Contains(string(r.Raw()), "malformed") {
				t.Errorf("%q: %q", args, r.Raw())
			}
		}
	})
	d.pass(10 * time.Second)
	d.want(1, put("a", "b", 0).Call(), "[2]")
}

func TestALeaseEndsByTheLeadersClockAndTakesItsKeysAlong(t *testing.T) {
	d := newDesk(t)
	if got := d.askFor("c/1", 2, GrantLease(5, 9)); got != "[9 5]" {
		t.Fatal(got)
	}
	granted := d.Now()
	d.askFor("c/1", 2, put("l/1", "-", 9).Call())
	d.askFor("c/1", 2, put("l/2", "-", 9).Call())
	d.askFor("c/1", 2, put("l/1", "-", 0).Call()) // detaches the key from the lease
	d.want(3, LeaseTimeToLive(9), "[9 4 5]")
	d.want(3, KeepLeaseAlive(8), "[8 0]")
	d.want(3, LeaseTimeToLive(8), "[8 -1 0]")
	d.Run(granted+sim.Time(5*time.Second-10*ms), nil)
	d.want(1, Op{Kind: Range, Key: "l/", End: prefixEnd("l/"), Serializable: true}.Call(),
		"[4 2 [[l/1 - 2 4 2 0] [l/2 - 3 3 1 9]]]")
	d.Run(granted+sim.Time(5*time.Second+510*ms), nil)
	d.want(1, all("l/").Call(), "[5 1 [[l/1 - 2 4 2 0]]]")
	d.want(1, RevokeLease(9), errLeaseNotFound.Text)
	d.wantRecords("key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1",
		"key-gone l of:c/1 by: expired")
}

// TestLeasesThatEndAtOnceOnAMemberAlone checks that all leases that end at the same time are removed. The member has no
// peers and its fsyncs take no time, so it applies the end of one lease while it is still going through the list of
// ended leases.
func TestLeasesThatEndAtOnceOnAMemberAlone(t *testing.T) {
	d := newDeskOf(t, "etcd-1")
	for n := range 4 {
		d.ask(1, GrantLease(5, int64(n+1)))
		d.ask(1, put(fmt.Sprint("l/", n+1), "-", int64(n+1)).Call())
	}
	d.ask(1, GrantLease(60, 9))
	d.ask(1, put("l/9", "-", 9).Call())
	d.pass(6 * time.Second)
	d.want(1, all("l/").Call(), "[10 1 [[l/9 - 6 6 1 9]]]")
	for n := range 4 {
		d.want(1, LeaseTimeToLive(int64(n+1)), fmt.Sprintf("[%d -1 0]", n+1))
	}
}

func TestKeepalivesProlongALease(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, GrantLease(3, 9))
	d.askFor("c/2", 1, put("l/1", "-", 9).Call())
	for member := range 4 {
		d.pass(2 * time.Second)
		if got := d.askFor("c/1", member%3+1, KeepLeaseAlive(9)); got != "[9 3]" {
			t.Errorf("at member %d: %s", member%3+1, got)
		}
	}
	d.askFor("x/1", 1, KeepLeaseAlive(9))
	d.pass(5 * time.Second)
	d.want(1, KeepLeaseAlive(9), "[9 0]")
	prolonged := "key-prolonged l of:c/2 by:c/2" // a renewal of the lease counts as done by the key's owner
	d.wantRecords("key-set l of:c/2 by:c/2", prolonged, prolonged, prolonged, prolonged,
		"key-prolonged l of:c/2 by:x/1", "key-gone l of:c/2 by: expired")
}

func TestAKeepaliveThatComesAfterTheEndIsTooLate(t *testing.T) {
	d := newDesk(t)
	d.ask(1, GrantLease(2, 9))
	granted := d.Now()
	for d.Now() < granted+sim.Time(2*time.Second+5*ms) {
		d.pass(ms)
	}
	d.want(1, KeepLeaseAlive(9), "[9 0]") // the answer comes after the leader has revoked the lease
	if late := d.Now() - granted; late > sim.Time(2*time.Second+520*ms) {
		t.Errorf("answered after %v", late)
	}
}

func TestShortLeasesAreGrantedForLonger(t *testing.T) {
	d := newDesk(t)
	d.want(1, GrantLease(1, 7), "[7 2]") // one and a half election timeouts, rounded up
	d.want(1, GrantLease(3, 8), "[8 3]")
	d.want(2, GrantLease(3, 8), errLeaseExists.Text)
	a, b := d.ask(1, GrantLease(5, 0)), d.ask(2, GrantLease(5, 0))
	if a == b {
		t.Errorf("two leases of one name: %s", a)
	}
}

func TestRevokingALeaseDeletesItsKeys(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, GrantLease(60, 9))
	d.askFor("c/1", 1, put("l/1", "-", 9).Call())
	d.askFor("c/1", 1, put("l/2", "-", 9).Call())
	d.askFor("c/2", 1, remove("l/2").Call())
	if got := d.askFor("c/1", 3, RevokeLease(9)); got != "[5]" {
		t.Error(got)
	}
	d.want(1, all("l/").Call(), "[5 0 []]")
	d.wantRecords("key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1", "key-gone l of:c/1 by:c/2 deleted",
		"key-gone l of:c/1 by:c/1 deleted")
}

func TestANewLeaderProlongsAllLeases(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 2, GrantLease(5, 9))
	d.askFor("c/1", 2, put("l/1", "-", 9).Call())
	d.pass(4800 * ms)
	d.Stop("etcd-1", sim.PowerLoss)
	d.Run(d.Now()+sim.Time(5*time.Second), func() bool { return d.Members()[1].Leading() || d.Members()[2].Leading() })
	elected := d.Now()
	d.Run(elected+sim.Time(6*time.Second-20*ms), nil)
	d.want(2, own("l/1").Call(), "[2 1 [[l/1 - 2 2 1 9]]]")
	d.Run(elected+sim.Time(6500*ms+50*ms), nil)
	d.want(2, get("l/1").Call(), "[3 0 []]")
	d.wantRecords("key-set l of:c/1 by:c/1", "key-prolonged l of:c/1 by:", "key-gone l of:c/1 by: expired")
}

func TestAFastLeaderEndsLeasesEarly(t *testing.T) {
	d := newDesk(t)
	d.ask(1, GrantLease(10, 9))
	d.Drift("etcd-1", 500_000)
	d.Drift("etcd-2", -500_000) // the clocks of followers have no effect
	d.pass(6 * time.Second)
	d.want(1, LeaseTimeToLive(9), "[9 0 10]")
	d.pass(1200 * ms)
	d.want(1, LeaseTimeToLive(9), "[9 -1 0]")
}

func TestLeasesSurviveARestartOfTheWholeCluster(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, GrantLease(60, 9))
	d.askFor("c/1", 1, put("l/1", "v", 9).Call())
	for _, m := range d.Members() {
		d.Stop(m.Name(), sim.PowerLoss)
	}
	d.pass(2 * time.Minute)
	for _, m := range d.Members() {
		d.Restart(m.Name())
	}
	d.want(2, get("l/1").Call(), "[2 1 [[l/1 v 2 2 1 9]]]")
	d.want(2, KeepLeaseAlive(9), "[9 60]")
}

func TestAKeepaliveIsPutToTheNextLeader(t *testing.T) {
	d := newDesk(t)
	d.ask(1, GrantLease(60, 9))
	d.Stop("etcd-1", sim.PowerLoss)
	began := d.Now()
	d.want(2, KeepLeaseAlive(9), "[9 60]")
	if took := (d.Now() - began).Duration(); took < time.Second || took > 3*time.Second {
		t.Errorf("answered after %v; an election takes between one and two seconds", took)
	}
	leader, other := sim.ProcessID("etcd-2"), sim.ProcessID("etcd-3")
	if d.Members()[2].Leading() {
		leader, other = other, leader
	}
	d.Stop(leader, sim.PowerLoss)
	answer := ""
	d.AddClient("c", d.Now(), func(env sim.Env) {
		answer = call(env, sim.Conn{Server: other}, time.Minute, "", KeepLeaseAlive(9))
	})
	d.pass(10 * time.Second)
	d.Restart("etcd-1")
	d.pass(5 * time.Second)
	if answer != errTimeout.Text {
		t.Errorf("without a leader for ten seconds: %q", answer)
	}
}

func TestTheEndOfALeaseIsProposedOnce(t *testing.T) {
	d := newDesk(t)
	d.ask(1, GrantLease(2, 9))
	links := func(f func(from, to sim.ProcessID)) func() {
		return func() {
			for _, other := range []sim.ProcessID{"etcd-2", "etcd-3"} {
				f("etcd-1", other)
				f(other, "etcd-1")
			}
		}
	}
	d.At(sim.Time(2450*ms), links(d.Cut)) // the leader checks its leases at 2.5 s and 3 s and cannot reach the others
	d.At(sim.Time(3300*ms), links(d.Heal))
	d.pass(4 * time.Second)
	d.want(1, LeaseTimeToLive(9), "[9 -1 0]")
	if m := d.Members()[0]; !m.Leading() || m.Applied() != 4 {
		t.Errorf("leading %v, %d entries; want the two from the start, the grant and one end", m.Leading(), m.Applied())
	}
}
