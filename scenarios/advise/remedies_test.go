package advise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// confirmation says how to apply a remedy, or why it cannot be applied. A remedy is a sentence in a report. If there
// are several ways to apply it, at least one must help.
type confirmation struct {
	text    string
	changes []string // ways to apply it: "KEY: VALUE", or several joined by "and"
	apply   applied  // another way to apply it; nil if there is none
	reason  string   // why the remedy cannot be applied; if there are changes, where they have no effect
	// keeps is the law that must hold once the remedy has been applied. If keeps is empty, it is enough that the broken
	// law is not broken again with the same cause.
	keeps       checker.Law
	asksNothing bool // the sentence says that the law already holds
	none        bool // the sentence says that no remedy is known
	// the scenarios in which the law is violated despite the remedy, and the reason for each
	but map[string]string
}

// applied is a function that applies a remedy which takes more than one line in a scenario file. It changes what the
// clients do, which faults strike, or a key whose correct value depends on other keys.
type applied func(b *subject, p *nemesis.Plan) []edit

// librariesOnly is the reason for not trying a remedy that only lock libraries need.
const librariesOnly = "each lock of the format does it; libraries that do not are held to it in scenarios/locktest"

// seenOnly is the reason for not trying a remedy that applies only to locks whose code is unknown.
const seenOnly = "the locks of the format are not read from their requests"

var confirmations = []confirmation{
	{text: "Consider a lock acquired or extended only after a majority of all servers has agreed: " +
		"any two majorities share a server.", apply: byMajority},
	{text: "Check for the keys of other clients and set the client's own key in one step, such as one script, and " +
		"take the lock only if there was none.", reason: librariesOnly},
	{text: "Give each attempt its own random value, and take the lock only if there is no key, not even one of the " +
		"same client's earlier attempts.", reason: librariesOnly},
	{text: "Change the watched key between MULTI and EXEC, and count the request as done only if EXEC returns " +
		"replies: without EXEC, WATCH has no effect.", reason: librariesOnly},
	{text: "Put an element back into the list only once for each time it was taken out, " +
		"and only from the client that took it.", reason: librariesOnly},
	{text: "Put an element back into the list only with the last release of the lock, when the work has ended.",
		changes: []string{"lock.reentrant: counted"}},
	{text: "Remove expired permits, count the others and take one, " +
		"all in a single step (such as a script) that uses the server's clock.",
		changes: []string{"lock.admit: count and lock.time: server"}},
	{text: "Use the server's clock, which a script can read, to decide whether a permit has expired, " +
		"and not the clock of the client that asks.", changes: []string{"lock.time: server", "lock.admit: " +
		"count and lock.time: server"}},
	{text: "Let the protected resource itself limit how many clients it serves at once: a permit with a lease does " +
		"not stop a holder that does not know that its lease has ended.",
		reason: "the resource of a scenario serves everybody"},
	{text: "Commit before you release: release the lock only when the last write has been answered.",
		keeps: checker.ResourceSafety, changes: []string{"work.release-before-write: off"}},
	{text: "Send WAIT after setting the lock, and give up the lock if it reports too few replicas.", apply: waiting},
	{text: "Let an isolated master refuse writes (min-replicas-to-write); " +
		"it still accepts writes for the permitted lag.",
		reason: "it says itself that it only narrows the gap"},
	{text: "Keep the lock in a consensus service.", changes: []string{"lock.protocol: etcd"}},
	{text: "Guard the data with a fencing token.", keeps: checker.ResourceSafety, changes: fencing},
	{text: "Guard the data with fencing tokens that increase with each grant: " +
		"the tokens that the resource compares in this history do not increase (see token-order).",
		keeps: checker.ResourceSafety,
		changes: []string{"lock.token: own-node", "lock.read-token: in-step",
			"servers.persistence.append-fsync: always", "lock.value: per-acquire and lock.resource-version: compared",
			"lock.protocol: etcd"}},
	{text: "Let a client take the lock by setting a key that expires (SET NX PX), " +
		"and not by taking an element out of a list: " +
		"if the client that took it fails or misses the reply, nobody puts it back.", reason: librariesOnly},
	{text: "The checker knows no remedy for this violation.", none: true, reason: "it asks for no change"},
	{text: "Start measuring the validity before the first request, and refuse the lock if none of it is left.",
		changes: []string{"lock.elapsed-check: on"}},
	{text: "Start measuring the validity before the first request, for an extension too, " +
		"and refuse the lock if nothing is left of it.",
		changes: []string{"lock.elapsed-check: on", "lock.extension.mode: checked",
			"lock.elapsed-check: on and lock.extension.mode: checked"}},
	{text: "Measure the validity on a monotonic clock.", changes: []string{"lock.clock: monotonic"}},
	{text: "Consider a lease extended only if the server says that the key exists and belongs to the client.",
		changes: []string{"lock.extension.mode: checked", "lock.holders: own-lease"}},
	{text: "Let the server add the TTL to its own clock (PX); never let the client add it to its clock (PXAT).",
		changes: []string{"lock.expiry: relative"}},
	{text: "Subtract an allowance for clock drift from the validity.", apply: allowance},
	{text: "Let the server add the TTL to its own clock (PX), never the client (PXAT), and subtract an allowance for " +
		"clock drift from the validity.", apply: relativeWithAllowance},
	{text: "Measure the lease from when the request that extended it was sent, not from when it was answered.",
		changes: []string{"lock.count-from: sending"}},
	{text: "Allow for more clock drift than you do now.", apply: allowance},
	{text: "Keep the servers' wall clocks from jumping (slew them, never step them).", apply: slewing},
	{text: "Set maxmemory-policy to noeviction on the lock's servers: " +
		"then a server without free memory refuses new keys and removes no keys. " +
		"Or give the lock its own servers with enough memory.",
		apply: sparing(nemesis.EvictKey)},
	{text: "Do not let any person or program delete the keys of locks, or run FLUSHALL or FLUSHDB: " +
		"forbid this with an ACL, and let a stuck lock expire.", apply: sparing(nemesis.DeleteKey, nemesis.Flush)},
	{text: "Before deleting the key of a lock, stop its holder.", apply: sparing(nemesis.DeleteKey)},
	{text: "Or use a service whose leases run on a monotonic clock.", changes: []string{"lock.protocol: etcd"}},
	{text: "After waiting, check that the client's lease is still valid before returning the lock.",
		changes: []string{"lock.recheck: on"}},
	{text: "Delete only after checking the owner, in one step: a script, CAD, or DELEX IFEQ.",
		changes: []string{"lock.release: script", "lock.holders: own-lease"}},
	{text: "Delete the key (or the owner's member of a set) only after checking the owner, in one script.",
		changes: []string{"lock.release: script", "lock.holders: own-lease"}},
	{text: "Give each attempt its own random value, and delete the key (or the owner's member of a set) only after " +
		"comparing it, in one script.",
		changes: []string{"lock.value: per-request and lock.release: script",
			"lock.value: per-request and lock.holders: own-lease"}},
	{text: "Delete the key only if it has the value that this acquisition of the lock has set, in one step: " +
		"a value that was read from the key, or that other clients use too, always matches.", reason: seenOnly},
	{text: "Stop working as soon as the client learns that the lock is lost.",
		reason: "the locks of the format state when their leases end, and their clients are told nothing else"},
	{text: "Give each attempt its own random value.", changes: []string{"lock.value: per-request"}},
	{text: "Give each attempt its own random value, and delete only after comparing it, in one step: a script, CAD, " +
		"or DELEX IFEQ.",
		changes: []string{"lock.value: per-request and lock.release: script",
			"lock.value: per-request and lock.holders: own-lease"}},
	{text: "Give each attempt its own random value, and extend only after comparing it, in one step: a script, or " +
		"CAS.",
		changes: []string{"lock.value: per-request and lock.extension.mode: checked",
			"lock.value: per-request and lock.holders: own-lease"}},
	{text: "Give each attempt its own random value, and consider a lease extended only if the server says that the " +
		"key exists and has that value.",
		changes: []string{"lock.value: per-request and lock.extension.mode: checked",
			"lock.value: per-request and lock.holders: own-lease"}},
	{text: "Delete the key only if its create revision is still that of the same attempt, in one transaction.",
		changes: []string{"lock.compare-revision: on"}},
	{text: "Release the key with ?release and the session that holds it: DELETE removes the key, whoever holds it.",
		changes: []string{"lock.unlock: release"}},
	{text: "Use the key's ModifyIndex as the token: its LockIndex starts over when the key is deleted or overwritten.",
		changes: []string{"lock.sequencer: modify-index"}},
	{text: "Put a unique mark into the name of each znode, as Curator's protection does: " +
		"sequence numbers by themselves may start over.",
		changes: []string{"lock.names: marked"}},
	{text: "Give every lock an expiry, and restart a crashed server only after the longest TTL has passed.",
		changes: []string{"lock.protocol: set-nx-px and restart delay"}},
	{text: "Compare the whole owner value when deleting the key: the script compares only a part of it.",
		reason: seenOnly},
	{text: "Set the key only if there is none (NX), or after checking the owner, in one step.",
		changes: []string{"lock.reentrant: counted", "lock.holders: own-lease"}},
	{text: "Give each attempt its own random value: " +
		"then a late request of an earlier attempt finds no key that it owns.",
		reason: seenOnly},
	{text: "Set a timeout far below the TTL for each connection attempt, " +
		"each request (including the one for a session) and each wait for a message, and ask again after it.",
		reason: seenOnly},
	{text: "What would help depends on how the lock works, which the history does not show.", reason: seenOnly},
	{text: "Or let the resource accept a write only if the writer has read the current value (compare-and-set).",
		changes: []string{"resource.writes: compare-and-set"}},
	{text: "Simulate the same plan, which shows the cause: real members do not report why a key disappears.",
		reason: "simulated runs know the cause"},
	{text: "Consider the lock acquired only if the servers said so: " +
		"after an error or a missing reply, the lock is not acquired.",
		reason: librariesOnly},
	{text: "Let each acquire set its own key, and only if there is none: without a key, no server can refuse the " +
		"lock to another client.", reason: librariesOnly},
	{text: "Renew the lock while the work is going on, several times within each lease, and stop the work when a " +
		"renewal fails.",
		apply: renewed},
	{text: "Renew a lock until its last release: " +
		"a function that releases a lock that its caller still holds must not end it.",
		changes: []string{"lock.extension.until: last-release"}},
	{text: "Or limit the work to the time that is left of the lease.",
		apply: boundedWork},
	{text: "Delete only the key of the lock.", reason: "no client of a scenario flushes"},
	{text: "Extend a lock only after checking the owner, in one step: a script, or CAS.",
		changes: []string{"lock.extension.mode: checked", "lock.holders: own-lease"}},
	{text: "Extend a held lock with a compare-and-expire script, never by acquiring it again, " +
		"and stop working once the key is given up.",
		changes: []string{"lock.extension.mode: checked"}},
	{text: "Count how often the holder has acquired the lock, and delete the key only with the last release.",
		changes: []string{"lock.reentrant: counted"}},
	{text: "Restart a crashed server only after the longest TTL has passed.", changes: []string{"restart delay"}},
	{text: "Or persist with appendfsync always.", changes: []string{"servers.persistence.append-fsync: always"}},
	{text: "Or, from Redis 7.2 on, send WAITAOF after setting the lock, " +
		"and consider it held only if the reply counts the server's own disk.", apply: waitingForOwnDisk},
	{text: "Send WAIT after setting the lock, and consider it held only if enough replicas " +
		"acknowledged.", apply: waiting},
	{text: "Wait for all replicas, or promote only a replica that has acknowledged.",
		changes: []string{"lock.wait.replicas: 2"}},
	{text: "Let WAIT require all replicas of the master: a Redis Cluster may elect one that has not acknowledged.",
		apply: waiting},
	{text: "Or acquire the lock on a majority of independent masters without replicas (Redlock): " +
		"no replica can take their place.", changes: []string{"lock.protocol: redlock"}},
	{text: "Send WAIT after setting the lock, consider it held only if all replicas acknowledged, " +
		"and persist with appendfsync always: a replica that restarts may have lost what it " +
		"acknowledged.", apply: waitingOnDisk},
	{text: "Let WAIT require all replicas, and persist with appendfsync always: a replica that restarts may have " +
		"lost what it acknowledged.", apply: waitingOnDisk},
	{text: "A service that loses a write after acknowledging it has a bug: run a version in which it is fixed " +
		"(ZOOKEEPER-4643, 4646 and 4785 report such bugs).",
		reason: "the simulated service loses nothing that it has answered"},
	{text: "After a failover, acquire the lock again.",
		reason: "a client that cannot know of a failover cannot do it, and the format has no switch for it"},
	{text: "Send a fencing token with every read and write, and let the resource refuse tokens lower than the " +
		"highest one seen; checking the remaining validity before a write only narrows the gap.",
		keeps: checker.ResourceSafety, changes: fencing},
	{text: "The resource already guards the data. No lock with a lease prevents a holder from believing that it " +
		"still has the lock: while holding it, do nothing that the resource does not check.",
		keeps: checker.ResourceSafety, apply: nothing, asksNothing: true},
	{text: "Stop working as soon as the client learns that the session is lost. This narrows the gap but does not " +
		"close it: the service may end a session at any time.",
		reason: "it says itself that it only narrows the gap"},
	{text: "Send a fencing token with every read and write.", keeps: checker.ResourceSafety, changes: fencing},
	{text: "Take locks in one fixed order, and limit the wait for the next one to the time that is left of the " +
		"first lease.",
		apply: orderedAndBounded},
	{text: "Keep renewing a lock while waiting for another.", apply: renewedWhileWaiting},
	{text: "Let the resource compare fencing tokens on reads and writes and refuse lower ones.",
		changes: []string{"resource.fencing: on", "lock.protocol: etcd and resource.fencing: on"}},
	{text: "Use a lock that gives a fencing token with each grant, and let the resource compare the tokens on reads " +
		"and writes and refuse lower ones.", changes: []string{"lock.protocol: etcd and resource.fencing: on"}},
	{text: "Let the resource check before it writes: " +
		"with a fencing token, or with compare-and-set on the value that was read.",
		changes: []string{"resource.writes: compare-and-set"}},
	{text: "As the token, use a number that belongs to one grant, " +
		"such as the czxid of the znode that the grant creates, and not a number that all grants share.",
		changes: []string{"lock.token: own-node"}},
	{text: "Use the revision of a consensus service as the token: it survives the loss of a server.",
		changes: []string{"lock.protocol: etcd"}},
	{text: "Issue a token with each grant, in the atomic step that grants the lock.",
		changes: []string{"lock.read-token: in-step"}},
	{text: "Store the counter so that a crash cannot set it back (appendfsync always).",
		changes: []string{"servers.persistence.append-fsync: always"}},
	{text: "Give every lock an expiry, in the same command that sets it (SET NX PX): then a key left behind by a " +
		"lost request expires by itself.",
		changes: []string{"lock.protocol: set-nx-px"}},
	{text: "After an acquire or a release that failed, end the session or revoke the lease, or make sure that the " +
		"key of the attempt is deleted: until then everybody waits behind that key.",
		changes: []string{"lock.release-on-failure: on"}, reason: librariesOnly},
	{text: "Delete the znode only in the session that created it: " +
		"once that session has ended, the znode with this name belongs to another client.", reason: librariesOnly},
	{text: "After an acquire or a release that failed, end the session, or make sure that the node of the attempt is " +
		"deleted: until then everybody waits behind that node.", reason: librariesOnly},
	{text: "After a connection broke, look for an existing node of the same client before creating another: " +
		"a request that got no answer may have been carried out.", reason: librariesOnly},
	{text: "When an attempt times out, delete its key and stop extending it: the server may still have set the key.",
		reason: librariesOnly},
	{text: "Stop renewing a lock before you release it: " +
		"while it is renewed, nobody else can get it.", reason: librariesOnly},
	{text: "Let a key expire after the TTL that its users expect, and no later.", reason: librariesOnly},
	{text: "Make each client's liveness key last as long as its lease: " +
		"extend the key while the lock is held.", reason: librariesOnly},
	{text: "List the keys again when the watched key is already gone, and when a watch may have been lost with its " +
		"connection: nothing else tells the client that it is first in line.", reason: librariesOnly},
	{text: "Delete the key only when the work that it guards has ended: no timer and no other task may release it " +
		"sooner.", reason: librariesOnly},
	{text: "No server had the lock's key, so find out what else keeps the lock taken: " +
		"another key, or a subscription. This must end with the holder's lease, too.", reason: seenOnly},
	{text: "Keep the owner value with the call that acquired the lock, and not in a field that several tasks share: " +
		"the next task to acquire the lock overwrites it.", changes: []string{"lock.value-in: call"}},
	{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).",
		changes: []string{"lock.protocol: set-nx-px"}},
	{text: "The lock expires by itself: let clients wait for longer than a key takes to expire.",
		changes: []string{"lock.retry.count: none"}},
	{text: "Release on every server, even after an attempt that did not succeed.",
		changes: []string{"lock.release-on-failure: on"}},
	{text: "Limit the work in the critical section with a timeout, and then release the lock: " +
		"it is renewed for as long as its client lives.",
		changes: []string{"work.hold: 1s"}},
	{text: "Give the leader a renew deadline, after which it stops, and a lease longer than the sum of the " +
		"deadline, the retry period and the timeout of a request: " +
		"without a deadline, the leader does not notice that its lease is over.",
		apply: renewDeadline},
	{text: "Never extend a lock by less time than it has left: " +
		"another holder of the same key, or one that does not get the answer, relies on the longer lease.",
		changes: []string{"lock.holders: own-lease"}, apply: longExtension},
	{text: "Never extend a lock by less time than it has left: if such an extension fails on some servers, it " +
		"shortens the lock on the others.", apply: longExtension},
	{text: "Limit how often one hold may be extended.", changes: []string{"lock.extension.limit: 3"}},
	{text: "Before asking for a lock again, release any earlier hold on it: delete the client's key, or stop working " +
		"and let the session end.",
		changes: []string{"lock.listener: on"}},
	{text: "Take locks in one fixed order, parents before children, or give up after a timeout, release, and retry " +
		"after a random delay.", apply: ordered},
	{text: "Give a free lock only to the client that is first in line, and check this in the same step.",
		changes: []string{"lock.barging: off"}},
	{text: "Give a free lock only to the client that is first in line, and check this in the same step. " +
		"Keep a client's place in line for as long as it waits.",
		changes: []string{"lock.barging: off and lock.places: renewed"}},
	{text: "Keep a client's place in line for as long as it waits.", changes: []string{"lock.places: renewed"}},
	{text: "Give each place in the queue a timeout on the server's clock that does not depend on the places before " +
		"it, and let a waiting client renew its timeout.", changes: []string{"lock.places: renewed"}},
	{text: "Remove a client's place in line when it gives up.", changes: []string{"lock.withdraw: on"}},
	{text: "Give each place in the queue a timeout on the server's clock that does not depend on the places before " +
		"it, let a waiting client renew its timeout, and remove the place of a client that gives up.",
		changes: []string{"lock.places: renewed and lock.withdraw: on"}},
	{text: "Retry after a random delay.", changes: []string{"lock.retry.delay: 50ms..250ms"}},
	{text: "Let an acquire keep asking for longer than a lease lasts: " +
		"it measures another client's lease from the time when it began to ask.",
		changes: []string{"lock.retry.patience: none"}},
	{text: "Ask again when the holder's lease must be over: a message that is never sent, or that gets lost, wakes " +
		"nobody.",
		changes: []string{"lock.retry.wake: message-or-ttl"}},
	{text: "Release partial locks on every server immediately.", changes: []string{"lock.contact: parallel"}},
	{text: "No lock service survives the loss of its quorum: bring servers back, or spread them so that no single " +
		"failure affects a majority.", apply: serversBack},
	{text: "Run three members: the others still have what one of them loses.",
		changes: []string{"servers.etcd: 3", "servers.zookeeper: 3", "servers.kubernetes: 3",
			"servers.consul: 3"}},
	{text: "Set the request timeout to much more than a round trip, " +
		"and make the lease far longer than the timeout: " +
		"these requests are slow even without faults.", apply: fastNetwork},
	{text: "Set the request timeout to much more than a round trip, " +
		"because these requests are slow even without faults. " +
		"Ask again when the holder's lease must be over, because a lost message wakes nobody.", apply: fastAndAwake},
	{text: "Let WAIT require no more replicas than are left when one is lost: " +
		"if it requires all of them, nobody gets the lock after such a loss.",
		changes: []string{"lock.wait.replicas: 1"}},
	{text: "Give each server a timeout far below the TTL, and continue with the majority that answers.",
		changes: []string{"lock.timeout: 50ms", "lock.timeout: 5ms"},
		but: map[string]string{"printed-redlock-hung-master": "its release ends at the first server that does not " +
			"answer, too"}},
	{text: "Give each request a timeout far below the TTL, and try again.",
		changes: []string{"lock.timeout: 1s", "lock.timeout: 50ms"}},
	{text: "Find out what happened to the key: it was gone before its lease had ended.",
		reason: "it asks for no change"},
	{text: "Let an acquire keep asking for longer before it gives up.",
		changes: []string{"lock.retry.patience: none and lock.retry.count: none", "lock.retry.patience: none",
			"lock.retry.count: none"}},
	{text: "Release on every server, even if one of them does not answer.", changes: []string{"lock.release-to: all"}},
	{text: "After a conflict, read the record again, and release it if it still names this client: a renewal that " +
		"was under way may have changed it.", changes: []string{"lock.release-on-cancel: on"}},
	{text: "Let the release name the key that the acquire set.", reason: librariesOnly},
	{text: "Record the servers' key-set and key-gone events: they show whether the key was still there.",
		reason: "it is about what others recorded"},
	{text: "Let the release delete the key that the acquire set, and report an error if nothing was deleted.",
		changes: []string{"lock.release: script", "lock.extension.mode: checked"}},
	{text: "After a failed acquire, undo what it may have done before you ask again: " +
		"delete its key, or decrement the count that it incremented.", reason: librariesOnly},
	{text: "Set a deadline before each request that renews the lock, and when the deadline has passed, " +
		"tell the holder that the lock is lost, whether or not the servers have answered.", reason: librariesOnly},
	{text: "Check the owner on the master, not on a replica, whose data may be out of date.",
		reason: librariesOnly},
	{text: "Record the servers' key-set and key-gone events, and which servers each grant counted. Then check again.",
		reason: "it is about what others recorded"},
	{text: "Make the lease longer than the sum of the renew deadline, the retry period and the request timeout; " +
		"in addition, allow for what the fastest clock gains on the slowest.", apply: longLease},
	{text: "Measure another client's lease on your own monotonic clock. " +
		"Start when you see the record change, and use the duration in the record. " +
		"Do not use the time in the record or your own duration.",
		changes: []string{"lock.count-lease-from: change and lock.lease-duration: recorded"}},
	{text: "If the lock could not be renewed, stop the work and end the process before giving up the lock: " +
		"client-go's ReleaseOnCancel clears the record of whoever leads by then.",
		changes: []string{"lock.release-on-cancel: off"}},
	{text: "If the lock could not be renewed, stop the work before giving up the lock: with ReleaseOnCancel, " +
		"client-go's leader continues to lead while it tries to release.",
		changes: []string{"lock.release-on-cancel: off"}},
	{text: "Include in each update the resource version that it replaces.",
		changes: []string{"lock.resource-version: compared"}},
	{text: "Give each process its own identity.", changes: []string{"lock.value: per-acquire"}},
	{text: "Give each process its own identity, and include in each update the resource version that it replaces.",
		changes: []string{"lock.value: per-acquire and lock.resource-version: compared"}},
	{text: "Give each process its own identity, end the process when it stops leading, " +
		"and include in each update the resource version that it replaces: " +
		"leaseTransitions counts changes of the holder, not terms.",
		changes: []string{"lock.value: per-acquire and lock.resource-version: compared"}},
	{text: "Give each process its own identity, and end the process when it stops leading: leaseTransitions counts " +
		"changes of the holder, not terms.", changes: []string{"lock.value: per-acquire"}},
	{text: "Every measure that the documentation recommends against this violation is already in place. " +
		"A limit of all locks with leases remains: " +
		"such a lock cannot stop a holder that does not know that its lease is over.",
		keeps: checker.ResourceSafety, apply: nothing, asksNothing: true},
}

// fencing lists the ways to make the resource compare tokens.
var fencing = []string{"resource.fencing: on", "lock.protocol: fenced and resource.fencing: on",
	"lock.protocol: etcd and resource.fencing: on"}

// nothing does not change anything. It is for remedies that say that nothing needs to be changed.
func nothing(*subject, *nemesis.Plan) []edit { return nil }

// byMajority makes locks and extensions depend on a majority of the servers.
func byMajority(b *subject, _ *nemesis.Plan) []edit {
	edits := b.set("lock.quorum", strconv.Itoa(b.asked()/2+1)).edits
	if b.scenario.Clients[0].Lock.Extension != nil {
		edits = append(edits, b.set("lock.extension.mode", string(locks.ExtendChecked)).edits...)
	}
	return edits
}

// slewing removes the faults that make the servers' clocks jump.
func slewing(b *subject, p *nemesis.Plan) []edit {
	known := b.scenario.Targets()
	servers := known.Servers()
	p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f nemesis.Fault) bool {
		return f.Kind == nemesis.Jump && slices.Contains(servers, f.Target)
	})
	return nil
}

// sparing returns a function that removes the faults of the given kinds from a plan.
func sparing(kinds ...nemesis.Kind) func(*subject, *nemesis.Plan) []edit {
	return func(_ *subject, p *nemesis.Plan) []edit {
		p.Faults = slices.DeleteFunc(slices.Clone(p.Faults), func(f nemesis.Fault) bool {
			return slices.Contains(kinds, f.Kind)
		})
		return nil
	}
}

// serversBack makes servers restart that would otherwise stay down forever, and ends cuts that would otherwise last
// forever.
func serversBack(b *subject, p *nemesis.Plan) []edit {
	known := b.scenario.Targets()
	p.Faults = slices.Clone(p.Faults)
	for i := range p.Faults {
		f := &p.Faults[i]
		if f.Kind == nemesis.Cut && f.For == 0 {
			f.For = time.Second
		}
		if !slices.Contains(known.Servers(), f.Target) || !f.Kind.Has(nemesis.FieldRestart) {
			continue
		}
		if f.Restart == 0 {
			f.Restart = time.Second
		}
		// a new, empty member must not vote under the old member's name
		if f.Loss == nemesis.LosesEverything && len(known.Consensus) > 0 {
			f.Loss = nemesis.LosesUnsynced
		}
	}
	return nil
}

// allowance sets a drift allowance that is large enough for the plan's drifts. It covers server clocks that run too
// fast and client clocks that run too slow. It assumes that all of a process's drifts are active at once.
func allowance(b *subject, p *nemesis.Plan) []edit {
	fast, slow := drifts(b, p)
	const whole = 1e6
	share := 1 - (whole-float64(slow))/(whole+float64(fast))
	edits := b.set("lock.drift-allowance", fmt.Sprintf("%d%% + 2ms", 1+int(100*share))).edits
	if x := b.scenario.Clients[0].Lock.Extension; x != nil && !x.Mode.ObeysElapsed() {
		edits = append(edits, b.set("lock.extension.mode", string(locks.ExtendChecked)).edits...)
	}
	return edits
}

// drifts returns a plan's maximum drifts in parts per million: how fast a server's clock may run, and how slow a
// client's clock may run.
func drifts(b *subject, p *nemesis.Plan) (fast, slow int) {
	known := b.scenario.Targets()
	for _, id := range slices.Concat(known.Clients, known.Servers()) {
		up, down := 0, 0
		for _, f := range p.Faults {
			if f.Target == id {
				up, down = up+max(0, f.PPM), down+max(0, -f.PPM)
			}
		}
		if slices.Contains(known.Clients, id) {
			slow = max(slow, down)
		} else {
			fast = max(fast, up)
		}
	}
	return fast, slow
}

// longLease makes the lease long enough for its holder to renew it on time, even if the holder's clock is slow and the
// others' clocks are fast.
func longLease(b *subject, p *nemesis.Plan) []edit {
	longest := time.Duration(0)
	for i := range b.scenario.Clients {
		c := &b.scenario.Clients[i]
		d := locks.Define(c.Lock.Protocol)
		sum := c.Lock.Timeout
		for _, key := range []string{"renew-deadline", "retry-period"} {
			sum += time.Duration(d.Setting(key).Get(&c.Lock).N)
		}
		longest = max(longest, sum)
	}
	gain := 1.0
	for _, f := range p.Faults {
		gain *= 1 + float64(max(f.PPM, -f.PPM))/(1e6-float64(max(0, -f.PPM)))
	}
	ttl := time.Duration(float64(longest)*gain).Truncate(time.Second) + time.Second
	return b.set("lock.ttl", format.DurationText(int64(ttl))).edits
}

// waiting makes every client wait until all replicas have the key (with WAIT) and act on the reply.
func waiting(b *subject, _ *nemesis.Plan) []edit {
	edits := append(b.set("lock.wait.obey", "on").edits,
		b.set("lock.wait.replicas", strconv.Itoa(max(1, b.scenario.Servers.Replicas))).edits...)
	if w := b.scenario.Clients[0].Lock.Wait; w != nil && w.Fsync == locks.MasterDisk {
		edits = append(edits, b.set("lock.wait.fsync", string(locks.AllDisks)).edits...)
	}
	return edits
}

// waitingOnDisk is like waiting, but also makes servers fsync before they reply.
func waitingOnDisk(b *subject, p *nemesis.Plan) []edit {
	return append(waiting(b, p), b.set("servers.persistence.append-fsync", "always").edits...)
}

// waitingForOwnDisk makes clients wait until the server on which they set the key has it on disk.
func waitingForOwnDisk(b *subject, _ *nemesis.Plan) []edit {
	return slices.Concat(b.set("servers.version", "8").edits, b.set("lock.wait.fsync", string(locks.MasterDisk)).edits,
		b.set("lock.wait.timeout", "2s").edits, b.set("lock.wait.obey", "on").edits)
}

// renewDeadline makes leaders give up before their lease ends.
func renewDeadline(b *subject, _ *nemesis.Plan) []edit {
	shortest := b.scenario.Clients[0].Lock.TTL
	for i := range b.scenario.Clients {
		shortest = min(shortest, b.scenario.Clients[i].Lock.TTL)
	}
	edits := b.set("lock.renew-deadline", format.DurationText(int64(shortest/2))).edits
	for _, path := range []string{"lock.retry-period", "lock.timeout"} {
		edits = append(edits, b.set(path, format.DurationText(int64(shortest/10))).edits...)
	}
	return edits
}

// longExtension removes the setting for an extension's lease, so that an extension lasts as long as the original lease.
func longExtension(b *subject, _ *nemesis.Plan) (edits []edit) {
	sections := []string{""}
	for _, client := range b.doc.Keys("overrides") {
		sections = append(sections, "overrides."+client+".")
	}
	for _, under := range sections {
		if path := under + "lock.extension.lease"; b.has(path) {
			edits = append(edits, edit{Path: path, Remove: true})
		}
	}
	return edits
}

// renewed makes every holder renew its lock while it works, at the default interval (a fraction of the lease).
func renewed(b *subject, _ *nemesis.Plan) (edits []edit) {
	sections := []string{""}
	for _, client := range b.doc.Keys("overrides") {
		sections = append(sections, "overrides."+client+".")
	}
	for _, under := range sections {
		if path := under + "lock.extension"; b.has(path) {
			edits = append(edits, edit{Path: path, Remove: true})
		}
	}
	return append(edits, edit{Path: "lock.extension.mode", Value: string(locks.ExtendChecked)})
}

// renewedWhileWaiting is like renewed, but makes a holder also renew the lock while it waits.
func renewedWhileWaiting(b *subject, p *nemesis.Plan) []edit {
	return append(renewed(b, p), edit{Path: "lock.extension.in", Value: "background"})
}

// boundedWork makes every client check how much of its lease remains and stop when the lease has ended. It removes work
// that a client cannot stop.
func boundedWork(b *subject, _ *nemesis.Plan) (edits []edit) {
	for _, change := range []Change{b.set("work.hold", "validity"), b.set("work.check-validity", "on"),
		b.set("work.compute", "0s")} {
		edits = append(edits, change.edits...)
	}
	return edits
}

// fastNetwork removes the settings that make every request slow.
func fastNetwork(b *subject, _ *nemesis.Plan) (edits []edit) {
	for _, path := range []string{"network", "servers.fsync"} {
		if b.has(path) {
			edits = append(edits, edit{Path: path, Remove: true})
		}
	}
	return edits
}

// relativeWithAllowance makes the server add the TTL to its own clock, and subtracts an allowance for clock drift.
func relativeWithAllowance(b *subject, p *nemesis.Plan) []edit {
	return append(allowance(b, p), b.set("lock.expiry", "relative").edits...)
}

// fastAndAwake is like fastNetwork, but also makes waiters check again after a TTL.
func fastAndAwake(b *subject, p *nemesis.Plan) []edit {
	return append(fastNetwork(b, p), b.set("lock.retry.wake", "message-or-ttl").edits...)
}

// ordered makes every client acquire its locks in name order.
func ordered(b *subject, _ *nemesis.Plan) (edits []edit) {
	lists := []string{"work.locks"}
	for _, client := range b.doc.Keys("overrides") {
		lists = append(lists, "overrides."+client+".work.locks")
	}
	for _, list := range lists {
		for i, name := range slices.Sorted(slices.Values(b.doc.List(list))) {
			edits = append(edits, edit{Path: fmt.Sprintf("%s.%d", list, i+1), Value: name})
		}
	}
	return edits
}

// orderedAndBounded is like ordered, but also makes clients stop waiting before an earlier lease can end.
func orderedAndBounded(b *subject, p *nemesis.Plan) []edit {
	shortest := b.scenario.Clients[0].Lock.TTL
	for i := range b.scenario.Clients {
		c := &b.scenario.Clients[i].Lock
		if shortest = min(shortest, c.TTL); c.Extension != nil {
			shortest = min(shortest, c.Extension.TTL)
		}
	}
	edits := append(ordered(b, p), b.set("lock.retry.patience", format.DurationText(int64(shortest/2))).edits...)
	// a client may wait up to lock.timeout for the reply to a request that it has sent, so this time is limited as well
	for i := range b.scenario.Clients {
		if b.scenario.Clients[i].Lock.Timeout > shortest/4 {
			return append(edits, b.set("lock.timeout", format.DurationText(int64(shortest/4))).edits...)
		}
	}
	return edits
}

// try is one way to apply a remedy.
type try struct {
	change string
	made   *Tried // nil if the format does not accept the change
	plan   nemesis.Plan
}

// tries returns all ways to apply a remedy under a plan.
func (c *confirmation) tries(b *subject, p nemesis.Plan) (list []try) {
	if c.apply != nil {
		plan := p
		changed := b.build(&Tried{Left: b.broken, Changes: []Change{{edits: c.apply(b, &plan)}}})
		list = append(list, try{"as it says", changed, plan})
	}
	for _, change := range c.changes {
		list = append(list, try{change, remedied(b, change), p})
	}
	return slices.DeleteFunc(list, func(t try) bool { return t.made == nil })
}

// seedsOfRemedy is the number of seeds for which a remedy must help. With a single seed it might help by chance,
// because a change shifts the random choices.
const seedsOfRemedy = 5

// helps applies the remedy in one way and runs the plan with several seeds. It reports whether the violation no longer
// occurs with the same cause in any of these runs. If the remedy is meant to save a certain law (c.keeps), that law
// must not be violated instead.
func (c *confirmation) helps(t *testing.T, b *subject, try try, f *checker.Finding) bool {
	b.plans = nil
	for n := range uint64(seedsOfRemedy) {
		p := try.plan
		p.Seed += n
		b.plans = append(b.plans, p)
	}
	if err := b.worker(try.made).runGiven(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	broken := func(g tallied) bool { return g.Law == f.Law && g.Cause == f.Cause }
	if c.keeps != "" {
		broken = func(g tallied) bool { return g.Law == c.keeps }
	}
	return try.made.Given.Runs > 0 && !slices.ContainsFunc(try.made.Given.Findings, broken)
}

// moreScenarios lists scenarios that are not in the catalog. In some of them, clocks drift by more than the allowance,
// and in others, a release does nothing.
var moreScenarios = []string{`name: no-release
servers: {redis: 1}
clients: 2
lock: {protocol: set-nx-px, release: nothing}
`, `name: no-allowance
servers: {redis: 1}
lock: {protocol: set-nx-px, elapsed-check: on}
work: {hold: validity, check-validity: on}
faults:
  - drift client-1 clock by -9000ppm from 0s
`, `name: small-allowance
servers: {redis: 1}
lock: {protocol: set-nx-px, elapsed-check: on, drift-allowance: 1% + 2ms}
work: {hold: validity, check-validity: on}
faults:
  - drift client-1 clock by -50000ppm from 0s
`}

// remedied returns the lock with the change, or nil if the format rejects the change.
func remedied(b *subject, change string) *Tried {
	t := &Tried{Left: b.broken}
	for _, one := range strings.Split(change, " and ") {
		switch key, value, _ := strings.Cut(one, ": "); key {
		case "lock.protocol":
			t.Changes = append(t.Changes, b.protocol(locks.Define(locks.Protocol(value))))
		case "restart delay":
			t.Changes = append(t.Changes, Change{Key: key, restart: b.restartDelay()})
		default:
			t.Changes = append(t.Changes, b.set(key, value))
		}
	}
	return b.build(t)
}
