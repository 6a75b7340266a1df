package sim

import (
	"cmp"
	"slices"
)

// When a client continues after a pause, both replies and timeouts may be waiting for it. A real client may see either
// of them first. For example, suppose that SIGSTOP stops a client that has a reply in its buffer, and the client's read
// deadline passes. When the client continues, CPython reads the reply, and a Go program reads it about half of the
// time. So the order is drawn at random, once for each connection. The bytes on a connection stay in order. The draw
// uses the random key of the first reply waiting on the connection, so a fault elsewhere does not change the result.

// sortHeld sorts the events that a client finds after a pause into three groups: events on some connections, the
// client's timers, and events on the other connections. Random draws decide which connections belong to the first
// group. Within each group, the order stays the same.
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

// found is a connection on which something arrived during a pause, with the key of the random draw for that connection.
type found struct {
	conn   *conn
	key    uint64
	answer bool // the key is that of an answer, not of a push or a handshake
}

// place returns an event's position in the order of sortHeld: 0 for an event before the client's timers, 1 for a timer,
// and 2 for an event after the timers.
func place(who actor, all []found) uint64 {
	c, _ := arrived(who)
	if c == nil {
		return 1
	}
	i := slices.IndexFunc(all, func(f found) bool { return f.conn == c })
	return mix(all[i].key^resumeDraw) % 2 * 2
}

// resumeDraw is mixed into the keys of the random draws that place makes, so that they are independent of the delay
// draws.
const resumeDraw = 0x726573756d65

// readInTurn sorts the events that an [EventLoop] finds after a pause into the order in which the event loop handles
// them.
func (p *Process) readInTurn() {
	for i := range p.held {
		switch c := connOf(p.held[i].who); {
		case incoming(p.held[i].who) == nil:
			p.held[i].seq = 0
		case c == nil || !c.pending:
			p.held[i].seq = 1
		default:
			p.held[i].seq = 2
		}
	}
	slices.SortStableFunc(p.held, func(a, b event) int { return cmp.Compare(a.seq, b.seq) })
	InTurn(p.held, func(e event) any { return incoming(e.who) })
	for _, e := range p.held {
		if c := connOf(e.who); c != nil {
			c.pending = false
		}
	}
}

// incoming returns the client connection, or the link from another server, through which an event delivers something to
// a server. It returns nil if the event does not deliver anything.
func incoming(who actor) any {
	switch m := who.(type) {
	case *peerMessage:
		return m.link
	case *peerEnd:
		return m.link
	}
	if c := connOf(who); c != nil {
		return c
	}
	return nil
}

// connOf returns the client connection through which an event delivers something to a server, or nil if there is none.
func connOf(who actor) *conn {
	switch m := who.(type) {
	case *message:
		return m.c
	case *farewell:
		return m.c
	case *Pipe:
		return m.c
	}
	return nil
}

// InTurn sorts a list so that elements with the same owner are adjacent. Owners stay in the order in which they first
// occur. of returns an element's owner. If it returns nil, the element is not grouped with any other.
func InTurn[T any](list []T, of func(T) any) {
	if len(list) < 3 {
		return
	}
	first := map[any]int{}
	places := make([]placed[T], len(list))
	for i, x := range list {
		places[i] = placed[T]{x, i}
		owner := of(x)
		if owner == nil {
			continue
		}
		if at, known := first[owner]; known {
			places[i].at = at
		} else {
			first[owner] = i
		}
	}
	slices.SortStableFunc(places, func(a, b placed[T]) int { return cmp.Compare(a.at, b.at) })
	for i := range places {
		list[i] = places[i].x
	}
}

// placed is an element of a list, with the position at which its owner first occurs.
type placed[T any] struct {
	x  T
	at int
}

// arrived returns the connection on which an event delivers something to a client, and the key for random draws that
// concern this delivery. If the event does not deliver anything to a client, c is nil.
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
