package etcd

import (
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// The paths of etcd's gRPC services and some methods.
const (
	kv       = "/etcdserverpb.KV/"
	leases   = "/etcdserverpb.Lease/"
	watches  = "/etcdserverpb.Watch/"
	clusters = "/etcdserverpb.Cluster/"
	upkeep   = "/etcdserverpb.Maintenance/"

	rangePath   = kv + "Range"
	putPath     = kv + "Put"
	deletePath  = kv + "DeleteRange"
	txnPath     = kv + "Txn"
	compactPath = kv + "Compact"

	leaseGrantPath      = leases + "LeaseGrant"
	leaseRevokePath     = leases + "LeaseRevoke"
	leaseTimeToLivePath = leases + "LeaseTimeToLive"
	keepAlivePath       = leases + "LeaseKeepAlive"
	watchPath           = watches + "Watch"
	statusPath          = upkeep + "Status"
)

// methods maps the simulated methods' paths to their handlers.
var methods map[string]func(*rpc) error

func init() {
	methods = map[string]func(*rpc) error{
		rangePath:               (*rpc).serveRange,
		putPath:                 (*rpc).serveOp,
		deletePath:              (*rpc).serveOp,
		txnPath:                 (*rpc).serveTxn,
		compactPath:             (*rpc).serveCompact,
		leaseGrantPath:          (*rpc).serveGrant,
		leaseRevokePath:         (*rpc).serveRevoke,
		leaseTimeToLivePath:     (*rpc).serveTimeToLive,
		leases + "LeaseLeases":  (*rpc).serveLeases,
		keepAlivePath:           (*rpc).serveKeepAlive,
		watchPath:               (*rpc).serveWatch,
		clusters + "MemberList": (*rpc).serveMembers,
		statusPath:              (*rpc).serveStatus,
		"/v3lockpb.Lock/Lock":   (*rpc).serveLock,
		"/v3lockpb.Lock/Unlock": (*rpc).serveUnlock,
		elections + "Campaign":  (*rpc).serveCampaign,
		elections + "Proclaim":  (*rpc).serveProclaim,
		elections + "Leader":    (*rpc).serveLeader,
		elections + "Resign":    (*rpc).serveResign,
		observePath:             (*rpc).serveObserve,
	}
}

// notSimulated lists the etcd 3.4 methods that are not simulated. The keys are service paths.
var notSimulated = map[string][]string{
	clusters: {"MemberAdd", "MemberRemove", "MemberUpdate", "MemberPromote"},
	upkeep:   {"Alarm", "Defragment", "Hash", "HashKV", "Snapshot", "MoveLeader"},
	"/etcdserverpb.Auth/": {"AuthEnable", "AuthDisable", "Authenticate", "UserAdd", "UserGet", "UserList", "UserDelete",
		"UserChangePassword", "UserGrantRole", "UserRevokeRole", "RoleAdd", "RoleGet", "RoleList", "RoleDelete",
		"RoleGrantPermission", "RoleRevokePermission"},
}

// NotSimulated reports whether a method exists in etcd 3.4 but is not simulated.
func NotSimulated(path string) bool {
	at := strings.LastIndexByte(path, '/') + 1
	return slices.Contains(notSimulated[path[:at]], path[at:])
}

// unknownMethod returns the error for a method that cannot be called. If etcd has the method, the error says that it is
// not simulated. Otherwise the error is gRPC's own.
func unknownMethod(path string) error {
	service, method, found := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	switch {
	case NotSimulated(path):
		return &Error{Unimplemented, "fencepost: " + strings.TrimPrefix(path, "/") + " is not simulated"}
	case !found:
		return &Error{ResourceExhausted, "malformed method name: \"" + path + "\""}
	}
	for known := range methods {
		if strings.HasPrefix(known, "/"+service+"/") {
			return &Error{Unimplemented, "unknown method " + method + " for service " + service}
		}
	}
	return &Error{Unimplemented, "unknown service " + service}
}

// rpc is a call received by a member.
type rpc struct {
	Call
	*server
	m *raft.Member
	r *sim.Incoming
}

func (s *server) serveRPC(m *raft.Member, r *sim.Incoming) {
	c, ok := CallOf(r.Args)
	q := &rpc{Call: c, server: s, m: m, r: r}
	switch {
	case !ok:
		q.refuse(&Error{Internal, "fencepost: a malformed call"})
		return
	case c.Stream == 0 && c.Path == Preface:
		r.Reply(Record{Kind: Settings}.Append(nil))
		return
	case c.Stream == 0 && c.Path == Ping:
		r.Reply(Record{Kind: Pong, Body: c.Message}.Append(nil))
		return
	case c.What == Resets:
		s.drop(m, r.ConnID, c.Stream)
		return
	case c.What == Refuses:
		code, text, _ := strings.Cut(c.Message, " ")
		n, _ := strconv.Atoi(code)
		s.drop(m, r.ConnID, c.Stream)
		q.refuse(&Error{Code(n), text})
		return
	}
	serve, known := methods[c.Path]
	switch {
	case !known:
		q.refuse(unknownMethod(c.Path))
		return
	case c.What == Finishes:
		if c.Path == keepAlivePath { // etcd's other streams end only when they are reset
			q.finishKeepAlive()
		}
		return
	case c.NeedLeader && m.Leader() == "":
		q.refuse(errNoLeader)
		return
	}
	if err := serve(q); err != nil {
		q.refuse(err)
	}
}

// errUnreadable returns gRPC's error for a message that cannot be decoded.
func errUnreadable(err error) error {
	return &Error{Internal, "grpc: error unmarshalling request: " + err.Error()}
}

// reply sends the response to a unary call and ends the call.
func (q *rpc) reply(message []byte) {
	b := Record{Kind: Message, Stream: q.Stream, Body: string(message)}.Append(nil)
	q.r.Reply(Record{Kind: End, Stream: q.Stream}.Append(b))
}

// say sends a response on a stream that stays open.
func (q *rpc) say(message []byte) {
	q.r.Reply(Record{Kind: Message, Stream: q.Stream, Body: string(message)}.Append(nil))
}

func (q *rpc) end(code Code, text string) {
	q.r.Reply(Record{Kind: End, Stream: q.Stream, Code: code, Body: text}.Append(nil))
}

// refuse ends the stream with an error.
func (q *rpc) refuse(err error) {
	e := asError(err)
	q.end(e.Code, e.Text)
}

// clusterID is the simulated cluster's ID in response headers.
const clusterID = 0x14f9a3c2d8e51b70

func memberID(n int) int64 { return clamp(0x0bf4c10ddf0a5e31 * uint64(n)) }

// header returns the header for a response from this member.
func (s *server) header(m *raft.Member) header {
	return header{clusterID, memberID(m.Number()), s.store.revision, int64(m.Term())}
}

// outcome encodes a command's result, either a message or an error, as the log's reply.
func outcome(message []byte, err error) []byte {
	if err != nil {
		e := asError(err)
		return append([]byte{byte(e.Code)}, e.Text...)
	}
	return append([]byte{byte(OK)}, message...)
}

// commit proposes a command to the log and replies once this member has applied it.
func (q *rpc) commit(c command) {
	q.commitThen(c, func(message []byte, err error) {
		if err != nil {
			q.refuse(err)
			return
		}
		q.reply(message)
	})
}

// commitThen proposes a command to the log and passes the outcome to done.
func (q *rpc) commitThen(c command, done func(message []byte, err error)) {
	q.propose(q.m, q.r.Attempt, c, done)
}

// linearizable calls f once this member has caught up with the cluster.
func (q *rpc) linearizable(f func() error) {
	q.m.ReadIndex(func(err error) {
		if err != nil {
			err = errTimeout
		} else {
			err = f()
		}
		if err != nil {
			q.refuse(err)
		}
	})
}

func (q *rpc) serveRange() error {
	o, err := readRange([]byte(q.Message))
	if err != nil {
		return errUnreadable(err)
	}
	if err := o.check(maxTxnOps); err != nil {
		return err
	}
	answer := func() error {
		if o.Revision < 0 {
			o.Revision = 0
		}
		if err := q.checkOp(&o); err != nil {
			return err
		}
		r := q.look(&o, q.store.revision)
		q.reply(r.message(q.header(q.m), o.KeysOnly))
		return nil
	}
	if o.Serializable {
		return answer()
	}
	q.linearizable(answer)
	return nil
}

// maxRequest is the maximum request size in bytes: etcd's --max-request-bytes minus the bytes that etcd's log adds.
const maxRequest = 1536<<10 - 18

func (q *rpc) serveOp() error {
	o, err := opReaders[q.Path]([]byte(q.Message))
	if err != nil {
		return errUnreadable(err)
	}
	if err := o.check(maxTxnOps); err != nil {
		return err
	}
	if len(q.Message) > maxRequest {
		return errTooLarge
	}
	q.commit(&o)
	return nil
}

func (q *rpc) serveTxn() error {
	t, err := readTxn([]byte(q.Message))
	if err != nil {
		return errUnreadable(err)
	}
	if err := t.check(maxTxnOps); err != nil {
		return err
	}
	switch {
	case !t.readOnly() && len(q.Message) > maxRequest:
		return errTooLarge
	case !t.readOnly():
		q.commit(&t)
		return nil
	}
	answer := func() error {
		w := write{revision: q.store.revision + 1}
		message, err := t.apply(q.server, q.m, &w)
		if err == nil {
			q.reply(message)
		}
		return err
	}
	if t.serializable() {
		return answer()
	}
	q.linearizable(answer)
	return nil
}

// serializable reports whether a read-only txn may be answered from the state applied by this member.
func (t *Txn) serializable() bool {
	for _, branch := range [][]Op{t.Then, t.Else} {
		for i := range branch {
			if o := &branch[i]; o.Kind == Nested && !o.Txn.serializable() || o.Kind == Range && !o.Serializable {
				return false
			}
		}
	}
	return true
}

func (q *rpc) serveCompact() error {
	var c compaction
	if err := readFields(q.Message, &c.revision); err != nil {
		return errUnreadable(err)
	}
	q.commit(&c)
	return nil
}

func (q *rpc) serveMembers() error {
	h := q.header(q.m)
	h.revision = 0 // etcd omits the revision here
	b := h.append(nil, 1)
	for i, name := range q.m.Peers() {
		p := appendNumber(nil, 1, memberID(i+1))
		p = appendText(p, 2, string(name))
		p = appendText(p, 3, "http://"+string(name)+":2380")
		b = appendPart(b, 2, appendText(p, 4, "http://"+string(name)+":2379"))
	}
	q.reply(b)
	return nil
}

// version is the simulated etcd version.
const version = "3.4.23"

func (q *rpc) serveStatus() error {
	b := appendText(q.header(q.m).append(nil, 1), 2, version)
	b = appendNumber(b, 3, 20480) // the size of an empty database file, because the simulation has no file
	leader := int64(0)
	for i, name := range q.m.Peers() {
		if name == q.m.Leader() {
			leader = memberID(i + 1)
		}
	}
	b = appendNumber(b, 4, leader)
	b = appendNumber(b, 5, int64(q.m.Applied()))
	b = appendNumber(b, 6, int64(q.m.Term()))
	b = appendNumber(b, 7, int64(q.m.Applied()))
	if leader == 0 {
		b = appendText(b, 8, errNoLeader.Text)
	}
	q.reply(appendNumber(b, 9, 16384))
	return nil
}
