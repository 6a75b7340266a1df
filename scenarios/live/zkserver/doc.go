// Package zkserver puts a real ZooKeeper ensemble in the place of the simulated one of a world that runs in real time:
// each member is the program of a server process, a [sim.Server].
//
// An [Ensemble] starts the members, Java programs, in the private folder of a keeper. What a client says, in the words
// of package zookeeper, travels the simulated links and arrives at a member, which says it to its process in
// ZooKeeper's own protocol, on a connection for each of the client's, and has the answers and events travel back in
// the words of package zookeeper. Nothing here knows how a client keeps a session: sessions, time-outs and watches are
// those of the process. Pauses are SIGSTOP, crashes kill -9; a wall clock jumps by a small library that is loaded into
// the process (package machine).
//
// What members say to each other, for an election and after it, travels the simulated links too: a Java program calls
// by way of a SOCKS proxy if it is to, and each member's is one of package relay.
//
// Whoever is on the machine can connect to a member: all znodes belong to a superuser, as whom the run speaks, and
// members know each other by a certificate of the run (quorum TLS).
//
// This room runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in what it has the loop do.
//
// # Records
//
// Requests for locks that came and went are recorded as the members report them. Each has one persistent watch on all
// znodes, on a connection of ours, and what comes or goes is looked at there: by the zxid that made a znode it is known
// what is recorded already, whichever member is behind. Before an answer or an event leaves, a ping goes round on that
// connection, so that all is recorded that the member had done by then. Whose a znode is, is known by its session, and
// by what that has asked for last. Why a znode goes, and until when its session was to last, no watch reports: it is
// not recorded, and laws and causes that need it are open.
//
// # Where it differs
//
// Ticks are 2 s, as in the simulated ensemble, and the shortest patience of members with each other is one tick
// (syncLimit), where the simulated one has 1 s. A loss of power is a kill -9: ZooKeeper answers nothing before it is on
// a majority's disks, and what was written and not fsynced may be found again.
//
// A real ensemble may lose what it has answered, and its members may differ from then on: in ZooKeeper 3.8.0 one says
// that it is in step with its leader before it has carried out what it lacked, and may lead the next epoch without that
// (ZOOKEEPER-4643, 4646 and 4785 report such cases). The simulated one loses nothing. What was lost is found, as gone,
// when the connection of ours to a member is made anew.
//
// Goals: the same znodes and the same meaning of every fault as with the simulated ensemble; nothing of it outlives
// the run. Non-goals: clocks that run at another rate, since a Java program waits by the kernel's; observers and
// reconfiguration.
package zkserver
