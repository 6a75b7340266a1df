package locktest

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// keys maps each key on the servers to its lock.
type keys struct {
	locks []history.Lock
	of    map[history.Lock]title
}

// title identifies a key by its lock and, if the lock has several keys, by the key's member name.
type title struct {
	lock   history.Lock
	member string // empty if the lock has only this key
}

// newKeys returns the locks' keys according to Config.Keys, or nil if Config.Keys is nil.
func (c *Config) newKeys(locks []history.Lock) (*keys, error) {
	if c.Keys == nil {
		return nil, nil
	}
	k := &keys{locks, map[history.Lock]title{}}
	for _, lock := range locks {
		all := c.Keys(string(lock))
		if len(all) == 0 {
			return nil, fmt.Errorf(
				"Config.Keys names no key of the lock %q: return the keys that every holder of the lock sets, "+
					"or leave Config.Keys nil if that is only Client.Key", lock)
		}
		for _, key := range all {
			of := title{lock: lock}
			if len(all) > 1 {
				of.member = key
			}
			if was, taken := k.of[history.Lock(key)]; taken {
				return nil, fmt.Errorf("Config.Keys names %q twice: as a key of the lock %q and of %q", key, was.lock,
					lock)
			}
			k.of[history.Lock(key)] = of
		}
	}
	return k, nil
}

// unmatched returns an error if one of the runs' faults would remove a key with the lock's name, but Config.Keys gives
// the lock's keys other names. An example of such a fault is "evict key of lock on redis-1 at 3s".
func (c *Config) unmatched(s *scenarios.Scenario) error {
	if c.keys == nil {
		return nil
	}
	faults := s.Faults
	if c.plan != nil {
		faults = c.plan.Faults
	}
	for _, f := range faults {
		if _, known := c.keys.of[f.Lock]; f.Lock != "" && !known {
			return fmt.Errorf("Config.Plan: %q would remove a key called %s, "+
				"but the keys that Config.Keys lists have other names: use flush, which removes all keys", f, f.Lock)
		}
	}
	for _, k := range s.Mix.Additions() {
		for _, lock := range c.keys.locks {
			if _, known := c.keys.of[lock]; k.Has(nemesis.FieldLock) && !known {
				return fmt.Errorf("Config.Faults: %q would remove a key called %s, "+
					"but the keys that Config.Keys lists have other names: use flush, which removes all keys", k, lock)
			}
		}
	}
	return nil
}

// connect replaces a key event's lock and member with those that Config.Keys assigns to the key.
func (k *keys) connect(e *history.Event) { e.Lock, e.Member = k.lockOf(e.Lock, e.Member) }

// lockOf returns the lock and the member name that Config.Keys assigns to a recorded key. If Config.Keys does not
// assign the key to a lock, lockOf returns a name that is not the name of any lock.
func (k *keys) lockOf(key history.Lock, member string) (history.Lock, string) {
	of, known := k.of[key]
	switch {
	case !known && slices.Contains(k.locks, key): // a key that has the name of a lock but does not belong to it
		return "key " + key, member
	case !known:
		return key, member
	case of.member == "":
		return of.lock, member
	case member == "":
		return of.lock, of.member
	}
	return of.lock, of.member + "/" + member
}

// LockOf returns the lock that one of the servers' keys belongs to.
func (h *host) LockOf(key string) history.Lock {
	if h.keys == nil {
		return history.Lock(key)
	}
	lock, _ := h.keys.lockOf(history.Lock(key), "")
	return lock
}
