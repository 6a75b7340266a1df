package zookeeper

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// Requests in ZooKeeper's own protocol, which package front makes, have the name of their operation (create2). Their
// second argument is the frame without its length. Replies and pushes are frames, or ClosedReply. A four-letter command
// has no second argument, and its reply is text.
const (
	ReqEnter = "connect"  // the first frame of a connection, which asks for a session
	ReqTorn  = "no-frame" // in place of a frame with an invalid length; without an argument
)

// isFrame reports whether a request is in ZooKeeper's own protocol; the names of requests in words are in upper case.
func isFrame(args []string) bool { return len(args) > 0 && strings.ToUpper(args[0]) != args[0] }

// frames is the state of a connection whose client speaks ZooKeeper's own protocol.
type frames struct {
	old        bool     // the client's version is 3.3 or earlier
	identities []string // identities that the client has proved

	// State of the request that is being served.
	xid  int32
	op   jute.Op
	path string // path of a Sync
}

// numbers maps codes to the protocol's numbers.
var numbers = map[Code]int32{"": 0, NoNode: jute.NoNode, NodeExists: jute.NodeExists, NotEmpty: jute.NotEmpty,
	BadVersion: jute.BadVersion, NoChildrenForEphemerals: jute.NoChildrenForEphemerals,
	BadArguments: jute.BadArguments, SessionExpired: jute.SessionExpired, SessionMoved: jute.SessionMoved,
	NoAuth: jute.NoAuth, InvalidACL: jute.InvalidACL, Unimplemented: jute.Unimplemented,
	MarshallingError: jute.MarshallingError}

// A body is the part of a reply after the zxid: the error, and if that is 0, the result of the operation.
func body(code int32) jute.Record { return jute.Record(nil).Int(code) }

// answer returns the reply to the request that is being served.
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

// creates reports whether an operation creates a znode, even of a kind that is refused.
func creates(op jute.Op) bool {
	return op == jute.Create || op == jute.Create2 || op == jute.CreateContainer || op == jute.CreateTTL
}

// moved reports whether a reply's body says that the session belongs to another connection. ZooKeeper never sends such
// a reply: it closes the connection instead.
func (f *frames) moved(body []byte) bool {
	return f.op != jute.CreateSession && (&jute.Fields{Rest: body}).Int() == jute.SessionMoved
}

// synced returns the body of the reply to Sync.
func (f *frames) synced() []byte { return body(0).Text(f.path) }

// eventFrame returns the frame of a watch event.
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

// outcome appends the body of the reply to a transaction.
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

// noSession returns the reply to a client whose session is over, or which does not know the session's password.
func noSession(old bool) jute.Record {
	return jute.ConnectReply(0, 0, string(make([]byte, jute.PasswordLength)), old)
}

// appendOutcome appends the result of an operation.
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

// outcomes appends the results of the parts of a multi. If a part has failed, none was carried out, and each part has
// an error: 0 for the parts before the failed one, and RuntimeInconsistency for those after it.
func outcomes(b jute.Record, c *command, r *result) jute.Record {
	const failed, more, over = -1, false, true
	for i := range c.parts {
		switch {
		case r.code == "":
			op := c.parts[i].op
			if op == jute.CreateContainer {
				op = jute.Create2 // the kind of its reply (OpResult.CreateResult)
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

// password returns the password of a session (ZooKeeperServer.generatePasswd, which uses java.util.Random).
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

// serveFrame serves the first request in a connection's queue.
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
		if !known { // ZooKeeper replies this way to an unknown operation, and closes the connection
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

// enter begins a session, or moves one to this connection (ZooKeeperServer.processConnectRequest).
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

// authenticate adds an identity that a client proves. Here, schemes other than digest prove nothing.
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

// mayRead reports whether the client of a connection may read a znode with the given access list.
func (s *server) mayRead(conn uint64, acl []permission) bool {
	c := s.connection(conn)
	return c == nil || c.frames == nil || permits(acl, jute.Read, c.frames.identities)
}

// lookAtFrame reads one znode, and sets a watch if one is requested and there is something to watch.
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

// setWatchesFrame does the same as setWatches, for a request in ZooKeeper's own protocol.
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
				found = found || len(w.of[path]) > 0 // any client's watch counts, as in ZooKeeper 3.8
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

// readWrite decodes the transaction that a frame asks for. known is false if the operation is not simulated.
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

// readMulti decodes the parts of a multi; f is Torn if it contains anything else. For a create in a multi, the flags
// decide the mode. If the flags of another create than createTTL ask for a TTL, the multi fails, when it reaches that
// part, as if it were torn (MultiOperationRecord).
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

// readPart decodes a transaction on one znode. It also returns the flags of a create.
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

// modeOf returns the mode that a create asks for. Whether it is a container depends only on the operation.
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

// answerWord replies to a four-letter command and closes the connection. Only srvr is allowed, as by default. Simulated
// servers take no time, so they report no latency, and they do not count packets.
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
