//go:build linux

package zkserver

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// lines is the number of connections in a conversation.
const lines = 4

// side is one of the two servers, real or simulated, with the sockets and sessions of a conversation.
type side struct {
	open    func() socket
	lines   [lines]socket
	ids     []int64  // IDs of the sessions, in the order in which they began
	secrets []string // passwords of the sessions
	seen    int64    // the highest zxid seen
	zxids   []int64  // the zxids in the reply that is being formatted
}

// step is one action of the client on a connection.
type step struct {
	line    int
	op      jute.Op // jute.CreateSession is the first request of a new connection
	xid     int32
	request func(s *side) []byte
	raw     bool // the reply is text, not a frame
}

// session returns a name for a session. It is the same for both servers, although their session IDs differ.
func (s *side) session(id int64) string {
	if id == 0 {
		return "none"
	}
	return fmt.Sprint("session ", slices.Index(s.ids, id))
}

func (s *side) zxid(z int64) string {
	if z <= 0 {
		return fmt.Sprint(z)
	}
	s.seen = max(s.seen, z)
	s.zxids = append(s.zxids, z)
	return "Z"
}

func (s *side) stat(f *jute.Fields) string {
	c, m := s.zxid(f.Long()), s.zxid(f.Long())
	ctime, mtime := f.Long(), f.Long()
	return fmt.Sprintf("c%s m%s %v %v v%d cv%d av%d %s len%d n%d p%s", c, m, ctime > 0, mtime >= ctime, f.Int(),
		f.Int(), f.Int(), s.session(f.Long()), f.Int(), f.Int(), s.zxid(f.Long()))
}

func acls(f *jute.Fields) string {
	var b strings.Builder
	for n := f.Int(); n > 0 && !f.Torn; n-- {
		fmt.Fprintf(&b, "%d %s %s,", f.Int(), f.Text(), f.Text())
	}
	return b.String()
}

// children returns the names of a znode's children in sorted order. A real server sends them in hash table order.
func children(f *jute.Fields) string {
	list := f.Texts()
	slices.Sort(list)
	return strings.Join(list, ",")
}

// body formats the result of an operation.
func (s *side) body(op jute.Op, f *jute.Fields) string {
	switch op {
	case jute.Create, jute.Sync:
		return f.Text()
	case jute.Create2, jute.CreateContainer:
		return f.Text() + " " + s.stat(f)
	case jute.SetData, jute.SetACL, jute.Exists:
		return s.stat(f)
	case jute.GetData:
		data, null := f.Buffer()
		return fmt.Sprintf("%q %v %s", data, null, s.stat(f))
	case jute.GetACL:
		return acls(f) + " " + s.stat(f)
	case jute.GetChildren:
		return children(f)
	case jute.GetChildren2:
		return children(f) + " " + s.stat(f)
	case jute.AddWatch:
		return fmt.Sprint(f.Int())
	case jute.Multi:
		var b strings.Builder
		for !f.Torn {
			kind, over, code := jute.Op(f.Int()), f.Flag(), f.Int()
			fmt.Fprintf(&b, "[%d %v %d ", kind, over, code)
			if over {
				break
			}
			if kind == -1 {
				fmt.Fprint(&b, f.Int())
			} else {
				b.WriteString(s.body(kind, f))
			}
		}
		return b.String()
	}
	return ""
}

// event formats the frame of an event; ok is false if the frame is something else.
func event(frame []byte) (text string, ok bool) {
	f := jute.Fields{Rest: frame}
	if f.Int() != jute.XidEvent {
		return "", false
	}
	return fmt.Sprint("event ", f.Long(), f.Int(), f.Int(), f.Int(), f.Text(), f.Rest, f.Torn), true
}

// reply formats the reply to a step.
func (s *side) reply(st *step, frame []byte) string {
	f := jute.Fields{Rest: frame}
	s.zxids = nil
	if st.op == jute.CreateSession {
		version, timeout, id, secret := f.Int(), f.Int(), f.Long(), f.Text()
		if id != 0 && !slices.Contains(s.ids, id) {
			s.ids, s.secrets = append(s.ids, id), append(s.secrets, secret)
		}
		return fmt.Sprint(version, timeout, s.session(id), len(secret), len(f.Rest), f.Torn)
	}
	xid, zxid, code := f.Int(), s.zxid(f.Long()), f.Int()
	text := fmt.Sprint(xid, " ", zxid, " ", code, " ")
	if code == 0 {
		text += s.body(st.op, &f)
	}
	return fmt.Sprint(text, " ", f.Rest, f.Torn)
}

// play carries out a step. It returns the events that arrived before the reply, and the reply. If the server closed the
// connection instead, the reply is "closed".
func (s *side) play(st *step) (events []string, reply string) {
	if st.op == jute.CreateSession || st.raw {
		s.lines[st.line] = s.open()
	}
	x := s.lines[st.line]
	x.write(st.request(s))
	for {
		b, ok := x.read(st.raw)
		if !ok {
			return events, "closed"
		}
		if st.raw {
			return nil, string(b)
		}
		text, is := event(b)
		if !is {
			return events, s.reply(st, b)
		}
		events = append(events, text)
	}
}

// conversation carries out the same steps on a real server and on a simulated one.
type conversation struct {
	t               *testing.T
	d               *rand.Rand
	real, simulated side
	root            string
	made            []string // paths of znodes
	live            [lines]bool
	ends            int               // number of connections that the client has cut so far
	due             [lines][][]string // events that the real server must still send, in unordered groups
	zxids           map[int64]int64   // maps zxids of the simulated server to zxids of the real one
	log             []string
	xid             int32
	requests        int
}

// take carries out a step on both servers and compares the results.
func (c *conversation) take(st *step, what string) (reply string) {
	c.requests++
	if st.op == jute.CreateSession || st.raw { // the events due on the previous connection were not read
		c.due[st.line] = nil
	}
	c.log = append(c.log, fmt.Sprint("connection ", st.line, ": ", what))
	events, reply := c.simulated.play(st)
	c.owe(st.line, events)
	for n := range lines { // collect the events for other connections
		if x, ok := c.simulated.lines[n].(*simSocket); ok && n != st.line && c.live[n] {
			c.owe(n, x.events())
			c.live[n] = !x.over
		}
	}
	got, answer := c.real.play(st)
	c.settle(st.line, got)
	if answer != reply {
		c.fail("answered\nreal      %s\nsimulated %s", answer, reply)
	}
	if reply != "closed" && !st.raw {
		c.match()
	}
	c.live[st.line] = reply != "closed" && !st.raw && c.live[st.line] && !c.closed(st.line)
	return reply
}

// closed reports whether the servers have closed a connection after their reply.
func (c *conversation) closed(line int) bool {
	x := c.simulated.lines[line].(*simSocket)
	if !x.of.wait(10*time.Microsecond, func() bool { return x.over }) {
		return false
	}
	if b, ok := c.real.lines[line].read(false); ok {
		c.fail("real goes on with %q\nsimulated closes the connection", b)
	}
	return true
}

func (c *conversation) owe(line int, events []string) {
	if len(events) > 0 {
		slices.Sort(events)
		c.due[line] = append(c.due[line], events)
	}
}

// settle compares the events that the real server has sent on a connection with those that the simulated server has
// sent.
func (c *conversation) settle(line int, got []string) {
	for _, group := range c.due[line] {
		n := min(len(group), len(got))
		have := slices.Sorted(slices.Values(got[:n]))
		if !slices.Equal(have, group) {
			c.fail("events\nreal      %q\nsimulated %q", got, c.due[line])
		}
		got = got[n:]
	}
	if len(got) > 0 {
		c.fail("events\nreal      %q\nsimulated none beyond %q", got, c.due[line])
	}
	c.due[line] = nil
}

// match compares the zxids of a reply: each zxid of the simulated server must always correspond to the same zxid of the
// real one.
func (c *conversation) match() {
	for i, z := range c.simulated.zxids {
		r := c.real.zxids[i]
		if was, known := c.zxids[z]; known && was != r {
			c.fail("zxid %x of the simulated server was %x of the real one, and is %x", z, was, r)
		}
		c.zxids[z] = r
	}
}

func (c *conversation) fail(format string, args ...any) {
	c.t.Helper()
	c.t.Fatalf("after %d requests:\n%s\n%s", c.requests, strings.Join(c.log[max(0, len(c.log)-12):], "\n"),
		fmt.Sprintf(format, args...))
}

// events returns the events that have arrived so far.
func (s *simSocket) events() (list []string) {
	for {
		record, rest, whole, _ := jute.Cut(s.in)
		if !whole {
			return list
		}
		text, is := event(record)
		if !is {
			return list
		}
		s.in, list = rest, append(list, text)
	}
}

// begin opens a connection and requests a new session or resumes an earlier one.
func (c *conversation) begin(line int) {
	q := jute.ConnectRequest{Timeout: []int32{-5, 0, 30_000, 20_000, 100_000}[c.d.IntN(5)], Old: c.d.IntN(4) == 0,
		Password: string(make([]byte, jute.PasswordLength))}
	which, wrong := -1, c.d.IntN(6) == 0
	if n := len(c.simulated.ids); n > 0 && c.d.IntN(2) == 0 {
		which = max(0, n-1-c.d.IntN(6))
	}
	far := c.d.IntN(20) == 0
	c.live[line] = true
	what := fmt.Sprintf("connect %+v to session %d, wrong password %v, far ahead %v", q, which, wrong, far)
	c.take(&step{line: line, op: jute.CreateSession, request: func(s *side) []byte {
		if q.Seen = s.seen; far {
			q.Seen = 1 << 60
		}
		if which >= 0 {
			q.Session, q.Password = s.ids[which], s.secrets[which]
		}
		if wrong {
			q.Password = "0123456789abcdef"
		}
		return q.Record().Framed()
	}}, what)
}

// cut closes one of the client's connections without closing its session.
func (c *conversation) cut(line int) {
	c.log = append(c.log, fmt.Sprint("connection ", line, ": cut"))
	c.ends++
	c.due[line], c.live[line] = nil, false
	c.real.lines[line].close()
	c.simulated.lines[line].close()
}

// say sends a request to both servers and compares the results.
func (c *conversation) say(line int, op jute.Op, xid int32, body jute.Record) string {
	b := append(jute.Head(xid, op), body...).Framed()
	reply := c.take(&step{line: line, op: op, xid: xid, request: func(*side) []byte { return b }},
		fmt.Sprintf("%d %s %q", xid, op, body))
	return reply
}

func (c *conversation) path() string {
	if len(c.made) > 0 && c.d.IntN(3) == 0 {
		return c.made[len(c.made)-1-c.d.IntN(min(20, len(c.made)))]
	}
	list := []string{"", "/a", "/a/x", "/b", "/b/y", "/c", "/a/q-", "/b/q-", "/s", "/s/z"}
	return c.root + list[c.d.IntN(len(list))]
}

// odd lists paths that no znode can have, and paths with a special meaning.
var odd = []string{"", "t", "//", "/a//b", "/a/", "/a/.", "/a/../b", "/a\x00b", "/a\x01b",
	"/\x7f\xc2\x80", "/\xef\xbf\xbe",
	"/zookeeper", "/zookeeper/quota", "/zookeeper/config", "/ä", "/."}

func (c *conversation) access() (r jute.Record) {
	open := jute.Record(nil).Int(1).Int(31).Text("world").Text("anyone")
	if c.d.IntN(5) > 0 {
		return open
	}
	one := func(perms int32, scheme, id string) jute.Record {
		return jute.Record(nil).Int(1).Int(perms).Text(scheme).Text(id)
	}
	return []jute.Record{open, one(1, "world", "anyone"), one(15, "world", "anyone"), one(31, "auth", ""),
		one(31, "digest", "ann:cGFzc3dvcmQ="), one(31, "digest", "ann"), one(31, "nonsense", "x"),
		one(31, "world", "me"),
		jute.Record(nil).Int(0), jute.Record(nil).Null(), append(one(31, "world", "anyone")[:3], append([]byte{2},
			append(one(1, "world", "anyone")[4:], one(1, "world", "anyone")[4:]...)...)...)}[c.d.IntN(11)]
}

func (c *conversation) version() int32 { return int32(c.d.IntN(4) - 1) }

func (c *conversation) data() jute.Record {
	if c.d.IntN(6) == 0 {
		return jute.Record(nil).Null()
	}
	return jute.Record(nil).Text(strings.Repeat("x", c.d.IntN(40)))
}

// flags returns random flags for a create. The flags that locks use are the most likely.
func (c *conversation) flags() int32 {
	return []int32{0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 7, -1}[c.d.IntN(13)]
}

// transaction returns a random request that changes one znode, to be sent alone or as a part of a multi.
func (c *conversation) transaction(path string) (jute.Op, jute.Record) {
	r := jute.Record(nil).Text(path)
	switch c.d.IntN(9) {
	case 0, 1, 2, 3:
		op := []jute.Op{jute.Create, jute.Create2, jute.Create2, jute.CreateContainer}[c.d.IntN(4)]
		return op, append(append(r, c.data()...), c.access()...).Int(c.flags())
	case 4, 5:
		return jute.Delete, r.Int(c.version())
	case 6, 7:
		return jute.SetData, append(r, c.data()...).Int(c.version())
	}
	return jute.Check, r.Int(c.version())
}

func (c *conversation) list() (list []string) {
	for range c.d.IntN(3) {
		list = append(list, c.path())
	}
	return list
}

// act carries out a random step on a connection that has a session.
func (c *conversation) act(line int) {
	c.xid++
	xid, path := c.xid, c.path()
	if c.d.IntN(12) == 0 {
		path = odd[c.d.IntN(len(odd))]
	}
	watch := c.d.IntN(2) == 0
	r := jute.Record(nil).Text(path)
	switch n := c.d.IntN(100); {
	case n < 40:
		op, body := c.transaction(path)
		if op == jute.Check { // a check can only be a part of a multi
			op, body = jute.Delete, r.Int(-1)
		}
		if reply := c.say(line, op, xid, body); strings.Contains(reply, " 0 /") {
			c.made = append(c.made, strings.Fields(strings.SplitN(reply, " 0 ", 2)[1])[0])
		}
	case n < 48:
		c.say(line, jute.Exists, xid, r.Flag(watch))
	case n < 56:
		c.say(line, jute.GetData, xid, r.Flag(watch))
	case n < 62:
		c.say(line, []jute.Op{jute.GetChildren, jute.GetChildren2}[c.d.IntN(2)], xid, r.Flag(watch))
	case n < 64:
		c.say(line, jute.GetACL, xid, r)
	case n < 67:
		c.say(line, jute.SetACL, xid, append(r, c.access()...).Int(c.version()))
	case n < 69:
		c.say(line, jute.Sync, xid, r)
	case n < 71:
		c.say(line, jute.Ping, jute.XidPing, nil)
	case n < 77:
		body := jute.Record(nil)
		for range c.d.IntN(5) {
			op, part := c.transaction(c.path())
			body = append(body.Int(int32(op)).Flag(false).Int(-1), part...)
		}
		c.say(line, jute.Multi, xid, body.Int(-1).Flag(true).Int(-1))
	case n < 81:
		c.setWatches(line)
	case n < 84:
		c.say(line, jute.AddWatch, xid, r.Int(int32(c.d.IntN(3))))
	case n < 87:
		c.say(line, jute.RemoveWatches, xid, r.Int(int32(c.d.IntN(5))))
	case n < 88 && c.ends == 0:
		c.say(line, jute.CheckWatches, xid, r.Int(int32(c.d.IntN(5))))
	case n < 89:
		scheme := []string{"digest", "digest", "ip", "nonsense"}[c.d.IntN(4)]
		c.say(line, jute.Auth, jute.XidAuth, jute.Record(nil).Int(0).Text(scheme).Text("ann:secret"))
	case n < 91:
		c.cut(line)
	case n < 92:
		c.say(line, jute.CloseSession, xid, nil)
	case n < 94: // a record that ends too early
		op, body := c.transaction(path)
		if op != jute.Check {
			c.say(line, op, xid, body[:c.d.IntN(len(body))])
		}
	case n < 95:
		c.say(line, jute.Op(200+c.d.IntN(5)), xid, r)
	case n < 96 && c.d.IntN(4) == 0:
		c.bytes(line, []string{"\xff\xff\xff\xff", "\x7f\xff\xff\xff", "\x00\x10\x00\x00",
			"\x00\x00\x00\x00", "\x00\x00\x00\x02ab"}[c.d.IntN(5)])
	default:
		c.say(line, jute.Exists, xid, r.Flag(watch))
	}
}

// setWatches sends a request that sets watches again. It asks for the changes since zxid 0, since the latest zxid, or
// since the highest possible zxid.
func (c *conversation) setWatches(line int) {
	lists := jute.Record(nil).Texts(c.list()).Texts(c.list()).Texts(c.list())
	op := jute.SetWatches
	if c.d.IntN(2) == 0 {
		op, lists = jute.SetWatches2, lists.Texts(c.list()).Texts(c.list())
	}
	when := c.d.IntN(3)
	c.take(&step{line: line, op: op, request: func(s *side) []byte {
		since := []int64{0, s.seen, math.MaxInt64}[when]
		return append(jute.Head(jute.XidWatches, op).Long(since), lists...).Framed()
	}}, fmt.Sprintf("%s as of %d %q", op, when, lists))
}

// bytes sends bytes that are not a request, partway through a conversation.
func (c *conversation) bytes(line int, b string) {
	c.take(&step{line: line, request: func(*side) []byte { return []byte(b) }}, fmt.Sprintf("bytes %q", b))
}

// firstWords lists what a server may receive instead of a first frame. A server refuses TLS and HTTP because their
// first bytes are not a valid length.
var firstWords = []string{"ruok", "stat", "mntr", "isro", "conf",
	"\x16\x03\x01\x02\x00\x01\x00", "GET / HTTP/1.1\r\n", "\x00\x00\x00\x04abcd",
	"\x00\x00\x00\x00", "\x00\x00\x00\x1c" + strings.Repeat("\x00", 24) + "\x7f\xff\xff\xff",
	"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"}

// converse carries out the given number of random steps.
func (c *conversation) converse(requests int) {
	c.begin(0)
	for c.requests < requests {
		switch line := c.d.IntN(lines); {
		case c.live[line]:
			c.act(line)
		case c.d.IntN(12) == 0:
			word := firstWords[c.d.IntN(len(firstWords))]
			c.take(&step{line: line, raw: true, request: func(*side) []byte { return []byte(word) }},
				fmt.Sprintf("first %q", word))
		default:
			c.begin(line)
		}
	}
	for session := range c.simulated.ids { // close all sessions, so that none ends during a later conversation
		if c.resume(0, session); c.live[0] {
			c.say(0, jute.CloseSession, 1, nil)
		}
	}
}

// resume moves a session to a new connection.
func (c *conversation) resume(line, session int) {
	c.live[line] = true
	c.take(&step{line: line, op: jute.CreateSession, request: func(s *side) []byte {
		q := jute.ConnectRequest{Session: s.ids[session], Password: s.secrets[session]}
		return q.Record().Framed()
	}}, fmt.Sprint("connect to session ", session))
}

// TestTheWireIsThatOfARealServer checks that a real server and a simulated one react in the same way to random requests
// in ZooKeeper's protocol, on several connections and sessions. Both must send the same replies and events, and close
// the same connections. What they send must be equal byte for byte, except for zxids, session IDs, passwords, times and
// the order of children.
func TestTheWireIsThatOfARealServer(t *testing.T) {
	const each = 2000
	server, simulation, zxids := startReal(t, untimed), newSimulated(t, untimed), map[int64]int64{}
	total := 0
	for seed := range uint64(testkit.Size(2, 2, 100)) {
		c := &conversation{t: t, d: rand.New(rand.NewPCG(seed, 24)), root: fmt.Sprint("/run", seed), zxids: zxids}
		c.real.open, c.simulated.open = server.open, simulation.open
		c.converse(each)
		total += c.requests
	}
	t.Log(total, "requests")
}

// TestSessionsEndAsOnARealServer checks that a session that is not kept alive ends and that its ephemeral znode
// vanishes. A client that watches the znode must be notified. When the session's own client reconnects, it must learn
// that the session has ended.
func TestSessionsEndAsOnARealServer(t *testing.T) {
	testkit.ThoroughOnly(t)
	short := zookeeper.Config{Tick: 200 * time.Millisecond, MinTimeout: 400 * time.Millisecond, MaxTimeout: time.Minute}
	c := &conversation{t: t, root: "/", zxids: map[int64]int64{}}
	c.real.open, c.simulated.open = startReal(t, short).open, newSimulated(t, short).open
	connect := func(line int, timeout int32) {
		c.live[line] = true
		c.take(&step{line: line, op: jute.CreateSession, request: func(*side) []byte {
			return (&jute.ConnectRequest{Timeout: timeout, Password: strings.Repeat("\x00", 16)}).Record().Framed()
		}}, "connect")
	}
	connect(0, 1)
	connect(1, 30_000)
	open := jute.Record(nil).Int(1).Int(jute.All).Text("world").Text("anyone")
	c.say(0, jute.Create, 1, append(jute.Record(nil).Text("/e").Text(""), open...).Int(jute.Ephemeral))
	c.say(1, jute.Exists, 1, jute.Record(nil).Text("/e").Flag(true))
	for _, s := range []*side{&c.real, &c.simulated} {
		b, ok := s.lines[1].read(false) // nothing else arrives on this connection
		if text, is := event(b); !ok || !is || text != "event -1 0 2 3/e[] false" {
			t.Fatalf("%q, want that /e is gone", text)
		}
		if _, ok := s.lines[0].read(false); ok {
			t.Error("the connection of the session stays open")
		}
	}
	// The real server first deletes the znode and then closes the connection that belongs to the session. It answers
	// the next request after that, so that it does not close the new connection instead.
	c.say(1, jute.Exists, 2, jute.Record(nil).Text("/e").Flag(false))
	if c.resume(0, 0); c.live[0] {
		t.Error("the session is there again")
	}
	c.say(1, jute.Exists, 3, jute.Record(nil).Text("/e").Flag(false))
}
