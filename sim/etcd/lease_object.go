package etcd

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// LeaseObjects is the prefix of the keys that Kubernetes's API server uses to store Lease objects. The rest of such a
// key is NAMESPACE/NAME.
const LeaseObjects = "/registry/leases/"

// DefaultNamespace is the default namespace. In records, the names of its Lease objects omit the namespace.
const DefaultNamespace = "default/"

// LeaseObject is the part of a Lease object that records and locks use. It is stored as JSON, whereas Kubernetes stores
// protobuf.
type LeaseObject struct {
	Spec LeaseSpec `json:"spec"`
}

// LeaseSpec says which client leads and for how long (coordination.k8s.io/v1). For etcd, it is ordinary data that never
// expires.
type LeaseSpec struct {
	HolderIdentity       string `json:"holderIdentity,omitempty"` // empty if nobody leads
	LeaseDurationSeconds int64  `json:"leaseDurationSeconds,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"` // in the format [MicroTime]; empty if no client uses it
	LeaseTransitions     int64  `json:"leaseTransitions"`
}

// ReadLeaseObject decodes a key's value. If the value is not a Lease object, the result does not name a holder.
func ReadLeaseObject(value string) (o LeaseObject) {
	if json.Unmarshal([]byte(value), &o) != nil {
		return LeaseObject{}
	}
	return o
}

// String encodes the object as a key's value.
func (o LeaseObject) String() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // cannot happen: the object has only strings and numbers
	}
	return string(b)
}

// term is a period in which an attempt is the leader according to a Lease object. owner is empty if there is no leader.
type term struct {
	holder string
	owner  history.Attempt
	due    history.Time
}

// isLeaseObject reports whether a key belongs to a Lease object.
func isLeaseObject(key string) bool { return strings.HasPrefix(key, LeaseObjects) }

// term returns the leadership term described by the value of a Lease object's key. The result is zero if the key does
// not exist or does not belong to a Lease object.
func (s *server) term(key string) term {
	k := s.store.get(key)
	if k == nil || !isLeaseObject(key) {
		return term{}
	}
	return term{ReadLeaseObject(k.Value).Spec.HolderIdentity, k.owner, k.due}
}

// guarded reports whether the write has an effect only if the key still has the version that the client read.
func (w *write) guarded(key string) bool {
	return w.txn != nil && slices.ContainsFunc(w.txn.Conditions, func(c Compare) bool {
		return c.Key == key && c.Rel == '=' && c.Target == "MOD"
	})
}

// recordTerm records how a write to a Lease object changes the leader. previous is the term before the write.
//
// The record depends on the holder after the write:
//   - If the leader has renewed its term, the key is recorded as extended.
//   - If there is no holder, the key is recorded as deleted.
//   - If the same client is the leader in a new attempt, it has abandoned its earlier term. The key is recorded as
//     deleted, and then as set by the new attempt.
//   - If another client has become the leader, it has usually compared the version in its write, which means that
//     it has seen the lease end by its own clock. The key is then recorded as expired, and as set by the new
//     leader.
//   - If the new leader has not compared the version, the key is recorded as overwritten. If the lease had already
//     ended, it is still recorded as expired.
func (s *server) recordTerm(m *raft.Member, k *keyValue, previous term, w *write) {
	spec, by := ReadLeaseObject(k.Value).Spec, k.owner
	k.due = m.Due(time.Duration(spec.LeaseDurationSeconds) * time.Second)
	renewed := spec.HolderIdentity == previous.holder && by == previous.owner
	before := *k
	before.owner = previous.owner
	switch {
	case previous.owner == "":
	case spec.HolderIdentity == "":
		s.recordEnd(m, &before, &write{entry: w.entry, why: history.Deleted, by: by})
	case renewed && w.entry.First:
		m.Record(history.Event{Type: history.OK, F: history.KeyProlonged, Lock: LockOf(k.Key), Member: k.Key, Of: by,
			By: by, Until: k.due})
	case renewed:
	case spec.HolderIdentity == previous.holder && clientOf(by) == clientOf(previous.owner):
		s.recordEnd(m, &before, &write{entry: w.entry, why: history.Deleted, by: previous.owner})
	case spec.HolderIdentity != previous.holder && (w.guarded(k.Key) || m.Due(0) >= previous.due):
		s.recordEnd(m, &before, &write{entry: w.entry, why: history.Expired})
	}
	switch {
	case spec.HolderIdentity == "":
		k.owner = ""
	case renewed:
	case w.entry.First:
		m.Record(history.Event{Type: history.OK, F: history.KeySet, Lock: LockOf(k.Key), Member: k.Key,
			Value: spec.HolderIdentity, Of: by, By: by, Until: k.due})
	case w.entry.Copied:
		recordCopy(m, history.KeyCopied, k)
	}
}

// clientOf returns the client that made an attempt.
func clientOf(a history.Attempt) string {
	client, _, _ := strings.Cut(string(a), "/")
	return client
}
