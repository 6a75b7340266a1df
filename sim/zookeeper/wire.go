package zookeeper

import "github.com/fencepost-sim/fencepost/sim"

// Requests, by their first argument. The others follow in the order given.
const (
	reqConnect  = "CONNECT"    // session, 0 for a new one; timeout in ms
	reqPing     = "PING"       //
	reqClose    = "CLOSE"      // the session
	reqCreate   = "CREATE"     // path, data, mode
	reqDelete   = "DELETE"     // path, version
	reqSetData  = "SETDATA"    // path, data, version
	reqExists   = "EXISTS"     // path, watch
	reqGetData  = "GETDATA"    // path, watch
	reqChildren = "CHILDREN"   // path, watch
	reqSync     = "SYNC"       //
	reqWatches  = "SETWATCHES" // zxid last seen, then pairs of kind and path
)

// Sorts of watches in SETWATCHES.
const (
	watchData   = "data"   // getData, or exists that found the znode
	watchExists = "exists" // exists that found none
	watchChild  = "child"
)

// closed is the answer of a member that has closed the connection, and its push when it does so unasked.
const closed = "-CLOSED\r\n"

// Every other answer is *3 [zxid of the member] [events pushed on this connection so far] [body]; the body is +OK, an
// error with its Code, or a list. A watch event is *3 [its number on the connection] +type $path.

func appendCode(b []byte, c Code) []byte {
	b = append(b, '-')
	b = append(b, c...)
	return append(b, "\r\n"...)
}

func appendOK(b []byte) []byte { return append(b, "+OK\r\n"...) }

// statLength is the number of elements of a stat.
const statLength = 7

func appendStat(b []byte, s Stat) []byte {
	b = sim.AppendInt(b, int64(s.Czxid))
	b = sim.AppendInt(b, int64(s.Mzxid))
	b = sim.AppendInt(b, int64(s.Pzxid))
	b = sim.AppendInt(b, s.Version)
	b = sim.AppendInt(b, s.Cversion)
	b = sim.AppendInt(b, int64(s.EphemeralOwner))
	return sim.AppendInt(b, s.NumChildren)
}

func appendEvent(b []byte, number int64, e Event) []byte {
	b = sim.AppendArray(b, 3)
	b = sim.AppendInt(b, number)
	b = sim.AppendBulk(b, string(e.Type))
	return sim.AppendBulk(b, e.Path)
}

// answer is a reply as the client reads it.
type answer struct {
	zxid   Zxid
	events int64
	code   Code
	list   []sim.Reply
}

// readAnswer takes a reply apart; ok is false if the server has closed the connection.
func readAnswer(r *sim.Reply) (a answer, ok bool) {
	parts := r.Array()
	if len(parts) != 3 {
		return a, false
	}
	zxid, _ := parts[0].Int()
	a.zxid = Zxid(zxid)
	a.events, _ = parts[1].Int()
	a.code = Code(parts[2].Error())
	a.list = parts[2].Array()
	return a, true
}

func (a *answer) int(i int) int64 {
	if i >= len(a.list) {
		return 0
	}
	n, _ := a.list[i].Int()
	return n
}

func (a *answer) string(i int) string {
	if i >= len(a.list) {
		return ""
	}
	s, _ := a.list[i].Bulk()
	return s
}

// stat reads the stat that begins at element i.
func (a *answer) stat(i int) Stat {
	return Stat{Czxid: Zxid(a.int(i)), Mzxid: Zxid(a.int(i + 1)), Pzxid: Zxid(a.int(i + 2)), Version: a.int(i + 3),
		Cversion: a.int(i + 4), EphemeralOwner: SessionID(a.int(i + 5)), NumChildren: a.int(i + 6)}
}

// readEvent reads what a member has pushed; ok is false if it has closed the connection.
func readEvent(data []byte) (number int64, e Event, ok bool) {
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
