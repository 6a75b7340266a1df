package etcd

import (
	"slices"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/fencepost-sim/fencepost/sim"
)

// This file contains modeled clients' requests, which are the same messages that etcd's client library sends. Call.Args
// encodes a request so that it can be sent over the simulated network, and Call.Read decodes the reply.

// Call returns the call for a range, a put or a delete.
func (o Op) Call() Call {
	path := rangePath
	switch o.Kind {
	case Put:
		path = putPath
	case Delete:
		path = deletePath
	}
	return Call{Path: path, Message: string(o.message())}
}

// Call returns the call for a txn.
func (t *Txn) Call() Call { return Call{Path: txnPath, Message: string(t.message())} }

// Call returns the call that starts the watch.
func (w Watch) Call() Call {
	return Call{Path: watchPath, Message: string(appendPart(nil, 1, appendFields(nil, w.Key, w.End, w.From)))}
}

// GrantLease returns the call that requests a lease of ttl seconds. If id is 0, the member chooses an ID.
func GrantLease(ttl, id int64) Call {
	return Call{Path: leaseGrantPath, Message: string(appendFields(nil, ttl, id))}
}

// RevokeLease returns the call that ends a lease.
func RevokeLease(id int64) Call {
	return Call{Path: leaseRevokePath, Message: string(appendFields(nil, id))}
}

// KeepLeaseAlive returns the call that renews a lease.
func KeepLeaseAlive(id int64) Call {
	return Call{Path: keepAlivePath, Message: string(appendFields(nil, id))}
}

// LeaseTimeToLive returns the call that asks for a lease's remaining time.
func LeaseTimeToLive(id int64) Call {
	return Call{Path: leaseTimeToLivePath, Message: string(appendFields(nil, id))}
}

// AskStatus returns the call that requests a member's status.
func AskStatus() Call { return Call{Path: statusPath} }

// MoveLeader returns the call that makes the member with the given ID the leader. Simulated members do not serve it.
func MoveLeader(member int64) Call {
	return Call{Path: upkeep + "MoveLeader", Message: string(appendFields(nil, member))}
}

// Prefix returns the end of the range of all keys with the given prefix.
func Prefix(prefix string) string { return prefixEnd(prefix) }

// Response is a member's decoded response to a modeled client's call. It contains the fields that lock clients use.
type Response struct {
	Revision  int64      // revision of the store, from the header
	Member    int64      // ID of the member, from the header
	Keys      []KeyValue // range: the keys found
	Count     int64      // range: number of keys that exist; delete: number of keys deleted
	Succeeded bool       // txn: the conditions held
	Results   []Response // txn: a response for each operation of the chosen branch
	Lease     int64
	// a granted or renewed lease's TTL, or a lease's remaining time, in s; 0 or less if the lease does not exist
	TTL      int64
	Granted  int64 // LeaseTimeToLive: the TTL with which the lease was granted, in s
	Leader   int64 // status: ID of the leader, or 0 if none is known
	Created  bool  // watch: the watch has started
	Canceled bool  // watch: the watch has ended
	Events   []WatchEvent
}

// WatchEvent is a change to a key, as reported by a watch.
type WatchEvent struct {
	KeyValue // for a deletion, only Key and Mod are set
	Deleted  bool
}

// Read decodes the reply to a call. If etcd replied with an error, or if there is no valid reply, Read returns an
// error.
func (c *Call) Read(r *sim.Reply) (Response, error) {
	first, _, ok := CutRecord(r.Raw())
	switch {
	case ok && first.Kind == Message:
		return c.ReadMessage(first.Body)
	case ok && first.Kind == End && first.Code != OK:
		return Response{}, &Error{first.Code, first.Body}
	}
	return Response{}, errMalformed
}

// ReadPush decodes data that a member has pushed on a watch's stream.
func ReadPush(b []byte) (Response, error) {
	r := sim.NewReply(b)
	return (&Call{Path: watchPath}).Read(&r)
}

// ReadMessage decodes a response message for the call.
func (c *Call) ReadMessage(message string) (r Response, err error) {
	return r, readFields(message, r.fields(c.Path)...)
}

// fields returns pointers to the variables for the fields in a method's response, in field number order, for use with
// readFields.
func (r *Response) fields(path string) []any {
	header := func(b []byte) error { return readFields(b, nil, &r.Member, &r.Revision) }
	switch path {
	case rangePath:
		return []any{header, r.key, nil, &r.Count}
	case deletePath:
		return []any{header, &r.Count}
	case txnPath:
		return []any{header, &r.Succeeded, r.result}
	case leaseGrantPath, keepAlivePath:
		return []any{header, &r.Lease, &r.TTL}
	case leaseTimeToLivePath:
		return []any{header, &r.Lease, &r.TTL, &r.Granted}
	case statusPath:
		return []any{header, nil, nil, &r.Leader}
	case watchPath:
		return []any{header, nil, &r.Created, &r.Canceled, nil, nil, nil, nil, nil, nil, r.event}
	}
	return []any{header}
}

func (r *Response) key(b []byte) error {
	k, err := readKeyValue(b)
	r.Keys = append(r.Keys, k)
	return err
}

func (r *Response) event(b []byte) (err error) {
	var e WatchEvent
	err = readFields(b, &e.Deleted, func(b []byte) (err error) {
		e.KeyValue, err = readKeyValue(b)
		return err
	})
	r.Events = append(r.Events, e)
	return err
}

// result decodes an etcdserverpb.ResponseOp and appends it to Results.
func (r *Response) result(b []byte) error {
	var of Response
	as := func(path string) func([]byte) error {
		return func(b []byte) error { return readFields(b, of.fields(path)...) }
	}
	err := readFields(b, as(rangePath), as(putPath), as(deletePath), as(txnPath))
	r.Results = append(r.Results, of)
	return err
}

func readKeyValue(b []byte) (k KeyValue, err error) {
	return k, readFields(b, &k.Key, &k.Create, &k.Mod, &k.Version, &k.Value, &k.Lease)
}

// message encodes an operation as a KV service request.
func (o *Op) message() []byte {
	switch o.Kind {
	case Put:
		return appendFields(nil, o.Key, o.Value, o.Lease, o.Previous, o.KeepValue, o.KeepLease)
	case Delete:
		return appendFields(nil, o.Key, o.End, o.Previous)
	case Nested:
		return o.Txn.message()
	}
	target, order := int64(0), int64(0)
	for i, by := range orders {
		if by == o.Order && i > 0 {
			target, order = int64(i), 1
		}
	}
	if o.Descending {
		order = 2
	}
	return appendFields(nil, o.Key, o.End, int64(o.Limit), o.Revision, order, target, o.Serializable, o.KeysOnly,
		o.CountOnly, o.MinMod, o.MaxMod, o.MinCreate, o.MaxCreate)
}

// message encodes an etcdserverpb.TxnRequest.
func (t *Txn) message() (b []byte) {
	for i := range t.Conditions {
		b = appendPart(b, 1, t.Conditions[i].message())
	}
	for i, branch := range [][]Op{t.Then, t.Else} {
		for _, o := range branch {
			b = appendPart(b, protowire.Number(2+i), appendPart(nil, protowire.Number(o.Kind), o.message()))
		}
	}
	return b
}

// message encodes an etcdserverpb.Compare. The operand is always encoded, even if it is zero.
func (c *Compare) message() []byte {
	relation := int64(strings.IndexByte(string(relations), c.Rel))
	b := appendFields(nil, relation, int64(slices.Index(targets, c.Target)), c.Key)
	if c.Target == "VALUE" {
		b = appendPart(b, 7, []byte(c.Text))
	} else {
		operand := map[string]protowire.Number{"VERSION": 4, "CREATE": 5, "MOD": 6, "LEASE": 8}[c.Target]
		b = protowire.AppendVarint(protowire.AppendTag(b, operand, protowire.VarintType), uint64(c.Number))
	}
	return appendText(b, 64, c.End)
}

// Phase returns the phase for a modeled client's request with the given name. The request's delays depend on its phase.
func Phase(name string) string {
	switch {
	case strings.HasPrefix(name, "Lease"):
		return "LEASE"
	case name == "DeleteRange":
		return "DELETE"
	}
	return strings.ToUpper(name)
}
