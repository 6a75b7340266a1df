package sim

import (
	"fmt"
	"maps"
	"slices"
)

// network connects the processes. It holds the directed links and the messages on them.
type network struct {
	links    map[linkName]*link
	linkSlab slab[link]
	connSlab slab[conn]
	open     map[uint64]*conn // open connections; used only in an endless run, which does not use the slab
	opened   uint64           // number of connections opened so far
	messages []*message       // all messages created so far, for reuse
	free     []*message
	underWay int    // number of messages in flight
	asked    counts // number of requests so far per link, attempt and phase
	requests uint64 // number of requests so far
}

// slab allocates values that are used until the end of a run. The next run reuses them.
type slab[T any] struct {
	all  []*T
	used int
}

// take returns a value from the slab. If the value was used in an earlier run, it still has its old contents.
func (s *slab[T]) take() *T {
	if s.used == len(s.all) {
		s.all = append(s.all, new(T))
	}
	s.used++
	return s.all[s.used-1]
}

func (s *slab[T]) reset() { s.used = 0 }

type linkName struct{ from, to ProcessID }

func (n *network) reset() {
	if n.links == nil {
		n.links = map[linkName]*link{}
	}
	clear(n.links)
	n.linkSlab.reset()
	n.connSlab.reset()
	clear(n.open)
	n.opened = 0
	n.asked.reset()
	n.free = append(n.free[:0], n.messages...)
	n.underWay, n.requests = 0, 0
}

// conn is a client's connection to a server. In each direction, bytes arrive in the order in which they were sent.
type conn struct {
	name     Conn
	id       uint64
	up, down *link
	server   *Process
	life     uint64 // Process.life of the server when the first bytes arrived; 0 until then
	fresh    bool   // opened during the run and not used yet, so its first request includes a handshake
	opened   bool   // opened during the run, not at its start
	pending  bool   // opened while the server was paused, so the server has not accepted it yet
	closed   bool
	lastUp   Time // arrival time of the last message in each direction
	lastDown Time
	client   *Process
	inbox    [][]byte // pushes that have not been read yet
	pushed   int      // number of pushes that have arrived
	hungUp   bool     // the client has seen that the server closed the connection
	reader   waiter   // the task that is blocked in Receive
	pipe     *Pipe    // the pipe of this connection, or nil if a task uses it
}

// conn returns the open connection with the given name. If there is none, it opens one. The first connection with a
// name does not need a handshake, because it counts as having been open since the start of the run.
func (p *Process) conn(name Conn) *conn {
	at := p.find(name)
	if at >= 0 && !p.conns[at].closed {
		return p.conns[at]
	}
	if at >= 0 {
		p.conns = slices.Delete(p.conns, at, at+1)
	}
	server := p.w.byName[name.Server]
	if server == nil || server.server == nil {
		panic(fmt.Sprintf("sim: %s calls %s, which is not a server", p.id, name.Server))
	}
	c := p.w.newConn(p, server)
	c.name, c.fresh, c.opened = name, at >= 0, at >= 0
	p.conns = append(p.conns, c)
	return c
}

// find returns the index of the connection with the given name, or -1 if there is none. It starts searching after the
// connection that was used last, because clients usually send requests to one server after another.
func (p *Process) find(name Conn) int {
	for range p.conns {
		if p.latest++; p.latest >= len(p.conns) {
			p.latest = 0
		}
		if p.conns[p.latest].name == name {
			return p.latest
		}
	}
	return -1
}

// newConn returns a new connection without a name.
func (w *World) newConn(client, server *Process) *conn {
	n := &w.net
	var c *conn
	if w.opts.Endless {
		if n.open == nil {
			n.open = map[uint64]*conn{}
		}
		n.opened++
		c = &conn{id: n.opened}
		n.open[c.id] = c
	} else {
		c = n.connSlab.take()
		*c = conn{id: uint64(n.connSlab.used)}
	}
	c.client, c.server = client, server
	c.up, c.down = w.link(client.id, server.id), w.link(server.id, client.id)
	return c
}

// numbered returns the connection with the given number, or nil if there is none.
func (n *network) numbered(id uint64) *conn {
	if id > 0 && id <= uint64(n.connSlab.used) {
		return n.connSlab.all[id-1]
	}
	return n.open[id]
}

// all returns a run's connections, in the order in which they were opened.
func (n *network) all() []*conn {
	if len(n.open) == 0 {
		return n.connSlab.all[:n.connSlab.used]
	}
	list := make([]*conn, 0, len(n.open))
	for _, id := range slices.Sorted(maps.Keys(n.open)) {
		list = append(list, n.open[id])
	}
	return list
}

// close closes a connection at the client's end.
func (c *conn) close() {
	c.closed = true
	delete(c.client.w.net.open, c.id)
	if c.client.w.opts.Endless && c.pipe != nil {
		c.client.conns = slices.DeleteFunc(c.client.conns, func(o *conn) bool { return o == c })
	}
}

func (p *Process) closeConn(name Conn) {
	if i := slices.IndexFunc(p.conns, func(c *conn) bool { return c.name == name }); i >= 0 {
		c := p.conns[i]
		c.bid()
		c.close()
	}
}
