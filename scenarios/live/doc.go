// Package live runs a scenario in real time, with clients that are processes of the host: those of the user, in any
// language, or the scenario's own protocols. It uses the host, as scenarios/live/realtime does.
//
// What a client is given and what it reports is described in [Reporting]. A report that is wrong in itself or out of
// order is answered with an error, which ends the run; what has happened by then is kept and judged. The first
// ACQUIRING of each client is answered when all have sent theirs. A client that ends with work left has crashed: the
// run goes on.
//
// Each client has a password for the run, which its URLs contain and without which nobody can use its ports. Where a
// library has none to give, as one of etcd or ZooKeeper, the process that opens a connection must be in the client's
// process group.
//
// Servers of etcd and ZooKeeper are reached in their own protocols, by what stands before simulated ones ([sim.Front]),
// in a bubble as well as here. What real members of etcd are sent is bytes, as they are.
//
// ACQUIRED is answered before the section begins, and RELEASING before the release is sent: a section as recorded lies
// within the time in which the client had the lock. So an overlap in the record is a real overlap.
//
// # When something happened, and when the run learned of it
//
// On a loaded machine the two may lie a second apart. No such delay makes a section longer than it was:
//   - A report is recorded between its sending and its answer. Meanwhile the client waits, with the lock (ACQUIRED,
//     RELEASING, LOST), or without it (ACQUIRING, FAILED, RELEASED).
//   - A client that ends by itself, or is found to have ended when it is to crash, may have done so at any time since
//     it is known to have lived: when the answer was sent for which it had waited before its last command to the
//     resource. That is the until of its crash, and mutual exclusion is violated only if it is so for every end since
//     then; if only for some, it is undecided. What no answer is known to have reached is no sign of life: its bytes
//     may have been read long after they were sent.
//   - A crash of the plan finds the process alive, stops it and kills it, and is recorded no later than that.
//   - A pause begins when every thread has stopped, and what was sent by then counts as sent before it.
//   - A connection's end decides nothing by itself. A real server that ended by itself leaves the run undecided.
//
// A delay of FAILED, RELEASED or an answer does make a wait longer, which fault-tolerance and deadlock-freedom measure:
// the run states how late the host was, and says so where a stall exceeded what a client waits for an answer.
//
// # What is not asked of a client
//
// A grant is recognised by what the servers have recorded since ACQUIRING: the keys of the lock that this client's
// connections have set, whatever command set them. It counts from the moment when the reply that made a quorum arrived
// at the client's machine, and lasts for the stated validity, or otherwise as long as the first of the keys.
package live

// Reporting describes what a client is given and what it reports, for its author.
const Reporting = `A client finds in its environment:
  FENCEPOST_CLIENT      its name: client-1, client-2 …
  FENCEPOST_REDIS_1 …   the lock servers, as redis:// URLs; masters first, replicas after them
  FENCEPOST_SENTINEL    the Sentinel, if there are replicas; it names addresses that the client reaches
  FENCEPOST_MASTER_1 …  the names by which the Sentinel knows the masters
  FENCEPOST_ETCD        the members of etcd in their place: http://HOST:PORT,http://HOST:PORT …
  FENCEPOST_ZOOKEEPER   or those of ZooKeeper: HOST:PORT,HOST:PORT …
  FENCEPOST_RESOURCE    the protected resource, which also takes the reports, as a redis:// URL
  FENCEPOST_LOCK        the key of the lock; in etcd any key that is NAME, NAME/… or …/NAME is
                        recorded as its own, in ZooKeeper the znodes in the folder /locks/NAME
  FENCEPOST_LOCK_1 …    the keys, if it has several, in the order in which it is to take them
  FENCEPOST_TAKE        all: each section takes all of them; or one, at random
  FENCEPOST_TTL_MS      how long the lock is to last, in ms
  FENCEPOST_COMPUTE_MS  how long the client is to compute between its read and its write, in ms
  FENCEPOST_HOLD_MS     how long the client is to stay in its section, in ms
  FENCEPOST_CYCLES      how many sections it is to have

Each URL has the client's password, redis://:PASSWORD@HOST:PORT: hand it to your library as it is. A
library that is given a host and a port must send AUTH PASSWORD itself; without, it is refused.
The members of etcd and ZooKeeper ask for no password: they serve the client's process group.

It reports by commands to the resource and waits for each answer, +OK, before it goes on, which may
take as long as a pause: without time-out and without retries.
  FENCEPOST ACQUIRING lock                   before it asks for the lock
  FENCEPOST ACQUIRED lock attempt            when it has it, before its work; may end in
      [TOKEN n] [VALIDITY ms]                its fencing token, and what is left of its lease
  FENCEPOST FAILED lock                      when it did not get it
  FENCEPOST EXTENDING lock attempt           before it prolongs it; may be left out
  FENCEPOST EXTENDED lock attempt            when it has prolonged it
      [VALIDITY ms]
  FENCEPOST EXTEND-FAILED lock attempt       when it could not, or does not know whether it has; it
      [UNKNOWN]                              goes on, or reports LOST
  FENCEPOST LOST lock attempt                when it learned that it is gone, before it stops its work
  FENCEPOST RELEASING lock attempt           after its work, before it gives the lock back
  FENCEPOST RELEASED lock attempt            then, and what came of it, if not a yes
      [REFUSED | UNKNOWN]
and works on the resource by
  READ lock [TOKEN n]                        the value
  WRITE lock value [TOKEN n]                 1 if it was written, 0 if refused, 2 if done before
The attempt is any word that distinguishes this holding of the lock from others: best the owner value that
the library wrote to the servers. An argument has 65536 bytes at most.`
