package sim

import (
	"cmp"
	"slices"
)

// When a client continues after a pause, it finds both the messages that have arrived and the timers that have run out
// in the meantime. A real client may see either first: if SIGSTOP stops it with an answer in its buffer, and its read
// deadline passes, CPython reads the answer when it continues, and a Go program reads it about every other time. So the
// order is drawn at random. There is one draw for each connection, whose bytes stay in order. The key of the draw is
// that of the first answer that waited on the connection, so that another fault does not change the result.

// sortHeld orders the events that a client finds after a pause: first those on the connections that it looks at before
// its timers, then its timers, then those on the other connections. The order within each of these stays the same.
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

// found is a connection on which something has arrived during a pause, with the key of its draw.
type found struct {
	conn   *conn
	key    uint64
	answer bool // the key is from an answer, not from a push or a handshake
}

// place returns 0 for an event that the client finds before its timers, 1 for a timer, and 2 for an event that it finds
// after its timers.
func place(who actor, all []found) uint64 {
	c, _ := arrived(who)
	if c == nil {
		return 1
	}
	i := slices.IndexFunc(all, func(f found) bool { return f.conn == c })
	return mix(all[i].key^resumeDraw) % 2 * 2
}

// resumeDraw makes these draws independent of the draws of delays.
const resumeDraw = 0x726573756d65

// readInTurn orders the events that an [EventLoop] finds after a pause.
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

// incoming returns the connection of a client, or the link of a peer, on which an event delivers something to a server.
// It returns nil if the event delivers nothing.
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

// connOf returns the connection on which an event delivers something from a client, or nil if it delivers nothing.
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

// InTurn sorts a list so that elements with the same owner are next to each other. The owners keep the order in which
// they first occur. of returns the owner of an element. An element whose owner is nil keeps its place.
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

// placed is an element of a list with the place where its owner first occurs.
type placed[T any] struct {
	x  T
	at int
}

// arrived returns the connection on which an event delivers something to a client, and a key of what it delivers. The
// connection is nil if the event delivers nothing.
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
