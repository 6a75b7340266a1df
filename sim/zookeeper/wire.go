package zookeeper

import (
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/zookeeper/jute"
)

// ClosedReply is what a member sends when it closes the connection: as the reply to a pending request or, if there is
// none, as a push.
const ClosedReply = "-CLOSED\r\n"

// Answer is a decoded reply to any request except a connection's first.
type Answer struct {
	Zxid        Zxid // zxid of the member
	Code        Code // empty if there was no error
	Pushed      int  // how many events had arrived on the connection before the reply
	jute.Fields      // result of the operation, if there was no error
}

// ReadAnswer decodes a reply. ok is false if the server has closed the connection.
func ReadAnswer(r *sim.Reply) (a Answer, ok bool) {
	f := recordOf(r.Raw())
	f.Int() // skips the number of the request
	a.Zxid, a.Code, a.Pushed = Zxid(f.Long()), codeOf(f.Int()), r.Pushed
	a.Fields = f
	return a, !f.Torn
}

// recordOf returns the record in a frame. If the argument is not a frame (it may be a ClosedReply), the result has Torn
// set.
func recordOf(frame []byte) jute.Fields {
	record, rest, whole, sound := jute.Cut(frame)
	return jute.Fields{Rest: record, Torn: !whole || !sound || len(rest) > 0}
}

// readSession decodes the reply to a connection's first request. If the session has ended, its ID is 0. ok is false if
// the server has closed the connection.
func readSession(r *sim.Reply) (s *Session, ok bool) {
	f := recordOf(r.Raw())
	f.Int() // skips the protocol version
	s = &Session{Timeout: msOf(f.Int()), ID: SessionID(f.Long()), password: f.Text()}
	return s, !f.Torn
}

// eventNumbers maps event types to their numbers in the protocol, and eventTypes maps these numbers to event types.
var (
	eventNumbers = map[EventType]int32{NodeCreated: jute.NodeCreated, NodeDeleted: jute.NodeDeleted,
		NodeDataChanged: jute.NodeDataChanged, NodeChildrenChanged: jute.NodeChildrenChanged}
	eventTypes = inverse(eventNumbers)
)

// eventFrame encodes a watch event as a frame.
func eventFrame(e Event) []byte {
	return jute.Record(nil).Int(jute.XidEvent).Long(-1).Int(0).Int(eventNumbers[e.Type]).Int(jute.Connected).
		Text(e.Path).Framed()
}

// ReadEvent decodes a watch event pushed by a member. ok is false if the member has closed the connection.
func ReadEvent(frame []byte) (e Event, ok bool) {
	f := recordOf(frame)
	f.Int() // skips the xid (jute.XidEvent)
	f.Long()
	f.Int() // skips the error code
	e.Type = eventTypes[f.Int()]
	f.Int() // skips the session state (jute.Connected)
	e.Path = f.Text()
	return e, !f.Torn
}

func appendStat(r jute.Record, s Stat) jute.Record {
	return r.Long(int64(s.Czxid)).Long(int64(s.Mzxid)).Long(s.Ctime).Long(s.Mtime).Int(int32(s.Version)).
		Int(int32(s.Cversion)).Int(int32(s.Aversion)).Long(int64(s.EphemeralOwner)).Int(int32(s.DataLength)).
		Int(int32(s.NumChildren)).Long(int64(s.Pzxid))
}

// ReadStat decodes a stat.
func ReadStat(f *jute.Fields) (s Stat) {
	s.Czxid, s.Mzxid, s.Ctime, s.Mtime = Zxid(f.Long()), Zxid(f.Long()), f.Long(), f.Long()
	s.Version, s.Cversion, s.Aversion = int64(f.Int()), int64(f.Int()), int64(f.Int())
	s.EphemeralOwner = SessionID(f.Long())
	s.DataLength, s.NumChildren = int64(f.Int()), int64(f.Int())
	s.Pzxid = Zxid(f.Long())
	return s
}
