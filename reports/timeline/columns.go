package timeline

import (
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// probe is the client that checks the lock after the run. It is drawn only if it is part of the witness, because its
// section comes long after the rest of the run.
const probe = history.Probe

// table is a text timeline's layout: which lanes are drawn, and in which columns.
type table struct {
	lanes   *Lanes
	clients []int // indices in lanes.clients, ascending
	ranked  []int // the same indices, most important clients first
	servers []int // indices in lanes.servers
	// tracks lists the locks that have their own bar in each client's lane. If all locks share one bar, it contains a
	// single empty name.
	tracks []history.Lock
	keys   []history.Lock // the locks whose keys are shown
	bar    int            // width of a section's bar, in terminal cells
	time   int            // width of the column of times
	lane   int            // width of a client's lane, including the gap
	block  int            // width of one lock's keys, including the gap
	// number of a lock's keys drawn on one server: the owner's key, and those set after it
	depth int
	cell  int // width of a lock's keys on one server, including the gap
	words int // column at which the words begin
	width int
	drawn drawnSigns
}

const (
	gutter    = 4  // width of the signs between the time and the lanes: " ▸! "
	leastText = 30 // minimum width of the words
	goodText  = 38 // preferred width of the words
	mostLocks = 3  // if there are more locks, they share one bar
	// mostInLine is the maximum number of keys drawn on a server for one lock.
	mostInLine = 3
)

// layTable chooses the widest layout that leaves room for the words. To make room, it first does without wide bars. It
// then leaves out the clients that play no part in the rows shown, the lane names, separate bars for locks, and finally
// servers and clients.
func layTable(l *Lanes, shown []row, width int) *table {
	t := &table{lanes: l, width: width, time: 7, depth: min(l.depth(), mostInLine), cell: 1,
		drawn: drawnSigns{signs: map[sign]bool{}, owners: map[int]bool{}}}
	if t.depth > 1 {
		t.cell = t.depth + 1
	}
	for _, r := range shown {
		t.time = max(t.time, len(l.clock(r.at)))
	}
	for i := range l.servers {
		t.servers = append(t.servers, i)
	}
	locks := l.locks
	if len(locks) == 0 || len(locks) > mostLocks {
		locks = []history.Lock{""}
	}
	all, part := involved(l, shown)
	t.ranked = all
	keys := keyLocks(l, shown)
	for _, try := range []struct {
		bar     int
		named   bool
		clients []int
		tracks  []history.Lock
	}{
		{3, true, all, locks}, {1, true, all, locks}, {3, true, part, locks}, {1, true, part, locks},
		{1, false, all, locks}, {1, false, part, locks}, {1, false, part, []history.Lock{""}},
	} {
		t.ranked = try.clients
		t.form(try.bar, try.named, try.tracks, keys)
		if t.width-t.words >= goodText {
			return t
		}
	}
	for t.width-t.words < leastText && (len(t.keys) > 1 || len(t.servers) > 3 || len(t.ranked) > 1) {
		t.shrink()
	}
	return t
}

// shrink makes the table narrower by one step: it removes all but one lock's keys, or one server, or one client.
func (t *table) shrink() {
	switch {
	case len(t.keys) > 1:
		t.keys = t.keys[:1]
	case len(t.servers) > 7:
		t.servers = t.servers[:len(t.servers)-1]
	case len(t.ranked) > 4:
		t.ranked = t.ranked[:len(t.ranked)-1]
	case len(t.servers) > 3:
		t.servers = t.servers[:len(t.servers)-1]
	default:
		t.ranked = t.ranked[:len(t.ranked)-1]
	}
	t.form(t.bar, false, t.tracks, t.keys)
}

// form computes the column widths and positions for the given layout.
func (t *table) form(bar int, named bool, tracks, keys []history.Lock) {
	t.bar, t.tracks, t.keys = bar, tracks, keys
	t.clients = slices.Sorted(slices.Values(t.ranked))
	t.lane = len(tracks) * (bar + 1)
	if named {
		for _, c := range t.clients {
			t.lane = max(t.lane, text.Cells(t.lanes.clients[c].Name))
		}
		t.lane++
	}
	t.lane++
	t.words = t.time + gutter + len(t.clients)*t.lane + 1
	t.block = 0
	if len(t.servers) > 0 && len(keys) > 0 {
		t.block = max(len(t.servers)*t.cell, 4)
		if t.cell > 1 { // the gap of the last cell is also the gap of the block
			t.block--
		}
		for _, k := range keys {
			most := 8 // maximum width of a lock's name, which may be long; the name of a service is written in full
			if len(t.lanes.locks) <= 1 {
				most = len("kubernetes")
			}
			t.block = max(t.block, min(text.Cells(t.keyTitle(k)), most))
		}
		t.block += 2
		t.words += len(keys) * t.block
	}
}

// keyTitle returns the title of the columns that show a lock's keys. If there are several locks, it is the lock's name.
// Otherwise it is what the servers' names have in common, such as redis.
func (t *table) keyTitle(k history.Lock) string {
	if len(t.lanes.locks) > 1 {
		return string(k)
	}
	base, _, ok := numbered(t.lanes.servers[0].Process)
	if !ok {
		return "keys"
	}
	return strings.TrimSuffix(base, "-")
}

// involved returns all clients that can be drawn, in this order: clients in the witness, clients that appear in the
// rows, other clients. part contains only the clients in the first two groups.
func involved(l *Lanes, shown []row) (all, part []int) {
	rank := make([]int, len(l.clients))
	for i := range rank {
		rank[i] = 2
		if l.clients[i].Process == probe {
			rank[i] = 3
		}
	}
	for _, r := range shown {
		for _, pos := range r.events() {
			e := &l.history.Events[pos]
			c := l.lane(pos)
			if e.F == history.Apply {
				c = l.number(behalf(e))
			}
			if c >= 0 {
				if r.proof {
					rank[c] = 0
				} else if l.clients[c].Process != probe {
					rank[c] = min(rank[c], 1)
				}
			}
		}
	}
	for want := range 3 {
		for c, got := range rank {
			if got == want {
				all = append(all, c)
			}
		}
		if want < 2 {
			part = slices.Clone(all)
		}
	}
	return all, part
}

// keyLocks returns the locks that get a column for their keys: all locks if there are only a few, and otherwise only
// the lock that the witness is about.
func keyLocks(l *Lanes, shown []row) []history.Lock {
	if len(l.locks) <= mostLocks {
		return l.locks
	}
	for _, r := range shown {
		for _, pos := range r.events() {
			if lock := l.history.Events[pos].Lock; r.proof && slices.Contains(l.locks, lock) {
				return []history.Lock{lock}
			}
		}
	}
	return l.locks[:1]
}

// head writes the column titles.
func (t *table) head(p *text.Writer) {
	ln := new(text.Line).Right(t.time, "seconds").To(t.time + gutter)
	col := ln.Cells()
	for _, c := range t.clients {
		title := t.lanes.clients[c].Name
		if t.titledByMark(c) {
			title = string(t.markOf(c))
		}
		ln.To(col).Add(text.Bold, title)
		col += t.lane
	}
	if t.block > 0 {
		col++
		for _, k := range t.keys {
			ln.To(col).Add(text.Bold, text.Clip(t.keyTitle(k), t.block-1))
			col += t.block
		}
	}
	p.Put(ln)
}

// titledByMark reports whether a lane is too narrow for its name, so that its title is its mark.
func (t *table) titledByMark(client int) bool {
	return text.Cells(t.lanes.clients[client].Name) >= t.lane
}
