package claims

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// entered checks that two critical sections overlap. m[1:5] contains the later section's client, attempt, lock and
// start. m[5:8] contains the earlier section's client, attempt and start, and m[8] says how it ended.
func (p *proof) entered(m []string) string {
	if p.History.Header.Permits > 1 {
		return p.crowded(m)
	}
	pairs := Overlaps(p.History)
	i := slices.IndexFunc(pairs, func(pair [2]*Section) bool {
		return slices.Equal(p.read.Events, []int{pair[0].Grants[0], pair[1].Grants[0]})
	})
	if i < 0 {
		return "no such sections overlap"
	}
	a, b := pairs[i][0], pairs[i][1]
	left := p.left(a)
	came, since := p.History.Events[b.Grants[0]].Time, p.History.Events[a.Grants[0]].Time
	right := isNamed(b.Process, b.Attempt, m[1], m[2]) && string(b.Lock) == m[3] && at(came, m[4]) &&
		isNamed(a.Process, a.Attempt, m[5], m[6]) && at(since, m[7]) && left == m[8]
	return mismatch(right, fmt.Sprintf("%s entered %s at %v, %s since %v, %s", b.Attempt, b.Lock, came, a.Attempt,
		since, left))
}

// left returns a phrase that says how a section ended.
func (p *proof) left(s *Section) string {
	if s.End == Open {
		return "it never did"
	}
	switch e := &p.History.Events[s.End]; e.F {
	case history.Release:
		return fmt.Sprintf("it called release at %v", e.Time)
	case history.Lost:
		return fmt.Sprintf("it noticed at %v that its lock was lost", e.Time)
	default:
		return fmt.Sprintf("it crashed at %v", e.Time)
	}
}

// otherHolder matches the text about one of a semaphore's other holders. Its groups are the holder's client and
// attempt, the time at which its section began, and how the section ended.
var otherHolder = pattern(`WHO, which had been inside since TIME, had not yet left \(([^()]+)\)`)

// crowded checks that a critical section began while all permits were in use. m[1:5] contains this section's client,
// attempt, lock and start. m[5:9] contains the client, attempt and start of an earlier section, and how it ended. m[9]
// is text about the other earlier sections.
func (p *proof) crowded(m []string) string {
	holders := append([][]string{append([]string{""}, m[5:9]...)}, otherHolder.FindAllStringSubmatch(m[9], -1)...)
	if len(holders) != p.History.Header.Permits {
		return fmt.Sprintf("there are %d permits", p.History.Header.Permits)
	}
	for _, crowd := range Crowds(p.History) {
		b := crowd[len(crowd)-1]
		if !isNamed(b.Process, b.Attempt, m[1], m[2]) || string(b.Lock) != m[3] ||
			!at(p.History.Events[b.Grants[0]].Time, m[4]) {
			continue
		}
		for _, h := range holders {
			if !slices.ContainsFunc(crowd, func(a *Section) bool {
				return a != b && isNamed(a.Process, a.Attempt, h[1], h[2]) &&
					at(p.History.Events[a.Grants[0]].Time, h[3]) && p.left(a) == h[4]
			}) {
				return h[1] + " was not inside then"
			}
		}
		return ""
	}
	return "no such section began while all permits were in use"
}

// permitted checks that there is one more holder than there are permits. m[1] is the number of holders, and m[2] the
// number of permits.
func (p *proof) permitted(m []string) string {
	n := p.History.Header.Permits
	return mismatch(m[1] == strconv.Itoa(n+1) && m[2] == strconv.Itoa(n), fmt.Sprintf("there are %d permits", n))
}

// manyOverlaps checks that one lock was granted or extended so often that more than m[1] pairs of leases can overlap.
func (p *proof) manyOverlaps(m []string) string {
	granted := map[history.Lock]int{}
	for i := range p.History.Events {
		if e := &p.History.Events[i]; (e.F == history.Acquire || e.F == history.Extend) && e.Type == history.OK {
			granted[e.Lock]++
		}
	}
	n := 0
	for _, grants := range granted {
		n = max(n, grants*(grants-1)/2)
	}
	limit, err := strconv.Atoi(m[1])
	return mismatch(err == nil && n > limit, fmt.Sprintf("at most %d pairs of leases can overlap", n))
}

// permits checks that the lock has m[1] permits.
func (p *proof) permits(m []string) string {
	n := p.History.Header.Permits
	return mismatch(m[1] == strconv.Itoa(n), fmt.Sprintf("there are %d permits", n))
}

// sideBySide checks that a key was set while another key existed. m[1:5] contains the client, attempt, server and time
// for the key that was set first. m[5:8] contains the client, attempt and time for the other key.
func (p *proof) sideBySide(m []string) string {
	return p.shown("key that was set beside the other", func(i int, e *history.Event) bool {
		if e.F != history.KeySet || !p.shareKeys(string(e.Process), m[3]) || !isOf(e.Of, m[1], m[2]) ||
			!at(e.Time, m[4]) {
			return false
		}
		for _, x := range p.History.Events[i+1:] {
			switch {
			case x.F == history.KeyGone && x.Of == e.Of && x.Process == e.Process:
				return false
			case x.F == history.KeySet && x.Process == e.Process && isOf(x.Of, m[5], m[6]) && at(x.Time, m[7]):
				return true
			}
		}
		return false
	})
}

// twoLeases checks that two leases overlap. m[1] and m[2] are the later lease's client and attempt. m[3] says whether
// this lease was granted or extended, m[4] is the lock, and m[5] is the time. m[6:10] contains the earlier lease's
// client, attempt, start and end.
func (p *proof) twoLeases(m []string) string {
	all := func(name, attempt string) (list []lease) {
		for _, s := range p.sections {
			if string(s.Lock) == m[4] && isNamed(s.Process, s.Attempt, name, attempt) {
				list = append(list, p.leases(s)...)
			}
		}
		return list
	}
	how := map[history.F]string{history.Acquire: "was granted the lock", history.Extend: "had its lease of"}
	for _, x := range all(m[1], m[2]) {
		for _, y := range all(m[6], m[7]) {
			from, to := p.whole(y)
			if x.of != y.of && at(x.from, m[5]) && at(from, m[8]) && at(to, m[9]) && y.from <= x.from &&
				x.from <= y.to && how[p.History.Events[x.at].F] == m[3] {
				return ""
			}
		}
	}
	return "no such leases overlap"
}

// noServerInCommon checks that no server was counted for both of two grants. m[1] and m[2] are one grant's servers and
// client; m[3] and m[4] are the other's.
func (p *proof) noServerInCommon(m []string) string {
	servers := pattern(`NAMED`)
	for _, name := range servers.FindAllString(m[1], -1) {
		if slices.Contains(servers.FindAllString(m[3], -1), name) {
			return "they have " + name + " in common"
		}
	}
	counted := func(name, list string) string {
		return p.shown("grant", func(_ int, e *history.Event) bool {
			if e.Grant == nil || !isNamed(e.Process, "", name, "") {
				return false
			}
			var all []string
			for _, s := range e.Grant.Counted {
				all = append(all, string(s))
			}
			return slices.Equal(all, servers.FindAllString(list, -1))
		})
	}
	return cmp.Or(counted(m[2], m[1]), counted(m[4], m[3]))
}

// oneKey checks that a server had the same key throughout, while a client was granted its lock twice. m[1:5] contains
// the server, and the client, attempt and time that set the key. m[5:8] contains the client and the times of the two
// grants.
func (p *proof) oneKey(m []string) string {
	set := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && string(e.Process) == m[1] && isOf(e.Of, m[2], m[3]) && at(e.Time, m[4])
	})
	if set == Open {
		return "no key was set then"
	}
	granted := func(when string) int {
		return p.event(func(_ int, e *history.Event) bool {
			return e.F == history.Acquire && e.Type == history.OK && string(e.Process) == m[5] && at(e.Time, when)
		})
	}
	first, second := granted(m[6]), granted(m[7])
	gone := p.event(func(i int, e *history.Event) bool {
		return i > set && e.Process == p.History.Events[set].Process &&
			(e.F == history.KeyGone || e.F == history.KeySet)
	})
	switch {
	case first == Open || second == Open:
		return "no lock was granted then"
	case gone != Open && gone < second:
		return fmt.Sprintf("its key was gone or set anew at %v", p.History.Events[gone].Time)
	}
	return ""
}

// leaseEnded checks when a lease ended. A lease that ends the instant it is granted does not count. m[1:4] contains the
// client, the attempt and the time.
func (p *proof) leaseEnded(m []string) string {
	truth := "none of its leases ended then"
	for _, s := range p.sections {
		if !isNamed(s.Process, s.Attempt, m[1], m[2]) {
			continue
		}
		for _, l := range p.leases(s) {
			switch {
			case at(l.to, m[3]) && s.Release >= 0 && at(p.History.Events[s.Release].Time, m[3]) &&
				p.History.Events[s.Release].Time < p.History.Events[l.at].Grant.Until:
				truth = "that is when it called release"
			case at(l.to, m[3]) && l.from < l.to:
				return ""
			case at(l.to, m[3]):
				truth = "that is when it was granted"
			}
		}
	}
	return truth
}

// writersLease checks that the writer's lease ended at time m[1].
func (p *proof) writersLease(m []string) string {
	return p.leaseEnded([]string{"", string(p.Holders[0]), "", m[1]})
}

// writerReleased checks that the writer called release at time m[1].
func (p *proof) writerReleased(m []string) string {
	return p.releaseCalled([]string{"", string(p.Holders[0]), "", m[1]})
}

// workedOn checks that the writer called release at time m[1] and its write at time m[3]. m[2] says which came first.
// When the writer called release, the write must not have been answered yet.
func (p *proof) workedOn(m []string) string {
	wrote := &p.History.Events[p.At]
	for _, s := range p.sections {
		if s.Attempt != wrote.Of || s.Release < 0 || !at(p.History.Events[s.Release].Time, m[1]) {
			continue
		}
		for i := range p.History.Events {
			e := &p.History.Events[i]
			if e.F != history.Write || e.Attempt != s.Attempt || e.Value != wrote.Value {
				continue
			}
			if e.Type != history.Invoke {
				return mismatch(i > s.Release, "the write was answered before the release")
			}
			if !at(e.Time, m[3]) || (i > s.Release) != strings.HasPrefix(m[2], " and") {
				return "the write was not called then"
			}
			if i > s.Release {
				return ""
			}
		}
		return ""
	}
	return "it called no release then"
}

// releaseCalled checks when release was called, and that the lease would have lasted longer. m[1:4] contains the
// client, the attempt and the time.
func (p *proof) releaseCalled(m []string) string {
	for _, s := range p.sections {
		if s.Release < 0 || !isNamed(s.Process, s.Attempt, m[1], m[2]) || !at(p.History.Events[s.Release].Time, m[3]) {
			continue
		}
		last := p.History.Events[s.Grants[len(s.Grants)-1]].Grant
		return mismatch(last.Until > p.History.Events[s.Release].Time, "its lease had ended before")
	}
	return "it called no release then"
}

// ends maps each phrase about a key's removal to the possible reasons in the history. losses maps each reason why a
// server lost a key to a phrase.
var (
	ends = map[string][]history.Why{
		"expired": {history.Expired}, "had expired": {history.Expired}, "was deleted": {history.Deleted},
		"was flushed": {history.Flushed}, "was gone": {history.Expired, history.Deleted, history.Flushed},
		"was lost":               {history.LostUnsynced, history.LostUnpersisted, history.LostDisk},
		"was lost in a failover": {history.LostInFailover},
		"was evicted":            {history.Evicted}, "was deleted by an operator": {history.DeletedByOperator},
		"was flushed by an operator": {history.FlushedByOperator},
	}
	losses = map[history.Why]string{history.LostUnsynced: "it had not reached the disk",
		history.LostUnpersisted: "it keeps nothing on disk", history.LostDisk: "its disk was lost"}
)

// keyWent checks how and when a key was removed. m[2] and m[3] are the key's client and attempt, and m[4] is the
// server. m[5] and m[6] say how and when the key was removed. If the server lost the key, m[7] says how the server had
// been stopped, and m[8] why it lost the key. If a request removed the key, either m[9] says that it was the owner's,
// or m[10] and m[11] are the request's client and attempt.
func (p *proof) keyWent(m []string) string {
	gone := p.event(func(i int, e *history.Event) bool {
		there := string(e.Process) == m[4] || m[5] == "was lost in a failover" && p.shareKeys(string(e.Process), m[4])
		if !there || !at(e.Time, m[6]) {
			return false
		}
		if m[5] == "was overwritten" {
			return e.F == history.KeySet
		}
		return e.F == history.KeyGone && slices.Contains(ends[m[5]], e.Why) &&
			(isOf(e.Of, m[2], m[3]) || p.reliedOn(i, m[2], m[3]))
	})
	if gone == Open {
		return "no key of its went so there at that time"
	}
	e := &p.History.Events[gone]
	switch {
	case m[7] != "" && m[7] != p.wentDown(gone):
		return "the server " + p.wentDown(gone)
	case m[8] != "" && m[8] != losses[e.Why],
		m[8] == losses[history.LostUnpersisted] && p.Scenario.Servers.Persistent():
		return losses[e.Why]
	case m[9] == "its own holder" && e.By != e.Of, m[10] != "" && (e.By == e.Of || !isOf(e.By, m[10], m[11])):
		return fmt.Sprintf("that was %s", e.By)
	}
	return ""
}

// shareKeys reports whether two servers are the same server, a master and its replicas (one of which may have been
// promoted), or members of one service.
func (p *proof) shareKeys(a, b string) bool {
	h := &p.History.Header
	return a == b || h.Service.Kind().OneLog ||
		slices.ContainsFunc(h.Groups, func(g []history.Process) bool {
			return slices.Contains(g, history.Process(a)) && slices.Contains(g, history.Process(b))
		})
}

// wentDown returns a phrase that says how the server in the event with the given index last went down before that
// event.
func (p *proof) wentDown(at int) string {
	how, server := "never did", p.History.Events[at].Process
	for i := range p.History.Events[:at] {
		e := &p.History.Events[i]
		if e.Type != history.Invoke || e.Fault == nil || !slices.Contains(e.Fault.On, server) {
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

// reliedOn reports whether a client, or one of its attempts, extended the key that event i removed, as all holders do
// that share one key.
func (p *proof) reliedOn(i int, client, attempt string) bool {
	gone := &p.History.Events[i]
	return slices.ContainsFunc(p.History.Events[:i], func(e history.Event) bool {
		return e.F == history.KeyProlonged && e.Process == gone.Process && e.Lock == gone.Lock &&
			e.Member == gone.Member && isOf(e.By, client, attempt)
	})
}

// due returns when the key that event i removed should have expired.
func (p *proof) due(i int) (due history.Time) {
	gone := &p.History.Events[i]
	for j := range p.History.Events[:i] {
		e := &p.History.Events[j]
		if (e.F == history.KeySet || e.F == history.KeyProlonged) && e.Of == gone.Of && e.Lock == gone.Lock &&
			p.shareKeys(string(e.Process), string(gone.Process)) {
			due = e.Until
		}
	}
	return due
}

func expired(e *history.Event) bool { return e.F == history.KeyGone && e.Why == history.Expired }

// takenForOver checks that a client treated another attempt's key as expired. m[1] is the client. m[2:6] contains the
// key's client and attempt, the server, and the time.
func (p *proof) takenForOver(m []string) string {
	return p.shown("key that another considered expired", func(i int, e *history.Event) bool {
		return expired(e) && p.shareKeys(string(e.Process), m[4]) && isOf(e.Of, m[2], m[3]) && at(e.Time, m[5]) &&
			isOf(p.setNext(i), m[1], "")
	})
}

// setNext looks for the first event after event i that does not remove a key, and returns the key's owner in that
// event.
func (p *proof) setNext(i int) history.Attempt {
	for _, e := range p.History.Events[i+1:] {
		if e.F != history.KeyGone {
			return e.Of
		}
	}
	return ""
}

// expiredEarly checks that a key expired too early. m[1] is how long before its deadline it expired, and m[2] is the
// deadline.
func (p *proof) expiredEarly(m []string) string {
	return p.shown("key", func(i int, e *history.Event) bool {
		return expired(e) && at(p.due(i), m[2]) && at(p.due(i)-e.Time, m[1])
	})
}

// counted checks that client m[1] considered its lease valid until time m[2].
func (p *proof) counted(m []string) string {
	return p.shown("lease", func(_ int, e *history.Event) bool {
		return e.Grant != nil && isNamed(e.Process, "", m[1], "") && at(e.Grant.Until, m[2])
	})
}

// stated checks the start and end of a lease, as stated to the client. m[1:4] contains the client and these two times.
// If m[3] is empty, the lease had ended when it was granted.
func (p *proof) stated(m []string) string {
	return p.shown("lease", func(_ int, e *history.Event) bool {
		return e.Grant != nil && isNamed(e.Process, "", m[1], "") && at(e.Grant.Granted, m[2]) &&
			(at(e.Grant.Until, m[3]) || m[3] == "" && e.Grant.Until <= e.Grant.Granted)
	})
}

// overBefore checks that a lease had ended before it was granted: the client already knew of an earlier end, or the key
// was gone or had expired by then. m[1:4] contains the client, the time of the grant and the end of the lease.
func (p *proof) overBefore(m []string) string {
	if p.stated(m) == "" {
		return ""
	}
	return p.shown("end of the key", func(_ int, e *history.Event) bool {
		return e.F.IsKey() && isOf(e.Of, m[1], "") && (at(e.Until, m[3]) || e.F == history.KeyGone && at(e.Time, m[3]))
	})
}

// alsoExpired checks a list of servers with the times at which a key expired on them.
func (p *proof) alsoExpired(m []string) string {
	for _, place := range pattern(`on NAMED at TIME`).FindAllStringSubmatch(m[1], -1) {
		if truth := p.shown("expiry: "+place[0], func(_ int, e *history.Event) bool {
			return expired(e) && string(e.Process) == place[1] && at(e.Time, place[2])
		}); truth != "" {
			return truth
		}
	}
	return ""
}

// undone checks that a key expired at its earlier deadline, m[1], and not at m[2], to which it had been extended.
func (p *proof) undone(m []string) string {
	return p.shown("key", func(_ int, e *history.Event) bool {
		return expired(e) && at(e.Time, m[1]) && p.shown("", func(_ int, o *history.Event) bool {
			return (o.F == history.KeySet || o.F == history.KeyProlonged) && o.Of == e.Of && at(o.Until, m[2])
		}) == ""
	})
}

// keySet checks that a server set one of a process's keys at the given time. If server is empty, any server may have
// set it.
func (p *proof) keySet(server, whose, when string) string {
	return p.shown("key of "+whose, func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && (server == "" || string(e.Process) == server) && isOf(e.Of, whose, "") &&
			at(e.Time, when)
	})
}

// twoMasters checks that two masters set keys for two clients. m[1:4] contains one master, its client and the time;
// m[4:7] contains the same for the other.
func (p *proof) twoMasters(m []string) string {
	return cmp.Or(p.keySet(m[1], m[2], m[3]), p.keySet(m[4], m[5], m[6]), mismatch(m[1] != m[4], "they are one"))
}

// prolongedByDeposed checks that a master that had been replaced extended a key. m[1:4] contains this master, the
// client and the time. m[4] and m[5] are the next key's client and the time at which it was set, and m[6] is when the
// first key expired.
func (p *proof) prolongedByDeposed(m []string) string {
	return cmp.Or(p.keySet("", m[4], m[5]),
		p.shown("prolongation", func(_ int, e *history.Event) bool {
			return e.F == history.KeyProlonged && string(e.Process) == m[1] && isOf(e.Of, m[2], "") && at(e.Time, m[3])
		}),
		p.shown("expiry", func(_ int, e *history.Event) bool {
			return expired(e) && isOf(e.Of, m[2], "") && at(e.Time, m[6])
		}))
}

// prolongedInVain checks that a member extended a lease that a new leader ended anyway. m[1:4] contains the member, the
// client and the time of the extension. m[4:7] contains the new leader, the time at which it took over, and the end of
// the lease.
func (p *proof) prolongedInVain(m []string) string {
	return cmp.Or(
		p.shown("prolongation", func(_ int, e *history.Event) bool {
			return e.F == history.KeyProlonged && string(e.Process) == m[1] && isOf(e.By, m[2], "") && at(e.Time, m[3])
		}),
		p.shown("new leader", func(_ int, e *history.Event) bool {
			return e.F == history.KeyProlonged && string(e.Process) == m[4] && e.By == "" && at(e.Time, m[5])
		}),
		p.shown("end", func(_ int, e *history.Event) bool {
			return expired(e) && string(e.Process) == m[4] && isOf(e.Of, m[2], "") && at(e.Time, m[6])
		}))
}

// spells checks that each fault lasted for the stated time. m[1] is a list of times, and the last element of m lists
// the faults.
func (p *proof) spells(m []string) string {
	said := pattern(`from TIME to (?:TIME|(the end))|at TIME`).FindAllStringSubmatch(m[1], -1)
	struck := faultPlace.FindAllStringSubmatch(m[len(m)-1], -1)
	if len(said) != len(struck) {
		return fmt.Sprintf("%d times for %d faults", len(said), len(struck))
	}
	for i, s := range said {
		from, to := p.spell(struck[i][1])
		if !at(from, cmp.Or(s[1], s[4])) || s[2] != "" && !at(to, s[2]) || s[3] != "" && to != history.Never {
			return fmt.Sprintf("%s was on from %v to %v", struck[i][0], from, to)
		}
	}
	return ""
}

// spell returns the times at which a fault started and ended. place is the index of the event at which the fault
// struck. The end is Never if it was not recorded.
func (p *proof) spell(place string) (from, to history.Time) {
	i := p.event(func(i int, _ *history.Event) bool { return fmt.Sprint(i) == place })
	struck := &p.History.Events[i]
	over := p.event(func(j int, e *history.Event) bool {
		return j >= i && e.Process == history.Nemesis && e.Type == history.OK && e.Value == struck.Value
	})
	if over == Open {
		return struck.Time, history.Never
	}
	return struck.Time, p.History.Events[over].Time
}

// heldUp checks that a client's operation took effect some time after it was called. m[1:5] contains the operation, the
// client, the time of the call and the time of the effect.
func (p *proof) heldUp(m []string) string {
	call := p.event(func(_ int, e *history.Event) bool {
		called := string(e.F) == m[1] || e.F == history.Extend && m[1] == "extension"
		return called && e.Type == history.Invoke && isNamed(e.Process, "", m[2], "") && at(e.Time, m[3])
	})
	if call == Open {
		return "it called nothing such then"
	}
	value := p.History.Events[call].Value
	return p.shown("effect", func(i int, e *history.Event) bool {
		by := map[history.F]history.Attempt{history.Apply: e.Of, history.KeyGone: e.By, history.KeyProlonged: e.By}[e.F]
		return i > call && at(e.Time, m[4]) && isOf(by, m[2], "") &&
			(e.F != history.Apply || string(e.Op) == m[1] && e.Value == value)
	})
}

// waited checks how long a client waited for another lock. m[1:5] contains the client, the lock, and the times at which
// the wait began and ended (empty if it did not end).
func (p *proof) waited(m []string) string {
	call := p.acquire(history.Invoke, m[1], "", m[2], m[3])
	if call == Open {
		return "it asked for no such lock then"
	}
	back, until := p.returned(call), ""
	if back != Open {
		until = p.History.Events[back].Time.String()
	}
	return mismatch(until == m[4], strings.TrimSpace("it waited until "+until))
}
