package zookeeper

import (
	"github.com/fencepost-sim/fencepost/sim"
)

// Requests, by their first argument. The further arguments follow in the given order.
const (
	ReqConnect  = "CONNECT"    // session, 0 for a new one; timeout in ms; highest zxid that the client has seen
	ReqPing     = "PING"       //
	ReqClose    = "CLOSE"      // ends the session
	ReqCreate   = "CREATE"     // path, data, mode
	ReqDelete   = "DELETE"     // path, version
	ReqSetData  = "SETDATA"    // path, data, version
	ReqExists   = "EXISTS"     // path, watch
	ReqGetData  = "GETDATA"    // path, watch
	ReqChildren = "CHILDREN"   // path, watch
	ReqSync     = "SYNC"       //
	ReqWatches  = "SETWATCHES" // highest zxid seen, then pairs of kind and path
)

// Kinds of watches in SETWATCHES.
const (
	WatchData   = "data"   // set by getData, or by exists for a znode that exists
	WatchExists = "exists" // set by exists for a znode that does not exist
	WatchChild  = "child"
)

// ClosedReply is the reply of a member that has closed the connection. If it closes the connection unasked, it pushes
// it.
const ClosedReply = "-CLOSED\r\n"

// Every other reply is *3 [zxid of the member] [events pushed on this connection so far] [body]. The body is +OK, an
// error with its Code, or a list. A watch event is *3 [its number on the connection] [type] [path].

// AppendHead appends the beginning of a reply: the member's zxid, and the number of events that it has pushed on the
// connection. The body follows.
func AppendHead(b []byte, at Zxid, events int64) []byte {
	return sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 3), int64(at)), events)
}

// AppendCode appends a body that reports an error.
func AppendCode(b []byte, c Code) []byte {
	b = append(b, '-')
	b = append(b, c...)
	return append(b, "\r\n"...)
}

// AppendOK appends the body of a reply without further content.
func AppendOK(b []byte) []byte { return append(b, "+OK\r\n"...) }

// StatLength is the number of elements of a stat.
const StatLength = 7

// AppendStat appends the elements of a stat to a list.
func AppendStat(b []byte, s Stat) []byte {
	b = sim.AppendInt(b, int64(s.Czxid))
	b = sim.AppendInt(b, int64(s.Mzxid))
	b = sim.AppendInt(b, int64(s.Pzxid))
	b = sim.AppendInt(b, s.Version)
	b = sim.AppendInt(b, s.Cversion)
	b = sim.AppendInt(b, int64(s.EphemeralOwner))
	return sim.AppendInt(b, s.NumChildren)
}

// AppendEvent appends a push: a watch event with its number on the connection.
func AppendEvent(b []byte, number int64, e Event) []byte {
	b = sim.AppendArray(b, 3)
	b = sim.AppendInt(b, number)
	b = sim.AppendBulk(b, string(e.Type))
	return sim.AppendBulk(b, e.Path)
}

// Answer is a decoded reply.
type Answer struct {
	Zxid   Zxid  // zxid of the member
	Events int64 // number of events pushed on the connection so far
	Code   Code  // empty if there was no error
	List   []sim.Reply
}

// ReadAnswer decodes a reply. ok is false if the server has closed the connection.
func ReadAnswer(r *sim.Reply) (a Answer, ok bool) {
	parts := r.Array()
	if len(parts) != 3 {
		return a, false
	}
	zxid, _ := parts[0].Int()
	a.Zxid = Zxid(zxid)
	a.Events, _ = parts[1].Int()
	a.Code = Code(parts[2].Error())
	a.List = parts[2].Array()
	return a, true
}

// Int returns the number at index i of the list, or 0 if there is none.
func (a *Answer) Int(i int) int64 {
	if i >= len(a.List) {
		return 0
	}
	n, _ := a.List[i].Int()
	return n
}

// Text returns the text at index i of the list, or "" if there is none.
func (a *Answer) Text(i int) string {
	if i >= len(a.List) {
		return ""
	}
	s, _ := a.List[i].Bulk()
	return s
}

// Stat returns the stat that begins at element i of the list.
func (a *Answer) Stat(i int) Stat {
	return Stat{Czxid: Zxid(a.Int(i)), Mzxid: Zxid(a.Int(i + 1)), Pzxid: Zxid(a.Int(i + 2)), Version: a.Int(i + 3),
		Cversion: a.Int(i + 4), EphemeralOwner: SessionID(a.Int(i + 5)), NumChildren: a.Int(i + 6)}
}

// ReadEvent decodes an event that a member has pushed. ok is false if the member has closed the connection.
func ReadEvent(data []byte) (number int64, e Event, ok bool) {
	r := sim.NewReply(data)
	parts := r.Array()
	if len(parts) != 3 {
		return 0, e, false
	}
	number, _ = parts[0].Int()
	kind, _ := parts[1].Bulk()
	e.Type = EventType(kind)
	e.Path, _ = parts[2].Bulk()
	return number, e, true
}

// Code is an error with ZooKeeper's name. It implements error. Success is a nil error, not an empty Code.
type Code string

// Codes with which servers reply.
const (
	NoNode                  Code = "NONODE"
	NodeExists              Code = "NODEEXISTS"
	NotEmpty                Code = "NOTEMPTY"
	BadVersion              Code = "BADVERSION"
	NoChildrenForEphemerals Code = "NOCHILDRENFOREPHEMERALS"
	BadArguments            Code = "BADARGUMENTS"
	SessionExpired          Code = "SESSIONEXPIRED"
	SessionMoved            Code = "SESSIONMOVED" // the session was later moved to another connection
	NoAuth                  Code = "NOAUTH"
	InvalidACL              Code = "INVALIDACL"
	Unimplemented           Code = "UNIMPLEMENTED"
	MarshallingError        Code = "MARSHALLINGERROR" // the request ends too early
)

// Error returns the code as an error text.
func (c Code) Error() string { return "zookeeper: " + string(c) }

// err returns c as an error, or nil for the empty code.
func (c Code) err() error {
	if c == "" {
		return nil
	}
	return c
}
