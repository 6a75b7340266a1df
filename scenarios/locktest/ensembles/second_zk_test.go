//go:build linux

package ensembles

import (
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper"
	zkfront "github.com/fencepost-sim/fencepost/sim/zookeeper/front"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// zkSide is the real or the simulated ZooKeeper, with three sessions. In its output, zxids and session IDs are replaced
// with numbers in order of first appearance, because each server numbers them itself.
type zkSide struct {
	t         *testing.T
	address   string
	conns     [3]*zkConn
	zxids     map[int64]int
	sessions  map[int64]int
	seen      int64 // the highest zxid
	requested int32 // number of requests so far
}

// zkConn is a session's connection. lost reports whether the server has closed it.
type zkConn struct {
	net.Conn
	session  int64
	password string
	lost     bool
}

// connect opens a connection for a session and returns the server's formatted answer. If session is 0, it requests a
// new session.
func (s *zkSide) connect(timeout int32, session int64, password string) (*zkConn, string) {
	s.t.Helper()
	var c net.Conn
	var err error
	for range 500 { // try until the server serves requests
		if c, err = net.Dial("tcp", s.address); err != nil {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		s.t.Cleanup(func() { c.Close() })
		c.SetDeadline(time.Now().Add(20 * time.Second))
		q := jute.ConnectRequest{Seen: s.seen, Timeout: timeout, Session: session, Password: password}
		c.Write(q.Record().Framed())
		f, err := jute.ReadFrame(c)
		if err != nil && s.requested == 0 {
			time.Sleep(20 * time.Millisecond)
			continue
		}
		version, negotiated, id, secret := f.Int(), f.Int(), f.Long(), f.Text()
		said := fmt.Sprint(version, negotiated, numbered(s.sessions, id), len(secret), f.Rest, err)
		s.requested++
		return &zkConn{Conn: c, session: id, password: secret, lost: id == 0 || err != nil}, said
	}
	s.t.Fatal(err)
	return nil, ""
}

// numbered replaces an ID with a number. IDs are numbered in order of first appearance.
func numbered(list map[int64]int, n int64) string {
	if n <= 0 {
		return fmt.Sprint(n)
	}
	if _, known := list[n]; !known {
		list[n] = len(list)
	}
	return fmt.Sprint("#", list[n])
}

func (s *zkSide) zxid(z int64) string {
	s.seen = max(s.seen, z)
	return numbered(s.zxids, z)
}

// zkShapes describes each reply's fields with letters: t is a string, b a buffer, l a list of strings, a an access
// control list, s a stat, and m the results of a multi.
var zkShapes = map[jute.Op]string{jute.Create: "t", jute.Create2: "ts", jute.CreateContainer: "ts",
	jute.CreateTTL: "ts", jute.Exists: "s", jute.GetData: "bs", jute.SetData: "s", jute.GetACL: "as", jute.SetACL: "s",
	jute.GetChildren: "l", jute.GetChildren2: "ls", jute.Sync: "t", jute.Multi: "m"}

func (s *zkSide) show(shape string, f *jute.Fields) string {
	var b strings.Builder
	for _, kind := range shape {
		switch kind {
		case 't':
			fmt.Fprintf(&b, "%q ", f.Text())
		case 'b':
			data, null := f.Buffer()
			fmt.Fprintf(&b, "%q %v ", data, null)
		case 'l':
			list := f.Texts() // the texts come in hash table order
			slices.Sort(list)
			fmt.Fprintf(&b, "%q ", list)
		case 'a':
			for n := f.Int(); n > 0 && !f.Torn; n-- {
				fmt.Fprintf(&b, "%d %q %q ", f.Int(), f.Text(), f.Text())
			}
		case 's':
			fmt.Fprint(&b, "stat ", s.zxid(f.Long()), " ", s.zxid(f.Long()), " ")
			made, changed := f.Long(), f.Long()
			fmt.Fprint(&b, made > 0, changed >= made, " ", f.Int(), f.Int(), f.Int(), " ",
				numbered(s.sessions, f.Long()), " ", f.Int(), f.Int(), " ", s.zxid(f.Long()), " ")
		case 'm':
			for !f.Torn {
				op, over, code := jute.Op(f.Int()), f.Flag(), f.Int()
				fmt.Fprint(&b, "[", op, over, code, " ")
				if over {
					break
				}
				if op == -1 {
					fmt.Fprint(&b, f.Int())
				} else {
					b.WriteString(s.show(zkShapes[op], f))
				}
			}
		}
	}
	return b.String()
}

// hear reads frames until it has read a reply to each operation in ops. It sorts the events, because a session's znodes
// are removed in hash table order.
func (s *zkSide) hear(c *zkConn, ops []jute.Op) (all string) {
	var events []string
	for len(ops) > 0 {
		c.SetDeadline(time.Now().Add(20 * time.Second))
		f, err := jute.ReadFrame(c)
		if err != nil {
			c.lost = true
			all += "closed"
			break
		}
		xid, zxid, code := f.Int(), f.Long(), f.Int()
		if xid == jute.XidEvent {
			events = append(events, fmt.Sprint(zxid, code, " ", f.Int(), f.Int(), f.Text()))
			continue
		}
		all += fmt.Sprintf("(%d %s %d ", xid, s.zxid(zxid), code)
		if code == 0 {
			all += s.show(zkShapes[ops[0]], &f)
		}
		all += fmt.Sprint(f.Rest, f.Torn, ") ")
		c.lost = c.lost || ops[0] == jute.CloseSession
		ops = ops[1:]
	}
	slices.Sort(events)
	return all + strings.Join(events, ", ")
}

// zkRequest is a request without its xid, which is the next number, unless the request needs a specific one.
type zkRequest struct {
	op   jute.Op
	xid  int32 // 0: the next number
	body func(s *zkSide) jute.Record
}

func (q zkRequest) String() string { return fmt.Sprintf("%v %q", q.op, q.body(&zkSide{})) }

// talk sends several requests together on one connection. It returns their replies and the events that the other
// sessions receive. If the connection has been closed, talk first opens another one, with a new session.
func (s *zkSide) talk(conn int, requests []zkRequest) (all string) {
	if s.conns[conn].lost {
		s.conns[conn], all = s.connect(30_000, 0, strings.Repeat("\x00", jute.PasswordLength))
	}
	c := s.conns[conn]
	var b []byte
	var ops []jute.Op
	for _, q := range requests {
		s.requested++
		xid := q.xid
		if xid == 0 {
			xid = s.requested
		}
		b = append(b, append(jute.Head(xid, q.op), q.body(s)...).Framed()...)
		ops = append(ops, q.op)
	}
	c.Write(b)
	return all + s.hear(c, ops) + s.otherEvents()
}

// otherEvents pings the server on each session, and returns the events that the sessions receive.
func (s *zkSide) otherEvents() (all string) {
	for i, c := range s.conns {
		if !c.lost {
			c.Write(jute.Head(jute.XidPing, jute.Ping).Framed())
			all += fmt.Sprint(" session ", i, ": ", s.hear(c, []jute.Op{jute.Ping}))
		}
	}
	return all
}

// zkPath returns a random path for one of a lock's znodes: its folder, a member, or an invalid path.
func zkPath(r *rand.Rand, folder string) string {
	if r.IntN(25) == 0 {
		return oneOf(r, "", "/", "lock", folder+"/", folder+"//x", folder+"/../x", folder+"/.", folder+"/a\x00b",
			folder+"/\u0085", "/zookeeper", "/zookeeper/quota", folder+"/ü", folder+"/\u2028")
	}
	return folder + oneOf(r, "", "/lock", "/lock", "/lock/a", "/lock/b", "/lock/n-0000000000", "/lock/n-0000000001",
		"/lock/n-0000000002", "/lock/a/deep")
}

func zkACL(r *rand.Rand) jute.Record {
	open := func(perms int32, scheme, id string) jute.Record {
		return jute.Record(nil).Int(1).Int(perms).Text(scheme).Text(id)
	}
	return oneOf(r, open(31, "world", "anyone"), open(31, "world", "anyone"), open(31, "world", "anyone"),
		open(31, "world", "anyone"), open(31, "world", "anyone"),
		open(1, "world", "anyone"), open(31, "auth", ""), open(0, "world", "anyone"), open(31, "digest", "me:Zm9v"),
		jute.Record(nil).Int(0),
		open(31, "world", "everyone"), open(31, "x509", "me"))
}

func zkData(r *rand.Rand) jute.Record {
	if r.IntN(8) == 0 {
		return jute.Record(nil).Null()
	}
	return jute.Record(nil).Text(oneOf(r, "", "me", "\x00\xff", strings.Repeat("long ", 400)))
}

// zkChange returns a random request that changes something, to be sent alone or as part of a multi.
func zkChange(r *rand.Rand, folder string) (jute.Op, jute.Record) {
	path := jute.Record(nil).Text(zkPath(r, folder))
	version := oneOf[int32](r, -1, -1, -1, 0, 1, -2, 2147483647)
	switch r.IntN(7) {
	case 0, 1, 2:
		if r.IntN(2) == 0 { // create a candidate for a lock
			path = jute.Record(nil).Text(folder + "/lock/n-")
		}
		body := append(append(path, zkData(r)...), zkACL(r)...)
		switch r.IntN(12) {
		case 0:
			return jute.CreateContainer, body.Int(4)
		case 1:
			return jute.CreateTTL, body.Int(oneOf[int32](r, 5, 6)).Long(oneOf[int64](r, 1000, 0, -1))
		}
		return oneOf(r, jute.Create, jute.Create2), body.Int(oneOf[int32](r, 0, 0, 1, 1, 2, 3, 3, 3, 4, 5, 7, -1))
	case 3, 4:
		return jute.Delete, path.Int(version)
	case 5:
		return jute.SetData, append(path, zkData(r)...).Int(version)
	}
	return jute.Check, path.Int(version)
}

func zkDraw(r *rand.Rand, folder string) zkRequest {
	fixed := func(op jute.Op, body jute.Record) zkRequest {
		return zkRequest{op: op, body: func(*zkSide) jute.Record { return body }}
	}
	path := jute.Record(nil).Text(zkPath(r, folder))
	watch := r.IntN(2) == 0
	switch n := r.IntN(40); {
	case n < 15:
		op, body := zkChange(r, folder)
		if op == jute.Check {
			op, body = jute.Exists, path.Flag(true)
		}
		return fixed(op, body)
	case n < 29:
		op := oneOf(r, jute.Exists, jute.Exists, jute.GetData, jute.GetChildren, jute.GetChildren2)
		return fixed(op, path.Flag(watch))
	case n < 33:
		body := jute.Record(nil)
		for range r.IntN(4) {
			op, part := zkChange(r, folder)
			body = append(body.Int(int32(op)).Flag(false).Int(-1), part...)
		}
		return fixed(jute.Multi, body.Int(-1).Flag(true).Int(-1))
	case n < 34:
		return fixed(oneOf(r, jute.Sync, jute.GetACL), path)
	case n < 35:
		return fixed(jute.SetACL, append(path, zkACL(r)...).Int(oneOf[int32](r, -1, 0, 1)))
	case n < 36:
		return fixed(jute.AddWatch, path.Int(oneOf(r, jute.PersistentWatch, jute.RecursiveWatch)))
	case n < 37:
		return fixed(jute.RemoveWatches, path.Int(oneOf(r, jute.Children, jute.Data, jute.Any)))
	case n < 38:
		q := fixed(jute.Auth, jute.Record(nil).Int(0).Text("digest").Text("me:secret"))
		q.xid = jute.XidAuth
		return q
	case n < 39 && r.IntN(3) == 0:
		return fixed(jute.CloseSession, nil)
	}
	lists := [3][]string{}
	for range r.IntN(4) {
		at := r.IntN(3)
		lists[at] = append(lists[at], folder+oneOf(r, "/lock", "/lock/a", "/lock/n-0000000001"))
	}
	late := r.IntN(2) == 0
	return zkRequest{op: jute.SetWatches, xid: jute.XidWatches, body: func(s *zkSide) jute.Record {
		since := jute.Record(nil).Long(0)
		if late {
			since = jute.Record(nil).Long(s.seen)
		}
		return since.Texts(lists[0]).Texts(lists[1]).Texts(lists[2])
	}}
}

// zkStep returns a random request about a folder's znodes.
func zkStep(r *rand.Rand, folder string) step[*zkSide] {
	conn := r.IntN(3)
	if r.IntN(25) == 0 {
		wrong := r.IntN(4) == 0
		name := fmt.Sprintf("session %d on a new connection, wrong password %v", conn, wrong)
		return step[*zkSide]{"sessions taken up again", name,
			func(s *zkSide) (said string) {
				c := s.conns[conn]
				c.Close()
				password := c.password
				if wrong {
					password = strings.Repeat("x", jute.PasswordLength)
				}
				s.conns[conn], said = s.connect(30_000, c.session, password)
				// the simulated server counts this as a transaction, so another transaction is needed to make the zxids
				// equal again
				said += s.talk((conn+1)%3, []zkRequest{{op: jute.SetData, body: func(*zkSide) jute.Record {
					return jute.Record(nil).Text("/").Null().Int(-1)
				}}})
				return said
			}}
	}
	requests := []zkRequest{zkDraw(r, folder)}
	area := requests[0].op.String()
	// closeSession and auth are never sent together with other requests: nothing may follow the end of a session, and
	// the real server would answer auth before the requests that precede it
	for alone := []jute.Op{jute.CloseSession, jute.Auth}; r.IntN(3) == 0; {
		q := zkDraw(r, folder)
		if slices.Contains(alone, requests[len(requests)-1].op) || slices.Contains(alone, q.op) {
			break
		}
		requests, area = append(requests, q), "pipelines"
	}
	return step[*zkSide]{area, fmt.Sprintf("session %d: %v", conn, requests),
		func(s *zkSide) string { return s.talk(conn, requests) }}
}

// ends makes a session with an ephemeral znode stop sending, and waits until another session is notified that the znode
// has been removed.
func (s *zkSide) ends(path string) string {
	c, said := s.connect(1, 0, strings.Repeat("\x00", jute.PasswordLength))
	open := jute.Record(nil).Int(1).Int(jute.All).Text("world").Text("anyone")
	body := append(jute.Record(nil).Text(path).Null(), open...).Int(jute.Ephemeral)
	c.Write(append(jute.Head(1, jute.Create), body...).Framed())
	said += s.hear(c, []jute.Op{jute.Create})
	said += s.talk(0, []zkRequest{{op: jute.Exists,
		body: func(*zkSide) jute.Record { return jute.Record(nil).Text(path).Flag(true) }}})
	c.Close()
	watcher := s.conns[0]
	watcher.SetDeadline(time.Now().Add(20 * time.Second))
	f, err := jute.ReadFrame(watcher)
	xid, _, _ := f.Int(), f.Long(), f.Int()
	return said + fmt.Sprint(xid, f.Int(), f.Int(), f.Text(), err)
}

// TestSecondZooKeeper compares the simulated server with Debian's ZooKeeper 3.8, byte for byte. It starts new servers
// every forty rounds, because after a minute the simulated server looks for containers to remove.
func TestSecondZooKeeper(t *testing.T) {
	for block := range testkit.Size(1, 1, 12) {
		t.Run(fmt.Sprint("servers ", block), func(t *testing.T) {
			addresses := [2]string{realZooKeeper(t), served(t, []sim.ProcessID{"zookeeper-1"}, func(w *sim.World) {
				zookeeper.NewEnsemble(zookeeper.Config{}, []sim.ProcessID{"zookeeper-1"}).AddTo(w.AddServer)
			}, zkfront.ZooKeeper{})[0]}
			round := 0
			begin := func(t *testing.T) (real, simulated *zkSide) {
				round++
				var sides [2]*zkSide
				for i, address := range addresses {
					s := &zkSide{t: t, address: address, zxids: map[int64]int{}, sessions: map[int64]int{}}
					for c := range s.conns {
						s.conns[c], _ = s.connect(30_000, 0, strings.Repeat("\x00", jute.PasswordLength))
					}
					open := jute.Record(nil).Int(1).Int(jute.All).Text("world").Text("anyone")
					folder := append(jute.Record(nil).Text(fmt.Sprint("/round-", round)).Null(), open...).Int(0)
					s.talk(0, []zkRequest{{op: jute.Create, body: func(*zkSide) jute.Record { return folder }}})
					sides[i] = s
				}
				return sides[0], sides[1]
			}
			draw := func(r *rand.Rand) step[*zkSide] { return zkStep(r, fmt.Sprint("/round-", round)) }
			compare(t, testkit.Size(12, 12, 40), 60, begin, draw, endZooKeeper)
		})
	}
}

// endZooKeeper is called in each of forty rounds. In the last round, it ends a session.
func endZooKeeper(t *testing.T, round int, real, simulated *zkSide) {
	if round != 39 {
		return
	}
	path := "/ephemeral-" + fmt.Sprint(round)
	var want, got string
	var both sync.WaitGroup
	both.Go(func() { want = real.ends(path) })
	both.Go(func() { got = simulated.ends(path) })
	if both.Wait(); want != got {
		t.Errorf("a session ends\nreal      %s\nsimulated %s", want, got)
	}
}
