// Package zkserver replaces the simulated ZooKeeper ensemble of a world that runs in real time with a real one. Each
// member is a real ZooKeeper process behind a [sim.Server].
//
// [Launch] starts the members, which are Java programs, in the private folder of a keeper. A client sends frames of
// ZooKeeper's protocol over the simulated links, whether it is simulated or uses a library. The member that receives a
// frame passes it on to its process, on a separate connection for each of the client's connections, and passes replies
// and events back. This package does not implement sessions, timeouts and watches itself; the process does. A pause is
// SIGSTOP, and a crash is kill -9. To make a wall clock jump, a small library is loaded into the process (package
// process).
//
// What members send each other, during elections and afterward, also travels over the simulated links. A Java program
// can be configured to connect through a SOCKS proxy, and package fleet provides a proxy for each member.
//
// Every process on the machine can connect to a member. Therefore all znodes belong to a superuser, whose password only
// the run knows, and members authenticate each other with a certificate of the run (quorum TLS).
//
// This package runs in real time, with goroutines, processes, sockets and files. It accesses the world only on the
// world's goroutine: in methods that package sim calls, and in functions that it passes to the loop.
//
// # Records
//
// Znodes that represent requests for locks are recorded when the members report that they appear or vanish. This
// package has its own connection to each member, with one persistent watch on all znodes. The zxid that created a znode
// shows whether it has been recorded already, even if one member lags behind another. Before a reply or an event is
// passed on, a ping is sent on this connection, so that everything that the member had done by then is recorded first.
//
// The owner of a znode is derived from its session and from the latest request of that session. A watch reports neither
// why a znode vanished nor how long its session would have lasted. Neither is recorded, and laws and causes that depend
// on them remain undecided.
//
// # Differences from the simulated ensemble
//
// A loss of power is a kill -9. ZooKeeper replies only after a majority has written to disk, and writes without an
// fsync may survive.
//
// A real ensemble may lose writes that it has acknowledged, and its members may differ from then on. In ZooKeeper 3.8.0
// a member reports that it is in sync with its leader before it has applied the missing writes, and may lead the next
// epoch without them (ZOOKEEPER-4643, 4646 and 4785 report such cases). The simulated ensemble loses nothing. Lost
// znodes are recorded as gone when the package opens its connection to a member again.
//
// Goals: the same znodes and the same meaning of every fault as with the simulated ensemble; no process or file of the
// ensemble remains after the run. Non-goals: clocks that run at a different rate, because a Java program's waits use
// the clocks of the host's kernel; observers and reconfiguration.
package zkserver
