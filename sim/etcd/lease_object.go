package etcd

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// LeaseObjects is where the API server of Kubernetes keeps its Lease objects: a key for each, NAMESPACE/NAME.
const LeaseObjects = "/registry/leases/"

// DefaultNamespace is the namespace whose Lease objects are known to records by their names alone.
const DefaultNamespace = "default/"

// LeaseObject is what records and locks read of the value of such a key. It is kept as JSON; Kubernetes keeps protobuf.
type LeaseObject struct {
	Spec LeaseSpec `json:"spec"`
}

// LeaseSpec is who leads, and for how long (coordination.k8s.io/v1). etcd knows nothing of it, and never ends it.
type LeaseSpec struct {
	HolderIdentity       string `json:"holderIdentity,omitempty"` // empty: nobody leads
	LeaseDurationSeconds int64  `json:"leaseDurationSeconds,omitempty"`
	RenewTime            string `json:"renewTime,omitempty"` // as [MicroTime]; empty if nobody reads it
	LeaseTransitions     int64  `json:"leaseTransitions"`
}

// ReadLeaseObject reads the value of a key; one that is no Lease object names no holder.
func ReadLeaseObject(value string) (o LeaseObject) {
	if json.Unmarshal([]byte(value), &o) != nil {
		return LeaseObject{}
	}
	return o
}

// String is the value of the key.
func (o LeaseObject) String() string {
	b, err := json.Marshal(o)
	if err != nil {
		panic(err) // it has only texts and numbers
	}
	return string(b)
}

// term is the time during which one attempt leads by a Lease object; its owner is empty if nobody does.
type term struct {
	holder string
	owner  history.Attempt
	due    history.Time
}

// isLeaseObject reports whether a key is that of a Lease object.
func isLeaseObject(key string) bool { return strings.HasPrefix(key, LeaseObjects) }

// term is the present one by a key's value; it is zero if there is no Lease object of that key.
func (s *server) term(key string) term {
	k := s.store.get(key)
	if k == nil || !isLeaseObject(key) {
		return term{}
	}
	return term{ReadLeaseObject(k.Value).Spec.HolderIdentity, k.owner, k.due}
}

// guarded reports whether a write happens only to the version of the key that its client has read.
func (w *write) guarded(key string) bool {
	return w.txn != nil && slices.ContainsFunc(w.txn.Conditions, func(c Compare) bool {
		return c.Key == key && c.Rel == '=' && c.Target == "MOD"
	})
}

// recordTerm records what a put of a Lease object means to those who lead by it, given the term before. A renewal
// prolongs the key, and a record without a holder deletes it. Another holder that has compared the version has found
// the lease at its end: the key has expired, by the clock of that client. One that has not compared it overwrites the
// key, unless the lease is over by then. A client that leads under a new attempt has given its earlier term up.
func (s *server) recordTerm(m *raft.Member, k *keyValue, was term, w *write) {
	spec, by := ReadLeaseObject(k.Value).Spec, k.owner
	k.due = m.Due(time.Duration(spec.LeaseDurationSeconds) * time.Second)
	renewed := spec.HolderIdentity == was.holder && by == was.owner
	before := *k
	before.owner = was.owner
	switch {
	case was.owner == "":
	case spec.HolderIdentity == "":
		s.recordEnd(m, &before, &write{entry: w.entry, why: history.Deleted, by: by})
	case renewed && w.entry.First:
		m.Record(history.Event{Type: history.OK, F: history.KeyProlonged, Lock: LockOf(k.Key), Member: k.Key, Of: by,
			By: by, Until: k.due})
	case renewed:
	case spec.HolderIdentity == was.holder && clientOf(by) == clientOf(was.owner):
		s.recordEnd(m, &before, &write{entry: w.entry, why: history.Deleted, by: was.owner})
	case spec.HolderIdentity != was.holder && (w.guarded(k.Key) || m.Due(0) >= was.due):
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

// clientOf is the client that made an attempt.
func clientOf(a history.Attempt) string {
	client, _, _ := strings.Cut(string(a), "/")
	return client
}
