package etcd

import (
	"cmp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Call is a message of a client to one of the gRPC services, or the end of a stream.
type Call struct {
	Path       string // "/etcdserverpb.KV/Put"
	Stream     uint64 // on its connection
	Message    string
	What       What
	NeedLeader bool // the call fails if the member knows no leader ("hasleader" in its metadata)
}

// What a Call is.
type What uint8

const (
	Sends    What = iota // a message
	Finishes             // the client sends no more
	Resets               // the client wants no more
	Refuses              // the message cannot be read: it is gRPC's code and text
)

// Args are the words of a request with this call. CallOf undoes it.
func (c Call) Args() []string {
	what := strconv.Itoa(int(c.What))
	if c.NeedLeader {
		what += " leader"
	}
	return []string{c.Path, "#" + strconv.FormatUint(c.Stream, 10), c.Message, what}
}

// CallOf is the call that a request is; ok is false if it is none.
func CallOf(args []string) (c Call, ok bool) {
	if len(args) != 4 || !isRPC(args) {
		return c, false
	}
	stream, err := strconv.ParseUint(strings.TrimPrefix(args[1], "#"), 10, 64)
	what, leader, _ := strings.Cut(args[3], " ")
	n, wrong := strconv.Atoi(what)
	return Call{args[0], stream, args[2], What(n), leader != ""}, err == nil && wrong == nil
}

// Name names a request: a call by its method, one in words by the first.
func Name(args []string) string {
	if !isRPC(args) {
		return strings.ToUpper(args[0])
	}
	name := strings.Map(func(r rune) rune {
		if r <= ' ' || r > '~' || r == '"' {
			return -1
		}
		return r
	}, args[0])
	return cmp.Or(name[strings.LastIndexByte(name, '/')+1:], "?")
}

// Paths of requests about the connection itself, which are of stream 0: the client's preface, and a ping.
const (
	Preface = "/http2/preface"
	Ping    = "/http2/ping"
)

func isRPC(args []string) bool { return strings.HasPrefix(args[0], "/") }

// Streaming reports whether the messages of a method are not one for one.
func Streaming(path string) bool {
	return path == keepAlivePath || path == watchPath || path == observePath
}

// Lease is the lease that a call is about, if it is about one alone; 0 if not.
func (c Call) Lease() (lease int64) {
	switch c.Path {
	case keepAlivePath, leases + "LeaseRevoke", leases + "LeaseTimeToLive":
		_ = readFields(c.Message, &lease) // a member will refuse what cannot be read
	}
	return lease
}

// Granted is the lease that a response to a call grants; 0 if none.
func (c Call) Granted(response string) (lease int64) {
	if c.Path == leases+"LeaseGrant" {
		_ = readFields(response, nil, &lease)
	}
	return lease
}

// Owned is the one key that a call puts or deletes, the first if it is a txn that has several in its first branch;
// empty if there is none.
func (c Call) Owned() (key string, deletes bool) {
	var ops []Op
	switch c.Path {
	case putPath, deletePath:
		if o, err := readOp(c.Path, c.Message); err == nil {
			ops = []Op{o}
		}
	case txnPath:
		if t, err := readTxn([]byte(c.Message)); err == nil {
			ops = t.Then
		}
	}
	for i := range ops {
		if o := &ops[i]; (o.Kind == Put || o.Kind == Delete) && o.End == "" {
			return o.Key, o.Kind == Delete
		}
	}
	return "", false
}

// Succeeded reports whether a response to a call says that it was carried out: of a txn, that its conditions held.
func (c Call) Succeeded(response string) bool {
	return c.Path != txnPath || stillLeader([]byte(response)) == nil
}

// Record is a part of what a member sends a client of its gRPC services. One answer may hold several.
type Record struct {
	Kind   RecordKind
	Stream uint64
	Code   Code   // End
	Body   string // Message: the message; End: the text of an error; Pong: what the ping had
}

// RecordKind is what a Record is.
type RecordKind uint8

// A stream has its messages and one end.
const (
	Message RecordKind = iota + 1
	End
	Settings // the server has accepted the connection
	Pong
)

// Append encodes a record.
func (r Record) Append(b []byte) []byte {
	b = append(b, byte(r.Kind), byte(r.Code))
	b = protowire.AppendVarint(b, r.Stream)
	return protowire.AppendString(b, r.Body)
}

// CutRecord decodes the first record in b; ok is false if there is none.
func CutRecord(b []byte) (r Record, rest []byte, ok bool) {
	if len(b) < 2 {
		return r, nil, false
	}
	r.Kind, r.Code = RecordKind(b[0]), Code(b[1])
	stream, n := protowire.ConsumeVarint(b[2:])
	if n < 0 {
		return r, nil, false
	}
	body, size := protowire.ConsumeString(b[2+n:])
	if size < 0 {
		return r, nil, false
	}
	r.Stream, r.Body = stream, body
	return r, b[2+n+size:], true
}
