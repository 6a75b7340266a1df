package timeline

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/reports/text"
)

// legend explains the signs that can occur in this timeline, and says what the timeline leaves out.
func (t *table) legend(p *text.Writer, hidden int) {
	registers := t.anyLane(func(c *clientLane) bool { return len(c.Operations) > 0 })
	signs := []string{"█ in its section"}
	if registers {
		signs = []string{"█ in an operation"}
	}
	if t.anyLane(func(c *clientLane) bool { return len(c.Pauses) > 0 }) {
		signs = append(signs, "▒ paused in its section", "░ paused outside its section")
	}
	if t.anyLane(func(c *clientLane) bool { return len(c.Crashes) > 0 }) {
		signs = append(signs, "✗ crashed")
	}
	if !registers {
		signs = append(signs, "┐│┘ lease, as the client sees it", "┆ asking for the lock")
	}
	if t.block > 0 && len(t.clients) > 0 {
		c := t.clients[0]
		signs = append(signs, t.keyLegend(c)...)
		if slices.ContainsFunc(t.servers, func(s int) bool { return len(t.lanes.servers[s].Down) > 0 }) {
			signs = append(signs, "✗ server down")
		}
	}
	if signs = append(signs, "▸ witness"); !registers {
		tooMany := "! two clients inside at once"
		if n := t.lanes.permits(); n > 1 {
			tooMany = fmt.Sprintf("! more than %d clients inside at once", n)
		}
		signs = append(signs, tooMany)
	}
	signs = append(signs, "⋮ time left out")
	p.Flow("", signs)
	t.numbered(p)
	if len(t.tracks) > 1 {
		names := make([]string, len(t.tracks))
		for i, lock := range t.tracks {
			names[i] = string(lock)
		}
		p.Flow("bars from left to right: ", names)
	}
	t.omissions(p, hidden)
}

// numbered lists the names of lanes whose title is only a number. If any client has several lanes, the numbers stand
// for lanes rather than clients, so the reader needs this list.
func (t *table) numbered(p *text.Writer) {
	if !t.anyLane(func(c *clientLane) bool { return c.Name != string(c.Process) }) {
		return
	}
	var names []string
	for _, c := range t.clients {
		if name := t.lanes.clients[c].Name; text.Cells(name) >= t.lane {
			names = append(names, fmt.Sprintf("%c %s", t.digit(c), name))
		}
	}
	if len(names) > 0 {
		p.Flow("lanes: ", names)
	}
}

// keyLegend explains the signs for keys, using one client as an example.
func (t *table) keyLegend(c int) []string {
	one := t.digit(c)
	another := slices.IndexFunc(t.clients, func(two int) bool {
		return t.lanes.clients[two].Process != t.lanes.clients[c].Process
	})
	if t.depth == 1 || another < 0 {
		return append([]string{fmt.Sprintf("%c key held by %s", one, t.lanes.clients[c].Process)}, t.noKey()...)
	}
	two := t.clients[another]
	signs := []string{fmt.Sprintf("%c%c on a member: %s's key, with %s's key behind it", one, t.digit(two),
		t.lanes.clients[c].Process, t.lanes.clients[two].Process)}
	if t.lanes.depth() > t.depth {
		signs = append(signs, "+ more behind them")
	}
	return append(signs, t.noKey()...)
}

// noKey explains the signs for servers without a key.
func (t *table) noKey() []string {
	signs := []string{"· no key"}
	if slices.ContainsFunc(t.servers, func(s int) bool { return len(t.lanes.servers[s].Copies) > 0 }) {
		signs = append(signs, "blank: no keys were recorded")
	}
	return signs
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
