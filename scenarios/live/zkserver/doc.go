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
// by way of a SOCKS proxy if it is told to, and each member's is one of package relay.
//
// Whoever is on the machine can connect to a member: all znodes belong to a superuser, as whom the run speaks.
//
// This room runs in real time, with goroutines, processes, sockets and files. It touches the world on the world's
// goroutine only: in the calls of the kernel, and in what it has the loop do.
//
// # Records
//
// The records are those of the simulated ensemble, from the transaction logs in the members' folders: these tell of
// each transaction its zxid, on whose session, by which of its requests, and what. So it is known who did it, whether
// or not the answer ever came, and that a session was expired and not closed. What is in a log counts once a member is
// seen to have carried out the zxid, or a later one: the head of an answer says so. An event has no zxid; before it
// leaves, a ping goes round on another connection to its member. So no answer and no event leaves before all is
// recorded that its member had done by then. Of an earlier epoch, the logs of those members count that have joined the
// new one: they have cut off what never was committed. And before the first record of a new epoch the member is asked
// what stands: by that it is told what has been lost of what is recorded.
//
// As in package zookeeper, before an expiry stands the last deadline: of what a member heard, the latest that had
// passed by then, since what came later never reached the leader.
//
// # Where it differs
//
// Ticks are 2 s, as in the simulated ensemble, and the shortest patience of members with each other is one tick
// (syncLimit), where the simulated one has 1 s. A loss of power is a kill -9: ZooKeeper answers nothing before it is on
// a majority's disks, and what was written and not fsynced may be found again.
//
// A real ensemble may lose what it has answered, and its members may differ from then on: in ZooKeeper 3.8.0 one says
// that it is in step with its leader before it has carried out what it lacked, and may lead the next epoch without that
// (ZOOKEEPER-4643, 4646 and 4785 tell of such cases). The simulated one loses nothing. What is told of a loss is what
// the member knows that is first heard of in the new epoch.
//
// Goals: the same records and the same meaning of every fault as with the simulated ensemble; nothing of it outlives
// the run. Non-goals: clocks that run at another rate, since a Java program waits by the kernel's; observers, access
// control, reconfiguration, TLS.
package zkserver
