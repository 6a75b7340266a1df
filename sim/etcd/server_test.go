package etcd

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// desk is a world with delays of 1 ms, in which requests are made one by one.
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

// show writes a reply in brackets.
func show(r sim.Reply) string {
	if r.Error() != "" {
		return r.Error()
	}
	if s, ok := r.Bulk(); ok {
		return s
	}
	if n, ok := r.Int(); ok {
		return fmt.Sprint(n)
	}
	if r.Status != sim.Answered {
		return "no reply"
	}
	var parts []string
	for _, e := range r.Array() {
		parts = append(parts, show(e))
	}
	return "[" + strings.Join(parts, " ") + "]"
}

// ask sends a request to a member and returns the reply. Each request has a new client.
func (d *desk) ask(member int, request string) string {
	d.t.Helper()
	return d.askFor("", member, request)
}

func (d *desk) askFor(attempt history.Attempt, member int, request string) string {
	d.t.Helper()
	d.n++
	answer := ""
	args := strings.Split(request, " ")
	d.AddClient(sim.ProcessID(fmt.Sprintf("client-%d", d.n)), d.Now(), func(env sim.Env) {
		c := sim.Conn{Server: sim.ProcessID(fmt.Sprintf("etcd-%d", member))}
		answer = show(env.Call(30*time.Second, nil, sim.Request{Conn: c, Args: args, Attempt: attempt})[0])
	})
	d.Run(d.Now()+sim.Time(time.Minute), func() bool { return answer != "" })
	if d.Err() != nil {
		d.t.Fatal(d.Err())
	}
	return answer
}

func (d *desk) want(member int, request, answer string) {
	d.t.Helper()
	if got := d.ask(member, request); got != answer {
		d.t.Errorf("%s: %s, want %s", request, got, answer)
	}
}

// pass lets time pass.
func (d *desk) pass(by time.Duration) { d.Run(d.Now()+sim.Time(by), nil) }

// records lists the records of keys.
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
	d.want(1, "RANGE a", "[1 0 []]")
	d.want(1, "PUT a x", "[2]")
	d.want(2, "PUT a y", "[3]")
	d.want(3, "RANGE a", "[3 1 [[a y 2 3 2 0]]]")
	d.want(1, "DELETE b", "[3 0]")
	d.want(1, "DELETE a", "[4 1]")
	d.want(1, "PUT a z", "[5]")
	d.want(3, "RANGE a", "[5 1 [[a z 5 5 1 0]]]")
	d.want(3, "STATUS", "[5 etcd-1 2]")
}

func TestRanges(t *testing.T) {
	d := newDesk(t)
	for _, k := range []string{"l/c", "l/a", "l/b", "m"} {
		d.ask(1, "PUT "+k+" -")
	}
	d.ask(1, "PUT l/c again")
	for request, want := range map[string]string{
		"RANGE l/ PREFIX":                                      "l/a l/b l/c",
		"RANGE l/ PREFIX SORT KEY DESC":                        "l/c l/b l/a",
		"RANGE l/ PREFIX SORT CREATE ASC LIMIT 1":              "l/c",
		"RANGE l/ PREFIX SORT MOD ASC":                         "l/a l/b l/c",
		"RANGE l/ PREFIX SORT CREATE DESC LIMIT 1 MAXCREATE 3": "l/a",
		"RANGE l/ PREFIX SORT CREATE DESC LIMIT 1 MAXCREATE 1": "",
		"RANGE l/ PREFIX MINCREATE 3":                          "l/a l/b",
		"RANGE l/ PREFIX MINMOD 4 MAXMOD 4":                    "l/b",
		"RANGE m SERIALIZABLE":                                 "m",
		"RANGE n PREFIX":                                       "",
	} {
		var got []string
		for _, word := range strings.FieldsFunc(d.ask(2, request),
			func(r rune) bool { return strings.ContainsRune("[] ", r) }) {
			if strings.HasPrefix(word, "l/") || word == "m" {
				got = append(got, word)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", request, got, want)
		}
	}
}

func TestReadsAreLinearizableUnlessAskedOtherwise(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "PUT a 1")
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Cut("etcd-3", other)
		d.Cut(other, "etcd-3")
	}
	d.ask(1, "PUT a 2")
	d.want(3, "RANGE a SERIALIZABLE", "[2 1 [[a 1 2 2 1 0]]]")
	d.want(3, "RANGE a", errTimeout.Text)
	d.want(3, "TXN THEN 2 RANGE a", errTimeout.Text)
	d.want(3, "PUT a 3", errTimeout.Text)
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Heal("etcd-3", other)
		d.Heal(other, "etcd-3")
	}
	d.pass(time.Second)
	d.want(3, "TXN THEN 2 RANGE a", "[3 1 [[3 1 [[a 2 2 3 2 0]]]]]")
}

func TestTransactions(t *testing.T) {
	d := newDesk(t)
	const take = "TXN IF CREATE l/1 = 0 THEN 3 PUT l/1 one THEN 3 RANGE l/ PREFIX ELSE 2 RANGE l/1"
	d.want(1, take, "[2 1 [[2] [2 1 [[l/1 one 2 2 1 0]]]]]")
	d.want(2, take, "[2 0 [[2 1 [[l/1 one 2 2 1 0]]]]]")
	d.want(1, "TXN IF VALUE l/1 = one IF VERSION l/1 < 2 IF MOD l/1 > 1 IF LEASE l/1 != 5 THEN 2 DELETE l/1",
		"[3 1 [[3 1]]]")
	d.want(1, "TXN IF VALUE l/1 = one ELSE 3 PUT a 1 ELSE 3 PUT b 2", "[4 0 [[4] [4]]]")
	d.want(1, "RANGE b", "[4 1 [[b 2 4 4 1 0]]]")
	d.want(1, "TXN THEN 5 PUT a 1 LEASE 77", errLeaseNotFound.Text)
	const twice = "etcdserver: duplicate key given in txn request"
	d.want(1, "TXN THEN 3 PUT a 1 THEN 3 PUT a 2", twice)
	d.want(1, "TXN THEN 3 PUT ab 1 ELSE 3 DELETE a PREFIX THEN 3 DELETE a PREFIX", twice)
	d.want(1, "TXN THEN 2 DELETE a ELSE 3 PUT a 2 ELSE 2 DELETE a", twice)
	d.want(1, "TXN THEN 2 DELETE none", "[4 1 [[4 0]]]")
	d.want(1, "TXN", "[4 1 []]")
}

func TestWhatIsNoRequestIsRefused(t *testing.T) {
	d := newDesk(t)
	for _, request := range []string{"", "GET a", "RANGE", "RANGE ", "RANGE a LIMIT", "RANGE a LIMIT -1",
		"RANGE a SORT CREATE",
		"RANGE a SORT SIZE ASC", "RANGE a LEASE 1", "PUT", "PUT a", "PUT a b LEASE x", "PUT a b PREFIX",
		"DELETE a LIMIT 1", "TXN IF",
		"TXN IF CREATE a = x", "TXN IF CREATE a ~ 1", "TXN IF SIZE a = 1", "TXN THEN 9 PUT a b", "TXN THEN 2 WATCH a",
		"TXN THEN x", "TXN ELSEWHERE", "LEASE", "LEASE GRANT", "LEASE GRANT x", "LEASE GRANT 5 x", "LEASE BORROW 1",
		"WATCH", "WATCH a REV x", "WATCH a BACKWARDS", "UNWATCH", "UNWATCH x", "LEASE GRANT 9999999999999"} {
		if got := d.ask(1, request); !strings.HasPrefix(got, "fencepost: ") && !strings.HasPrefix(got, "etcdserver: ") {
			t.Errorf("%q: %s", request, got)
		}
	}
	d.want(1, "PUT a b", "[2]")
}

func TestALeaseEndsByTheLeadersClockAndTakesItsKeysAlong(t *testing.T) {
	d := newDesk(t)
	if got := d.askFor("c/1", 2, "LEASE GRANT 5 9"); got != "[9 5]" {
		t.Fatal(got)
	}
	granted := d.Now()
	d.askFor("c/1", 2, "PUT l/1 - LEASE 9")
	d.askFor("c/1", 2, "PUT l/2 - LEASE 9")
	d.askFor("c/1", 2, "PUT l/1 - LEASE 0") // detached from the lease again
	d.want(3, "LEASE TIMETOLIVE 9", "[9 4 5]")
	d.want(3, "LEASE KEEPALIVE 8", "[8 0]")
	d.want(3, "LEASE TIMETOLIVE 8", "[8 -1 0]")
	d.Run(granted+sim.Time(5*time.Second-10*ms), nil)
	d.want(1, "RANGE l/ PREFIX SERIALIZABLE", "[4 2 [[l/1 - 2 4 2 0] [l/2 - 3 3 1 9]]]")
	d.Run(granted+sim.Time(5*time.Second+510*ms), nil)
	d.want(1, "RANGE l/ PREFIX", "[5 1 [[l/1 - 2 4 2 0]]]")
	d.want(1, "LEASE REVOKE 9", errLeaseNotFound.Text)
	d.wantRecords("key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1",
		"key-gone l of:c/1 by: expired")
}

// TestLeasesThatEndAtOnceOnAMemberAlone: without others and without a time for an fsync, the member applies the end of
// a lease while it still looks for others that have ended.
func TestLeasesThatEndAtOnceOnAMemberAlone(t *testing.T) {
	d := newDeskOf(t, "etcd-1")
	for n := range 4 {
		d.ask(1, fmt.Sprintf("LEASE GRANT 5 %d", n+1))
		d.ask(1, fmt.Sprintf("PUT l/%d - LEASE %d", n+1, n+1))
	}
	d.ask(1, "LEASE GRANT 60 9")
	d.ask(1, "PUT l/9 - LEASE 9")
	d.pass(6 * time.Second)
	d.want(1, "RANGE l/ PREFIX", "[10 1 [[l/9 - 6 6 1 9]]]")
	for n := range 4 {
		d.want(1, fmt.Sprintf("LEASE TIMETOLIVE %d", n+1), fmt.Sprintf("[%d -1 0]", n+1))
	}
}

func TestKeepalivesProlongALease(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, "LEASE GRANT 3 9")
	d.askFor("c/2", 1, "PUT l/1 - LEASE 9")
	for member := range 4 {
		d.pass(2 * time.Second)
		if got := d.askFor("c/1", member%3+1, "LEASE KEEPALIVE 9"); got != "[9 3]" {
			t.Errorf("at member %d: %s", member%3+1, got)
		}
	}
	d.askFor("x/1", 1, "LEASE KEEPALIVE 9")
	d.pass(5 * time.Second)
	d.want(1, "LEASE KEEPALIVE 9", "[9 0]")
	prolonged := "key-prolonged l of:c/2 by:c/2" // the lease's keeper acts on behalf of the key's owner
	d.wantRecords("key-set l of:c/2 by:c/2", prolonged, prolonged, prolonged, prolonged,
		"key-prolonged l of:c/2 by:x/1", "key-gone l of:c/2 by: expired")
}

func TestAKeepaliveThatComesAfterTheEndIsTooLate(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "LEASE GRANT 2 9")
	granted := d.Now()
	for d.Now() < granted+sim.Time(2*time.Second+5*ms) {
		d.pass(ms)
	}
	d.want(1, "LEASE KEEPALIVE 9", "[9 0]") // answered when the leader has revoked the lease
	if late := d.Now() - granted; late > sim.Time(2*time.Second+520*ms) {
		t.Errorf("answered after %v", late)
	}
}

func TestShortLeasesAreGrantedForLonger(t *testing.T) {
	d := newDesk(t)
	d.want(1, "LEASE GRANT 1 7", "[7 2]") // one and a half election time-outs, rounded up
	d.want(1, "LEASE GRANT 3 8", "[8 3]")
	d.want(2, "LEASE GRANT 3 8", errLeaseExists.Text)
	a, b := d.ask(1, "LEASE GRANT 5"), d.ask(2, "LEASE GRANT 5")
	if a == b {
		t.Errorf("two leases of one name: %s", a)
	}
}

func TestRevokingALeaseDeletesItsKeys(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, "LEASE GRANT 60 9")
	d.askFor("c/1", 1, "PUT l/1 - LEASE 9")
	d.askFor("c/1", 1, "PUT l/2 - LEASE 9")
	d.askFor("c/2", 1, "DELETE l/2")
	if got := d.askFor("c/1", 3, "LEASE REVOKE 9"); got != "[5]" {
		t.Error(got)
	}
	d.want(1, "RANGE l/ PREFIX", "[5 0 []]")
	d.wantRecords("key-set l of:c/1 by:c/1", "key-set l of:c/1 by:c/1", "key-gone l of:c/1 by:c/2 deleted",
		"key-gone l of:c/1 by:c/1 deleted")
}

func TestANewLeaderProlongsAllLeases(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 2, "LEASE GRANT 5 9")
	d.askFor("c/1", 2, "PUT l/1 - LEASE 9")
	d.pass(4800 * ms)
	d.Stop("etcd-1", sim.PowerLoss)
	d.Run(d.Now()+sim.Time(5*time.Second), func() bool { return d.Members()[1].Leading() || d.Members()[2].Leading() })
	elected := d.Now()
	d.Run(elected+sim.Time(6*time.Second-20*ms), nil)
	d.want(2, "RANGE l/1 SERIALIZABLE", "[2 1 [[l/1 - 2 2 1 9]]]")
	d.Run(elected+sim.Time(6500*ms+50*ms), nil)
	d.want(2, "RANGE l/1", "[3 0 []]")
	d.wantRecords("key-set l of:c/1 by:c/1", "key-prolonged l of:c/1 by:", "key-gone l of:c/1 by: expired")
}

func TestAFastLeaderEndsLeasesEarly(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "LEASE GRANT 10 9")
	d.Drift("etcd-1", 500_000)
	d.Drift("etcd-2", -500_000) // the clocks of followers do not matter
	d.pass(6 * time.Second)
	d.want(1, "LEASE TIMETOLIVE 9", "[9 0 10]")
	d.pass(1200 * ms)
	d.want(1, "LEASE TIMETOLIVE 9", "[9 -1 0]")
}

func TestLeasesSurviveARestartOfTheWholeCluster(t *testing.T) {
	d := newDesk(t)
	d.askFor("c/1", 1, "LEASE GRANT 60 9")
	d.askFor("c/1", 1, "PUT l/1 v LEASE 9")
	for _, m := range d.Members() {
		d.Stop(m.Name(), sim.PowerLoss)
	}
	d.pass(2 * time.Minute)
	for _, m := range d.Members() {
		d.Restart(m.Name())
	}
	d.want(2, "RANGE l/1", "[2 1 [[l/1 v 2 2 1 9]]]")
	d.want(2, "LEASE KEEPALIVE 9", "[9 60]")
}

func TestAKeepaliveIsPutToTheNextLeader(t *testing.T) {
	d := newDesk(t)
	d.ask(1, "LEASE GRANT 60 9")
	d.Stop("etcd-1", sim.PowerLoss)
	began := d.Now()
	d.want(2, "LEASE KEEPALIVE 9", "[9 60]")
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
		answer = show(env.Call(time.Minute, nil,
			sim.Request{Conn: sim.Conn{Server: other}, Args: []string{"LEASE", "KEEPALIVE", "9"}})[0])
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
	d.ask(1, "LEASE GRANT 2 9")
	links := func(f func(from, to sim.ProcessID)) func() {
		return func() {
			for _, other := range []sim.ProcessID{"etcd-2", "etcd-3"} {
				f("etcd-1", other)
				f(other, "etcd-1")
			}
		}
	}
	d.At(sim.Time(2450*ms), links(d.Cut)) // the leader checks at 2.5 s and 3 s, and cannot reach anyone
	d.At(sim.Time(3300*ms), links(d.Heal))
	d.pass(4 * time.Second)
	d.want(1, "LEASE TIMETOLIVE 9", "[9 -1 0]")
	if m := d.Members()[0]; !m.Leading() || m.Applied() != 4 {
		t.Errorf("leading %v, %d entries; want the two from the start, the grant and one end", m.Leading(), m.Applied())
	}
}
