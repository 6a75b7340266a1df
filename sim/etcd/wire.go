package etcd

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Answers are RESP: integers, bulk strings and arrays of them. An error is etcd's own text.
const (
	errLeaseNotFound = "etcdserver: requested lease not found"
	errLeaseExists   = "etcdserver: lease already exists"
	errTTLTooLarge   = "etcdserver: too large lease TTL"
	errDuplicateKey  = "etcdserver: duplicate key given in txn request"
	errEmptyKey      = "etcdserver: key is not provided"
	errTimeout       = "etcdserver: request timed out"
)

func appendError(b []byte, text string) []byte {
	b = append(b, '-')
	b = append(b, text...)
	return append(b, '\r', '\n')
}

// appendKey writes a key as six values: key, value, create revision, mod revision, version, lease (0 without).
func appendKey(b []byte, k *keyValue) []byte {
	b = sim.AppendArray(b, 6)
	b = sim.AppendBulk(b, k.key)
	b = sim.AppendBulk(b, k.value)
	b = sim.AppendInt(b, k.create)
	b = sim.AppendInt(b, k.mod)
	b = sim.AppendInt(b, k.version)
	return sim.AppendInt(b, k.lease)
}

// lockOf is the lock that a key stands for in records: what lies before its last slash, as the recipe's keys are
// LOCK/LEASE; a key without slash is a lock by itself.
func lockOf(key string) history.Lock {
	for i := len(key) - 1; i > 0; i-- {
		if key[i] == '/' {
			return history.Lock(key[:i])
		}
	}
	return history.Lock(key)
}
