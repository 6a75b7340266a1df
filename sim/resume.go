package sim

import (
	"cmp"
	"slices"
)

// A client that continues after a pause finds what has arrived in the meantime and the timers that have run out, and a
// real one may see either first: stopped by SIGSTOP with an answer in its buffer and its read deadline over, CPython
// reads the answer, and a Go program reads it about every other time. So it is drawn which of both comes first. The
// draw is made for each connection, whose bytes stay in order. It belongs to the first answer that waited there, so
// that another fault does not change it.

// sortHeld orders the events that a client finds after a pause: first what has arrived on the connections that it looks
// at before its timers, then its timers, then what has arrived on the others. Otherwise the order stays.
func (p *Process) sortHeld() {
	var all []found
	for _, e := range p.held {
		c, key := arrived(e.who)
		if c == nil {
			continue
		}
		_, answer := e.who.(*message)
		switch i := slices.IndexFunc(all, func(f found) bool { return f.conn == c }); {
		case i < 0:
			all = append(all, found{c, key, answer})
		case answer && !all[i].answer:
			all[i] = found{c, key, answer}
		}
	}
	for i := range p.held {
		p.held[i].seq = place(p.held[i].who, all)
	}
	slices.SortStableFunc(p.held, func(a, b event) int { return cmp.Compare(a.seq, b.seq) })
}

// found is a connection on which something has arrived in a pause, and the key of its draw.
type found struct {
	conn   *conn
	key    uint64
	answer bool // it is an answer's
}

// place is 0 for what a client finds before its timers, 1 for these, and 2 for what it finds after them.
func place(who actor, all []found) uint64 {
	c, _ := arrived(who)
	if c == nil {
		return 1
	}
	i := slices.IndexFunc(all, func(f found) bool { return f.conn == c })
	return mix(all[i].key^resumeDraw) % 2 * 2
}

// resumeDraw separates these draws from those of delays.
const resumeDraw = 0x726573756d65

// arrived is the connection on which an event brings something to its client, and a key of what it brings; nil if it
// brings nothing.
func arrived(who actor) (c *conn, key uint64) {
	switch m := who.(type) {
	case *message:
		return m.c, m.link().purpose(string(m.in.Attempt), m.phase) + m.which
	case *push:
		return m.c, m.c.down.name + uint64(m.travel)
	case *handshake:
		return m.c, m.c.down.name + m.drawn
	case *keepAlive:
		return m.c, m.c.down.name + m.c.id
	}
	return nil, 0
}
