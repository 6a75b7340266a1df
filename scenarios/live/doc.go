// Package live runs a scenario in real time, with clients that are processes of the host: those of the user, in any
// language, or the scenario's own protocols. It is a room of the host, as scenarios/live/realtime is.
//
// What a client is told and what it reports stands in [Reporting]. A report that is wrong in itself or out of order is
// answered with an error, which ends the run; what has happened by then is kept and judged. The first ACQUIRING of each
// client is answered when all have sent theirs. A client that ends while it has work left has crashed: the run goes on.
//
// Each client has a password of the run, which its URLs carry and without which nobody can speak at its ports.
//
// ACQUIRED is answered before the section begins, and RELEASING before the release is sent: what is recorded as a
// section lies within the time in which the client had the lock. So an overlap in the record is an overlap in truth.
//
// # What is not asked of a client
//
// A grant is recognised by what the servers have recorded since ACQUIRING: the keys of the lock that this client's
// connections have set, whatever command set them. It counts from the moment when the answer that made a
// quorum had come to the client's machine, and lasts for the stated validity, or else as long as the first of the keys.
package live

// Reporting is what a client is told and what it reports, for who writes one.
const Reporting = `A client finds in its environment:
  FENCEPOST_CLIENT      its name: client-1, client-2 …
  FENCEPOST_REDIS_1 …   the lock servers, as redis:// URLs; masters first, replicas after them
  FENCEPOST_SENTINEL    the Sentinel, if there are replicas; it tells addresses that the client reaches
  FENCEPOST_MASTER_1 …  the names by which the Sentinel knows the masters
  FENCEPOST_RESOURCE    the protected resource, which also takes the reports, as a redis:// URL
  FENCEPOST_LOCK        the key of the lock
  FENCEPOST_LOCK_1 …    the keys, if it has several, in the order in which it is to take them
  FENCEPOST_TAKE        all: each section takes all of them; or one, at random
  FENCEPOST_TTL_MS      how long the lock is to last, in ms
  FENCEPOST_HOLD_MS     how long the client is to stay in its section, in ms
  FENCEPOST_CYCLES      how many sections it is to have

Each URL has the client's password, redis://:PASSWORD@HOST:PORT: hand it to your library as it is. A
library that is given a host and a port must send AUTH PASSWORD itself; without, it is refused.

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
  FENCEPOST LOST lock attempt                when it was told that it is gone, and stops its work
  FENCEPOST RELEASING lock attempt           after its work, before it gives the lock back
  FENCEPOST RELEASED lock attempt            then, and what came of it, if not a yes
      [REFUSED | UNKNOWN]
and works on the resource by
  READ lock [TOKEN n]                        the value
  WRITE lock value [TOKEN n]                 1 if it was written, 0 if refused, 2 if done before
The attempt is any word that tells this holding of the lock from others: best the owner value that
the library wrote to the servers. An argument has 65536 bytes at most.`
