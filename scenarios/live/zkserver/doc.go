// Package zkserver replaces the simulated ZooKeeper ensemble in a real-time world with a real one. Each member is a
// real ZooKeeper process behind a [sim.Server].
//
// [Launch] starts the members, which are Java programs, in a keeper's private folder. Every client, whether simulated
// or a library, sends ZooKeeper protocol frames over the simulated links. The member that receives a frame passes it on
// to its process, and passes replies and events back. It uses a separate connection to the process for each of the
// client's connections. Sessions, timeouts and watches are implemented by the process, not by this package. A pause is
// SIGSTOP, and a crash is kill -9. To make a wall clock jump, a small library is loaded into the process (package
// process).
//
// What members send each other, during elections and afterward, also travels over the simulated links. A Java program
// can be configured to connect through a SOCKS proxy, and package fleet provides a proxy for each member.
//
// Every process on the machine can connect to a member. Therefore all znodes belong to a superuser with a password that
// only the run knows, and members authenticate each other with a certificate that is created for the run (quorum TLS).
//
// This package runs in real time, with goroutines, processes, sockets and files. It accesses the world only on the
// world's goroutine: in methods that package sim calls, and in functions that it passes to the loop.
//
// # Records
//
// A znode that represents a lock request is recorded when a member reports that it has appeared or vanished. This
// package has its own connection to each member, with one persistent watch on all znodes. The zxid that created a znode
// shows whether the znode has been recorded already, even if one member lags behind another. Before a reply or an event
// is passed on, a ping is sent on this connection, so that everything that the member had done by then is recorded
// first.
//
// A znode's owner is derived from its session and from that session's most recent request. A watch does not report why
// a znode vanished, or how long its session would have lasted. Neither is recorded, so laws and causes that depend on
// them remain undecided.
//
// # Differences from the simulated ensemble
//
// A power failure is a kill -9. ZooKeeper replies only after a majority has written to disk, and writes without an
// fsync may survive.
//
// A real ensemble may lose writes that it has acknowledged, and its members may differ from then on. In ZooKeeper 3.8.0
// a member reports that it is in sync with its leader before it has applied the missing writes, and may lead the next
// epoch without them (ZOOKEEPER-4643, 4646 and 4785 report such cases). The simulated ensemble does not lose anything.
// Lost znodes are recorded as gone when the package reconnects to a member.
//
// Goals: the same znodes as with the simulated ensemble, and the same meaning for every fault; none of the ensemble's
// processes or files remain after the run.
//
// Non-goals: clocks that run at a different rate, because a Java program's waits use the host kernel's clocks;
// observers and reconfiguration.
package zkserver
