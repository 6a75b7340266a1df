package etcd

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// KeyValue is a key with its value and versions, as clients see it.
type KeyValue struct {
	Key     string
	Value   string
	Create  int64 // revision of the put that created it
	Mod     int64 // revision of the last put
	Version int64 // number of puts since its creation
	Lease   int64 // ID of the lease to which the key is attached; 0 if there is none
}

// LockOf returns the name under which the records list the lock of a key. It is the part of the key before the last
// slash, because etcd's recipe uses keys of the form LOCK/LEASE. A key without a slash is itself a lock. The lock of a
// Lease object has the object's name, preceded by its namespace unless that is the default namespace.
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
