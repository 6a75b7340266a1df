package zookeeper

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestWatchesFireOnceForWhatTheyWatch(t *testing.T) {
	e := newEnsemble(t)
	e.create(e.a, "/q", Persistent)
	for _, c := range []struct {
		what string
		do   func()
		want string
	}{
		{"create", func() { e.create(e.a, "/q/c", Persistent) }, "1 NodeCreated /q/c; 4 NodeChildrenChanged /q"},
		{"set", func() { e.set("/q/c", AnyVersion) }, "1 NodeDataChanged /q/c"},
		{"set of the parent", func() { e.set("/q", AnyVersion) }, "3 NodeDataChanged /q"},
		{"delete", func() { e.delete(e.a, "/q/c", AnyVersion) },
			"1 NodeDeleted /q/c; 2 NodeDeleted /q/c; 4 NodeChildrenChanged /q"},
		{"nothing", func() { e.set("/none", AnyVersion) }, ""},
	} {
		var w watchTable
		w.reset()
		w.data.add("/q/c", 1, oneEvent)
		w.data.add("/q/c", 1, oneEvent) // set twice, notified once
		w.child.add("/q/c", 1, oneEvent)
		w.child.add("/q/c", 2, oneEvent)
		w.data.add("/q", 3, oneEvent)
		w.child.add("/q", 4, oneEvent)
		c.do()
		fire := func() string {
			var report []string
			for _, x := range e.changes {
				w.fire(x.Event, func(conn uint64,
					e Event) {
					report = append(report, fmt.Sprint(conn, " ", e.Type, " ", e.Path))
				})
			}
			return strings.Join(report, "; ")
		}
		same(t, c.what, fire(), c.want)
		same(t, c.what+" again", fire(), "")
	}
}

func TestSessionsExpireAtTheTickAfterTheirTimeout(t *testing.T) {
	const tick = 2 * time.Second
	for _, c := range []struct{ alive, timeout, ends time.Duration }{
		{0, 4 * time.Second, 6 * time.Second}, // exactly at a tick, so one whole tick is added
		{time.Nanosecond, 4 * time.Second, 6 * time.Second},
		{2*time.Second - 1, 4 * time.Second, 6 * time.Second},
		{2 * time.Second, 4 * time.Second, 8 * time.Second},
		{1500 * time.Millisecond, 5 * time.Second, 8 * time.Second},
	} {
		var k tracker
		k.begin(tick, 0)
		k.touch(&session{id: 1, timeout: c.timeout}, c.alive, 0)
		var at time.Duration
		for ended := 0; ended == 0 && at < time.Minute; ended = len(k.expired()) {
			at = k.next
		}
		same(t, fmt.Sprintf("heard at %v, timeout %v", c.alive, c.timeout), at, c.ends)
	}
}

func TestNothingRevivesASessionFoundExpired(t *testing.T) {
	var k tracker
	k.begin(time.Second, 0)
	k.touch(&session{id: 1, timeout: time.Second}, 0, 7)
	k.touch(&session{id: 2, timeout: time.Second}, 0, 7)
	same(t, "first tick", len(k.expired()), 0)
	k.touch(&session{id: 2, timeout: time.Second}, time.Second, 8)
	same(t, "second tick", len(k.expired()), 1)
	k.touch(&session{id: 1, timeout: time.Second}, 2*time.Second, 9)
	ended := k.expired()
	same(t, "third tick, the log has not confirmed the first", len(ended), 2)
	same(t, "last deadlines", fmt.Sprint(ended[0].due.Duration(), ended[1].due.Duration()), "7ns 8ns")
	k.forget(1)
	k.forget(2)
	k.forget(2)
	same(t, "after the log has", len(k.expired()), 0)
}
