package live

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
)

// report handles a report from the user's client. It calls ok to send the answer.
func (k *client) report(r *report, ok func()) error {
	if !slices.Contains(k.locks, r.lock) {
		return fmt.Errorf("%s is not one of the client's locks, which are %q (FENCEPOST_LOCK_1 and so on)", r.lock,
			k.locks)
	}
	h := k.holds[r.lock]
	if h == nil {
		h = &hold{step: released}
		k.holds[r.lock] = h
	}
	if err := h.allows(r); err != nil {
		return err
	}
	switch r.word {
	case acquiring:
		k.asks(h, r, ok)
	case acquired:
		k.enters(h, r, ok)
	case failed:
		h.step = failed
		k.record(history.Event{Type: history.Fail, F: history.Acquire, Lock: r.lock, Why: history.AcquireTimeout})
		ok()
	case extending:
		k.pass(sim.BeforeExtend, func() {
			k.extends(h, r.lock)
			ok()
		})
	case extended, unchanged:
		k.extends(h, r.lock)
		h.extending = false
		e := h.event(history.OK, history.Extend, r.lock)
		switch {
		case r.word == extended:
			k.grants(h, r, e)
		case r.unknown:
			e.Type, e.Why = history.Info, history.NoReply
			k.record(e)
		default:
			e.Type, e.Why = history.Fail, history.NotOwner
			k.record(e)
		}
		ok()
	case lost:
		h.step, h.ends = lost, nil
		k.record(h.event(history.Info, history.Lost, r.lock))
		ok()
	case releasing:
		h.step, h.ends = releasing, nil
		k.pass(sim.BeforeRelease, func() {
			k.record(h.event(history.Invoke, history.Release, r.lock))
			ok()
		})
	case released:
		k.leaves(h, r, ok)
	}
	return nil
}

// mayFollow lists, for each report, which reports it may follow.
var mayFollow = map[word][]word{
	acquiring: {released, failed, lost},
	acquired:  {acquiring},
	failed:    {acquiring},
	extending: {acquired},
	extended:  {acquired},
	unchanged: {acquired},
	lost:      {acquired},
	releasing: {acquired, lost},
	released:  {releasing},
}

// allows returns nil if the client may send the report now, and otherwise an error that says why not.
func (h *hold) allows(r *report) error {
	if !slices.Contains(mayFollow[r.word], h.step) {
		if h.attempt == "" {
			return fmt.Errorf("FENCEPOST %s %s comes before any FENCEPOST ACQUIRING %[2]s", r.word, r.lock)
		}
		again := ""
		if r.word == h.step {
			again = ". Does its library repeat a request that is not answered promptly? During a pause, " +
				"a reply takes as long as the pause: turn off timeouts and retries for FENCEPOST_RESOURCE"
		}
		return fmt.Errorf("FENCEPOST %s %s comes after %s: it may follow %s%s", r.word, r.lock, h.step,
			mayFollow[r.word][0], again)
	}
	if r.attempt != "" && r.word != acquired && r.attempt != h.word {
		return fmt.Errorf("FENCEPOST %s %s %s names a lock that it does not hold: it has acquired %[2]s as %[4]s",
			r.word, r.lock, r.attempt, h.word)
	}
	return nil
}

// mostOld is the maximum number of owner values that are kept from earlier attempts. They are needed to recognize late
// requests from those attempts.
const mostOld = 16

// asks handles an ACQUIRING report, which says that the client begins an attempt. Each client's first attempt waits
// until all clients are ready.
func (k *client) asks(h *hold, r *report, ok func()) {
	h.step = acquiring
	begin := func() {
		h.age()
		k.attempts++
		k.latest = r.lock
		h.attempt = history.Attempt(string(k.id) + "/" + strconv.Itoa(k.attempts))
		h.yes = nil
		if k.caller != nil {
			k.caller.Begin(h.attempt, k.stage.world.Now())
		}
		k.record(history.Event{Type: history.Invoke, F: history.Acquire, Lock: r.lock})
		k.pass(sim.AcquireStart, ok)
	}
	if k.first == nil {
		k.first = begin
		return
	}
	begin()
}

// age moves the current attempt's owner values to the list of owner values from earlier attempts.
func (h *hold) age() {
	for _, v := range h.values {
		h.remember(v, h.attempt)
	}
	h.values = nil
}

// remember adds an owner value from an earlier attempt. Some clients use the same value for all attempts, so remember
// first removes an older entry with this value.
func (h *hold) remember(value string, of history.Attempt) {
	h.old = append(slices.DeleteFunc(h.old, func(o owned) bool { return o.value == value }), owned{value, of})
	h.old = h.old[max(len(h.old)-mostOld, 0):]
}

// enters handles an ACQUIRED report, which says that the client begins a section.
func (k *client) enters(h *hold, r *report, ok func()) {
	h.step, h.word, h.token, h.granted, h.extending = acquired, r.attempt, r.token, h.attempt, false
	h.section++
	h.values = append(h.values, r.attempt)
	h.settle(r.attempt)
	k.grants(h, r, h.event(history.OK, history.Acquire, r.lock))
	k.pass(sim.Acquired, ok)
}

// grants records an event together with the grant that the client has received from the servers. If no grant is known,
// it records the event alone.
func (k *client) grants(h *hold, r *report, e history.Event) {
	var g sim.Grant
	var ok bool
	if k.caller != nil && k.stage.Scenario.Service().Kind().OneLog {
		g, ok = k.agreed(h, r)
	} else {
		g, ok = h.grant(k.stage.world, locks.Define(k.config.Lock.Protocol).Quorum(&k.config.Lock), r)
	}
	if ok {
		k.recordGrant(e, g)
		return
	}
	k.record(e)
	k.stage.ungranted++
}

// extends records the start of an extension, unless one is already in progress.
func (k *client) extends(h *hold, lock history.Lock) {
	if !h.extending {
		h.extending, h.asked = true, k.stage.world.Now()
		k.record(h.event(history.Invoke, history.Extend, lock))
	}
}

// leaves handles a RELEASED report, which says that the release has ended.
func (k *client) leaves(h *hold, r *report, ok func()) {
	h.step = released
	e := h.event(history.OK, history.Release, r.lock)
	switch {
	case r.refused:
		e.Type, e.Why = history.Fail, history.NotOwner
	case r.unknown:
		e.Type, e.Why = history.Info, history.NoReply
	}
	k.record(e)
	k.pass(sim.Released, func() {
		ok()
		if k.traced != nil && k.hasFinished() { // an interpreter takes longer to end than the sections have taken
			k.traced.Kill()
			k.exited(nil)
		}
	})
}

// hasFinished reports whether the client has completed all its sections, and is neither holding nor waiting for a lock.
func (k *client) hasFinished() bool {
	want, had := k.config.Work.Cycles, 0
	if k.config.Work.Take != scenarios.TakeOne {
		want *= len(k.locks)
	}
	for _, h := range k.holds {
		had += h.section
	}
	return had >= want && k.unfinished() == ""
}

func (h *hold) event(t history.Type, f history.F, lock history.Lock) history.Event {
	return history.Event{Type: t, F: f, Lock: lock, Attempt: h.granted, Token: h.token}
}

// access sends a READ or WRITE to the resource on behalf of the client.
func (s *state) access(a *access) error {
	k := s.client
	h := k.holds[a.lock]
	if h == nil || h.granted == "" {
		return fmt.Errorf("it uses the resource of lock %s but has not reported ACQUIRED", a.lock)
	}
	s.to = a
	e := a.event(history.Invoke, h)
	token := strconv.FormatInt(int64(a.token), 10)
	if !a.write {
		k.record(e)
		s.forward([]string{"READ", string(a.lock), token}, h.granted, "read")
		return nil
	}
	k.pass(sim.BeforeWrite, func() {
		k.record(e)
		s.forward([]string{"WRITE", string(a.lock), token, a.value, h.read, strconv.Itoa(h.section - 1)}, h.granted,
			"write")
	})
	return nil
}

func (a *access) event(t history.Type, h *hold) history.Event {
	e := history.Event{Type: t, F: history.Read, Lock: a.lock, Attempt: h.granted, Token: a.token}
	if a.write {
		e.F, e.Value = history.Write, a.value
	}
	return e
}

// accessed processes the resource's reply to a READ or WRITE.
func (s *state) accessed(r sim.Reply) {
	k, a := s.client, s.to
	s.to = nil
	h := k.holds[a.lock]
	e := a.event(history.OK, h)
	if a.write {
		answer := r.Raw()
		n, _ := r.Int()
		if e.Why = scenarios.WhyRefused(n); e.Why != "" {
			e.Type = history.Fail
		}
		if e.Why == history.CompareFailed {
			answer = sim.AppendInt(nil, 0) // to a program, a changed value is a refusal like that of a stale token
		}
		k.record(e)
		s.answer(answer)
		return
	}
	value, ok := r.Bulk()
	answer := r.Raw()
	if !ok {
		e.Type, e.Why = history.Fail, history.StaleToken
		answer = sim.AppendLine(nil, '-', fmt.Sprintf(
			"STALETOKEN %d is lower than a token that was seen before", a.token))
	} else {
		e.Value, h.read = value, value
	}
	k.record(e)
	k.pass(sim.AfterRead, func() { s.answer(answer) })
}

// broke handles the end of the connection to the resource. If a reply is pending, broke records that it will never
// arrive.
func (s *state) broke() {
	if s.to == nil {
		return
	}
	a := s.to
	s.to = nil
	e := a.event(history.Fail, s.client.holds[a.lock])
	e.Why = history.NoReply
	if a.write {
		e.Type = history.Info
	}
	s.client.record(e)
}
