package locktest

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// keys maps the keys on the servers to locks.
type keys struct {
	locks []history.Lock
	of    map[history.Lock]title
}

// title is the lock that a key belongs to, and which of several keys it is.
type title struct {
	lock   history.Lock
	member string // empty: it is the only one
}

// newKeys asks a Config for the keys of the locks; nil if it does not say.
func (c *Config) newKeys(locks []history.Lock) (*keys, error) {
	if c.Keys == nil {
		return nil, nil
	}
	k := &keys{locks, map[history.Lock]title{}}
	for _, lock := range locks {
		all := c.Keys(string(lock))
		if len(all) == 0 {
			return nil, fmt.Errorf("Config.Keys names no key of the lock %q", lock)
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

// connect connects a server's record of a key with the lock of the key.
func (k *keys) connect(e *history.Event) { e.Lock, e.Member = k.lockOf(e.Lock, e.Member) }

// lockOf returns the lock of a record of a key: a lock that does not exist, if the key belongs to none.
func (k *keys) lockOf(key history.Lock, member string) (history.Lock, string) {
	of, known := k.of[key]
	switch {
	case !known && slices.Contains(k.locks, key): // another key that has a lock's name
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

// LockOf is the lock that a key on the servers belongs to.
func (h *host) LockOf(key string) history.Lock {
	if h.keys == nil {
		return history.Lock(key)
	}
	lock, _ := h.keys.lockOf(history.Lock(key), "")
	return lock
}
