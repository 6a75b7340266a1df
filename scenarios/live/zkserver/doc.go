// Package zkserver replaces the simulated ZooKeeper ensemble of a world that runs in real time by a real one: each
// member is the program of a server process, a [sim.Server].
//
// [Launch] starts the members, Java programs, in the private folder of a keeper. What a client sends, in the form
// of package zookeeper, travels the simulated links and arrives at a member, which sends it to its process in
// ZooKeeper's own protocol, on a connection for each of the client's, and sends the replies and events back in the form
// of package zookeeper. Nothing here knows how a client keeps a session: sessions, time-outs and watches are those of
// the process. Pauses are SIGSTOP, crashes kill -9; a wall clock jumps by a small library that is loaded into the
// process (package process).
//
// A library of the user's sends frames of ZooKeeper's protocol, which are passed on, and so are their replies and
// events.
//
// What members send each other, for an election and after it, travels the simulated links too: a Java program calls
// through a SOCKS proxy if its options say so, and each member's is one of package fleet.
//
// Everybody on the machine can connect to a member: all znodes belong to a superuser, whose password the run has, and
// members identify each other by a certificate of the run (quorum TLS).
//
// This package runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in functions that it passes to the loop.
//
// # Records
//
// Requests for locks that appear and vanish are recorded as the members report them. Each member has one persistent
// watch on all znodes, on a connection of ours, and what appears or vanishes is read there: the zxid that created a
// znode shows what is recorded already, whichever member is behind. Before a reply or an event leaves, a ping is sent
// on that connection, so that everything is recorded that the member had done by then. The owner of a znode is known
// from its session, and from the latest request of that session. Why a znode vanishes, and until when its session was
// to last, no watch reports: it is not recorded, and laws and causes that need it are open.
//
// # Where it differs
//
// A loss of power is a kill -9: ZooKeeper answers nothing before it is on a majority's
// disks, and what was written and not fsynced may be found again.
//
// A real ensemble may lose what it has answered, and its members may differ from then on: in ZooKeeper 3.8.0 a member
// reports that it is in step with its leader before it has carried out what it lacked, and may lead the next epoch
// without that (ZOOKEEPER-4643, 4646 and 4785 report such cases). The simulated one loses nothing. What was lost is
// recorded as gone when our connection to a member is opened again.
//
// Goals: the same znodes and the same meaning of every fault as with the simulated ensemble; nothing of it outlives
// the run. Non-goals: clocks that run at another rate, since a Java program waits by the kernel's; observers and
// reconfiguration.
package zkserver
