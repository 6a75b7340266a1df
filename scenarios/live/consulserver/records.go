package consulserver

import (
	"maps"
	"slices"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/consul"
)

// records holds what the servers have reported about the keys in a run. Only the world's goroutine may use it.
type records struct {
	keys     map[string]key // also those that have been deleted
	sessions map[string]session
	asked    map[origin]history.Attempt
}

func newRecords() records {
	return records{keys: map[string]key{}, sessions: map[string]session{}, asked: map[origin]history.Attempt{}}
}

// key is a key's latest reported state.
type key struct {
	session   string // the session that holds it; empty if none does
	of        history.Attempt
	lockIndex uint64
	index     uint64 // the state includes all changes up to this index
}

// session is a session that a client has created.
type session struct {
	client history.Process
	ttl    time.Duration // 0 if only a request can end it
}

// origin identifies the requests by which a session acquires a key.
type origin struct{ session, key string }

// ask records which attempt asks for a key, so that the owner is known once the session holds the key.
func (r *records) ask(p consul.Purpose, of history.Attempt) {
	if p.Acquires {
		r.asked[origin{p.Session, p.Key}] = of
	}
}

// created records that a session has been created, unless id is empty.
func (r *records) created(id string, s session) {
	if id != "" {
		r.sessions[id] = s
	}
}

// of returns the IDs of a client's sessions, sorted.
func (r *records) of(client history.Process) (list []string) {
	for _, id := range slices.Sorted(maps.Keys(r.sessions)) {
		if r.sessions[id].client == client {
			list = append(list, id)
		}
	}
	return list
}

// take records a list of all keys that a server has reported. It includes all changes up to the given index. Servers
// may lag behind each other, so changes that are already recorded are ignored.
func (r *records) take(h sim.Host, list []consul.Pair, index uint64) {
	there := map[string]bool{}
	for _, p := range list {
		there[p.Key] = true
		if p.ModifyIndex > r.keys[p.Key].index {
			r.change(h, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.keys)) {
		if !there[name] && r.keys[name].index <= index {
			r.change(h, consul.Pair{Key: name, ModifyIndex: index})
		}
	}
}

// change records a key's new state, and the events that follow from it: the old key is gone, a new one is set, or both.
// If a session has acquired its key again, as a higher LockIndex shows, it has released it in between. If a plain write
// has reset LockIndex to 0, the session still holds the key.
func (r *records) change(h sim.Host, p consul.Pair) {
	was := r.keys[p.Key]
	now := key{p.Session, r.asked[origin{p.Session, p.Key}], p.LockIndex, p.ModifyIndex}
	held := p.Session == was.session && p.LockIndex <= was.lockIndex
	if held {
		now.of = was.of
	}
	r.keys[p.Key] = now
	e := history.Event{Type: history.OK, Lock: history.Lock(p.Key)}
	if was.session != "" && !held {
		gone := e
		gone.F, gone.Of, gone.Why = history.KeyGone, was.of, history.NotRecorded
		h.Record(gone)
	}
	if now.session == "" || held {
		return
	}
	e.F, e.Value, e.Of, e.By, e.Until = history.KeySet, now.session, now.of, now.of, history.Never
	if ttl := r.sessions[now.session].ttl; ttl > 0 {
		e.Until = h.Due(consul.TTLMultiplier * ttl)
	}
	h.Record(e)
}
