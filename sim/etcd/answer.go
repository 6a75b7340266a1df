package etcd

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// KeyValue is a key as clients see it.
type KeyValue struct {
	Key     string
	Value   string
	Create  int64 // revision of the put that created it
	Mod     int64 // revision of the latest put
	Version int64 // number of puts since its creation
	Lease   int64 // 0: no lease
}

// LockOf returns the lock to which a key belongs in records. It is the part before the last slash, because etcd's
// recipe uses keys of the form LOCK/LEASE; a key without a slash is itself a lock. A Lease object is a lock with the
// object's name, preceded by its namespace unless that is the default one.
func LockOf(key string) history.Lock {
	if name, is := strings.CutPrefix(key, LeaseObjects); is {
		return history.Lock(strings.TrimPrefix(name, DefaultNamespace))
	}
	for i := len(key) - 1; i > 0; i-- {
		if key[i] == '/' {
			return history.Lock(key[:i])
		}
	}
	return history.Lock(key)
}
