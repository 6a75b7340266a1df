// Package zkclient is ZooKeeper's client library, as far as locks need it: a session that is kept alive and moved from
// member to member, the states CONNECTED, SUSPENDED and LOST, calls that may end without a reply, and one-shot watches.
// It talks to members as package sim/zookeeper has them.
//
// Goals: a client knows as much about its session, and as early, as with Curator or Kazoo. Non-goals: recipes (the lock
// is in scenarios/locks), the wire format, passwords of sessions, persistent watches.
package zkclient

import "github.com/fencepost-sim/fencepost/sim/zookeeper"

// Codes of the library, which no server returns.
const (
	// ConnectionLoss: the connection broke, or there was none. A request under way may or may not have been executed.
	ConnectionLoss zookeeper.Code = "CONNECTIONLOSS"
	// OperationTimeout: no reply within the time for one request; it may or may not have been executed.
	OperationTimeout zookeeper.Code = "OPERATIONTIMEOUT"
)
