package checker

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/slow"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// TestNamesOnAnotherLockChangeNothing checks that an attempt's name identifies it only together with its lock. It adds
// the attempts of a bystander, which holds another lock, to a history. Whether they have names of their own or those of
// the history's attempts, the two implementations of the laws must find the same violations as without them.
func TestNamesOnAnotherLockChangeNothing(t *testing.T) {
	files, err := filepath.Glob("testdata/laws/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range lawCases(t, string(text)) {
			if i%testkit.Size(4, 1, 1) > 0 {
				continue
			}
			sameWithBystander(t, c.name, fromLog(t, c.history))
		}
	}
	for round := range testkit.Size(60, 400, 4_000) {
		g := newGossip(uint64(round), *stream)
		switch round % 3 {
		case 0:
			g.anything(12 + round%30)
		case 1:
			g.twoGrants()
		default:
			g.joinedKey()
		}
		sameWithBystander(t, fmt.Sprint("round ", round), g.h)
	}
}

// sameWithBystander lets a bystander hold its lock at each position of the history, first under names of its own and
// then under the names of the history's attempts, and compares the findings.
func sameWithBystander(t *testing.T, name string, h *history.History) {
	t.Helper()
	var names, own []history.Attempt
	for i := range h.Events {
		for _, a := range []history.Attempt{h.Events[i].Attempt, h.Events[i].Of, h.Events[i].By} {
			if a != "" && !slices.Contains(names, a) {
				names = append(names, a)
				own = append(own, history.Attempt(fmt.Sprintf("bystander/<%d>", len(names))))
			}
		}
	}
	for at := range len(h.Events) + 1 {
		alone, same := withBystander(h, at, own), withBystander(h, at, names)
		want, got := Check(alone), Check(same)
		for i := range want.Findings {
			w, g := fmt.Sprintf("%+v", want.Findings[i]), fmt.Sprintf("%+v", got.Findings[i])
			for k := range own {
				w = strings.ReplaceAll(w, string(own[k]), string(names[k]))
			}
			if w != g {
				t.Errorf("%s: with the same names on another lock, at position %d:\n%s\ninstead of\n%s", name, at, g, w)
				return
			}
		}
		if w, g := slow.Check(alone), slow.Check(same); !reflect.DeepEqual(w, g) {
			t.Errorf("%s: with the same names on another lock, at position %d, slow finds\n%+v\ninstead of\n%+v",
				name, at, g, w)
			return
		}
	}
}

// withBystander returns a copy of a history in which another client acquires another lock at the given position, writes
// the data, extends the lock and releases it, once for each name.
func withBystander(h *history.History, at int, names []history.Attempt) *history.History {
	server, now := history.Process("redis-1"), history.Time(0)
	if len(h.Header.Servers) > 0 {
		server = h.Header.Servers[0]
	}
	if at > 0 {
		now = h.Events[at-1].Time
	}
	changed := &history.History{Header: h.Header, Events: slices.Clone(h.Events[:at])}
	for i, a := range names {
		add := func(p history.Process, typ history.Type, f history.F, e history.Event) {
			e.Time, e.Process, e.Type, e.F, e.Lock = now, p, typ, f, "invoices"
			changed.Events = append(changed.Events, e)
		}
		const client history.Process = "bystander"
		lease := &history.Grant{Since: now, Granted: now, Until: now + 1e9, Counted: []history.Process{server}}
		value := fmt.Sprint("invoice ", i)
		add(client, history.Invoke, history.Acquire, history.Event{})
		add(server, history.OK, history.KeySet, history.Event{Of: a, By: a, Until: now + 1e9})
		add(client, history.OK, history.Acquire, history.Event{Attempt: a, Grant: lease})
		if len(h.Events)%2 == 0 { // in some histories, nobody uses the resource
			add(client, history.Invoke, history.Write, history.Event{Attempt: a, Value: value})
			add(history.Resource, history.OK, history.Apply, history.Event{Of: a, Op: history.Write, Value: value})
			add(client, history.OK, history.Write, history.Event{Attempt: a, Value: value})
		}
		add(client, history.Invoke, history.Extend, history.Event{Attempt: a})
		add(server, history.OK, history.KeyProlonged, history.Event{Of: a, By: a, Until: now + 1e9})
		add(client, history.OK, history.Extend, history.Event{Attempt: a, Grant: lease})
		add(client, history.Invoke, history.Release, history.Event{Attempt: a})
		add(server, history.OK, history.KeyGone, history.Event{Of: a, By: a, Why: history.Deleted})
		add(client, history.OK, history.Release, history.Event{Attempt: a})
	}
	changed.Events = append(changed.Events, h.Events[at:]...)
	for i := range changed.Events {
		changed.Events[i].Index = i
	}
	return changed
}
