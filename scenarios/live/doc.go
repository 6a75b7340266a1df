// Package live runs a scenario in real time, or in virtual time, with processes on the host as its clients: the user's
// own, in any language, or programs that implement the scenario's own protocols. It uses the host through package
// scenarios/live/realtime.
//
// [Reporting] describes what a client is given and what it must report. A report that is malformed or out of order is
// answered with an error and ends the run. The events before it are kept and judged. Each client's first ACQUIRING is
// answered only when all clients have sent theirs. A client that ends before its work is done counts as crashed, and
// the run continues.
//
// Each client has a password for the run. Its URLs contain the password, and nobody can use its ports without it. etcd
// and ZooKeeper libraries cannot send a password; for them, the process that opens a connection must be in the client's
// process group.
//
// etcd and ZooKeeper clients use the servers' own protocols. They reach the servers through the simulated servers'
// front end ([sim.Front]), as they do in a synctest bubble. Real etcd members get the client's bytes unchanged.
//
// ACQUIRED is answered before the section begins, and RELEASING before the release is sent. A recorded section
// therefore lies within the time that the client had the lock, and an overlap in the record is a real overlap.
//
// # Virtual time
//
// A run with [Options.Virtual] has the same reports and the same clients, but [traced.Machine] runs the clients in
// virtual time on this machine. The loop uses the machine as its clock: while the loop is waiting, the clients run.
// Connections do not use ports, so no other process can reach them. Runs with equal plans are equal. The rest of this
// comment is about real time.
//
// # When something happened, and when the run learned of it
//
// On a loaded machine these two times may differ by a second. No such delay makes a recorded section longer than the
// real one:
//
//   - A report is recorded between its sending and its answer. During this time the client is waiting: with the lock
//     after ACQUIRED, RELEASING and LOST, without it after ACQUIRING, FAILED and RELEASED.
//   - A client may end on its own, or may already have ended when the plan is due to crash it. The end may have
//     happened at any time since the client was last known to be alive. That is the time at which the run sent the last
//     answer that the client waited for before it sent its last command to the resource. The recorded crash has this
//     time as its Until. Mutual exclusion counts as violated only if it is violated for every possible end time. If it
//     is violated only for some, it is undecided. An answer that is not known to have arrived does not show that the
//     client was alive, because its bytes may have been read long after they were sent.
//   - To crash a client that is still alive, the run stops it and then kills it. The crash is recorded no later than
//     the process ends.
//   - A pause begins when every thread has stopped. What was sent by then counts as sent before the pause.
//   - A connection's end alone does not decide anything. If a real server ended on its own, the run is undecided.
//
// However, a delayed FAILED, RELEASED or answer makes a wait longer, and fault-tolerance and deadlock-freedom measure
// waits. Therefore, the run reports how late the host was, and warns if a stall lasted longer than a client waits for
// an answer.
//
// # What a client need not report
//
// The run recognizes a grant from what the servers have recorded since ACQUIRING: the lock's keys that were set on this
// client's connections, by any command. The grant begins when the reply that completed a quorum arrived at the client's
// machine. It lasts for the validity that the client reported, or, if it did not report one, until the first of the
// keys expires.
package live

import (
	"fmt"
	"strings"

	"github.com/fencepost-sim/fencepost/scenarios"
)

// Reporting tells the author of a client what the client is given and what it must report.
func Reporting() string {
	var members strings.Builder
	of := "instead, for %s, the addresses of the members: %s …"
	for _, s := range scenarios.Wired() {
		name, addresses, _ := strings.Cut(s.Variable([]string{"HOST:PORT", "HOST:PORT"}), "=")
		fmt.Fprintf(&members, "  %-21s "+of+"\n", name, s.Called(), addresses)
		of = "or, for %s: %s …"
	}
	return strings.Replace(reportingText, "  MEMBERS\n", members.String(), 1)
}

const reportingText = `A client finds in its environment:
  FENCEPOST_CLIENT      its name: client-1, client-2 …
  FENCEPOST_REDIS_1 …   the lock servers, as redis:// URLs; masters first, replicas after them
  FENCEPOST_SENTINEL    the Sentinel, if there are replicas; it names addresses that the client reaches
  FENCEPOST_MASTER_1 …  the names by which the Sentinel knows the masters
  MEMBERS
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
take as long as a pause: without timeout and without retries.
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
