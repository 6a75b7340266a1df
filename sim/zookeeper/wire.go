package zookeeper

import (
	"github.com/fencepost-sim/fencepost/sim"
)

// Requests, by their first argument. The others follow in the order given.
const (
	ReqConnect  = "CONNECT"    // session, 0 for a new one; timeout in ms; highest zxid that the client has seen
	ReqPing     = "PING"       //
	ReqClose    = "CLOSE"      // the session
	ReqCreate   = "CREATE"     // path, data, mode
	ReqDelete   = "DELETE"     // path, version
	ReqSetData  = "SETDATA"    // path, data, version
	ReqExists   = "EXISTS"     // path, watch
	ReqGetData  = "GETDATA"    // path, watch
	ReqChildren = "CHILDREN"   // path, watch
	ReqSync     = "SYNC"       //
	ReqWatches  = "SETWATCHES" // zxid last seen, then pairs of kind and path
)

// Kinds of watches in SETWATCHES.
const (
	WatchData   = "data"   // getData, or exists that found the znode
	WatchExists = "exists" // exists that found none
	WatchChild  = "child"
)

// ClosedReply is the answer of a member that has closed the connection, and its push when it does so unasked.
const ClosedReply = "-CLOSED\r\n"

// Every other answer is *3 [zxid of the member] [events pushed on this connection so far] [body]; the body is +OK, an
// error with its Code, or a list. A watch event is *3 [its number on the connection] +type $path.

// AppendHead begins an answer: the member's zxid, and how many events it has pushed on the connection. The body
// follows.
func AppendHead(b []byte, at Zxid, events int64) []byte {
	return sim.AppendInt(sim.AppendInt(sim.AppendArray(b, 3), int64(at)), events)
}

// AppendCode appends the body that reports an error.
func AppendCode(b []byte, c Code) []byte {
	b = append(b, '-')
	b = append(b, c...)
	return append(b, "\r\n"...)
}

// AppendOK appends the body of an answer without further content.
func AppendOK(b []byte) []byte { return append(b, "+OK\r\n"...) }

// StatLength is the number of elements of a stat.
const StatLength = 7

// AppendStat appends a stat, within a list.
func AppendStat(b []byte, s Stat) []byte {
	b = sim.AppendInt(b, int64(s.Czxid))
	b = sim.AppendInt(b, int64(s.Mzxid))
	b = sim.AppendInt(b, int64(s.Pzxid))
	b = sim.AppendInt(b, s.Version)
	b = sim.AppendInt(b, s.Cversion)
	b = sim.AppendInt(b, int64(s.EphemeralOwner))
	return sim.AppendInt(b, s.NumChildren)
}

// AppendEvent appends a push: what a watch observed, and its number on the connection.
func AppendEvent(b []byte, number int64, e Event) []byte {
	b = sim.AppendArray(b, 3)
	b = sim.AppendInt(b, number)
	b = sim.AppendBulk(b, string(e.Type))
	return sim.AppendBulk(b, e.Path)
}

// Answer is a reply as a client reads it.
type Answer struct {
	Zxid   Zxid  // of the member
	Events int64 // pushed on the connection so far
	Code   Code  // empty if there was no error
	List   []sim.Reply
}

// ReadAnswer parses a reply; ok is false if the server has closed the connection.
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

// Int is the number at i of the list; 0 if there is none.
func (a *Answer) Int(i int) int64 {
	if i >= len(a.List) {
		return 0
	}
	n, _ := a.List[i].Int()
	return n
}

// Text is the text at i of the list; empty if there is none.
func (a *Answer) Text(i int) string {
	if i >= len(a.List) {
		return ""
	}
	s, _ := a.List[i].Bulk()
	return s
}

// Stat reads the stat that begins at element i.
func (a *Answer) Stat(i int) Stat {
	return Stat{Czxid: Zxid(a.Int(i)), Mzxid: Zxid(a.Int(i + 1)), Pzxid: Zxid(a.Int(i + 2)), Version: a.Int(i + 3),
		Cversion: a.Int(i + 4), EphemeralOwner: SessionID(a.Int(i + 5)), NumChildren: a.Int(i + 6)}
}

// ReadEvent parses what a member has pushed; ok is false if it has closed the connection.
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

// Code is an error by ZooKeeper's name. It implements error; a nil error, not an empty Code, is success.
type Code string

// Codes that servers answer.
const (
	NoNode                  Code = "NONODE"
	NodeExists              Code = "NODEEXISTS"
	NotEmpty                Code = "NOTEMPTY"
	BadVersion              Code = "BADVERSION"
	NoChildrenForEphemerals Code = "NOCHILDRENFOREPHEMERALS"
	BadArguments            Code = "BADARGUMENTS"
	SessionExpired          Code = "SESSIONEXPIRED"
	SessionMoved            Code = "SESSIONMOVED" // the session has since been taken to another connection
	NoAuth                  Code = "NOAUTH"
	InvalidACL              Code = "INVALIDACL"
	Unimplemented           Code = "UNIMPLEMENTED"
	MarshallingError        Code = "MARSHALLINGERROR" // the request ends too early
)

// Error is the code in words.
func (c Code) Error() string { return "zookeeper: " + string(c) }

// err is c as an error, nil for the empty code.
func (c Code) err() error {
	if c == "" {
		return nil
	}
	return c
}
