package etcd

import "errors"

// Code is the result code of a gRPC call.
type Code uint8

// The codes that etcd and its gRPC server use.
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

// Error is an etcd error, with its gRPC code and etcd's text.
type Error struct {
	Code Code
	Text string
}

// Error returns etcd's text for the error.
func (e *Error) Error() string { return e.Text }

// The errors that etcd 3.4 returns (etcdserver/api/v3rpc/rpctypes/error.go).
var (
	errEmptyKey      = &Error{InvalidArgument, "etcdserver: key is not provided"}
	errKeyNotFound   = &Error{InvalidArgument, "etcdserver: key not found"}
	errValueProvided = &Error{InvalidArgument, "etcdserver: value is provided"}
	errLeaseProvided = &Error{InvalidArgument, "etcdserver: lease is provided"}
	errTooManyOps    = &Error{InvalidArgument, "etcdserver: too many operations in txn request"}
	errDuplicateKey  = &Error{InvalidArgument, "etcdserver: duplicate key given in txn request"}
	errTooLarge      = &Error{InvalidArgument, "etcdserver: request is too large"}
	errCompacted     = &Error{OutOfRange, "etcdserver: mvcc: required revision has been compacted"}
	errFuture        = &Error{OutOfRange, "etcdserver: mvcc: required revision is a future revision"}
	errLeaseNotFound = &Error{NotFound, "etcdserver: requested lease not found"}
	errLeaseExists   = &Error{FailedPrecondition, "etcdserver: lease already exists"}
	errTTLTooLarge   = &Error{OutOfRange, "etcdserver: too large lease TTL"}
	errTimeout       = &Error{Unavailable, "etcdserver: request timed out"}
	errNoLeader      = &Error{Unavailable, "etcdserver: no leader"}
)

// asError converts an error to an Error. If the error has no code, asError uses UnknownCode.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{UnknownCode, err.Error()}
}
