package etcd

import (
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
)

// watch adds a client that sets a watch on a member and logs what it receives.
func (d *desk) watch(name sim.ProcessID, member sim.ProcessID, w Watch) {
	d.AddClient(name, d.Now(), func(env sim.Env) {
		c := sim.Conn{Server: member, N: 1}
		d.log = append(d.log, string(name)+" "+call(env, c, 10*time.Second, "", w.Call()))
		for {
			data, status := env.Receive(c, time.Hour)
			if status != sim.Answered {
				d.log = append(d.log, string(name)+" closed")
				return
			}
			d.log = append(d.log, string(name)+" "+showEvents(data))
		}
	})
	d.pass(20 * ms)
}

// showEvents formats a watch's events: the kind of each change, and the key as formatted by [showKeys].
func showEvents(data []byte) string {
	r, err := ReadPush(data)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, e := range r.Events {
		kind := map[bool]string{false: "PUT ", true: "DELETE "}[e.Deleted]
		all = append(all, kind+showKeys([]KeyValue{e.KeyValue})[0])
	}
	return strings.Join(all, " ")
}

func (d *desk) report(want ...string) {
	d.t.Helper()
	d.pass(20 * ms)
	if got := strings.Join(d.log, "\n  "); got != strings.Join(want, "\n  ") {
		d.t.Errorf("got\n  %s\nwant\n  %s", got, strings.Join(want, "\n  "))
	}
	d.log = nil
}

func TestAWatchReportsLaterRevisions(t *testing.T) {
	d := newDesk(t)
	d.ask(1, put("l/1", "old", 0).Call())
	d.watch("w", "etcd-3", Watch{Key: "l/", End: prefixEnd("l/")})
	d.watch("x", "etcd-2", Watch{Key: "l/2"})
	d.ask(1, put("l/2", "v", 0).Call())
	d.ask(2, put("m", "v", 0).Call())
	d.ask(2, (&Txn{Then: []Op{remove("l/1"), put("l/3", "w", 0)}}).Call())
	d.ask(1, remove("l/2").Call())
	d.pass(20 * ms)
	var w, x []string
	for _, line := range d.log {
		if line[0] == 'w' {
			w = append(w, line)
		} else {
			x = append(x, line)
		}
	}
	d.log = w
	d.report("w [2]", "w PUT [l/2 v 3 3 1 0]", "w DELETE [l/1  0 5 0 0] PUT [l/3 w 5 5 1 0]",
		"w DELETE [l/2  0 6 0 0]")
	d.log = x
	d.report("x [2]", "x PUT [l/2 v 3 3 1 0]", "x DELETE [l/2  0 6 0 0]")
}

func TestAWatchReadsOnFromARevision(t *testing.T) {
	d := newDesk(t)
	d.ask(1, put("a", "1", 0).Call())
	d.ask(1, put("a", "2", 0).Call())
	d.ask(1, remove("a").Call())
	d.watch("w", "etcd-2", Watch{Key: "a", From: 3})
	d.report("w [4]", "w PUT [a 2 2 3 2 0] DELETE [a  0 4 0 0]")
	d.watch("x", "etcd-2", Watch{Key: "a", From: 6}) // a future revision
	d.ask(1, put("a", "5", 0).Call())
	d.ask(1, put("a", "6", 0).Call())
	d.report("x [4]", "w PUT [a 5 5 5 1 0]", "w PUT [a 6 5 6 2 0]", "x PUT [a 6 5 6 2 0]")
}

func TestAWatchIsTakenUpAtAnotherMemberWithoutAGap(t *testing.T) {
	d := newDesk(t)
	d.ask(1, put("a", "1", 0).Call())
	d.watch("w", "etcd-2", Watch{Key: "a", From: 2})
	d.Stop("etcd-2", sim.ShutDown)
	d.ask(1, put("a", "2", 0).Call())
	d.report("w [2]", "w PUT [a 1 2 2 1 0]", "w closed")
	d.watch("w2", "etcd-3", Watch{Key: "a", From: 3})
	d.report("w2 [3]", "w2 PUT [a 2 2 3 2 0]")
}

func TestAWatchAtAMemberThatIsCutOffFallsBehindAndCatchesUp(t *testing.T) {
	d := newDesk(t)
	d.watch("w", "etcd-3", Watch{Key: "a"})
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Cut("etcd-3", other)
		d.Cut(other, "etcd-3")
	}
	d.ask(1, put("a", "1", 0).Call())
	d.pass(10 * time.Second)
	d.report("w [1]")
	for _, other := range []sim.ProcessID{"etcd-1", "etcd-2"} {
		d.Heal("etcd-3", other)
		d.Heal(other, "etcd-3")
	}
	d.pass(time.Second)
	d.report("w PUT [a 1 2 2 1 0]")
}

func TestCancelingAWatchEndsIt(t *testing.T) {
	d := newDesk(t)
	d.AddClient("w", 0, func(env sim.Env) {
		c := sim.Conn{Server: "etcd-1"}
		cancel := Call{Path: watchPath, Message: string(appendPart(nil, 2, nil))} // cancels watch 0
		for _, ask := range []Call{Watch{Key: "a"}.Call(), Watch{Key: "b"}.Call(), cancel, put("a", "1", 0).Call(),
			put("b", "1", 0).Call()} {
			call(env, c, time.Second, "", ask)
		}
		for {
			data, status := env.Receive(c, time.Second)
			if status != sim.Answered {
				return
			}
			d.log = append(d.log, showEvents(data))
		}
	})
	d.pass(3 * time.Second)
	d.report("PUT [b 1 3 3 1 0]")
}
