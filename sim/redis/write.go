package redis

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Every change of the data goes through these few functions, so that its record, its entry in the log and the
// transactions that watch the key cannot be forgotten.

// timeUntil is the time from now to at (ns), zero if at has passed.
func timeUntil(at, now int64) time.Duration { return time.Duration(max(at-now, 0)) }

// setString makes name a string, whatever it was.
func (n *Node) setString(name, value string, when int64) {
	k := n.find(name)
	switch {
	case k == nil:
		k = n.data.add(name, n.attempt, true)
	case !k.text:
		n.overwrite(name, k, false)
		n.data.db.Del(name)
		k.text = true
	}
	k.of = n.attempt
	_ = n.data.db.Set(name, value) // fails on other types only
	n.data.expireAt(name, k, when)
	n.log(effect{op: opSet, key: name, value: value, when: when})
	n.changed(name)
	n.recordSet(name, value, k)
}

// replaceText changes the value of an existing string; its owner and deadline stay.
func (n *Node) replaceText(name, value string) {
	_ = n.data.db.Set(name, value)
	n.changed(name)
}

// remove deletes an existing key. by is empty unless a request did it.
func (n *Node) remove(name string, why history.Why, by history.Attempt) {
	k := n.data.keys[name]
	n.data.db.Del(name)
	n.gone(name, k, why, by)
	n.log(effect{op: opDel, key: name})
}

// dropAll empties the data without a record.
func (n *Node) dropAll() {
	for name := range n.data.keys {
		n.changed(name)
	}
	for i := range n.data.hidden {
		n.changed(n.data.hidden[i].Name)
	}
	n.data.clear()
}

// gone notes that a key has left miniredis.
func (n *Node) gone(name string, k *key, why history.Why, by history.Attempt) {
	n.changed(name)
	n.recordGone(name, k, why, by)
	n.data.forget(name, k)
}

// moveDeadline gives an existing key another deadline, or none.
func (n *Node) moveDeadline(name string, k *key, when int64) {
	if when == never {
		n.log(effect{op: opPersist, key: name})
	} else {
		n.log(effect{op: opExpire, key: name, when: when})
	}
	n.changed(name)
	if k.when == when {
		return // a record says that a deadline moved
	}
	from := k.when
	n.data.expireAt(name, k, when)
	n.recordProlonged(name, k, from, when)
}

// recordSet records that k came to be or was overwritten, with all its members if it has any.
func (n *Node) recordSet(name, value string, k *key) {
	if n.silent() {
		return
	}
	if k.members != nil {
		for _, m := range n.members(name, k) {
			n.recordMember(name, m, k)
		}
		return
	}
	n.record(history.Event{F: history.KeySet, Lock: history.Lock(name), Of: k.of, By: n.attempt, Value: value, Until: n.until(k.when)})
}

// silent reports whether nothing is recorded: what a file is replayed for has been recorded before, and what a replica
// does its master has recorded.
func (n *Node) silent() bool { return n.loading || n.repl.master != "" }

func (n *Node) record(e history.Event) {
	if n.silent() {
		return
	}
	e.Type = history.OK
	n.host.Record(e)
}
