package etcd

import "errors"

// Code is the result code of a gRPC call.
type Code uint8

// The codes that etcd and gRPC's server use.
const (
	OK                 Code = 0
	Canceled           Code = 1
	UnknownCode        Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
)

// failure is an error of etcd, with gRPC's code and etcd's own text.
type failure struct {
	Code Code
	Text string
}

// Error returns the text.
func (e *failure) Error() string { return e.Text }

// Errors of etcd 3.4 (etcdserver/api/v3rpc/rpctypes/error.go).
var (
	errEmptyKey      = &failure{InvalidArgument, "etcdserver: key is not provided"}
	errKeyNotFound   = &failure{InvalidArgument, "etcdserver: key not found"}
	errValueProvided = &failure{InvalidArgument, "etcdserver: value is provided"}
	errLeaseProvided = &failure{InvalidArgument, "etcdserver: lease is provided"}
	errTooManyOps    = &failure{InvalidArgument, "etcdserver: too many operations in txn request"}
	errDuplicateKey  = &failure{InvalidArgument, "etcdserver: duplicate key given in txn request"}
	errTooLarge      = &failure{InvalidArgument, "etcdserver: request is too large"}
	errCompacted     = &failure{OutOfRange, "etcdserver: mvcc: required revision has been compacted"}
	errFuture        = &failure{OutOfRange, "etcdserver: mvcc: required revision is a future revision"}
	errLeaseNotFound = &failure{NotFound, "etcdserver: requested lease not found"}
	errLeaseExists   = &failure{FailedPrecondition, "etcdserver: lease already exists"}
	errTTLTooLarge   = &failure{OutOfRange, "etcdserver: too large lease TTL"}
	errTimeout       = &failure{Unavailable, "etcdserver: request timed out"}
	errNoLeader      = &failure{Unavailable, "etcdserver: no leader"}
)

// asError returns an error as a failure. An error without a code gets UnknownCode.
func asError(err error) *failure {
	var e *failure
	if errors.As(err, &e) {
		return e
	}
	return &failure{UnknownCode, err.Error()}
}
