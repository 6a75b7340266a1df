package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
)

// clauses are all pieces of stories that state numbers.
var clauses = []clause{
	// two sections, two leases
	says(`WHO entered the critical section of LOCK at TIME although WHO, inside since TIME, had not left it `+
		`\(([^()]+)\)`, (*proof).entered),
	says(`WHO was granted the lock LOCK at TIME although the lease of WHO ran from TIME to TIME`,
		(*proof).twoLeases),
	says(`They counted no server in common \((NAME) ([^;]+); (NAME) ([^)]+)\)`, (*proof).apart),
	says(`The lease of WHO had ended at TIME`, (*proof).leaseEnded),
	says(`Its lease had ended at TIME`, (*proof).writersLease),

	// how a key went
	says(`(the prolongation of )?the key of WHO on NAMED (expired|had expired|was deleted|was overwritten|was flushed|`+
		`was gone|was lost|was lost in a failover) at TIME(?:: that server (had crashed|had been shut down) and came back `+
		`without it, for (it keeps nothing on disk|it had not reached the disk|its disk was lost)| by a request of (its own `+
		`holder|WHO, which did not own it))?`, (*proof).keyWent),
	says(`and yet NAMED took its lease for extended at TIME, until TIME`, (*proof).tookOver),
	says(`Nothing was left of the lease of NAMED when it was granted the lock at TIME: it was valid until TIME`,
		(*proof).tookOver),
	says(`, TIME before its time \(TIME\)`, (*proof).early),
	says(`but NAMED counted its lease until TIME`, (*proof).counted),
	says(`when NAMED got the lock at TIME its own lease had ended at TIME`, (*proof).tookOver),
	says(`it had expired((?:,? (?:and )?on NAME at TIME)+)`, (*proof).likewise),
	says(`; so it expired at TIME, not at TIME`, (*proof).undone),
	says(`NAMED took the key of NAMED at TIME and NAMED that of NAMED at TIME`, (*proof).twoMasters),
	says(`NAMED prolonged the key of NAMED at TIME, when it had been replaced as master; where that of NAMED was `+
		`set at TIME it had expired at TIME`, (*proof).prolongedByDeposed),

	// what held a client up
	says(`(was paused|was held up|did not get through) ((?:(?:from TIME to (?:TIME|the end)|at TIME)(?:, | and )?)+)`+
		`([a-z, ]*)\(((?:«\d+»(?:; )?)+)\)`, (*proof).spells),
	says(`NAMED waited for another lock, LOCK, from TIME(?: to TIME)?`, (*proof).waited),

	// the other laws
	says(`WHO was granted the lock LOCK at TIME with fencing token COUNT, (?:the very token that|lower than the `+
		`COUNT that) WHO had been granted at TIME`, (*proof).tokens),
	says(`On NAMED, a request of WHO (deleted|prolonged|overwrote|flushed) the lock LOCK at TIME although it `+
		`belonged to WHO`, (*proof).trespass),
	says(`accepted a write of WHO at TIME although it had accepted a (read|write) of WHO at TIME, whose grant of `+
		`LOCK is the later one \((?:it was asked for at TIME, the other granted at TIME|token COUNT, against COUNT)\)`,
		(*proof).stale),
	says(`accepted the write LOCK of WHO at TIME. It builds on the value LOCK, known from the writer's own `+
		`(read|write) at TIME`, (*proof).builtOn),
	says(`had been overwritten by LOCK of WHO at TIME`, (*proof).overwritten),
	says(`NAMED asked for LOCK at TIME. From TIME on[a-z, ]* for TIME nobody acquired the lock; at most TIME`,
		(*proof).stuck),
	says(`Each holds what the next one wants: ([^.]+)`, (*proof).circle),
	says(`NAMED held the lock since TIME, longer than the declared hold of TIME, and`, (*proof).uncapped),
	says(`NAMED held the lock since TIME and crashed at TIME`, (*proof).diedHolding),
	says(`NAMED crashed at TIMEFAULTS; its key on NAMED, set at TIME, is still there and (never expires|is due to `+
		`expire at TIME)`, (*proof).leftKey),
	says(`NAMED, the last to hold it, crashed at TIME`, (*proof).diedLast),
	says(`The key of attempt ([^ ]+) on NAMED, set at TIME`, (*proof).abandoned),
	says(`The (acquire|release) of LOCK by NAMED, called at TIME, ([^,(]+?)(?:TIME)?( later)?(?: \([^)]*\))?, although (.+?) `+
		`up and reachable all along and nobody else held or tried the lock; it should succeed within TIME`, (*proof).slow),
	says(`the quorum of COUNT was not left`, (*proof).quorum),
	says(`NAMED asked for LOCK again at TIME while it still held it`, (*proof).askedAgain),

	// what was seen of a law that holds, or is open
	says(`^COUNT ([a-z ]+)`, (*proof).judged),
	says(`each within TIME`, (*proof).bound),
	says(`every lock was acquired \(COUNT in all\)`, (*proof).locks),
	says(`NAMED was waiting for LOCK since TIME`, (*proof).stillWaits),
	says(`The grant of LOCK to NAMED at TIME`, (*proof).grant),
}

// is reports whether a name in a story, which may begin a sentence, is the process; and the attempt, if it names one.
func is(p history.Process, a history.Attempt, name, attempt string) bool {
	return strings.EqualFold(string(p), name) && (attempt == "" || attempt == string(a))
}

// maker is whose attempt it is.
func maker(a history.Attempt) history.Process {
	p, _, _ := strings.Cut(string(a), "/")
	return history.Process(p)
}

// at reports whether an instant is printed so.
func at(t history.Time, text string) bool { return t.String() == text }

// event finds the first event that matches, -1 if there is none.
func (p *proof) event(matches func(i int, e *history.Event) bool) int {
	for i := range p.History.Events {
		if matches(i, &p.History.Events[i]) {
			return i
		}
	}
	return -1
}

func (p *proof) shown(what string, matches func(i int, e *history.Event) bool) string {
	if p.event(matches) >= 0 {
		return ""
	}
	return "the history shows no such " + what
}

// entered: WHO LOCK TIME WHO TIME how the first one left.
func (p *proof) entered(m []string) string {
	a, b := Together(p.History)
	if a == nil {
		return "no two sections overlap"
	}
	left := "it never did"
	if a.End != Open {
		switch e := &p.History.Events[a.End]; e.F {
		case history.Release:
			left = fmt.Sprintf("it called release at %v", e.Time)
		case history.Lost:
			left = fmt.Sprintf("it noticed at %v that its lock was lost", e.Time)
		default:
			left = fmt.Sprintf("it crashed at %v", e.Time)
		}
	}
	came, since := p.History.Events[b.Grants[0]].Time, p.History.Events[a.Grants[0]].Time
	if is(b.Process, b.Attempt, m[1], m[2]) && string(b.Lock) == m[3] && at(came, m[4]) &&
		is(a.Process, a.Attempt, m[5], m[6]) && at(since, m[7]) && left == m[8] {
		return ""
	}
	return fmt.Sprintf("%s entered %s at %v, %s since %v, %s", b.Attempt, b.Lock, came, a.Attempt, since, left)
}

// twoLeases: WHO LOCK TIME WHO TIME TIME.
func (p *proof) twoLeases(m []string) string {
	for _, b := range p.sections {
		for _, a := range p.sections {
			if a == b || a.Lock != b.Lock || string(a.Lock) != m[3] || !is(b.Process, b.Attempt, m[1], m[2]) ||
				!is(a.Process, a.Attempt, m[5], m[6]) {
				continue
			}
			for _, x := range p.leases(b) {
				for _, y := range p.leases(a) {
					if at(x.from, m[4]) && at(y.from, m[7]) && at(y.to, m[8]) && y.from <= x.from && x.from <= y.to {
						return ""
					}
				}
			}
		}
	}
	return "no such leases overlap"
}

// apart: NAMED servers NAMED servers.
func (p *proof) apart(m []string) string {
	servers := pattern(`NAMED`)
	for _, name := range servers.FindAllString(m[2], -1) {
		if slices.Contains(servers.FindAllString(m[4], -1), name) {
			return "they have " + name + " in common"
		}
	}
	counted := func(name, list string) string {
		return p.shown("grant", func(_ int, e *history.Event) bool {
			if e.Grant == nil || !is(e.Process, "", name, "") {
				return false
			}
			var all []string
			for _, s := range e.Grant.Counted {
				all = append(all, string(s))
			}
			return slices.Equal(all, servers.FindAllString(list, -1))
		})
	}
	return cmp.Or(counted(m[1], m[2]), counted(m[3], m[4]))
}

// leaseEnded: WHO TIME. A lease that ends when it is granted has not ended: there was none.
func (p *proof) leaseEnded(m []string) string {
	truth := "none of its leases ended then"
	for _, s := range p.sections {
		if !is(s.Process, s.Attempt, m[1], m[2]) {
			continue
		}
		for _, l := range p.leases(s) {
			switch {
			case at(l.to, m[3]) && l.from < l.to:
				return ""
			case at(l.to, m[3]):
				truth = "that is when it was granted"
			}
		}
	}
	return truth
}

// writersLease: TIME.
func (p *proof) writersLease(m []string) string {
	return p.leaseEnded([]string{"", string(p.Holders[0]), "", m[1]})
}

// ends are the words for how a key went.
var ends = map[string][]history.Why{
	"expired": {history.Expired}, "was deleted": {history.Deleted}, "was flushed": {history.Flushed},
	"had expired": {history.Expired},
	"was lost":    {history.LostUnsynced, history.LostUnpersisted, history.LostDisk}, "was lost in a failover": {history.LostInFailover},
	"was gone": {history.Expired, history.Deleted, history.Flushed},
}

// keyWent: prolongation WHO NAMED how TIME, down because, by WHO.
func (p *proof) keyWent(m []string) string {
	gone := p.event(func(_ int, e *history.Event) bool {
		if !p.together(string(e.Process), m[4]) || !at(e.Time, m[6]) {
			return false
		}
		if m[5] == "was overwritten" {
			return e.F == history.KeySet
		}
		return e.F == history.KeyGone && slices.Contains(ends[m[5]], e.Why) && is(maker(e.Of), e.Of, m[2], m[3])
	})
	if gone < 0 {
		return "no key of its went so there at that time"
	}
	e := &p.History.Events[gone]
	switch losses := map[history.Why]string{history.LostUnsynced: "it had not reached the disk",
		history.LostUnpersisted: "it keeps nothing on disk", history.LostDisk: "its disk was lost"}; {
	case m[7] != "" && m[7] != p.wentDown(gone):
		return "the server " + p.wentDown(gone)
	case m[8] != losses[e.Why] && m[7] != "",
		m[8] == "it keeps nothing on disk" && p.Scenario.Servers.Persistent():
		return losses[e.Why]
	case m[9] == "its own holder" && e.By != e.Of,
		m[10] != "" && (e.By == e.Of || !is(maker(e.By), e.By, m[10], m[11])):
		return fmt.Sprintf("that was %s", e.By)
	}
	return ""
}

// wentDown says how the server of the record at a place last went down before it.
func (p *proof) wentDown(at int) string {
	how, server := "never did", p.History.Events[at].Process
	for i := range p.History.Events[:at] {
		e := &p.History.Events[i]
		if e.Process != history.Nemesis || e.Type != history.Invoke || e.Fault == nil || !slices.Contains(e.Fault.On, server) {
			continue
		}
		switch e.F {
		case history.Crash:
			how = "had crashed"
		case history.ShutDown:
			how = "had been shut down"
		}
	}
	return how
}

// together reports whether two servers are one, or keep a key between them: a master and its replicas, of which another
// may have taken its place, and the members of one service.
func (p *proof) together(a, b string) bool {
	h := &p.History.Header
	return a == b || h.Service == history.Etcd || h.Service == history.ZooKeeper ||
		slices.ContainsFunc(h.Groups, func(g []history.Process) bool {
			return slices.Contains(g, history.Process(a)) && slices.Contains(g, history.Process(b))
		})
}

// due is when the key that went at place i had been due to expire.
func (p *proof) due(i int) (due history.Time) {
	gone := &p.History.Events[i]
	for j := range p.History.Events[:i] {
		e := &p.History.Events[j]
		if (e.F == history.KeySet || e.F == history.KeyProlonged) && e.Process == gone.Process && e.Of == gone.Of &&
			e.Lock == gone.Lock {
			due = e.Until
		}
	}
	return due
}

// early: TIME TIME.
func (p *proof) early(m []string) string {
	return p.shown("key", func(i int, e *history.Event) bool {
		due := p.due(i)
		return e.F == history.KeyGone && e.Why == history.Expired && at(due, m[2]) && at(due-e.Time, m[1])
	})
}

// counted: NAMED TIME.
func (p *proof) counted(m []string) string {
	return p.shown("lease", func(_ int, e *history.Event) bool {
		return e.Grant != nil && is(e.Process, "", m[1], "") && at(e.Grant.Until, m[2])
	})
}

// tookOver: NAMED TIME TIME.
func (p *proof) tookOver(m []string) string {
	return p.shown("lease", func(_ int, e *history.Event) bool {
		return e.Grant != nil && is(e.Process, "", m[1], "") && at(e.Grant.Granted, m[2]) && at(e.Grant.Until, m[3])
	})
}

// likewise: a list of where and when.
func (p *proof) likewise(m []string) string {
	for _, place := range pattern(`on NAMED at TIME`).FindAllStringSubmatch(m[1], -1) {
		if truth := p.shown("expiry: "+place[0], func(_ int, e *history.Event) bool {
			return e.F == history.KeyGone && e.Why == history.Expired && string(e.Process) == place[1] &&
				at(e.Time, place[2])
		}); truth != "" {
			return truth
		}
	}
	return ""
}

// undone: TIME TIME.
func (p *proof) undone(m []string) string {
	return p.shown("key", func(i int, e *history.Event) bool {
		return e.F == history.KeyGone && e.Why == history.Expired && at(e.Time, m[1]) &&
			p.event(func(_ int, o *history.Event) bool {
				return (o.F == history.KeySet || o.F == history.KeyProlonged) && o.Of == e.Of && at(o.Until, m[2])
			}) >= 0
	})
}

// keySet reports whether a server set a key of a process then.
func (p *proof) keySet(server, whose, when string) bool {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && (server == "" || string(e.Process) == server) && is(maker(e.Of), "", whose, "") &&
			at(e.Time, when)
	}) >= 0
}

// twoMasters: NAMED NAMED TIME NAMED NAMED TIME.
func (p *proof) twoMasters(m []string) string {
	if p.keySet(m[1], m[2], m[3]) && p.keySet(m[4], m[5], m[6]) && m[1] != m[4] {
		return ""
	}
	return "no two servers set such keys"
}

// prolongedByDeposed: NAMED NAMED TIME NAMED TIME TIME.
func (p *proof) prolongedByDeposed(m []string) string {
	prolonged := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.KeyProlonged && string(e.Process) == m[1] && is(maker(e.Of), "", m[2], "") && at(e.Time, m[3])
	})
	expired := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.KeyGone && e.Why == history.Expired && is(maker(e.Of), "", m[2], "") && at(e.Time, m[6])
	})
	if prolonged < 0 || expired < 0 || !p.keySet("", m[4], m[5]) {
		return "the servers recorded no such thing"
	}
	return ""
}

// spells: what, when, and then, FAULTS: each fault was on when it is said that it was.
func (p *proof) spells(m []string) string {
	said := pattern(`from TIME to (?:TIME|(the end))|at TIME`).FindAllStringSubmatch(m[2], -1)
	lines := faultPlace.FindAllString(m[len(m)-1], -1)
	if len(said) != len(lines) {
		return fmt.Sprintf("%d times for %d faults", len(said), len(lines))
	}
	for i, line := range lines {
		from, to := p.spell(line)
		if !at(from, cmp.Or(said[i][1], said[i][4])) || said[i][2] != "" && !at(to, said[i][2]) ||
			said[i][3] != "" && to != history.Never {
			return fmt.Sprintf("%s was on from %v to %v", line, from, to)
		}
	}
	return ""
}

// spell is when the fault that struck at a place was on; Never if its end is not recorded.
func (p *proof) spell(place string) (from, to history.Time) {
	i, err := strconv.Atoi(strings.Trim(place, "«»"))
	if err != nil {
		panic(err)
	}
	struck := &p.History.Events[i]
	for j := i; j < len(p.History.Events); j++ {
		if e := &p.History.Events[j]; e.Process == history.Nemesis && e.Type == history.OK && e.Value == struck.Value {
			return struck.Time, e.Time
		}
	}
	return struck.Time, history.Never
}

// waited: NAMED LOCK TIME TIME.
func (p *proof) waited(m []string) string {
	call := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.Invoke && is(e.Process, "", m[1], "") && string(e.Lock) == m[2] &&
			at(e.Time, m[3])
	})
	if call < 0 {
		return "it asked for no such lock then"
	}
	back := p.returned(call)
	if m[4] == "" && back < 0 || m[4] != "" && back >= 0 && at(p.History.Events[back].Time, m[4]) {
		return ""
	}
	return "it did not wait so long"
}

// returned is the place at which the call at another returned, -1 if it never did.
func (p *proof) returned(call int) int {
	c := &p.History.Events[call]
	for i := call + 1; i < len(p.History.Events); i++ {
		e := &p.History.Events[i]
		if e.Process == c.Process && (e.F == history.Crashed || e.F == c.F && e.Lock == c.Lock && e.Type != history.Invoke) {
			return i
		}
	}
	return -1
}

// tokens: WHO LOCK TIME COUNT COUNT WHO TIME.
func (p *proof) tokens(m []string) string {
	before := cmp.Or(m[6], m[5])
	got := func(name, attempt, when, token string) string {
		return p.shown("token", func(_ int, e *history.Event) bool {
			return e.F == history.Acquire && e.Type == history.OK && is(e.Process, e.Attempt, name, attempt) &&
				string(e.Lock) == m[3] && at(e.Time, when) && strconv.FormatInt(int64(e.Token), 10) == token
		})
	}
	return cmp.Or(got(m[1], m[2], m[4], m[5]), got(m[7], m[8], m[9], before))
}

// trespass: NAMED WHO did LOCK TIME WHO.
func (p *proof) trespass(m []string) string {
	did := map[string]history.F{"deleted": history.KeyGone, "flushed": history.KeyGone, "prolonged": history.KeyProlonged,
		"overwrote": history.KeySet}[m[4]]
	return p.shown("request", func(_ int, e *history.Event) bool {
		own := is(maker(e.Of), e.Of, m[7], m[8]) || e.F == history.KeySet && p.keySetBefore(e, m[8])
		return e.F == did && string(e.Process) == m[1] && string(e.Lock) == m[5] && at(e.Time, m[6]) &&
			is(maker(e.By), e.By, m[2], m[3]) && own
	})
}

// keySetBefore reports whether an attempt had set the key that an event overwrote.
func (p *proof) keySetBefore(e *history.Event, attempt string) bool {
	return p.event(func(i int, o *history.Event) bool {
		return o.F == history.KeySet && o.Lock == e.Lock && string(o.Of) == attempt && o.Time <= e.Time
	}) >= 0
}

// effect reports whether the resource accepted something of an attempt then.
func (p *proof) effect(op, name, attempt, when string) bool {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Apply && e.Type == history.OK && string(e.Op) == op && is(maker(e.Of), e.Of, name, attempt) &&
			at(e.Time, when)
	}) >= 0
}

// stale: WHO TIME what WHO TIME LOCK, asked and granted TIME TIME or COUNT COUNT.
func (p *proof) stale(m []string) string {
	if !p.effect("write", m[1], m[2], m[3]) || !p.effect(m[4], m[5], m[6], m[7]) {
		return "the resource accepted no such thing"
	}
	grant := func(name, attempt string, matches func(e *history.Event) bool) string {
		return p.shown("grant", func(_ int, e *history.Event) bool {
			return e.F == history.Acquire && e.Type == history.OK && is(e.Process, e.Attempt, name, attempt) &&
				string(e.Lock) == m[8] && matches(e)
		})
	}
	if m[9] != "" {
		return cmp.Or(grant(m[5], m[6], func(e *history.Event) bool { return at(e.Grant.Since, m[9]) }),
			grant(m[1], m[2], func(e *history.Event) bool { return at(e.Grant.Granted, m[10]) }))
	}
	token := func(text string) func(e *history.Event) bool {
		return func(e *history.Event) bool { return strconv.FormatInt(int64(e.Token), 10) == text }
	}
	return cmp.Or(grant(m[5], m[6], token(m[11])), grant(m[1], m[2], token(m[12])))
}

// builtOn: value WHO TIME value how TIME.
func (p *proof) builtOn(m []string) string {
	if !p.effect("write", m[2], m[3], m[4]) {
		return "the resource accepted no such write"
	}
	return p.shown("read or write of its own", func(_ int, e *history.Event) bool {
		return at(e.Time, m[7]) && (string(e.F) == m[6] && is(e.Process, "", m[2], "") ||
			string(e.Op) == m[6] && is(maker(e.Of), "", m[2], ""))
	})
}

// overwritten: value WHO TIME.
func (p *proof) overwritten(m []string) string {
	if p.effect("write", m[2], m[3], m[4]) {
		return ""
	}
	return "the resource accepted no such write"
}

// stuck: NAMED LOCK TIME TIME TIME TIME.
func (p *proof) stuck(m []string) string {
	h := &p.History.Header
	limit := h.TTL + h.Hold + h.Slack
	since := p.read.Broken - limit
	if !at(since, m[4]) {
		return fmt.Sprintf("the lock stood still from %v on", since)
	}
	if !at(limit, m[6]) {
		return fmt.Sprintf("%v would be sound", limit)
	}
	if p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.Invoke && is(e.Process, "", m[1], "") &&
			string(e.Lock) == m[2] && at(e.Time, m[3])
	}) < 0 {
		return "it did not ask for it then"
	}
	ends := append([]history.Time{h.End}, nil...)
	for i := range p.History.Events {
		ends = append(ends, p.History.Events[i].Time)
	}
	i := slices.IndexFunc(ends, func(end history.Time) bool { return at(end-since, m[5]) })
	if i < 0 {
		return "nothing happened when that was over"
	}
	if ends[i]-since <= limit {
		return "that is not too long"
	}
	if p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && string(e.Lock) == m[2] && e.Time > since && e.Time < ends[i]
	}) >= 0 {
		return "somebody acquired it meanwhile"
	}
	return ""
}

// circle: who waits for what.
func (p *proof) circle(m []string) string {
	waits := pattern(`NAMED waits for LOCK`).FindAllStringSubmatch(m[1], -1)
	if len(waits) < 2 {
		return "one alone is no circle"
	}
	for i, w := range waits {
		next := waits[(i+1)%len(waits)][1]
		if !slices.ContainsFunc(p.sections, func(s *Section) bool {
			held := s.End == Open || p.History.Events[s.End].Time >= p.read.Broken
			return is(s.Process, "", next, "") && string(s.Lock) == w[2] && held &&
				p.History.Events[s.Grants[0]].Time < p.read.Broken
		}) {
			return fmt.Sprintf("%s does not hold %s", next, w[2])
		}
	}
	return ""
}

// uncapped: NAMED TIME TIME.
func (p *proof) uncapped(m []string) string {
	if !at(p.History.Header.Hold, m[3]) {
		return fmt.Sprintf("the declared hold is %v", p.History.Header.Hold)
	}
	for _, s := range p.sections {
		if is(s.Process, "", m[1], "") && at(p.History.Events[s.Grants[0]].Time, m[2]) {
			return ""
		}
	}
	return "it did not get the lock then"
}

// crashed reports whether a process crashed then.
func (p *proof) crashed(name, when string) bool {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Crashed && is(e.Process, "", name, "") && at(e.Time, when)
	}) >= 0
}

// diedHolding: NAMED TIME TIME.
func (p *proof) diedHolding(m []string) string {
	for _, s := range p.sections {
		if is(s.Process, "", m[1], "") && at(p.History.Events[s.Grants[0]].Time, m[2]) && p.crashed(m[1], m[3]) {
			return ""
		}
	}
	return "it did not hold the lock when it crashed"
}

// leftKey: NAMED TIME FAULTS NAMED TIME how TIME.
func (p *proof) leftKey(m []string) string {
	if !p.crashed(m[1], m[2]) {
		return "it did not crash then"
	}
	return p.shown("key", func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && string(e.Process) == m[4] && at(e.Time, m[5]) && is(maker(e.Of), "", m[1], "") &&
			(m[7] != "" && at(e.Until, m[7]) || m[7] == "" && e.Until == history.Never)
	})
}

// diedLast: NAMED TIME.
func (p *proof) diedLast(m []string) string {
	if p.crashed(m[1], m[2]) {
		return ""
	}
	return "it did not crash then"
}

// abandoned: attempt NAMED TIME.
func (p *proof) abandoned(m []string) string {
	return p.shown("key", func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && string(e.Of) == m[1] && string(e.Process) == m[2] && at(e.Time, m[3]) &&
			e.Until == history.Never
	})
}

// slow: what LOCK NAMED TIME how TIME later who TIME.
func (p *proof) slow(m []string) string {
	h := &p.History.Header
	if who := p.there(); m[8] != who || !at(h.Bound, m[9]) {
		return fmt.Sprintf("%s there, and the bound is %v", who, h.Bound)
	}
	call := p.event(func(i int, e *history.Event) bool {
		return i == p.read.Events[0] && string(e.F) == m[1] && e.Type == history.Invoke && is(e.Process, "", m[3], "") &&
			string(e.Lock) == m[2] && at(e.Time, m[4])
	})
	if call < 0 {
		return "it was not called then"
	}
	back := p.returned(call)
	if m[6] == "" && back < 0 || m[6] != "" && back >= 0 && at(p.History.Events[back].Time-p.History.Events[call].Time, m[6]) {
		return ""
	}
	return "it did not take so long"
}

// there says who is up where a quorum is: the members of a service, single servers, or masters with all their replicas.
func (p *proof) there() string {
	h := &p.History.Header
	var names []string
	for _, s := range h.Servers {
		names = append(names, string(s))
	}
	switch {
	case h.Service == history.Etcd || h.Service == history.ZooKeeper || len(h.Groups) == 0 && len(names) > 1:
		return fmt.Sprintf("at least %d of %d servers were", h.Quorum, len(names))
	case len(h.Groups) > 1:
		return fmt.Sprintf("at least %d of %d masters were, with all their replicas,", h.Quorum, len(h.Groups))
	case len(names) == 1:
		return names[0] + " was"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " were"
}

// quorum: COUNT.
func (p *proof) quorum(m []string) string {
	if n := strconv.Itoa(p.History.Header.Quorum); n != m[1] {
		return n
	}
	return ""
}

// askedAgain: NAMED LOCK TIME.
func (p *proof) askedAgain(m []string) string {
	call := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.Invoke && is(e.Process, "", m[1], "") && string(e.Lock) == m[2] &&
			at(e.Time, m[3])
	})
	held := slices.ContainsFunc(p.sections, func(s *Section) bool {
		return call >= 0 && is(s.Process, "", m[1], "") && string(s.Lock) == m[2] && s.Grants[0] < call &&
			(s.End == Open || s.End > call)
	})
	if held {
		return ""
	}
	return "it did not hold it then"
}

// judged: COUNT what.
func (p *proof) judged(m []string) string {
	if p.Outcome != checker.Holds || strconv.Itoa(p.read.Judged) == m[1] {
		return ""
	}
	return fmt.Sprintf("%d", p.read.Judged)
}

// bound: TIME.
func (p *proof) bound(m []string) string {
	if at(p.History.Header.Bound, m[1]) {
		return ""
	}
	return p.History.Header.Bound.String()
}

// locks: COUNT.
func (p *proof) locks(m []string) string {
	if n := strconv.Itoa(p.read.Judged); n != m[1] {
		return n
	}
	return ""
}

// stillWaits: NAMED LOCK TIME.
func (p *proof) stillWaits(m []string) string {
	call := p.event(func(i int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.Invoke && is(e.Process, "", m[1], "") && string(e.Lock) == m[2] &&
			at(e.Time, m[3])
	})
	if call < 0 || p.returned(call) >= 0 {
		return "it does not wait"
	}
	return ""
}

// grant: LOCK NAMED TIME.
func (p *proof) grant(m []string) string {
	return p.shown("grant", func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && is(e.Process, "", m[2], "") && string(e.Lock) == m[1] &&
			at(e.Time, m[3])
	})
}
