package advise

import (
	"slices"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
)

// confirmation says of a sentence that reports print as a remedy which change of the format it is, or why it is none.
// Of several changes the first that the lock takes is made.
type confirmation struct {
	text    string
	changes []string // "KEY: VALUE", or several with "and"; a protocol may stand before an "&"
	reason  string   // why it is no change of the format
	// but are scenarios in which the change does not keep the law, each with the reason.
	but map[string]string
}

// seenOnly is why a remedy cannot be tried that only locks get whose code nobody has seen.
const seenOnly = "the locks of the format are not read from their requests"

// librariesOnly is why a remedy cannot be followed in a scenario: no lock of the format makes the mistake.
const librariesOnly = "only the code of a foreign lock does this"

var confirmations = []confirmation{
	{text: "Count a lock, or its extension, only after a majority of all servers said yes: two majorities always " +
		"share a server.",
		changes: []string{"lock.quorum: 3", "lock.extension.mode: checked"}},
	{text: "Send WAIT after setting the lock and obey its count.", changes: []string{"lock.wait.obey: on"}},
	{text: "Let an isolated master refuse writes (min-replicas-to-write); it still accepts them for the permitted lag.",
		reason: "it says itself that it only narrows the gap"},
	{text: "Take the lock from a consensus service.", changes: []string{"lock.protocol: etcd"}},
	{text: "Guard the data by a fencing token.",
		reason: "it keeps the data (see the remedy of resource-safety), not exclusion"},
	{text: "Count the validity from before the first request and refuse the lock if nothing is left of it.",
		changes: []string{"lock.elapsed-check: on"}},
	{text: "Measure it on a monotonic clock.", changes: []string{"lock.clock: monotonic"}},
	{text: "Take a lease for extended only if the server says that the key stands and is one's own.",
		changes: []string{"lock.extension.mode: checked"}},
	{text: "Let the server add the TTL to its own clock (PX), never the client to its (PXAT).",
		changes: []string{"lock.expiry: relative"}},
	{text: "Subtract an allowance for as much as clocks may drift.",
		changes: []string{"lock.drift-allowance: 1% + 2ms"}},
	{text: "Count the lease from when the request left that prolonged it, not from its answer.",
		changes: []string{"lock.count-from: sending"}},
	{text: "Allow for clocks that drift more than is allowed for now.",
		changes: []string{"lock.drift-allowance: 10% + 2ms"}},
	{text: "Keep the servers' wall clocks from jumping (slew, never step).",
		reason: "clocks are what strikes, not what the lock is"},
	{text: "Or use a service whose leases run on a monotonic clock.", changes: []string{"lock.protocol: etcd"}},
	{text: "After waiting, check that the own lease still lives before returning the lock.",
		changes: []string{"lock.recheck: on"}},
	{text: "Delete only after comparing the owner, in one step: a script, CAD, or DELEX IFEQ.",
		changes: []string{"lock.release: script"}},
	{text: "Give each attempt its own random value.", changes: []string{"lock.value: per-request"}},
	{text: "Give each attempt its own random value, and delete only after comparing it, in one step: a script, CAD, " +
		"or DELEX IFEQ.", changes: []string{"lock.value: per-request and lock.release: script"}},
	{text: "Compare the whole owner value when the key is deleted: the script takes no more than a part of it.",
		reason: seenOnly},
	{text: "Set the key only where there is none (NX), or after comparing the owner, in one step.",
		changes: []string{"lock.reentrant: counted"}},
	{text: "Give each try a random value of its own: what an earlier one asks for late then finds nothing that it " +
		"owns.", reason: seenOnly},
	{text: "Bound each dial, each request and each wait for a message by a time far below the TTL, and ask again.",
		reason: seenOnly},
	{text: "Take the lock for acquired only when the servers have said so: an error, or no answer, is no.",
		reason: librariesOnly},
	{text: "Let each acquire set a key of its own, and only if there is none: the servers have no key that this " +
		"grant rests on.", reason: librariesOnly},
	{text: "Renew the lock while the work goes on, several times within each lease, and stop the work when that " +
		"fails.",
		changes: []string{"lock.extension.mode: checked"}},
	{text: "Or bound the work by what is left of the lease.",
		changes: []string{"work.check-validity: on", "work.hold: validity and work.check-validity: on"}},
	{text: "After a connection broke, look for a node of one's own before making another: the request that was not " +
		"answered may have been carried out.", reason: librariesOnly},
	{text: "Delete the key of a try that was given up, and do not prolong it: its answer may come later.",
		reason: librariesOnly},
	{text: "Let a key expire after the TTL that its users count on, and no later.", reason: librariesOnly},
	{text: "When what is watched is gone already, and when a watch may be lost with its connection, list the keys " +
		"again: nothing else says that one's turn has come.", reason: librariesOnly},
	{text: "Delete the key only when the work that it guards has ended: no timer and no other task may give it up " +
		"sooner.", reason: librariesOnly},
	{text: "Look for what keeps the lock taken besides its key, which no server had: another key, or a subscription. " +
		"It must end with the lease of its holder, too.", reason: seenOnly},
	{text: "What would help depends on what the requests of this lock do not show.", reason: seenOnly},
	{text: "Run the same plan simulated, where the cause is shown: real members do not report why a key goes.",
		reason: "simulated runs know the cause"},
	{text: "Delete the lock's own key and no other.", reason: "no client of a scenario flushes"},
	{text: "Prolong only after comparing the owner, in one step: a script, or CAS.",
		changes: []string{"lock.extension.mode: checked"}},
	{text: "Prolong a held lock by a compare-and-expire script, never by acquiring it again, and stop working once " +
		"the key is given up.",
		changes: []string{"lock.extension.mode: checked"}},
	{text: "Count how often its holder has taken the lock, and delete the key only with the last release.",
		changes: []string{"lock.reentrant: counted"}},
	{text: "Restart a crashed server only after the longest TTL has passed.", changes: []string{"restart delay"}},
	{text: "Or persist with appendfsync always.", changes: []string{"servers.persistence.append-fsync: always"}},
	{text: "Send WAIT after setting the lock and hold it only if enough replicas acknowledged.",
		changes: []string{"lock.wait.obey: on"}},
	{text: "Wait for all replicas, or promote only one that has acknowledged.",
		changes: []string{"lock.wait.replicas: 2"}},
	{text: "A service that loses what it has answered is at fault itself: run a version in which that is mended " +
		"(ZOOKEEPER-4643, 4646 and 4785 report such faults).",
		reason: "the simulated service loses nothing that it has answered"},
	{text: "After a failover acquire anew.",
		reason: "a client that cannot know of a failover cannot do it, and the format has no switch for it"},
	{text: "Send a fencing token with every read and write, and let the resource refuse tokens lower than it has " +
		"seen; checking the remaining validity before a write only narrows the gap.",
		reason: "it keeps the data (see the remedy of resource-safety), not exclusion"},
	{text: "The resource guards the data already. No lock with a lease keeps a holder from believing that it is " +
		"inside: do nothing there that the resource does not check.",
		reason: "it asks for no change"},
	{text: "Stop working as soon as the client learns that the session is lost: that narrows the gap, since the " +
		"service " +
		"may end a session at any time.",
		reason: "it says itself that it only narrows the gap"},
	{text: "Send a fencing token with every read and write.",
		reason: "it keeps the data (see the remedy of resource-safety), not exclusion"},
	{text: "Take locks in one fixed order, and bound the wait for the next one by what is left of the first lease.",
		reason: "the order is the clients' work"},
	{text: "Renew a lock while waiting.", changes: []string{"lock.extension.mode: checked"}},
	{text: "Let the resource compare fencing tokens on reads and writes and refuse lower ones.",
		changes: []string{"resource.fencing: on", "etcd & resource.fencing: on"}},
	{text: "The resource compares tokens already: draw them from a counter that survives what the lock survives " +
		"(fsync always, or a consensus service's revision).",
		changes: []string{"servers.persistence.append-fsync: always", "lock.token: own-node"}},
	{text: "Let the resource compare before it sets (a fencing token, or compare-and-set on the value read).",
		changes: []string{"resource.writes: compare-and-set"}},
	{text: "Draw one token for each grant.", changes: []string{"lock.token: own-node"}},
	{text: "Take the revision of a consensus service for a token: it survives the loss of a server.",
		changes: []string{"lock.protocol: etcd"}},
	{text: "Draw the token in the same atomic step as the lock.", changes: []string{"lock.read-token: in-step"}},
	{text: "Keep the counter where a crash cannot take it back: appendfsync always.",
		changes: []string{"servers.persistence.append-fsync: always"}},
	{text: "Give every lock an expiry, in the same command that sets it (SET NX PX): then what a lost request leaves " +
		"behind goes by itself.",
		changes: []string{"lock.protocol: set-nx-px"}},
	{text: "After an acquire or a release that failed, end the session or revoke the lease, or make sure that the " +
		"key of the attempt is deleted: until then everybody waits behind it.",
		reason: "each lock of the format does; libraries that do not are held to it in scenarios/locktest/ensembles"},
	{text: "Give every lock an expiry, in the same command that sets it (SET NX PX).",
		changes: []string{"lock.protocol: set-nx-px"}},
	{text: "The lock has an expiry: whoever waits must wait for longer than it.",
		changes: []string{"lock.retry.count: none"}},
	{text: "Release on every server also after an attempt that was given up.",
		changes: []string{"lock.release-on-failure: on"}},
	{text: "Cap the number of extensions of one hold.", changes: []string{"lock.extension.limit: 3"}},
	{text: "Before asking again for a lock, give up what may be left of it: delete the own key, or stop working and " +
		"let the session end.",
		changes: []string{"lock.listener: on"}},
	{text: "Take locks in one fixed order, parents before children, or give up after a timeout, release, and retry " +
		"after a random delay.",
		changes: []string{"lock.retry.patience: 5s"}},
	{text: "Retry after a random delay.", changes: []string{"lock.retry.delay: 50ms..250ms"}},
	{text: "Look again when the other's lease must be over: a message that is never sent, or that gets lost, wakes " +
		"nobody.",
		changes: []string{"lock.retry.wake: message-or-ttl"}},
	{text: "Release partial locks on every server at once.", changes: []string{"lock.contact: parallel"}},
	{text: "No lock service survives the loss of its quorum: bring servers back, or spread them so that no one " +
		"failure takes a majority.",
		reason: "how long servers are away is what strikes"},
	{text: "Run three members: what one of them loses, the others still have.",
		changes: []string{"servers.etcd: 3", "servers.zookeeper: 3", "servers.kubernetes: 3"}},
	{text: "Let each server take longer to answer than a round trip takes, and let the TTL be far longer than that.",
		reason: "how long a round trip takes is the network's"},
	{text: "Give each server a timeout far below the TTL, and go on with the majority that answers.",
		changes: []string{"lock.timeout: 50ms", "lock.timeout: 5ms"},
		but: map[string]string{"printed-redlock-hung-master": "its release ends at the first server that does not " +
			"answer, too"}},
	{text: "Give each request a timeout far below the TTL, and try again.",
		changes: []string{"lock.timeout: 1s", "lock.timeout: 50ms"}},
	{text: "See what became of the key: it was gone before its lease had ended.", reason: "it asks for no change"},
	{text: "Record the servers' key-set and key-gone and the servers that each grant counted, then check again.",
		reason: "it is about what others recorded"},
	{text: "Let the lease duration be longer than the renew deadline, the retry period and the time-out of a request " +
		"together, by as much as the fastest clock gains on the slowest.", changes: []string{"lock.ttl: 66s"}},
	{text: "Count a lease from when one saw the record change, on one's monotonic clock, and not from the time in " +
		"the record.", changes: []string{"lock.count-lease-from: change"}},
	{text: "Stop the work, and end the process, before the lock is given up that could not be renewed: client-go's " +
		"ReleaseOnCancel clears the record of whoever leads by then.",
		changes: []string{"lock.release-on-cancel: off"}},
	{text: "Stop the work before the lock is given up that could not be renewed: with ReleaseOnCancel client-go's " +
		"leader leads on while its release is tried.", changes: []string{"lock.release-on-cancel: off"}},
	{text: "Name in each update the resource version that it replaces.",
		changes: []string{"lock.resource-version: compared"}},
	{text: "Give each process an identity of its own.", changes: []string{"lock.value: per-acquire"}},
	{text: "Give each process an identity of its own, and end it when it stops leading: leaseTransitions counts " +
		"changes of the holder, not terms.", changes: []string{"lock.value: per-acquire"}},
	{text: "All that the documents give against it is in place. What is left is the limit of a lock with a lease: it " +
		"cannot stop a holder that does not know.",
		reason: "it asks for no change"},
}

// drifting are scenarios beside those of the catalogue: clocks drift by more than is allowed for.
var drifting = []string{`name: no-allowance
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

// remedied is the scenario with the change, nil if the format does not take it, or it changes nothing.
func remedied(b *subject, change string) *Tried {
	protocol, rest, both := strings.Cut(change, " & ")
	t := &Tried{Left: b.broken}
	if !both {
		rest, protocol = change, ""
	}
	if name, is := strings.CutPrefix(rest, "lock.protocol: "); is {
		protocol, rest = name, ""
	}
	if protocol != "" {
		t.Changes = append(t.Changes, b.protocol(locks.Define(locks.Protocol(protocol))))
	}
	for _, one := range strings.Split(rest, " and ") {
		switch key, value, _ := strings.Cut(one, ": "); {
		case one == "restart delay":
			t.Changes = append(t.Changes, Change{Key: one, restart: b.restartDelay()})
		case one != "":
			t.Changes = append(t.Changes, b.set(key, value))
		}
	}
	return b.build(t)
}

// TestRemediesAreConfirmed makes each change that a report of the catalogue gives as a remedy, under the same faults:
// what was broken is not broken in that way any more.
func TestRemediesAreConfirmed(t *testing.T) {
	used, confirmed := map[string]bool{}, map[string]bool{}
	var all []*scenarios.Scenario
	for _, name := range scenarios.Names() {
		all = append(all, named(t, name))
	}
	for _, text := range drifting {
		all = append(all, parsed(t, text))
	}
	for _, s := range all {
		name := s.Name
		b, err := newSubject(s, Options{From: 1, Seeds: 1})
		if err != nil {
			t.Fatal(err)
		}
		b.plans = nil
		for seed := range uint64(3) {
			b.plans = append(b.plans, s.Plan(seed+1))
		}
		result, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range checker.Check(result.History).Findings {
			rest := f.Remedy
			for _, c := range confirmations {
				if !strings.Contains(rest, c.text) {
					continue
				}
				rest = strings.TrimSpace(strings.Replace(rest, c.text, "", 1))
				used[c.text] = true
				confirm(t, b, confirmed, name, f, c.text, c.changes, c.but)
			}
			if rest != "" {
				t.Errorf("%s: nothing confirms %q", name, rest)
			}
		}
	}
	for _, c := range confirmations {
		if used[c.text] && len(c.changes) > 0 && !confirmed[c.text] {
			t.Errorf("no scenario confirms %q", c.text)
		}
	}
}

// confirm makes the changes that a remedy can mean, one after another, until one mends the finding. One must, but in
// the scenarios that are excepted, where none may.
func confirm(t *testing.T, b *subject, confirmed map[string]bool, name string, f checker.Finding, text string,
	changes []string, but map[string]string) {
	t.Helper()
	mended, last := false, (*Tried)(nil)
	for _, change := range changes {
		tried := remedied(b, change)
		if tried == nil || mended {
			continue
		}
		if err := b.worker(tried).given(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		last, mended = tried, !slices.ContainsFunc(tried.Given.Findings,
			func(g tallied) bool { return g.Law == f.Law && g.Cause == f.Cause })
	}
	confirmed[text] = confirmed[text] || mended
	switch {
	case len(changes) == 0:
	case last == nil:
		t.Errorf("%s: the format takes none of %v for %q", name, changes, text)
	case mended == (but[name] != "") || last.Given.Runs == 0:
		t.Errorf("%s, %s by %s: %q is one of %v, after which it comes to %v in %d runs", name, f.Law, f.Cause, text,
			changes, last.Given.Findings, last.Given.Runs)
	}
}
