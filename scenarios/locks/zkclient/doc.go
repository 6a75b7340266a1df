// Package zkclient is ZooKeeper's client library, as far as locks need it: a session that is kept alive and taken from
// member to member, the states CONNECTED, SUSPENDED and LOST, calls that may end without an answer, and one-shot
// watches. It asks members as package sim/zookeeper has them.
//
// Goals: what a client may know of its session, and when, comes out as with Curator or Kazoo. Non-goals: recipes (the
// lock is in scenarios/locks), the wire format, passwords of sessions, persistent watches.
package zkclient

import "github.com/fencepost-sim/fencepost/sim/zookeeper"

// Codes that no server gives, but the library.
const (
	// ConnectionLoss: the connection broke, or there was none. A request under way may or may not have been executed.
	ConnectionLoss zookeeper.Code = "CONNECTIONLOSS"
	// OperationTimeout: no answer within the time for one request; it may or may not have been executed.
	OperationTimeout zookeeper.Code = "OPERATIONTIMEOUT"
)
