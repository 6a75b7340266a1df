package timeline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// crowd returns a history in which each of n clients and then the probe asks for the lock and acquires it. Each has a
// key on a server of its own, and so has an unknown client. All sections overlap.
func crowd(n int) *history.History {
	h := &history.History{Header: history.Header{Locks: []history.Lock{"l"}, Permits: n + 1}}
	var all []history.Process
	for i := range n {
		all = append(all, history.Process(fmt.Sprint("client-", i+1)))
	}
	h.Header.Clients = append(all, probe)
	for i, p := range append(h.Header.Clients, "stranger") {
		of := history.Attempt(p + "/1")
		add := func(e history.Event) {
			e.Index, e.Time, e.Lock = len(h.Events), history.Time(len(h.Events)+1)*1e6, "l"
			h.Events = append(h.Events, e)
		}
		if p != "stranger" {
			add(history.Event{Process: p, F: history.Acquire, Type: history.Invoke, Attempt: of})
			add(history.Event{Process: p, F: history.Acquire, Type: history.OK, Attempt: of})
		}
		server := history.Process(fmt.Sprint("redis-", i+1))
		h.Header.Servers = append(h.Header.Servers, server)
		add(history.Event{Process: server, F: history.KeySet, Type: history.OK, Of: of, Member: string(of)})
	}
	h.Header.End = h.Events[len(h.Events)-1].Time
	return h
}

// TestEachLaneHasItsOwnMark checks that no two lanes have the same mark. The exception is a lane for which no mark is
// left: all such lanes share one mark, which nothing else uses, and the legend names their clients.
func TestEachLaneHasItsOwnMark(t *testing.T) {
	for n := range 100 {
		l := Arrange(crowd(n+1), nil)
		for _, e := range append(LegendErrors(l, 80), ChartLegendErrors(l)...) {
			t.Errorf("%d clients: %s", n+1, e)
		}
		table, _, _ := l.lay(1000)
		of := map[rune]int{table.markOf(-1): -1}
		for c := range l.clients {
			mark := table.markOf(c)
			if other, taken := of[mark]; taken && (mark != otherMark || c < len(clientMarks)) {
				t.Errorf("%d clients: lanes %d and %d both have the mark %c", n+1, other+1, c+1, mark)
			}
			of[mark] = c
		}
	}
	var b strings.Builder
	Arrange(crowd(100), nil).draw(text.New(&b, 1000, false))
	for _, want := range []string{"? key of an unknown client", "p probe", "a client-10", "q client-25", "* client-61",
		"* client-100"} {
		if !strings.Contains(b.String(), want+"  ") && !strings.Contains(b.String(), want+"\n") {
			t.Errorf("the legend does not say %q:\n%s", want, b.String())
		}
	}
}

// TestLanesOfOneClientAreNamed checks that the legend names the lanes of a client that has several, because their marks
// are not the number in the client's name.
func TestLanesOfOneClientAreNamed(t *testing.T) {
	h := goroutines(12)
	for i := range 12 {
		of := history.Attempt(fmt.Sprintf("orders@vm-7/%d", i+1))
		h.Events = append(h.Events, history.Event{Index: len(h.Events), Time: 10_000, Process: "redis-1", Lock: "l",
			F: history.KeySet, Type: history.OK, Of: of, Member: string(of)})
	}
	for _, width := range []int{60, 100, 200, 400} {
		for _, of := range []*history.History{h, crowd(70)} {
			for _, e := range LegendErrors(Arrange(of, nil), width) {
				t.Errorf("%d columns: %s", width, e)
			}
		}
	}
}

// TestKeysNextToTheProbesAreExplained checks the sign for several keys where there is room for only one, because the
// probe's key does not count.
func TestKeysNextToTheProbesAreExplained(t *testing.T) {
	h := crowd(1)
	for i := range h.Events {
		if h.Events[i].F == history.KeySet {
			h.Events[i].Process = "redis-1"
		}
	}
	h.Events = h.Events[:len(h.Events)-1] // the stranger's key
	l := Arrange(h, nil)
	l.witness[len(h.Events)-1] = true
	var b strings.Builder
	l.draw(text.New(&b, 80, false))
	if !strings.Contains(b.String(), "+ several keys") {
		t.Errorf("the legend does not explain the sign for several keys:\n%s", b.String())
	}
	for _, e := range LegendErrors(l, 80) {
		t.Error(e)
	}
}
