package etcd

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
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

func appendInt(b []byte, n int64) []byte {
	b = append(b, ':')
	b = strconv.AppendInt(b, n, 10)
	return append(b, '\r', '\n')
}

func appendBulk(b []byte, s string) []byte {
	b = append(b, '$')
	b = strconv.AppendInt(b, int64(len(s)), 10)
	b = append(b, '\r', '\n')
	b = append(b, s...)
	return append(b, '\r', '\n')
}

func appendArray(b []byte, n int) []byte {
	b = append(b, '*')
	b = strconv.AppendInt(b, int64(n), 10)
	return append(b, '\r', '\n')
}

func appendError(b []byte, text string) []byte {
	b = append(b, '-')
	b = append(b, text...)
	return append(b, '\r', '\n')
}

// appendKey writes a key as six values: key, value, create revision, mod revision, version, lease (0 without).
func appendKey(b []byte, k *keyValue) []byte {
	b = appendArray(b, 6)
	b = appendBulk(b, k.key)
	b = appendBulk(b, k.value)
	b = appendInt(b, k.create)
	b = appendInt(b, k.mod)
	b = appendInt(b, k.version)
	return appendInt(b, k.lease)
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
