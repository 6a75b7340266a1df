package etcd

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Replies to requests in words are RESP: integers, bulk strings and arrays of them. The text of an error is etcd's own,
// or says that the request is invalid.
const (
	Unknown = "fencepost: unknown request"
	Empty   = "fencepost: empty request"
)

// AppendError appends an error reply.
func AppendError(b []byte, text string) []byte {
	b = append(b, '-')
	b = append(b, text...)
	return append(b, '\r', '\n')
}

// KeyValue is a key as clients see it.
type KeyValue struct {
	Key     string
	Value   string
	Create  int64 // revision of the put that created it
	Mod     int64 // revision of the latest put
	Version int64 // number of puts since its creation
	Lease   int64 // 0: no lease
}

// AppendKey appends a key as an array of six values: key, value, create revision, mod revision, version, lease (0 if
// none).
func AppendKey(b []byte, k *KeyValue) []byte {
	b = sim.AppendArray(b, 6)
	b = sim.AppendBulk(b, k.Key)
	b = sim.AppendBulk(b, k.Value)
	b = sim.AppendInt(b, k.Create)
	b = sim.AppendInt(b, k.Mod)
	b = sim.AppendInt(b, k.Version)
	return sim.AppendInt(b, k.Lease)
}

// LockOf returns the lock that a key represents in records. It is the part before the last slash, because the recipe's
// keys are LOCK/LEASE; a key without a slash is a lock by itself. A Lease object is a lock with the object's name,
// preceded by its namespace unless that is the default one.
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
