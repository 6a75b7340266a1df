package etcd

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// KeyValue is a key with its value and versions, as clients see it.
type KeyValue struct {
	Key     string
	Value   string
	Create  int64 // revision of the put that created the key
	Mod     int64 // revision of the last put
	Version int64 // number of puts since the key was created
	Lease   int64 // ID of the lease that the key is attached to; 0 if there is none
}

// LockOf returns the name of the lock to which a key belongs, as it appears in records. It is the part of the key
// before the last slash, because etcd's recipe uses keys of the form LOCK/LEASE. For a key without a slash, it is the
// key itself. For a Lease object, it is the object's name, preceded by the namespace unless that is the default
// namespace.
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
