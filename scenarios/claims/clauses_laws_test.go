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

func token(e *history.Event) string { return strconv.FormatInt(int64(e.Token), 10) }

// tokens checks the fencing tokens of two grants. m[1:6] contains the client, attempt, lock, time and token of the
// first grant. m[6:10] contains the client and attempt of the second grant, its token if that differs, and its time.
func (p *proof) tokens(m []string) string {
	got := func(name, attempt, when, number string) string {
		i := p.acquire(history.OK, name, attempt, m[3], when)
		return mismatch(i != Open && token(&p.History.Events[i]) == number, "no such grant")
	}
	return cmp.Or(got(m[1], m[2], m[4], m[5]), got(m[6], m[7], m[9], cmp.Or(m[8], m[5])))
}

// trespass checks that a request of one attempt removed, overwrote or extended another attempt's key. m[1] is the
// server. m[2:4] contains the client and the attempt that sent the request. m[4:7] contains what the request did, the
// lock and the time. m[7:9] contains the client and the attempt that own the key.
func (p *proof) trespass(m []string) string {
	did := map[string]history.F{"deleted": history.KeyGone, "flushed": history.KeyGone, "overwrote": history.KeySet,
		"extended": history.KeyProlonged}[m[4]]
	return p.shown("request", func(i int, e *history.Event) bool {
		owned := isOf(e.Of, m[7], m[8]) || e.F == history.KeySet && p.shown("", func(j int, o *history.Event) bool {
			return o.F == history.KeySet && o.Lock == e.Lock && string(o.Of) == m[8] && j < i
		}) == ""
		return e.F == did && string(e.Process) == m[1] && string(e.Lock) == m[5] && at(e.Time, m[6]) &&
			isOf(e.By, m[2], m[3]) && owned
	})
}

// effect checks that the resource accepted an operation of an attempt at the given time. op is the kind of operation.
func (p *proof) effect(op, name, attempt, when string) string {
	return p.shown(op, func(_ int, e *history.Event) bool {
		return e.F == history.Apply && e.Type == history.OK && string(e.Op) == op && isOf(e.Of, name, attempt) &&
			at(e.Time, when)
	})
}

// stale checks that a write was accepted after an operation of a later grant. m[1:4] contains the client, attempt and
// time of the write. m[4:8] contains the kind of the other operation and its client, attempt and time. m[8] is the
// lock. m[9:11] contains the client and attempt of the later grant. If the times show the order of the grants, m[11] is
// the time at which the later one was requested, and m[12:15] contains the client, attempt and time of the other grant.
// If the tokens show it, m[15] is the token of the later grant, and m[16:19] contains the other client, attempt and
// token.
func (p *proof) stale(m []string) string {
	grant := func(name, attempt string, matches func(e *history.Event) bool) string {
		return p.shown("grant", func(_ int, e *history.Event) bool {
			return e.F == history.Acquire && e.Type == history.OK && isNamed(e.Process, e.Attempt, name, attempt) &&
				string(e.Lock) == m[8] && matches(e)
		})
	}
	order := cmp.Or(grant(m[5], m[6], func(e *history.Event) bool { return at(e.Grant.Since, m[11]) }),
		grant(m[1], m[2], func(e *history.Event) bool { return at(e.Grant.Granted, m[14]) }))
	if m[11] == "" {
		order = cmp.Or(grant(m[5], m[6], func(e *history.Event) bool { return token(e) == m[15] }),
			grant(m[1], m[2], func(e *history.Event) bool { return token(e) == m[18] }))
	}
	same := mismatch(m[9] == m[5] && cmp.Or(m[12], m[16]) == m[1], "these are other clients")
	return cmp.Or(p.effect("write", m[1], m[2], m[3]), p.effect(m[4], m[5], m[6], m[7]), same, order)
}

// builtOn checks which value a write was based on. m[1] is the written value, and m[2:5] contains the client, attempt
// and time of the write. m[5] is the value that the write was based on. m[6:8] contains the kind and the time of the
// operation from which the client knew that value.
func (p *proof) builtOn(m []string) string {
	return cmp.Or(p.effect("write", m[2], m[3], m[4]),
		p.shown("read or write of its own", func(_ int, e *history.Event) bool {
			return at(e.Time, m[7]) && (string(e.F) == m[6] && isNamed(e.Process, "", m[2], "") ||
				string(e.Op) == m[6] && isOf(e.Of, m[2], ""))
		}))
}

// overwritten checks that a value had been overwritten. m[1:5] contains the client and attempt of the write, the new
// value, and the time of the write.
func (p *proof) overwritten(m []string) string { return p.effect("write", m[1], m[2], m[4]) }

// stuck checks for how long no client acquired a lock. m[1:4] contains the waiting client, the lock, and the time of
// the request. m[4] is the time since which nobody has acquired the lock. m[5] is how long nobody acquired it, m[6]
// is text about faults, and m[7] is the limit.
func (p *proof) stuck(m []string) string {
	h := &p.History.Header
	limit := h.TTL + h.Hold + h.Slack
	since := p.read.Broken - limit
	over := h.End // the end of the run, or the time of an event that the explanation names
	for i := range p.History.Events {
		if end := p.History.Events[i].Time; at(end-since, m[5]) {
			over = end
		}
	}
	acquired := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && string(e.Lock) == m[2] && since < e.Time &&
			e.Time < over
	})
	switch {
	case p.acquire(history.Invoke, m[1], "", m[2], m[3]) == Open:
		return "it did not ask for it then"
	case !at(since, m[4]):
		return fmt.Sprintf("the lock stood still from %v on", since)
	case !at(limit, m[7]):
		return fmt.Sprintf("%v is allowed", limit)
	case !at(over-since, m[5]):
		return "nothing happened when that was over"
	case over-since <= limit:
		return "that is not too long"
	case acquired != Open:
		return "somebody acquired it meanwhile"
	}
	return p.calm(m[6], since, over)
}

// calm checks that the explanation mentions faults between two times if and only if there were any.
func (p *proof) calm(said string, since, over history.Time) string {
	if p.Cause.Kind == checker.NoQuorumLeft {
		return mismatch(said == "", "it says nothing of faults")
	}
	since += 1000 // the explanation states the time in whole microseconds
	for i := range p.History.Events {
		e := &p.History.Events[i]
		if e.Process != history.Nemesis || e.Type != history.Invoke || e.Time >= over {
			continue
		}
		from, to := p.spell(strconv.Itoa(i))
		lasting := map[history.Effect]string{history.Parts: "a cut", history.PacesClock: "a drift",
			history.Kills: "a server", history.ShutsDown: "a server"}[e.F.Does()]
		ofServer := !e.F.IsDown() || slices.ContainsFunc(e.Fault.On,
			func(s history.Process) bool { return p.isServer(s) })
		switch {
		case strings.Contains(said, "a fault of the protected resource, which nobody used") && onlyOfResource(e.Fault):
		case from < over && since < to && to < history.Never:
			return "meanwhile: " + e.Value
		case to == history.Never && !e.Fault.Ends && lasting != "" && ofServer && !strings.Contains(said, lasting):
			return "all the time: " + e.Value
		}
	}
	return ""
}

// onlyOfResource reports whether a fault strikes only the resource or its links.
func onlyOfResource(f *history.Fault) bool {
	only := func(side []history.Process) bool { return len(side) == 1 && side[0] == history.Resource }
	return only(f.On) || only(f.To)
}

func (p *proof) isServer(s history.Process) bool {
	h := &p.History.Header
	return slices.Contains(h.Servers, s) ||
		slices.ContainsFunc(h.Groups, func(g []history.Process) bool { return slices.Contains(g, s) })
}

// quorum checks the quorum size, m[1].
func (p *proof) quorum(m []string) string {
	n := strconv.Itoa(p.History.Header.Quorum)
	return mismatch(n == m[1], n)
}

// askedAgain checks that a client requested a lock that it already held. m[1:4] contains the client, the lock and the
// time of the request.
func (p *proof) askedAgain(m []string) string {
	call := p.acquire(history.Invoke, m[1], "", m[2], m[3])
	return mismatch(slices.ContainsFunc(p.sections, func(s *Section) bool {
		return isNamed(s.Process, "", m[1], "") && string(s.Lock) == m[2] && s.Grants[0] < call &&
			(s.End == Open || s.End > call)
	}), "it did not hold it then")
}

// circle checks that clients are waiting for each other in a cycle. m[1] lists which client is waiting for which lock.
func (p *proof) circle(m []string) string {
	waits := pattern(`NAMED waits for LOCK`).FindAllStringSubmatch(m[1], -1)
	if len(waits) < 2 {
		return "one alone is no circle"
	}
	for i, w := range waits {
		next := waits[(i+1)%len(waits)][1]
		holds := slices.ContainsFunc(p.sections, func(s *Section) bool {
			return isNamed(s.Process, "", next, "") && string(s.Lock) == w[2] &&
				p.History.Events[s.Grants[0]].Time < p.read.Broken &&
				(s.End == Open || p.History.Events[s.End].Time >= p.read.Broken)
		})
		if !holds {
			return fmt.Sprintf("%s does not hold %s", next, w[2])
		}
	}
	return ""
}

// uncapped checks since when a client has held the lock, and the hold time that the history declares. m[1:4] contains
// the client and these two times.
func (p *proof) uncapped(m []string) string {
	hold := p.History.Header.Hold
	return cmp.Or(mismatch(at(hold, m[3]), fmt.Sprintf("the declared hold is %v", hold)),
		mismatch(p.acquire(history.OK, m[1], "", "", m[2]) != Open, "it did not get the lock then"))
}

// diedHolding checks that a client crashed while it held the lock. m[1:4] contains the client, the time of the grant
// and the time of the crash.
func (p *proof) diedHolding(m []string) string {
	return mismatch(p.acquire(history.OK, m[1], "", "", m[2]) != Open && p.crashed(m[1], m[3]),
		"it did not hold the lock when it crashed")
}

// leftKey checks that a key of a crashed client still existed when the law was violated, and when it was due to expire.
// m[1:4] contains the client, the time of the crash and the fault lines. m[4:8] contains the key's server, the time at
// which the key was set, the time of the violation, and the key's deadline (empty if there is none).
func (p *proof) leftKey(m []string) string {
	due := cmp.Or(m[7], "never")
	return cmp.Or(mismatch(p.crashed(m[1], m[2]), "it did not crash then"), p.isBroken(m[6]),
		p.shown("key", func(i int, e *history.Event) bool {
			last := e.Until
			for _, o := range p.History.Events[i+1:] {
				same := o.Of == e.Of && o.Lock == e.Lock && o.Member == e.Member && o.Process == e.Process
				switch {
				case !same || o.Time > p.read.Broken:
				case o.F == history.KeyProlonged:
					last = o.Until
				case o.F == history.KeyGone:
					return false
				}
			}
			return e.F == history.KeySet && string(e.Process) == m[4] && at(e.Time, m[5]) && isOf(e.Of, m[1], "") &&
				at(last, due)
		}))
}

// takenInVain checks that a request of client m[1] removed a key of lock m[2] at time m[3], for an attempt that never
// got the lock.
func (p *proof) takenInVain(m []string) string {
	return p.shown("request", func(_ int, e *history.Event) bool {
		return e.F == history.KeyGone && string(e.Lock) == m[2] && at(e.Time, m[3]) && isOf(e.By, m[1], "") &&
			strings.EqualFold(m[4], m[1]) && p.event(func(_ int, o *history.Event) bool {
			return o.F == history.Acquire && o.Type == history.OK && o.Attempt == e.By && o.Lock == e.Lock
		}) == Open
	})
}

// diedLast checks that the last holder, m[1], crashed at time m[2].
func (p *proof) diedLast(m []string) string {
	return mismatch(p.crashed(m[1], m[2]), "it did not crash then")
}

// isBroken checks that the law was violated at time m.
func (p *proof) isBroken(m string) string {
	return mismatch(at(p.read.Broken, m), p.read.Broken.String())
}

// keyStays checks a key that a server set at the time when for an attempt or a process. The key must have existed when
// the law was violated, which must be the time then. The key must remain for the reason why.
func (p *proof) keyStays(owner, attempt, server, when, then, why string) string {
	set := p.event(func(_ int, e *history.Event) bool {
		return e.F == history.KeySet && isOf(e.Of, owner, attempt) && string(e.Process) == server && at(e.Time, when)
	})
	if set == Open {
		return "the history shows no such key"
	}
	if wrong := p.isBroken(then); wrong != "" {
		return wrong
	}
	k := &p.History.Events[set]
	due, prolonged := k.Until, history.Time(0)
	for i := set + 1; i < len(p.History.Events) && p.History.Events[i].Time <= p.read.Broken; i++ {
		switch e := &p.History.Events[i]; {
		case e.Lock != k.Lock || e.Member != k.Member || e.Of != k.Of || !p.shareKeys(string(e.Process), server):
		case e.F == history.KeyGone:
			return "it was gone by then"
		case e.F == history.KeyProlonged:
			due, prolonged = e.Until, e.Time
		}
	}
	session := p.History.Header.Service == history.Etcd || p.History.Header.Service == history.ZooKeeper
	truth := "was due to expire at " + due.String()
	switch {
	case session && why != "never expires":
		truth = "stays as long as the session does"
	case due == history.Never:
		truth = "never expires"
	case prolonged > 0:
		truth += ", after an extension at " + prolonged.String()
	}
	return mismatch(why == truth, truth)
}

// ownKey checks that one of client m[1]'s keys was set at time m[2] on server m[3], and that the key still existed when
// the law was violated.
func (p *proof) ownKey(m []string) string {
	return p.shown("key", func(i int, e *history.Event) bool {
		if e.F != history.KeySet || !isOf(e.Of, m[1], "") || !at(e.Time, m[2]) || string(e.Process) != m[3] {
			return false
		}
		return !slices.ContainsFunc(p.History.Events[i+1:], func(o history.Event) bool {
			return o.F == history.KeyGone && o.Of == e.Of && o.Member == e.Member && o.Time <= p.read.Broken
		})
	})
}

// leftBehind checks that a client gave up or left its section without removing its key. m[1:5] contains the client,
// what it did, the attempt and the time. m[5:10] contains the key's server, the time at which the key was set, the
// fault lines, the time of the violation, and the reason why the key stays.
func (p *proof) leftBehind(m []string) string {
	done := p.event(func(_ int, e *history.Event) bool {
		if !isNamed(e.Process, "", m[1], "") || !at(e.Time, m[4]) {
			return false
		}
		switch m[2] {
		case "gave up":
			return e.F == history.Acquire && e.Type != history.Invoke && e.Type != history.OK
		case "got the lock in a later":
			return e.F == history.Acquire && e.Type == history.OK && string(e.Attempt) != m[3]
		}
		return string(e.Attempt) == m[3] &&
			(e.F == history.Release && e.Type == history.Invoke || e.F == history.Lost)
	})
	return cmp.Or(p.keyStays(m[1], m[3], m[5], m[6], m[8], m[9]), mismatch(done != Open, "it did nothing then"))
}

// leftByItself checks that a client is waiting for the key of its own earlier attempt. m[1:4] contains the client, the
// key's server and the time at which the key was set. m[5] is the time of the violation, m[6] is the reason why the key
// stays, and m[9] is the waiting client.
func (p *proof) leftByItself(m []string) string {
	return cmp.Or(p.keyStays(m[1], "", m[2], m[3], m[5], m[6]), mismatch(p.waitsThen(m[9]), "it does not wait"))
}

// waitsThen reports whether a process was waiting for a lock when the law was violated.
func (p *proof) waitsThen(name string) bool {
	return p.event(func(i int, e *history.Event) bool {
		if e.F != history.Acquire || e.Type != history.Invoke || !isNamed(e.Process, "", name, "") ||
			e.Time > p.read.Broken {
			return false
		}
		back := p.returned(i)
		return back == Open || p.History.Events[back].Time >= p.read.Broken
	}) != Open
}

// missedTurn checks that a client has a key that stays as long as its session does, that another key was removed when
// this key became the first in the queue, and that the client is still waiting. m[1:4] contains the client, the key's
// server and the time at which the key was set. m[4] is the time at which the key became the first, m[5] is the time
// of the violation, and m[6] is the client again.
func (p *proof) missedTurn(m []string) string {
	begun := ""
	if m[3] != m[4] {
		begun = p.shown("end of another's key", func(_ int, e *history.Event) bool {
			return e.F == history.KeyGone && at(e.Time, m[4]) && e.Lock == p.Lock
		})
	}
	return cmp.Or(p.keyStays(m[1], "", m[2], m[3], m[5], "stays as long as the session does"), begun,
		mismatch(p.waitsThen(m[6]), "it does not wait"))
}

// slow checks that an operation took too long although nothing prevented it. m[1:5] contains the operation, the lock,
// the client and the time of the call. m[5] is the duration (empty if the operation did not return), m[6] is the
// maximum time allowed, and m[7] says which servers were reachable.
func (p *proof) slow(m []string) string {
	bound, call := p.History.Header.Bound, p.read.Events[0]
	e := &p.History.Events[call]
	took := ""
	if back := p.returned(call); back != Open {
		took = (p.History.Events[back].Time - e.Time).String()
	}
	switch {
	case string(e.F) != m[1] || string(e.Lock) != m[2] || !isNamed(e.Process, "", m[3], "") || !at(e.Time, m[4]):
		return fmt.Sprintf("it is the %s of %s at %v", e.F, e.Process, e.Time)
	case took != m[5]:
		return cmp.Or(took, "it never returned")
	case m[7] != p.reachable():
		return p.reachable() + " there"
	case !at(bound, m[6]):
		return fmt.Sprintf("the bound is %v", bound)
	}
	return ""
}

// refusedKey checks the last record of a key whose release was refused. m[1:4] contains the server, a phrase about the
// record, and the time of the record.
func (p *proof) refusedKey(m []string) string {
	call := p.read.Events[0]
	release, last := &p.History.Events[call], ""
	for i := range p.returned(call) {
		e := &p.History.Events[i]
		if string(e.Process) != m[1] || e.Lock != release.Lock || e.Of != release.Attempt {
			continue
		}
		switch how := e.Time.String(); e.F {
		case history.KeyGone:
			last = "had been gone since " + how
		case history.KeyProlonged:
			last = "was still there, last extended at " + how
		case history.KeySet:
			last = "was still there, last set at " + how
		}
	}
	return mismatch(m[2]+" "+m[3] == last, cmp.Or(last, "it never had one there"))
}

// keptKey checks that a release did not change its keys. m[1:5] contains the client, the lock, the time of the release
// and the end of the lease. If the release had not returned, m[5] says for how long; otherwise m[6] says after what
// time it returned. m[7:9] contains what is known about the keys, and at which time.
func (p *proof) keptKey(m []string) string {
	call := p.read.Events[0]
	e := &p.History.Events[call]
	back, over := p.returned(call), e.Time+p.History.Header.Bound
	if m[7] == "expired at" {
		over = p.read.Broken
	}
	until := p.event(func(i int, g *history.Event) bool {
		return i < call && g.Grant != nil && g.Process == e.Process && at(g.Grant.Until, m[4])
	})
	switch {
	case e.F != history.Release || !isNamed(e.Process, "", m[1], "") || string(e.Lock) != m[2] || !at(e.Time, m[3]):
		return fmt.Sprintf("it is the %s of %s at %v", e.F, e.Process, e.Time)
	case until == Open:
		return "no lease was stated that lasts until then"
	case m[5] == "" && back == Open, m[6] != "" && !at(p.History.Events[back].Time-e.Time, m[6]):
		return "it did not return then"
	case !at(over, m[8]):
		return fmt.Sprintf("it is known at %v", over)
	}
	return ""
}

// reachable returns the part of an explanation that says which servers were up and reachable: a quorum of a service's
// members or of single servers, a quorum of masters with all their replicas, or all servers.
func (p *proof) reachable() string {
	h := &p.History.Header
	var names []string
	for _, s := range h.Servers {
		names = append(names, string(s))
	}
	switch {
	case h.Service.Kind().OneLog || len(h.Groups) == 0 && len(names) > 1:
		return fmt.Sprintf("at least %d of %d servers were up and reachable all the time", h.Quorum, len(names))
	case len(h.Groups) > 1:
		return fmt.Sprintf("at least %d of %d masters and all their replicas were up and reachable all the time",
			h.Quorum, len(h.Groups))
	case len(names) == 1:
		return names[0] + " was up and reachable all the time"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] +
		" were up and reachable all the time"
}

// judged checks m[1], the number of cases in which a law that holds was judged.
func (p *proof) judged(m []string) string {
	n := strconv.Itoa(p.seen)
	return mismatch(p.Outcome != checker.Holds || n == m[1], n)
}

// bound checks m[1], the time within which an operation should succeed.
func (p *proof) bound(m []string) string {
	bound := p.History.Header.Bound
	return mismatch(at(bound, m[1]), bound.String())
}

// stillWaits checks that client m[1] has been waiting for lock m[2] since time m[3].
func (p *proof) stillWaits(m []string) string {
	call := p.acquire(history.Invoke, m[1], "", m[2], m[3])
	return mismatch(call != Open && p.returned(call) == Open, "it does not wait")
}

// grant checks that lock m[1] was granted to client m[2] at time m[3].
func (p *proof) grant(m []string) string {
	return mismatch(p.acquire(history.OK, m[2], "", m[1], m[3]) != Open, "it was not granted then")
}

// overtaken checks that a client was granted a lock while another one that had asked earlier was still waiting. m[1:5]
// contains the client, the lock, and the times of its request and its grant. m[5] and m[6] are the other client and the
// time of its request.
func (p *proof) overtaken(m []string) string {
	asked, granted := p.acquire(history.Invoke, m[1], "", m[2], m[3]), p.acquire(history.OK, m[1], "", m[2], m[4])
	waiting := p.acquire(history.Invoke, m[5], "", m[2], m[6])
	if asked == Open || granted == Open || waiting == Open || waiting > asked {
		return "there are no such calls in this order"
	}
	end := p.returned(waiting)
	return mismatch(end == Open || granted < end, "it no longer waited")
}

// orderSlack checks the minimum time between two requests whose order the lock must preserve.
func (p *proof) orderSlack(m []string) string {
	slack := p.History.Header.Order.Slack
	return mismatch(at(slack, m[1]), slack.String())
}

// leftFree checks for how long no client was granted a lock. m[1:4] contains the waiting client, the lock and the time
// of the request. m[4] is the time at which the lock became free, m[5] is how long it was free, and m[6] is the limit.
func (p *proof) leftFree(m []string) string {
	turn := p.History.Header.Order.Turn
	free := false // whether a period of the stated length without a grant begins at the stated time
	for _, e := range append(slices.Clone(p.History.Events), history.Event{Time: p.History.Header.End}) {
		for _, o := range p.History.Events {
			free = free || at(o.Time, m[4]) && at(e.Time-o.Time, m[5]) && !p.grantedBetween(m[2], o.Time, e.Time)
		}
	}
	return cmp.Or(mismatch(p.acquire(history.Invoke, m[1], "", m[2], m[3]) != Open, "it did not ask then"),
		mismatch(at(turn, m[6]), turn.String()), mismatch(free, "the lock was not free for that time"))
}

// grantedBetween reports whether a lock was granted after one time and before another.
func (p *proof) grantedBetween(lock string, from, to history.Time) bool {
	return p.event(func(_ int, e *history.Event) bool {
		return e.F == history.Acquire && e.Type == history.OK && string(e.Lock) == lock && from < e.Time && e.Time < to
	}) != Open
}

// leftItsPlace checks that client m[1] asked for a lock at time m[2], and that it gave up or crashed at time m[4]. m[3]
// says which of the two happened.
func (p *proof) leftItsPlace(m []string) string {
	call := p.acquire(history.Invoke, m[1], "", "", m[2])
	if call == Open {
		return "it did not ask then"
	}
	if m[3] == "crashed" {
		return mismatch(p.crashed(m[1], m[4]), "it did not crash then")
	}
	end := p.returned(call)
	return mismatch(end != Open && p.History.Events[end].Type != history.OK && at(p.History.Events[end].Time, m[4]),
		"it did not give up then")
}
