package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// A request's first argument is the name of its operation, such as create2. The second is a frame in ZooKeeper's
// protocol without its length. This holds for the modeled client and for libraries that connect through package front.
// Replies and pushes are frames, or ClosedReply. A four-letter command has no second argument, and its reply is text.
const (
	ReqEnter = "connect"  // the first frame of a connection, which requests a session
	ReqTorn  = "no-frame" // stands for a frame with an invalid length; it has no second argument
)

// handler serves the first request in a connection's queue: it replies, proposes a transaction, or closes the
// connection. f contains the fields after the request's head.
type handler func(s *server, m *raft.Member, c *connection, f *jute.Fields)

// handlerOf returns the handler for an operation, or nil if the operation is not simulated.
func handlerOf(op jute.Op) handler {
	switch op {
	case jute.Ping:
		return (*server).pong
	case jute.Sync:
		return (*server).sync
	case jute.Auth:
		return (*server).authenticate
	case jute.Exists, jute.GetData, jute.GetChildren, jute.GetChildren2, jute.GetACL:
		return (*server).look
	case jute.SetWatches, jute.SetWatches2:
		return (*server).setWatches
	case jute.AddWatch:
		return (*server).addWatch
	case jute.CheckWatches, jute.RemoveWatches:
		return (*server).findWatches
	}
	if _, is := readWrite(op, &jute.Fields{}); is {
		return (*server).write
	}
	return nil
}

// Simulates reports whether members treat an operation the way ZooKeeper does. That includes unknown operation numbers,
// which both refuse.
func Simulates(op jute.Op) bool { return handlerOf(op) != nil || op.String() == jute.Unknown }

// serveFirst serves the first request in a connection's queue.
func (s *server) serveFirst(m *raft.Member, c *connection) {
	r := c.queue[0]
	if len(r.Args) < 2 {
		s.hangUp(m, c)
		return
	}
	if c.session == 0 {
		s.enter(m, c, r)
		return
	}
	f := jute.Fields{Rest: []byte(r.Args[1])}
	c.xid, c.op = f.Int(), jute.Op(f.Int())
	if f.Torn {
		s.hangUp(m, c)
		return
	}
	serve := handlerOf(c.op)
	if serve == nil { // an unknown operation: like ZooKeeper, reply and close the connection
		s.answer(c, body(jute.Unimplemented))
		s.hangUp(m, c)
		return
	}
	serve(s, m, c, &f)
}

// enter starts a session, or moves an existing one to this connection (ZooKeeperServer.processConnectRequest).
func (s *server) enter(m *raft.Member, c *connection, r *sim.Incoming) {
	q, ok := jute.ReadConnect([]byte(r.Args[1]))
	if !ok || s.isBehind(m, Zxid(q.Seen)) {
		s.hangUp(m, c)
		return
	}
	c.op, c.old = jute.CreateSession, q.Old
	cmd := command{kind: createSession, attempt: r.Attempt, conn: c.id, client: r.Client,
		timeout: s.config.negotiate(msOf(q.Timeout))}
	if q.Session != 0 {
		// the session's earlier connection is closed even if the password is wrong
		for _, x := range slices.Clone(s.conns) {
			if x.session == SessionID(q.Session) {
				s.hangUp(m, x)
			}
		}
		if q.Password != password(q.Session) {
			s.answer(c, noSession(q.Old))
			s.hangUp(m, c)
			return
		}
		cmd.kind, cmd.session = moveSession, SessionID(q.Session)
	}
	s.propose(m, c, &cmd)
}

func (s *server) pong(_ *raft.Member, c *connection, _ *jute.Fields) {
	c.xid = jute.XidPing
	s.answer(c, body(0))
}

// sync replies once this member has caught up with its leader, even if that leader has been deposed without knowing it.
func (s *server) sync(m *raft.Member, c *connection, f *jute.Fields) {
	path := f.Path()
	c.busy = true
	m.CatchUp(func(err error) {
		if c.gone {
			return
		}
		c.busy = false
		if err != nil {
			s.hangUp(m, c)
			return
		}
		s.answer(c, body(0).Text(path))
		s.serve(m, c)
	})
}

// authenticate handles a client's request to prove its identity. The digest scheme is supported. The ip scheme is
// accepted but has no effect.
func (s *server) authenticate(m *raft.Member, c *connection, f *jute.Fields) {
	f.Int()
	scheme, given := f.Text(), f.Text()
	switch {
	case f.Torn:
		s.hangUp(m, c)
	case scheme == digestScheme:
		if id := identity(given); !slices.Contains(c.identities, id) {
			c.identities = append(slices.Clone(c.identities), id)
		}
		s.answer(c, body(0))
	case scheme == "ip":
		s.answer(c, body(0))
	default:
		s.answer(c, body(jute.AuthFailed))
		s.hangUp(m, c)
	}
}

// mayRead reports whether a connection's client may read a znode with the given access list.
func (s *server) mayRead(conn uint64, acl []permission) bool {
	c := s.connection(conn)
	return c == nil || permits(acl, jute.Read, c.identities)
}

// look reads one znode from this member's own state, which may be older than the leader's. It sets a watch if the
// request asks for one and the operation allows it for this result.
func (s *server) look(_ *raft.Member, c *connection, f *jute.Fields) {
	s.answer(c, s.found(c, c.op, f))
}

// found executes a read and returns the reply's body.
func (s *server) found(c *connection, op jute.Op, f *jute.Fields) jute.Record {
	path := f.Path()
	watch := op != jute.GetACL && f.Flag()
	n := s.node(path)
	switch {
	case f.Torn:
		return body(jute.MarshallingError)
	case op == jute.Exists && strings.Contains(path, "\x00"):
		return body(jute.BadArguments)
	case op == jute.Exists && watch:
		s.watches.data.add(path, c.id, oneEvent)
	}
	perm := jute.Read
	if op == jute.GetACL {
		perm |= jute.Admin
	}
	switch {
	case n == nil:
		return body(jute.NoNode)
	case op != jute.Exists && !n.permits(perm, c.identities):
		return body(jute.NoAuth)
	case watch && op == jute.GetData:
		s.watches.data.add(path, c.id, oneEvent)
	case watch && op != jute.Exists:
		s.watches.child.add(path, c.id, oneEvent)
	}
	b := body(0)
	switch op {
	case jute.GetData:
		if n.null {
			b = b.Null()
		} else {
			b = b.Text(n.data)
		}
	case jute.GetChildren:
		return b.Texts(n.children)
	case jute.GetChildren2:
		b = b.Texts(n.children)
	case jute.GetACL:
		b = appendACL(b, n.visibleACL(c.identities))
	}
	return appendStat(b, n.stat())
}

// setWatches restores the watches of a client that has reconnected, one kind at a time.
func (s *server) setWatches(m *raft.Member, c *connection, f *jute.Fields) {
	seen := Zxid(f.Long())
	lists := [][]string{f.Texts(), f.Texts(), f.Texts()}
	var stay, far []string
	if c.op == jute.SetWatches2 {
		stay, far = f.Texts(), f.Texts()
	}
	if f.Torn {
		s.answer(c, body(jute.MarshallingError))
		return
	}
	for kind, paths := range lists {
		for _, path := range paths {
			s.setWatch(m, c, watchKind(kind), path, seen)
		}
	}
	for i, list := range [][]string{stay, far} {
		for _, path := range list {
			s.watches.addBoth(path, c.id, persistent+watchMode(i))
		}
	}
	s.answer(c, body(0))
}

// setWatch restores a watch for a client that has reconnected. If the event happened while the client was disconnected,
// setWatch sends it at once (DataTree.setWatches).
func (s *server) setWatch(m *raft.Member, c *connection, kind watchKind, path string, seen Zxid) {
	n := s.node(path)
	switch {
	case kind == watchExists && n != nil:
		s.notify(m, c.id, Event{NodeCreated, path})
	case kind == watchExists:
		s.watches.data.add(path, c.id, oneEvent)
	case n == nil:
		s.notify(m, c.id, Event{NodeDeleted, path})
	case kind == watchData && n.mzxid > seen:
		s.notify(m, c.id, Event{NodeDataChanged, path})
	case kind == watchData:
		s.watches.data.add(path, c.id, oneEvent)
	case n.pzxid > seen:
		s.notify(m, c.id, Event{NodeChildrenChanged, path})
	default:
		s.watches.child.add(path, c.id, oneEvent)
	}
}

// addWatch adds a watch that stays in place after it has fired.
func (s *server) addWatch(_ *raft.Member, c *connection, f *jute.Fields) {
	path, mode := f.Path(), f.Int()
	if f.Torn || mode != jute.PersistentWatch && mode != jute.RecursiveWatch {
		s.answer(c, body(jute.MarshallingError))
		return
	}
	s.watches.addBoth(path, c.id, persistent+watchMode(mode))
	s.answer(c, body(0).Int(0))
}

// findWatches implements CheckWatches and RemoveWatches. CheckWatches looks for any client's watches on a path.
// RemoveWatches removes the requesting client's watches.
func (s *server) findWatches(_ *raft.Member, c *connection, f *jute.Fields) {
	path, kind := f.Path(), f.Int()
	tables, found := s.watches.kinds(kind), false
	for _, w := range tables {
		switch {
		case f.Torn:
		case c.op == jute.CheckWatches:
			found = found || len(w.of[path]) > 0 // watches of other clients count too, as in ZooKeeper 3.8
		default:
			found = w.remove(path, c.id) || found
		}
	}
	switch {
	case f.Torn || tables == nil:
		s.answer(c, body(jute.MarshallingError))
	case !found:
		s.answer(c, body(jute.NoWatcher))
	default:
		s.answer(c, body(0))
	}
}

// write proposes a request's transaction. Even a truncated request uses up a zxid.
func (s *server) write(m *raft.Member, c *connection, f *jute.Fields) {
	cmd, _ := readWrite(c.op, f)
	if f.Torn {
		cmd = command{kind: tornRequest}
	}
	cmd.attempt, cmd.session, cmd.conn, cmd.identities = c.queue[0].Attempt, c.session, c.id, c.identities
	cmd.at = m.Wall() / 1e6
	for i := range cmd.parts {
		p := &cmd.parts[i]
		p.attempt, p.at, p.identities = cmd.attempt, cmd.at, cmd.identities
	}
	s.propose(m, c, &cmd)
}

// readWrite decodes a request's transaction. ok is false if the operation is not a transaction.
func readWrite(op jute.Op, f *jute.Fields) (c command, ok bool) {
	switch op {
	case jute.CloseSession:
		return command{kind: closeSession}, true
	case jute.Multi:
		return readMulti(f), true
	}
	c, _, ok = readPart(op, f)
	return c, ok
}

// readMulti decodes the parts of a multi. If the multi contains an operation that is not allowed in it, readMulti sets
// f.Torn. If a part is a create, its flags determine its mode, whatever the operation is. If they request a TTL but the
// operation is not createTTL, the multi fails at that part, as if it had been truncated there (MultiOperationRecord).
func readMulti(f *jute.Fields) command {
	c := command{kind: multi}
	for {
		op, over := jute.Op(f.Int()), f.Flag()
		f.Int()
		if f.Torn || over {
			return c
		}
		part, flags, known := readPart(op, f)
		if f.Torn = f.Torn || !known; f.Torn {
			return c
		}
		if creates(op) && (op != jute.CreateTTL || part.mode != withTTL) {
			part.op = jute.Create
			if flags == jute.Container {
				part.op = jute.CreateContainer
			}
			if part.mode = modeOf(part.op, flags); part.mode == withTTL {
				part.kind = tornRequest
			}
		}
		c.parts = append(c.parts, part)
	}
}

// readPart decodes a transaction on one znode. For a create, it also returns the flags.
func readPart(op jute.Op, f *jute.Fields) (c command, flags int32, known bool) {
	c = command{op: op, path: f.Path()}
	switch op {
	case jute.Create, jute.Create2, jute.CreateContainer, jute.CreateTTL:
		c.kind = createNode
		c.data, c.null = f.Buffer()
		c.acl = append([]permission{}, readACL(f)...)
		flags = f.Int()
		if op == jute.CreateTTL {
			f.Long()
		}
		c.mode = modeOf(op, flags)
	case jute.Delete, jute.Check:
		c.kind, c.version = deleteNode, int64(f.Int())
		if op == jute.Check {
			c.kind = checkVersion
		}
	case jute.SetData:
		c.kind = setData
		c.data, c.null = f.Buffer()
		c.version = int64(f.Int())
	case jute.SetACL:
		c.kind = setAccess
		c.acl = append([]permission{}, readACL(f)...)
		c.version = int64(f.Int())
	default:
		return c, 0, false
	}
	return c, flags, true
}

// modeOf returns the mode of the znode that a create request adds. Only op determines whether the znode is a container.
func modeOf(op jute.Op, flags int32) Mode {
	sequential := flags == jute.PersistentSequential || flags == jute.EphemeralSequential
	switch {
	case flags < jute.Persistent || flags > jute.PersistentSequentialTTL:
		return noMode
	case flags >= jute.PersistentTTL:
		return withTTL
	case op == jute.CreateTTL:
		return noMode
	case op == jute.CreateContainer && sequential:
		return ContainerSequential
	case op == jute.CreateContainer:
		return ContainerMode
	}
	return map[int32]Mode{jute.Ephemeral: Ephemeral, jute.PersistentSequential: PersistentSequential,
		jute.EphemeralSequential: EphemeralSequential}[flags]
}

// answerWord replies to a four-letter command and closes the connection. As in ZooKeeper's default configuration, only
// srvr is allowed. All latencies and packet counts in its reply are 0.
func (s *server) answerWord(m *raft.Member, r *sim.Incoming) {
	word, text := r.Args[0], ""
	switch {
	case word != "srvr":
		text = word + " is not executed because it is not in the whitelist.\n"
	case m.Leader() == "":
		text = "This ZooKeeper instance is not currently serving requests\n"
	default:
		mode := "follower"
		if m.Leading() {
			mode = "leader"
		}
		text = fmt.Sprintf("Zookeeper version: 3.8.0-fencepost, built on 2022-02-25 08:49 UTC\n"+
			"Latency min/avg/max: 0/0.0/0\nReceived: 0\nSent: 0\nConnections: %d\nOutstanding: 0\nZxid: 0x%x\n"+
			"Mode: %s\nNode count: %d\n", len(s.conns)+1, int64(s.zxid), mode, len(s.nodes))
	}
	r.Reply([]byte(text))
	m.Push(r.ConnID, m.Second(), []byte(ClosedReply))
}
