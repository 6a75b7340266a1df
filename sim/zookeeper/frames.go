package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Requests in ZooKeeper's own protocol, which package front makes, are called as their operations are (create2), and
// their second argument is the frame without its length. Replies and pushes are frames, or ClosedReply. A command of
// four letters has no second argument; its reply is text.
const (
	ReqEnter = "connect"  // the first frame of a connection: it asks for a session
	ReqTorn  = "no-frame" // in place of a frame whose length makes no sense; without an argument
)

// isFrame reports whether a request is in ZooKeeper's own protocol: names of words are in upper case.
func isFrame(args []string) bool { return len(args) > 0 && strings.ToUpper(args[0]) != args[0] }

// frames is what a member keeps of a connection whose client speaks ZooKeeper's own protocol.
type frames struct {
	old        bool     // the client is one of 3.3 or earlier
	identities []string // that it has proved

	// The request that is being served.
	xid  int32
	op   jute.Op
	path string // of Sync
}

// numbers are the codes as the protocol has them.
var numbers = map[Code]int32{"": 0, NoNode: jute.NoNode, NodeExists: jute.NodeExists, NotEmpty: jute.NotEmpty,
	BadVersion: jute.BadVersion, NoChildrenForEphemerals: jute.NoChildrenForEphemerals,
	BadArguments: jute.BadArguments, SessionExpired: jute.SessionExpired, SessionMoved: jute.SessionMoved,
	NoAuth: jute.NoAuth, InvalidACL: jute.InvalidACL, Unimplemented: jute.Unimplemented,
	MarshallingError: jute.MarshallingError}

// A body is what follows the zxid in a reply: the error, and what the operation returns unless there is one.
func body(code int32) jute.Record { return jute.Record(nil).Int(code) }

// answer is the reply to the request that is being served.
func (f *frames) answer(at Zxid, body []byte) []byte {
	switch code := (&jute.Fields{Rest: body}).Int(); {
	case f.op == jute.CreateSession:
		return jute.Record(body).Framed()
	case f.op == jute.Auth:
		at = 0
	case code == jute.Unimplemented && !creates(f.op):
		at = -1
	}
	return append(jute.Record(nil).Int(f.xid).Long(int64(at)), body...).Framed()
}

// creates reports whether an operation makes a znode: of a kind that is refused, perhaps.
func creates(op jute.Op) bool {
	return op == jute.Create || op == jute.Create2 || op == jute.CreateContainer || op == jute.CreateTTL
}

// moved reports whether the body of a reply says that the session belongs to another connection, which ZooKeeper never
// answers: it closes the connection.
func (f *frames) moved(body []byte) bool {
	return f.op != jute.CreateSession && (&jute.Fields{Rest: body}).Int() == jute.SessionMoved
}

// synced is the body of the reply to Sync.
func (f *frames) synced() []byte { return body(0).Text(f.path) }

// eventFrame is what a watch observed.
func eventFrame(e Event) []byte {
	kind := map[EventType]int32{NodeCreated: jute.NodeCreated, NodeDeleted: jute.NodeDeleted,
		NodeDataChanged: jute.NodeDataChanged, NodeChildrenChanged: jute.NodeChildrenChanged}[e.Type]
	return jute.Record(nil).Int(jute.XidEvent).Long(-1).Int(0).Int(kind).Int(jute.Connected).Text(e.Path).Framed()
}

func appendStat(r jute.Record, s Stat) jute.Record {
	return r.Long(int64(s.Czxid)).Long(int64(s.Mzxid)).Long(s.Ctime).Long(s.Mtime).Int(int32(s.Version)).
		Int(int32(s.Cversion)).Int(int32(s.Aversion)).Long(int64(s.EphemeralOwner)).Int(int32(s.DataLength)).
		Int(int32(s.NumChildren)).Long(int64(s.Pzxid))
}

// outcome is the body of the reply to a transaction.
func (f *frames) outcome(b jute.Record, c *command, r *result) []byte {
	switch {
	case f.op == jute.CreateSession && r.session == nil:
		return append(b, noSession(f.old)...)
	case f.op == jute.CreateSession:
		id := int64(r.session.id)
		return append(b, jute.ConnectReply(id, int32(r.session.timeout.Milliseconds()), password(id), f.old)...)
	case c.kind == multi && r.code != MarshallingError:
		return outcomes(b.Int(0), c, r)
	}
	return appendOutcome(b.Int(numbers[r.code]), f.op, r)
}

// noSession is the reply to a client that wants to keep a session that is over, or whose password it does not know.
func noSession(old bool) jute.Record {
	return jute.ConnectReply(0, 0, string(make([]byte, jute.PasswordLength)), old)
}

// appendOutcome appends what an operation returns.
func appendOutcome(b jute.Record, op jute.Op, r *result) jute.Record {
	if r.code != "" {
		return b
	}
	switch op {
	case jute.Create:
		return b.Text(r.path)
	case jute.Create2, jute.CreateContainer, jute.CreateTTL:
		return appendStat(b.Text(r.path), r.stat)
	case jute.SetData, jute.SetACL:
		return appendStat(b, r.stat)
	}
	return b
}

// outcomes appends what the parts of a multi return. If one has failed, none was carried out, and each has an error:
// none before it, and RuntimeInconsistency after it.
func outcomes(b jute.Record, c *command, r *result) jute.Record {
	const failed, more, over = -1, false, true
	for i := range c.parts {
		switch {
		case r.code == "":
			op := c.parts[i].op
			if op == jute.CreateContainer {
				op = jute.Create2 // as which it is answered (OpResult.CreateResult)
			}
			b = appendOutcome(b.Int(int32(op)).Flag(more).Int(0), op, &r.each[i])
			continue
		case i < len(r.each):
			code := numbers[r.each[i].code]
			b = b.Int(failed).Flag(more).Int(code).Int(code)
		default:
			b = b.Int(failed).Flag(more).Int(jute.RuntimeInconsistency).Int(jute.RuntimeInconsistency)
		}
	}
	return b.Int(failed).Flag(over).Int(-1)
}

// password is that of a session (ZooKeeperServer.generatePasswd, whose generator is java.util.Random).
func password(session int64) string {
	const multiplier, addend, mask = 0x5DEECE66D, 0xB, 1<<48 - 1
	seed := (uint64(session) ^ 0xB3415C00 ^ multiplier) & mask
	b := make([]byte, 0, jute.PasswordLength)
	for len(b) < jute.PasswordLength {
		seed = (seed*multiplier + addend) & mask
		n := uint32(seed >> 16)
		b = append(b, byte(n), byte(n>>8), byte(n>>16), byte(n>>24))
	}
	return string(b)
}

// serveFrame serves the first request that has arrived on a connection.
func (s *server) serveFrame(m *raft.Member, c *connection) {
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
	c.frames.xid, c.frames.op = f.Int(), jute.Op(f.Int())
	if f.Torn {
		s.hangUp(m, c)
		return
	}
	switch op := c.frames.op; op {
	case jute.Ping:
		c.frames.xid = jute.XidPing
		s.answer(c, body(0))
	case jute.Sync:
		c.frames.path = f.Path()
		s.sync(m, c)
	case jute.Auth:
		s.authenticate(m, c, &f)
	case jute.Exists, jute.GetData, jute.GetChildren, jute.GetChildren2, jute.GetACL:
		s.answer(c, s.lookAtFrame(c, op, &f))
	case jute.SetWatches, jute.SetWatches2:
		s.answer(c, s.setWatchesFrame(m, c, op, &f))
	case jute.AddWatch, jute.CheckWatches, jute.RemoveWatches:
		s.answer(c, s.watchFrame(c, op, &f))
	default:
		cmd, known := readWrite(op, &f)
		if !known { // ZooKeeper answers so what it does not know, and closes the connection
			s.answer(c, body(jute.Unimplemented))
			s.hangUp(m, c)
			return
		}
		if f.Torn { // it takes a zxid all the same
			cmd = command{kind: tornRequest}
		}
		cmd.attempt, cmd.session, cmd.conn, cmd.identities = r.Attempt, c.session, c.id, c.frames.identities
		cmd.at = m.Wall() / 1e6
		s.propose(m, c, &cmd)
	}
}

// enter begins a session, or takes one to this connection (ZooKeeperServer.processConnectRequest).
func (s *server) enter(m *raft.Member, c *connection, r *sim.Incoming) {
	q, ok := jute.ReadConnect([]byte(r.Args[1]))
	if !ok || s.behind(m, Zxid(q.Seen)) {
		s.hangUp(m, c)
		return
	}
	c.frames.op, c.frames.old = jute.CreateSession, q.Old
	cmd := command{kind: createSession, attempt: r.Attempt, conn: c.id, client: r.Client,
		timeout: s.config.negotiate(msOf(q.Timeout))}
	if q.Session != 0 {
		for _, x := range slices.Clone(s.conns) { // even if the password is wrong
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

// authenticate adds what a client proves to be. Schemes other than digest prove nothing here.
func (s *server) authenticate(m *raft.Member, c *connection, f *jute.Fields) {
	f.Int()
	scheme, given := f.Text(), f.Text()
	switch {
	case f.Torn:
		s.hangUp(m, c)
	case scheme == digestScheme:
		if id := identity(given); !slices.Contains(c.frames.identities, id) {
			c.frames.identities = append(slices.Clone(c.frames.identities), id)
		}
		s.answer(c, body(0))
	case scheme == "ip":
		s.answer(c, body(0))
	default:
		s.answer(c, body(jute.AuthFailed))
		s.hangUp(m, c)
	}
}

// mayRead reports whether the client of a connection may read what has an access list.
func (s *server) mayRead(conn uint64, acl []permission) bool {
	c := s.connection(conn)
	return c == nil || c.frames == nil || permits(acl, jute.Read, c.frames.identities)
}

// lookAtFrame reads one znode, and sets a watch if one is requested and there is something to wait for.
func (s *server) lookAtFrame(c *connection, op jute.Op, f *jute.Fields) []byte {
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
	case op != jute.Exists && !n.permits(perm, c.frames.identities):
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
		b = appendACL(b, n.shown(c.frames.identities))
	}
	return appendStat(b, n.stat())
}

// setWatchesFrame is setWatches.
func (s *server) setWatchesFrame(m *raft.Member, c *connection, op jute.Op, f *jute.Fields) []byte {
	seen := Zxid(f.Long())
	lists := [][]string{f.Texts(), f.Texts(), f.Texts()}
	var stay, far []string
	if op == jute.SetWatches2 {
		stay, far = f.Texts(), f.Texts()
	}
	if f.Torn {
		return body(jute.MarshallingError)
	}
	for i, kind := range []string{WatchData, WatchExists, WatchChild} {
		for _, path := range lists[i] {
			s.setWatch(m, c, kind, path, seen)
		}
	}
	for i, list := range [][]string{stay, far} {
		for _, path := range list {
			s.watches.data.add(path, c.id, persistent+watchMode(i))
			s.watches.child.add(path, c.id, persistent+watchMode(i))
		}
	}
	return body(0)
}

// watchFrame adds, looks for or removes a watch.
func (s *server) watchFrame(c *connection, op jute.Op, f *jute.Fields) []byte {
	path, kind := f.Path(), f.Int()
	switch {
	case f.Torn:
	case op == jute.AddWatch && (kind == jute.PersistentWatch || kind == jute.RecursiveWatch):
		s.watches.data.add(path, c.id, persistent+watchMode(kind))
		s.watches.child.add(path, c.id, persistent+watchMode(kind))
		return body(0).Int(0)
	case op != jute.AddWatch && s.watches.kinds(kind) != nil:
		found := false
		for _, w := range s.watches.kinds(kind) {
			if op == jute.CheckWatches {
				found = found || len(w.of[path]) > 0 // whoever's it is, as in ZooKeeper 3.8
			} else {
				found = w.remove(path, c.id) || found
			}
		}
		if !found {
			return body(jute.NoWatcher)
		}
		return body(0)
	}
	return body(jute.MarshallingError)
}

// readWrite reads the transaction that a frame asks for; known is false if it asks for none that is simulated.
func readWrite(op jute.Op, f *jute.Fields) (c command, known bool) {
	switch op {
	case jute.CloseSession:
		return command{kind: closeSession}, true
	case jute.Multi:
		return readMulti(f), true
	}
	c, _, known = readPart(op, f)
	return c, known
}

// readMulti reads the parts of a multi; anything else in it is torn. Of a create there the flags decide what it is;
// those of a kind that needs extended types end it as if it were torn, once their turn comes (MultiOperationRecord).
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
		if creates(op) {
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

// readPart reads a transaction on one znode, with the flags of one that creates it.
func readPart(op jute.Op, f *jute.Fields) (c command, flags int32, known bool) {
	c = command{op: op, path: f.Path()}
	switch op {
	case jute.Create, jute.Create2, jute.CreateContainer, jute.CreateTTL:
		c.kind = createNode
		c.data, c.null = f.Buffer()
		c.acl = append([]permission{}, readACL(f)...)
		flags = f.Int()
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

// modeOf is the mode that a create asks for. The operation alone makes a container.
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

// answerWord answers a command of four letters and closes the connection. Of all of them only srvr is allowed, as by
// default. Servers take no time, so they state no latency; and they do not count packets.
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
