package etcd

import (
	"cmp"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
)

// Call is an event on a client's stream to a gRPC service, usually a message that the client sends.
type Call struct {
	Path       string // for example "/etcdserverpb.KV/Put"
	Stream     uint64 // number of the stream on its connection
	Message    string
	What       What
	NeedLeader bool // the call must fail if the member knows no leader ("hasleader" in its metadata)
}

// What says what the client does in a Call.
type What uint8

const (
	Sends    What = iota // the client sends a message
	Finishes             // the client will send no more messages
	Resets               // the client cancels the call
	Refuses              // the client's message cannot be read; Message contains gRPC's code and error text
)

// Args encodes the call as the arguments of a request. CallOf decodes them.
func (c Call) Args() []string {
	what := strconv.Itoa(int(c.What))
	if c.NeedLeader {
		what += " leader"
	}
	return []string{c.Path, "#" + strconv.FormatUint(c.Stream, 10), c.Message, what}
}

// CallOf decodes the call in a request's arguments. ok is false if they do not encode a call.
func CallOf(args []string) (c Call, ok bool) {
	if len(args) != 4 || !isRPC(args) {
		return c, false
	}
	stream, err := strconv.ParseUint(strings.TrimPrefix(args[1], "#"), 10, 64)
	what, leader, _ := strings.Cut(args[3], " ")
	n, wrong := strconv.Atoi(what)
	return Call{args[0], stream, args[2], What(n), leader != ""}, err == nil && wrong == nil
}

// Name returns a request's name: the method if it is a call, and otherwise its first argument.
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

// Paths of requests that affect only the connection: the client's preface, and a ping. They belong to stream 0.
const (
	Preface = "/http2/preface"
	Ping    = "/http2/ping"
)

func isRPC(args []string) bool { return strings.HasPrefix(args[0], "/") }

// Streaming reports whether the method with the given path streams requests or responses.
func Streaming(path string) bool {
	return path == keepAlivePath || path == watchPath || path == observePath
}

// Lease returns the ID of the lease that a call is about, or 0 if it is not about a single lease.
func (c Call) Lease() (lease int64) {
	switch c.Path {
	case keepAlivePath, leaseRevokePath, leaseTimeToLivePath:
		_ = readFields(c.Message, &lease) // errors are ignored: the member will refuse a message that cannot be read
	}
	return lease
}

// Granted returns the ID of the lease that a response grants, or 0 if it does not grant one.
func (c Call) Granted(response string) (lease int64) {
	if c.Path == leaseGrantPath {
		_ = readFields(response, nil, &lease)
	}
	return lease
}

// Ops returns the operations in a call to the KV service. For a txn, then contains those in the Then branch, and
// otherwise those in the Else branch. For another call, then contains its only operation. If the message cannot be
// read, both are nil.
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

// Owned returns the single key that a call puts or deletes, or "" if there is none. isDelete reports whether the call
// deletes it. For a txn, Owned returns the first such key in the Then branch.
func (c Call) Owned() (key string, isDelete bool) {
	ops, _ := c.Ops()
	for i := range ops {
		if o := &ops[i]; (o.Kind == Put || o.Kind == Delete) && o.End == "" {
			return o.Key, o.Kind == Delete
		}
	}
	return "", false
}

// Record is one of the items that a member sends to a gRPC client. A reply may contain several records.
type Record struct {
	Kind   RecordKind
	Stream uint64
	Code   Code   // End: the result code
	Body   string // Message: the message; End: the error text; Pong: the ping's data
}

// RecordKind is the kind of a Record.
type RecordKind uint8

// A stream consists of any number of Message records, followed by one End.
const (
	Message RecordKind = iota + 1
	End
	Settings // the server has accepted the connection
	Pong
)

// Append appends the encoded record to b.
func (r Record) Append(b []byte) []byte {
	b = append(b, byte(r.Kind), byte(r.Code))
	b = protowire.AppendVarint(b, r.Stream)
	return protowire.AppendString(b, r.Body)
}

// CutRecord decodes the first record in b and returns the rest of b. ok is false if b does not contain a complete
// record.
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
