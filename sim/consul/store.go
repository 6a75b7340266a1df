package consul

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// store is a cluster's replicated state.
type store struct {
	keys     map[string]*entry
	sessions map[string]*session
	kvIndex  uint64 // index of the last change of any key, including deletions
	// sessionIndex is the index at which a session was last created or ended.
	sessionIndex uint64
}

// entry is a key (structs.DirEntry). The fields are in the same order as in Consul's JSON.
type entry struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64

	owner history.Attempt // the attempt that acquired the key; empty if the key is not locked
}

// session is a session (structs.Session). The fields are in the same order as in Consul's JSON.
type session struct {
	ID            string
	Name          string
	Node          string
	LockDelay     time.Duration
	Behavior      string
	TTL           string
	NodeChecks    []string
	ServiceChecks []string
	CreateIndex   uint64
	ModifyIndex   uint64

	ttl     time.Duration // the session's TTL; 0 if only a request can end the session
	creator history.Attempt
	// expiry is when the session ends, on the leader's monotonic clock. It is forever on other members, and if the
	// session has no TTL.
	expiry time.Duration
	timer  uint64 // number of the timer for the session's end; 0 if there is none
}

// Session behaviors: what happens to a session's keys when the session ends.
const (
	Release = "release"
	Delete  = "delete"
)

// ordered returns the sessions in the order in which they were created.
func (s *store) ordered() []*session {
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int {
		return cmp.Compare(a.CreateIndex, b.CreateIndex)
	})
}

// locked returns the sorted keys that a session holds. If id is empty, it returns all keys that are held.
func (s *store) locked(id string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if of := s.keys[key].Session; of != "" && (id == "" || of == id) {
			list = append(list, key)
		}
	}
	return list
}

// index returns the index for the reply to a read. For a session, it is the index of the session table. For a key that
// exists, it is the index of the key's last change. For any other key, it is the index of the last change to any key.
func (s *store) index(c *call) (index uint64, found bool) {
	if c.op == opSessionInfo {
		return s.sessionIndex, s.sessions[c.session.ID] != nil
	}
	if e := s.keys[c.key]; e != nil {
		return e.ModifyIndex, true
	}
	return s.kvIndex, false
}

// put stores an entry. If the entry equals the existing one, the index does not change (kvsSetTxn).
func (s *store) put(index uint64, e entry) *entry {
	old := s.keys[e.Key]
	e.CreateIndex, e.ModifyIndex = index, index
	if old != nil {
		if e.CreateIndex = old.CreateIndex; old.equal(&e) {
			return old
		}
	}
	s.kvIndex = index
	s.keys[e.Key] = &e
	return &e
}

// equal reports whether two entries for a key have the same content, apart from their indexes and owners
// (DirEntry.Equal).
func (e *entry) equal(o *entry) bool {
	return e.LockIndex == o.LockIndex && e.Flags == o.Flags && string(e.Value) == string(o.Value) &&
		e.Session == o.Session
}
