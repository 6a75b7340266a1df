package claims

import (
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// clauses lists the phrases in explanations that contain numbers, each with the function that checks its numbers.
var clauses = []clause{
	// phrases about two overlapping sections or leases
	says(`WHO entered the critical section of LOCK at TIME although WHO, which had been inside since TIME, had `+
		`not yet left \(([^()]+)\)((?:(?:, | and )WHO, which had been inside since TIME, had not yet left `+
		`\([^()]+\))*)`, (*proof).entered),
	says(`COUNT clients were inside, but there are only COUNT permits`, (*proof).permitted),
	says(`COUNT leases were valid at once, but there are only COUNT permits`, (*proof).permitted),
	says(`(?:never more than|The lock has) COUNT (?:of the same lock at once|permits)`, (*proof).permits),
	says(`the key of WHO on NAMED, set at TIME, was still there when the key of WHO was set at TIME`,
		(*proof).sideBySide),
	says(`WHO (was granted the lock|had its lease of) LOCK (?:extended )?at TIME although the lease of WHO ran from `+
		`TIME to TIME`, (*proof).twoLeases),
	says(`No server counted for both grants: ([^:]+?) counted for (NAME), and ([^:]+?) counted for (NAME)\. `, (*proof).noServerInCommon),
	says(`NAMED had only one key, set by WHO at TIME: it gave NAMED the lock at TIME, and again at TIME`,
		(*proof).oneKey),
	says(`Only the first COUNT such overlaps were examined for their causes`, (*proof).manyOverlaps),
	says(`The lease of WHO had ended at TIME`, (*proof).leaseEnded),
	says(`Its lease had ended at TIME`, (*proof).writersLease),
	says(`It had called release at TIME`, (*proof).writerReleased),
	says(`WHO had called release at TIME`, (*proof).releaseCalled),
	says(`The writer called release at TIME( and did not send the write until|, before it got a reply to the write `+
		`that it had `+
		`sent at) TIME`, (*proof).workedOn),

	// phrases about how a key was removed
	says(`(the extension of )?the key of WHO on NAMED (expired|had expired|was deleted|was overwritten|was flushed|`+
		`was evicted|was deleted by an operator|was flushed by an operator|`+
		`was gone|was lost|was lost in a failover) at TIME(?:: the server (had crashed|had been shut down) and came `+
		`back without it, because (it keeps nothing on disk|it had not reached the disk|its disk was lost)| by `+
		`(its own holder)| by a request of WHO, which did not own it)?`, (*proof).keyWent),
	says(`NAMED considered the key of WHO on NAMED expired at TIME`, (*proof).takenForOver),
	says(`, TIME before its deadline \(TIME\)`, (*proof).expiredEarly),
	says(`but NAMED considered its lease valid until TIME`, (*proof).counted),
	says(`NAMED was granted the lock at TIME and took it without checking its own lease(?:, which had ended at `+
		`TIME)?`, (*proof).stated),
	says(`but the lease of NAMED was extended anyway, at TIME, until TIME`, (*proof).stated),
	says(`The lease of NAMED was already over when it was granted the lock at TIME: it had ended at TIME`,
		(*proof).overBefore),
	says(`the key had expired((?:,? (?:and )?on NAME at TIME)+)`, (*proof).alsoExpired),
	says(`, so it expired at TIME, not at TIME`, (*proof).undone),
	says(`NAMED set the key of NAMED at TIME, and NAMED set the key of NAMED at TIME`, (*proof).twoMasters),
	says(`NAMED extended the key of NAMED at TIME, after it had been replaced as master; on the server that set the `+
		`key of NAMED at TIME, the first key had expired at TIME`, (*proof).prolongedByDeposed),
	says(`NAMED extended the lease of NAMED at TIME; NAMED had become the leader at TIME, had taken `+
		`over all leases, and ended this lease at TIME`, (*proof).prolongedInVain),

	// phrases about what delayed a client
	says(`was paused ((?:(?:from TIME to (?:TIME|the end)|at TIME)(?:, | and )?)+)[a-z, ]*\(((?:«\d+»(?:; )?)+)\)`,
		(*proof).spells),
	says(`The (read|write|extension|release) of NAMED was delayed: called at TIME, it took effect at TIME`,
		(*proof).heldUp),
	says(`NAMED waited for another lock, LOCK, from TIME(?: to TIME)?`, (*proof).waited),

	// phrases about tokens, owners and data
	says(`WHO was granted the lock LOCK at TIME with fencing token COUNT, although WHO had been granted (?:the same `+
		`token|the higher token COUNT) at TIME`, (*proof).tokens),
	says(`On NAMED, a request from WHO (deleted|extended|overwrote|flushed) the lock LOCK at TIME, although it `+
		`belonged to WHO`, (*proof).trespass),
	says(`accepted a write of WHO at TIME, although it had accepted a (read|write) of WHO at TIME. The grant of LOCK `+
		`to WHO was the later one: (?:it was requested at TIME, after the grant to WHO had been made at TIME|`+
		`its token is COUNT, and the token of WHO is COUNT)`,
		(*proof).stale),
	says(`accepted the write LOCK of WHO at TIME. The write is based on the value LOCK, which the writer knew from its `+
		`own (read|write) at TIME`, (*proof).builtOn),
	says(`WHO had overwritten that value with LOCK at TIME`, (*proof).overwritten),

	// phrases about clients that were stuck, and about the clients that they waited for
	says(`NAMED asked for LOCK at TIME. Starting at TIME, nobody acquired the lock for TIME([a-z, ]*)\. The limit `+
		`is TIME`,
		(*proof).stuck),
	says(`left for a quorum of COUNT`, (*proof).quorum),
	says(`NAMED asked for LOCK at TIME and was granted it at TIME, although NAMED had asked at TIME and was still `+
		`waiting`,
		(*proof).overtaken),
	says(`the lock promises to serve clients in order if they ask more than TIME apart`, (*proof).orderSlack),
	says(`NAMED asked for LOCK at TIME. From TIME on, nobody held the lock and[a-z, ]*, but nobody was granted the `+
		`lock for TIME\. The limit is TIME`, (*proof).leftFree),
	says(`NAMED had asked at TIME and (gave up|crashed) at TIME`, (*proof).leftItsPlace),
	says(`NAMED asked for LOCK again at TIME while it still held it`, (*proof).askedAgain),
	says(`Each client holds a lock that the next one is waiting for: ([^.]+)`, (*proof).circle),
	says(`NAMED had held the lock since TIME, longer than the declared hold of TIME, and`, (*proof).uncapped),
	says(`NAMED had held the lock since TIME and crashed at TIME`, (*proof).diedHolding),
	says(`A request of NAMED took the key of LOCK at TIME, but NAMED never got the lock with that key`,
		(*proof).takenInVain),
	says(`NAMED crashed at TIMEFAULTS. Its key on NAMED, set at TIME, was still there at TIME and (?:never expires|`+
		`was due to expire at TIME)`, (*proof).leftKey),
	says(`NAMED, which held it last, crashed at TIME`, (*proof).diedLast),
	says(`NAMED (gave up|left the critical section of|got the lock in a later) attempt (?:than )?([^ ,]+),? at TIME\. `+
		`Its key on NAMED, set at TIMEFAULTS, was still there at TIME and `+stays, (*proof).leftBehind),
	says(`The key that an earlier attempt of NAMED set on NAMED at TIMEFAULTS was still there at TIME and `+stays+`\. `+
		`NAMED was still waiting`,
		(*proof).leftByItself),
	says(`The key of NAMED on NAMED, set at TIME, had been first in line since TIME, but at TIME NAMED was `+
		`still waiting and had not taken its turn`, (*proof).missedTurn),

	// phrases about operations that took too long
	says(`The (acquire|release) of LOCK by NAMED, called at TIME, (?:[^,(]+?)(?:TIME)?(?: later)?(?: \([^)]*\))?\. It `+
		`should have succeeded within TIME: (.+? up and reachable all the time), and nobody else held or requested the `+
		`lock`, (*proof).slow),
	says(`A key that NAMED itself had set at TIME on NAMED was still there`, (*proof).ownKey),
	says(`Its key on NAMED (had been gone since|was still there, last extended at|was still there, last set at) TIME`,
		(*proof).refusedKey),
	says(`NAMED released LOCK at TIME, while its lease was valid until TIME. The release (?:had still not returned `+
		`TIME later|returned (?:ok|fail|info)[a-z ()]*(?:at once|after TIME))\. It did not change the client's keys? `+
		`on [^.:]*: (?:it|the first of them) (expired at|was neither deleted nor overwritten until) TIME`,
		(*proof).keptKey),

	// the number of cases judged for a law that holds or is undecided
	says(`^COUNT [a-z ]+`, (*proof).judged),
	says(`every lock was acquired \(COUNT in all\)`, (*proof).judged),
	says(`each within TIME`, (*proof).bound),
	says(`NAMED had been waiting for LOCK since TIME`, (*proof).stillWaits),
	says(`The grant of LOCK to NAMED at TIME`, (*proof).grant),
}

// stays matches the phrases that say why a key remains.
const stays = `(never expires|stays as long as the session does|was due to expire at TIME` +
	`(?:, after an extension at TIME)?)`

// isNamed reports whether an explanation that mentions name and attempt means process p and its attempt a. If the
// explanation does not name an attempt, attempt is empty and only the process counts. The case of name is ignored,
// because it may be at the beginning of a sentence.
func isNamed(p history.Process, a history.Attempt, name, attempt string) bool {
	return strings.EqualFold(string(p), name) && (attempt == "" || attempt == string(a))
}

// isOf reports whether a is an attempt by the process that an explanation names. If attempt is not empty, a must be
// that attempt.
func isOf(a history.Attempt, name, attempt string) bool {
	p, _, _ := strings.Cut(string(a), "/")
	return isNamed(history.Process(p), a, name, attempt)
}

// at reports whether text is the printed form of an instant or duration.
func at(t history.Time, text string) bool { return t.String() == text }

// event returns the index of the first event that matches, or Open if there is none.
func (p *proof) event(matches func(i int, e *history.Event) bool) int {
	for i := range p.History.Events {
		if matches(i, &p.History.Events[i]) {
			return i
		}
	}
	return Open
}

// shown returns "" if an event matches. Otherwise, it returns a message saying that there is no such event.
func (p *proof) shown(what string, matches func(i int, e *history.Event) bool) string {
	if p.event(matches) == Open {
		return "the history shows no such " + what
	}
	return ""
}

// acquire returns the index of the acquire event with the given type, process and time, or Open if there is none.
func (p *proof) acquire(typ history.Type, name, attempt, lock, when string) int {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == typ && isNamed(e.Process, e.Attempt, name, attempt) &&
			(lock == "" || string(e.Lock) == lock) && at(e.Time, when)
	})
}

// crashed reports whether a process crashed at the given time.
func (p *proof) crashed(name, when string) bool {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Crashed && isNamed(e.Process, "", name, "") && at(e.Time, when)
	}) != Open
}

// returned returns the index of the event that ends the call at the given index, or Open if the call never returned.
func (p *proof) returned(call int) int {
	c := &p.History.Events[call]
	return p.event(func(i int, e *history.Event) bool {
		return i > call && e.Process == c.Process &&
			(e.F == history.Crashed || e.F == c.F && e.Lock == c.Lock && e.Type != history.Invoke)
	})
}

// mismatch returns "" if the statement is right. Otherwise, it returns the given truth.
func mismatch(right bool, truth string) string {
	if right {
		return ""
	}
	return truth
}
