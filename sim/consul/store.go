package consul

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// store is the replicated state.
type store struct {
	keys     map[string]*entry
	sessions map[string]*session
	kvIndex  uint64 // index of the latest change of a key, deletions included
	// sessionIndex is the index of the latest creation or end of a session.
	sessionIndex uint64
}

// entry is a key (structs.DirEntry), in the form and order of its JSON.
type entry struct {
	LockIndex   uint64
	Key         string
	Flags       uint64
	Value       []byte
	Session     string `json:",omitempty"`
	CreateIndex uint64
	ModifyIndex uint64

	owner history.Attempt // who has acquired it; empty if it is not locked
}

// session is a session (structs.Session), in the form and order of its JSON.
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

	ttl     time.Duration // 0: it ends only by a request
	creator history.Attempt
	expiry  time.Duration // on the leader's monotonic clock; forever on other members
	timer   uint64        // number of the timer for its end; 0: none
}

// Behaviors of a session: what happens to the keys that it holds when it ends.
const (
	Release = "release"
	Delete  = "delete"
)

// ordered returns the sessions in the order of their creation.
func (s *store) ordered() []*session {
	return slices.SortedFunc(maps.Values(s.sessions), func(a, b *session) int {
		return cmp.Compare(a.CreateIndex, b.CreateIndex)
	})
}

// locked returns the keys that a session holds, sorted; those of any session if id is empty.
func (s *store) locked(id string) (list []string) {
	for _, key := range slices.Sorted(maps.Keys(s.keys)) {
		if of := s.keys[key].Session; of != "" && (id == "" || of == id) {
			list = append(list, key)
		}
	}
	return list
}

// index returns the index of the sessions (table sessions), or of a key: that of its latest change if it exists,
// otherwise that of the latest change of any key.
func (s *store) index(c *call) (index uint64, found bool) {
	if c.op == opSessionInfo {
		return s.sessionIndex, s.sessions[c.session.ID] != nil
	}
	if e := s.keys[c.key]; e != nil {
		return e.ModifyIndex, true
	}
	return s.kvIndex, false
}

// put stores an entry, given what was there before. An entry that does not change keeps its index (kvsSetTxn).
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

// equal reports whether two entries of a key differ at most in their indexes and owners (DirEntry.Equal).
func (e *entry) equal(o *entry) bool {
	return e.LockIndex == o.LockIndex && e.Flags == o.Flags && string(e.Value) == string(o.Value) &&
		e.Session == o.Session
}
