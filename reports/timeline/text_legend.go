package timeline

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// legend explains the signs that occur in this timeline, and says what the timeline leaves out.
func (t *table) legend(p *text.Writer, hidden int) {
	inside, paused := "in its section", "paused outside its section"
	if t.anyLane(func(c *clientLane) bool { return len(c.Operations) > 0 }) {
		inside, paused = "in an operation", "paused"
	}
	tooMany := "two clients inside at once"
	if n := t.lanes.permits(); n > 1 {
		tooMany = fmt.Sprintf("more than %d clients inside at once", n)
	}
	var signs []string
	add := func(in place, marks, words string) {
		if shown := t.drawnOf(in, marks); shown != "" {
			signs = append(signs, shown+" "+words)
		}
	}
	add(inLane, "▄█▀", inside)
	add(inLane, "▒", "paused in its section")
	add(inLane, "░", paused)
	add(inLane, "✗", "crashed")
	add(inLease, "┐│┘", "lease, as the client sees it")
	add(inLane, "┆", "asking for the lock")
	owners, explained := t.keyLegend()
	signs = append(signs, owners...)
	more := "more behind them"
	switch {
	case t.depth == 1:
		more = "several keys"
	case t.lanes.severalMayHold():
		more = "more keys"
	}
	add(inKeys, "+", more)
	add(inKeys, "?", "key of an unknown client")
	add(inKeys, "·", "no key")
	if t.drawnOf(inKeys, " ") != "" {
		signs = append(signs, "blank: no keys were recorded")
	}
	add(inKeys, "✗", "server down")
	add(inGutter, "▸", "witness")
	add(inGutter, "!", tooMany)
	add(inGutter, "⋮", "time left out")
	p.Flow("", signs)
	t.names(p, explained)
	if len(t.tracks) > 1 {
		names := make([]string, len(t.tracks))
		for i, lock := range t.tracks {
			names[i] = string(lock)
		}
		p.Flow("bars from left to right: ", names)
	}
	t.omissions(p, hidden)
}

// drawnOf returns those of the given marks that are drawn.
func (t *table) drawnOf(in place, marks string) string {
	return strings.Map(func(mark rune) rune {
		if t.drawn.signs[sign{in, mark}] {
			return mark
		}
		return -1
	}, marks)
}

// keyLegend explains the clients' marks on keys, using one or two clients as an example. It also returns these clients.
func (t *table) keyLegend() (words []string, clients []int) {
	name := func(c int) string { return t.lanes.clients[c].Name }
	if q := t.drawn.queue; q != nil {
		if t.lanes.severalMayHold() {
			return []string{fmt.Sprintf("%c%c on a member: %s's key and %s's key", t.markOf(q[0]), t.markOf(q[1]),
				name(q[0]), name(q[1]))}, q
		}
		return []string{fmt.Sprintf("%c%c on a member: %s's key, with %s's key behind it", t.markOf(q[0]),
			t.markOf(q[1]), name(q[0]), name(q[1]))}, q
	}
	for _, c := range slices.Sorted(maps.Keys(t.drawn.owners)) {
		if c >= 0 {
			return []string{fmt.Sprintf("%c key held by %s", t.markOf(c), name(c))}, []int{c}
		}
	}
	return nil, nil
}

// names lists which clients the drawn marks stand for. It includes each client whose lane has its mark as the title. It
// also includes each owner of a drawn key, except the clients in explained, whose marks the legend has already
// explained. It omits marks that are the number in the client's name.
func (t *table) names(p *text.Writer, explained []int) {
	var names []string
	for c := range t.lanes.clients {
		title := slices.Contains(t.clients, c) && t.titledByMark(c)
		if !title && (!t.drawn.owners[c] || slices.Contains(explained, c)) || t.isNumbered(c) {
			continue
		}
		names = append(names, fmt.Sprintf("%c %s", t.markOf(c), t.lanes.clients[c].Name))
	}
	if len(names) > 0 {
		p.Flow("lanes: ", names)
	}
}

// isNumbered reports whether a lane's mark is the number in its client's name.
func (t *table) isNumbered(client int) bool {
	c := &t.lanes.clients[client]
	base, n, ok := numbered(c.Process)
	return ok && base != "" && c.Name == string(c.Process) && n == client+1 && n <= 9
}

func (t *table) anyLane(f func(*clientLane) bool) bool {
	return slices.ContainsFunc(t.clients, func(c int) bool { return f(&t.lanes.clients[c]) })
}

// omissions lists what the text timeline leaves out.
func (t *table) omissions(p *text.Writer, hidden int) {
	var left []string
	if hidden > 0 {
		left = append(left, text.Count(hidden, "step"))
	}
	clients := len(t.lanes.clients)
	if i, ok := t.lanes.clientOf[probe]; ok && !slices.Contains(t.clients, i) {
		clients-- // do not mention that the probe is omitted
	}
	if n := clients - len(t.clients); n > 0 {
		left = append(left, "lanes of "+text.Count(n, "client"))
	}
	if n := len(t.lanes.servers) - len(t.servers); n > 0 {
		left = append(left, "keys on "+text.Count(n, "server"))
	}
	if n := len(t.lanes.locks) - len(t.keys); n > 0 && t.block > 0 {
		left = append(left, "keys of "+text.Count(n, "lock"))
	}
	if len(left) > 0 {
		p.Flow("left out: ", left)
	}
}
