package etcd

import (
	"cmp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Call is a message from a client to one of the gRPC services, or an event on its stream.
type Call struct {
	Path       string // for example "/etcdserverpb.KV/Put"
	Stream     uint64 // stream number on its connection
	Message    string
	What       What
	NeedLeader bool // the call fails if the member knows no leader ("hasleader" in its metadata)
}

// What says what a Call is.
type What uint8

const (
	Sends    What = iota // a message
	Finishes             // the client sends nothing more
	Resets               // the client cancels the call
	Refuses              // the message cannot be read: Message contains gRPC's code and error text
)

// Args returns the words of a request with this call. CallOf decodes them.
func (c Call) Args() []string {
	what := strconv.Itoa(int(c.What))
	if c.NeedLeader {
		what += " leader"
	}
	return []string{c.Path, "#" + strconv.FormatUint(c.Stream, 10), c.Message, what}
}

// CallOf returns the call in a request. ok is false if the request is not a call.
func CallOf(args []string) (c Call, ok bool) {
	if len(args) != 4 || !isRPC(args) {
		return c, false
	}
	stream, err := strconv.ParseUint(strings.TrimPrefix(args[1], "#"), 10, 64)
	what, leader, _ := strings.Cut(args[3], " ")
	n, wrong := strconv.Atoi(what)
	return Call{args[0], stream, args[2], What(n), leader != ""}, err == nil && wrong == nil
}

// Name returns the name of a request: the method of a call, or the first word of a request of another kind.
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

// Paths of requests about the connection itself, which have stream 0: the client's preface, and a ping.
const (
	Preface = "/http2/preface"
	Ping    = "/http2/ping"
)

func isRPC(args []string) bool { return strings.HasPrefix(args[0], "/") }

// Streaming reports whether a method may have several requests or responses.
func Streaming(path string) bool {
	return path == keepAlivePath || path == watchPath || path == observePath
}

// Lease returns the lease that a call concerns, or 0 if it does not concern a single lease.
func (c Call) Lease() (lease int64) {
	switch c.Path {
	case keepAlivePath, leaseRevokePath, leaseTimeToLivePath:
		_ = readFields(c.Message, &lease) // the member will refuse a message that cannot be read
	}
	return lease
}

// Granted returns the lease that a response grants, or 0 if it grants none.
func (c Call) Granted(response string) (lease int64) {
	if c.Path == leaseGrantPath {
		_ = readFields(response, nil, &lease)
	}
	return lease
}

// Ops returns the operations of a call to the KV service; for a txn, those of its Then branch and those of its Else
// branch. It returns none if the message cannot be read.
func (c Call) Ops() (then, otherwise []Op) {
	if c.Path == txnPath {
		t, err := readTxn([]byte(c.Message))
		if err != nil {
			return nil, nil
		}
		return t.Then, t.Else
	}
	if read := opReaders[c.Path]; read != nil {
		if o, err := read([]byte(c.Message)); err == nil {
			then = []Op{o}
		}
	}
	return then, nil
}

// Owned returns the single key that a call puts or deletes; for a txn, it is the first one in its Then branch. It
// returns "" if there is none.
func (c Call) Owned() (key string, deletes bool) {
	ops, _ := c.Ops()
	for i := range ops {
		if o := &ops[i]; (o.Kind == Put || o.Kind == Delete) && o.End == "" {
			return o.Key, o.Kind == Delete
		}
	}
	return "", false
}

// Record is a part of what a member sends to a client of its gRPC services. One reply may contain several records.
type Record struct {
	Kind   RecordKind
	Stream uint64
	Code   Code   // End
	Body   string // Message: the message; End: the text of an error; Pong: the data of the ping
}

// RecordKind says what a Record is.
type RecordKind uint8

// A stream has any number of messages and one end.
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

// CutRecord decodes the first record in b. ok is false if there is none.
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
