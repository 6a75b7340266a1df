package timeline

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/html"
	"github.com/fencepost-sim/fencepost/reports/reporttest"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// queue returns a history of a three-member etcd cluster. client-1 holds the lock. client-2 and client-3 are queuing
// for it, each with its own key. Each key reaches the members one after the other. The last key never reaches etcd-3.
func queue() *history.History {
	h := &history.History{Header: history.Header{Service: history.Etcd,
		Clients: []history.Process{"client-1", "client-2", "client-3"},
		Servers: []history.Process{"etcd-1", "etcd-2", "etcd-3"}, Locks: []history.Lock{"lock"}, Quorum: 2,
		End: reporttest.Seconds(9)}}
	add := func(at float64, p history.Process, f history.F, typ history.Type, of history.Attempt) {
		e := history.Event{Index: len(h.Events), Time: reporttest.Seconds(at), Process: p, F: f, Type: typ,
			Lock: "lock"}
		switch f {
		case history.Acquire, history.Release:
			e.Attempt = of
			if f == history.Acquire && typ == history.OK {
				e.Grant = &history.Grant{Granted: e.Time, Until: e.Time + reporttest.Seconds(5)}
			}
		default:
			e.Of, e.Member = of, "lock/"+string(of)
			if f == history.KeyGone {
				e.Why = history.Deleted
			}
		}
		h.Events = append(h.Events, e)
	}
	add(0, "client-1", history.Acquire, history.Invoke, "client-1/1")
	add(1, "etcd-1", history.KeySet, history.OK, "client-1/1")
	add(1.1, "etcd-2", history.KeyCopied, history.OK, "client-1/1")
	add(1.2, "client-1", history.Acquire, history.OK, "client-1/1")
	add(1.3, "etcd-3", history.KeyCopied, history.OK, "client-1/1")
	add(2, "client-2", history.Acquire, history.Invoke, "client-2/1")
	add(2.1, "etcd-1", history.KeySet, history.OK, "client-2/1")
	add(2.2, "etcd-2", history.KeyCopied, history.OK, "client-2/1")
	add(2.3, "etcd-3", history.KeyCopied, history.OK, "client-2/1")
	add(3, "client-3", history.Acquire, history.Invoke, "client-3/1")
	add(3.1, "etcd-1", history.KeySet, history.OK, "client-3/1")
	add(3.2, "etcd-2", history.KeyCopied, history.OK, "client-3/1")
	add(5, "client-1", history.Release, history.Invoke, "client-1/1")
	add(5.1, "etcd-1", history.KeyGone, history.OK, "client-1/1")
	add(5.2, "etcd-2", history.CopyGone, history.OK, "client-1/1")
	add(5.3, "client-2", history.Acquire, history.OK, "client-2/1")
	add(8, "client-2", history.Release, history.Invoke, "client-2/1")
	return h
}

func TestTheTextDrawsTheLineOnTheMembersThatHaveIt(t *testing.T) {
	var b strings.Builder
	Arrange(queue(), nil).draw(text.New(&b, 100, false))
	for _, want := range []struct{ at, keys string }{
		{"0.000", "·   ·   ·"},
		{"1.200", "1   1   ·"},   // etcd-3 does not know the key yet
		{"3.000", "12  12  12"},  // the waiter's key is shown in addition to the holder's
		{"5.000", "123 123 12"},  // so is the second waiter's key, but etcd-3 never learns of it
		{"5.300", "23  23  12"},  // the queue moves up, but not yet on etcd-3
		{"8.000", "23  23  12 "}, // a client that has left stays in the queue until its key is gone
	} {
		line := ""
		for l := range strings.Lines(b.String()) {
			if strings.HasPrefix(strings.TrimSpace(l), want.at) {
				line = l
				break
			}
		}
		if !strings.Contains(line, " "+want.keys+" ") {
			t.Errorf("at %s want the keys %q:\n%s", want.at, want.keys, b.String())
		}
	}
	if !strings.Contains(b.String(), "12 on a member: client-1's key, with client-2's key behind it") {
		t.Errorf("no legend:\n%s", b.String())
	}
}

func TestTheLineIsCutWhereItIsLong(t *testing.T) {
	h := queue()
	h.Header.Clients = append(h.Header.Clients, "client-4")
	set := h.Events[10]
	set.Of, set.Member, set.Time = "client-4/1", "lock/client-4/1", reporttest.Seconds(3.15)
	h.Events = slices.Insert(h.Events, 11, set)
	var b strings.Builder
	Arrange(h, nil).draw(text.New(&b, 100, false))
	if !strings.Contains(b.String(), " 12+ 123 12 ") || !strings.Contains(b.String(), "+ more behind them") {
		t.Error(b.String())
	}
}

// boxes returns the shapes that represent keys in a member's row.
func boxes(c *chart, member history.Process) (all []shape) {
	var row laneTitle
	for _, r := range c.Rows {
		if r.Name == string(member) {
			row = r
		}
	}
	for _, s := range c.Shapes {
		if strings.HasPrefix(s.Class, "key ") && s.Y >= row.Y && s.Y+s.Height <= row.Y+row.Height {
			all = append(all, s)
		}
	}
	return all
}

func TestThePageDrawsTheLineOnTheMembersThatHaveIt(t *testing.T) {
	c := Arrange(queue(), nil).chart()
	type stretch struct {
		who      string
		from, to float64
		queued   bool
	}
	for member, want := range map[history.Process][]stretch{
		"etcd-1": {{"client-1/1", 1, 5.1, false}, {"client-2/1", 2.1, 5.1, true}, {"client-2/1", 5.1, 9, false},
			{"client-3/1", 3.1, 5.1, true}, {"client-3/1", 5.1, 9, true}},
		"etcd-3": {{"client-1/1", 1.3, 9, false}, {"client-2/1", 2.3, 9, true}},
	} {
		got := boxes(c, member)
		if len(got) != len(want) {
			t.Fatalf("%s: %d boxes, want %d", member, len(got), len(want))
		}
		for i, w := range want {
			s := got[i]
			if !strings.Contains(s.Tip, w.who) || s.A != int64(reporttest.Seconds(w.from)) ||
				s.B != int64(reporttest.Seconds(w.to)) || strings.Contains(s.Class, "queued") != w.queued {
				t.Errorf("%s: box %d is %q %s %d to %d, want %+v", member, i, s.Tip, s.Class, s.A, s.B, w)
			}
		}
		for i, a := range got { // no keys overlap
			for _, b := range got[i+1:] {
				if a.A < b.B && b.A < a.B && a.Y < b.Y+b.Height && b.Y < a.Y+a.Height {
					t.Errorf("%s: %q covers %q", member, a.Tip, b.Tip)
				}
			}
		}
	}
}

// A member that loses its disk no longer has any keys, because it stays out of the cluster.
func TestAMemberWithoutADiskHasNoKeys(t *testing.T) {
	h := queue()
	crash := history.Event{Time: reporttest.Seconds(4), Process: history.Nemesis, F: history.Crash,
		Type: history.Invoke, Value: "crash etcd-2 losing everything",
		Fault: &history.Fault{On: []history.Process{"etcd-2"}, Ends: true, Loses: history.LosesEverything}}
	over := crash
	over.Type, over.Time = history.OK, reporttest.Seconds(4.5)
	h.Events = slices.Insert(h.Events, 12, crash, over)
	l := Arrange(h, nil)
	lane, _ := l.server("etcd-2")
	if len(lane.Keys) != 3 {
		t.Errorf("%d keys, want 3", len(lane.Keys))
	}
	for _, k := range lane.Keys {
		if k.To != reporttest.Seconds(4) {
			t.Errorf("the key of %s stands until %v", k.Of, k.To)
		}
	}
	if lane, _ := l.server("etcd-1"); lane.Keys[1].To != l.end {
		t.Error("the others have lost theirs too")
	}
}

// TestAKeyThatOneMemberReportsGoneIsGone checks that a key ends when any member reports that it is gone, even if
// another member reported that it was set.
func TestAKeyThatOneMemberReportsGoneIsGone(t *testing.T) {
	h := queue()
	h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool { return e.F.IsCopy() })
	for i := range h.Events {
		e := &h.Events[i]
		e.Index = i
		if e.F == history.KeyGone {
			e.Process, e.Why = "etcd-2", history.NotRecorded
		}
	}
	var b strings.Builder
	Arrange(h, nil).draw(text.New(&b, 100, false))
	for l := range strings.Lines(b.String()) {
		if l = strings.TrimSpace(l); strings.HasPrefix(l, "5.300") && strings.Contains(l, " 23  ·   · ") {
			return
		}
	}
	t.Errorf("the key of client-1 stands after its end:\n%s", b.String())
}

// TestWhatASemaphoreCallsTooMany checks that a page says how many clients a semaphore admits, and that a text counts
// the clients whose lanes it omits even if it shows the probe.
func TestWhatASemaphoreCallsTooMany(t *testing.T) {
	h := &history.History{Header: history.Header{Permits: 2, Locks: []history.Lock{"l"}, End: 1e9}}
	add := func(at history.Time, of history.Type, p history.Process) {
		h.Events = append(h.Events, history.Event{Time: at, Process: p, Type: of, F: history.Acquire, Lock: "l",
			Attempt: history.Attempt(p + "/1")})
	}
	for i := range 12 {
		p := history.Process(fmt.Sprint("client-", i+1))
		h.Header.Clients = append(h.Header.Clients, p)
		add(history.Time(i+1)*1e6, history.Invoke, p)
	}
	for i := range 3 {
		add(history.Time(i+20)*1e6, history.OK, h.Header.Clients[i])
	}
	h.Header.Clients = append(h.Header.Clients, probe)
	add(9e8, history.Invoke, probe)
	l := Arrange(h, []checker.Finding{{Law: checker.DeadlockFreedom, Outcome: checker.Violated,
		Witness: []int{len(h.Events) - 1}}})
	page := html.NewWriter("", "")
	page.Put(l.chart().legend())
	if s := page.Body(); !strings.Contains(s, "more than 2 clients inside at once") ||
		strings.Contains(s, "two clients in one critical section") {
		t.Errorf("the legend of the page:\n%s", s)
	}
	var b strings.Builder
	l.draw(text.New(&b, 60, false))
	if !strings.Contains(b.String(), "left out: lanes of 7 clients\n") { // five of twelve are drawn, and the probe
		t.Errorf("the text does not count the omitted lanes:\n%s", b.String())
	}
}
