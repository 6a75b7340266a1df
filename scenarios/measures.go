package scenarios

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Service returns the kind of lock service that the scenario's clients use.
func (s *Scenario) Service() history.Service {
	d := s.definition()
	if d == nil {
		return ""
	}
	return s.Servers.service(d)
}

// service returns the kind of lock service that a protocol's clients use. If d is nil or does not name a service, the
// result depends only on the servers.
func (s *Servers) service(d *locks.Definition) history.Service {
	switch b := s.backend(); {
	case d != nil && d.Service != "":
		return d.Service
	case s.masters() > 1:
		return cmp.Or(b.Several, b.Service)
	default:
		return b.Service
	}
}

// definition returns the definition of the protocol that all clients share, or nil if there are no clients.
func (s *Scenario) definition() *locks.Definition {
	if len(s.Clients) == 0 {
		return nil
	}
	return locks.Define(s.Clients[0].Lock.Protocol)
}

// measures returns the safety measures that are already applied by all of s's clients and servers. Remedies do not
// suggest them again.
func (s *Scenario) measures() (list []history.Measure) {
	for _, m := range s.settings() {
		if m.applied {
			list = append(list, m.measure)
		}
	}
	return list
}

// lapses returns the unsafe practices of s's clients.
func (s *Scenario) lapses() (list []history.Lapse) {
	if slices.ContainsFunc(s.Clients, func(c Client) bool {
		x := c.Lock.Extension
		return x != nil && x.Background && x.Until == locks.EndsWithFirst && c.Work.Nested
	}) {
		list = append(list, history.RenewalStops)
	}
	return list
}

// foreignMeasures returns the safety measures of clients whose lock code is unknown. The scenario determines some of
// them; a run's requests reveal others. unknown contains those that neither can determine.
func (s *Scenario) foreignMeasures(seen *requestReader, events []history.Event) (list, unknown []history.Measure) {
	for _, m := range s.settings() {
		shown := seen.shown[m.measure]
		switch {
		case s.settles(m.measure) && m.applied:
			shown = shownApplied
		case s.settles(m.measure):
			shown = shownAbsent
		case m.measure == history.Fencing:
			shown = fenced(events)
		}
		switch shown {
		case shownApplied:
			list = append(list, m.measure)
		case notShown:
			unknown = append(unknown, m.measure)
		}
	}
	return list, unknown
}

// settles reports whether it is the scenario, and not the lock's own code, that determines whether a measure is
// applied. If the lock comes from a library, the scenario still determines the clients' work. It also determines how
// the lock is extended, if it says anything about that.
func (s *Scenario) settles(m history.Measure) bool {
	switch m {
	case history.FsyncAlways, history.MinReplicas, history.ComparedWrites:
		return true
	case history.Fencing:
		return s.FromLibrary() || s.Resource.Fencing == FencingOff
	case history.ValidityCheck, history.StopWhenLost, history.CountedEntries:
		return s.FromLibrary()
	case history.Renewal, history.CappedExtension:
		return s.FromLibrary() && slices.ContainsFunc(s.Clients, func(c Client) bool { return c.Lock.Extension != nil })
	}
	return false
}

// fenced returns what the requests to a resource with fencing show about the Fencing measure. The measure is applied if
// all requests have a token, and absent if any request has none.
func fenced(events []history.Event) showing {
	shown := notShown
	for i := range events {
		if e := &events[i]; e.F == history.Apply && e.Token == 0 {
			return shownAbsent
		} else if e.F == history.Apply {
			shown = shownApplied
		}
	}
	return shown
}

// applied says whether a scenario applies a safety measure.
type applied struct {
	measure history.Measure
	applied bool
}

// settings lists all safety measures, along with whether s applies them.
func (s *Scenario) settings() []applied {
	d := s.definition()
	if d == nil {
		return nil
	}
	list := slices.Concat(s.keySettings(d), s.leaseSettings(d), s.waitingSettings(d))
	for i := range list {
		m := list[i].measure
		list[i].applied = list[i].applied && s.everybody(func(c *Client) bool { return !d.Misses(&c.Lock, m) })
	}
	return list
}

// everybody reports whether match returns true for all clients.
func (s *Scenario) everybody(match func(c *Client) bool) bool {
	for i := range s.Clients {
		if !match(&s.Clients[i]) {
			return false
		}
	}
	return true
}

// extensions reports whether match returns true for every client's extension mode. It ignores clients that do not
// extend their lock.
func (s *Scenario) extensions(match func(locks.ExtendMode) bool) bool {
	return s.everybody(func(c *Client) bool { return c.Lock.Extension == nil || match(c.Lock.Extension.Mode) })
}

// keySettings returns the safety measures for keys: what a key contains, and what is compared before a key is changed.
func (s *Scenario) keySettings(d *locks.Definition) []applied {
	session := s.Servers.consensus()
	return []applied{
		{history.Expiry, d.Expires && !d.Later},
		{history.OwnerCheck, s.everybody(func(c *Client) bool {
			return d.Applies(&c.Lock, history.OwnerCheck) || !session && c.Lock.Release != locks.ReleaseDel &&
				c.Lock.Release != locks.ReleaseGetThenDel
		})},
		{history.ExtendCheck, s.extensions(locks.ExtendMode.Compares)},
		{history.ObeyedExtension, s.extensions(locks.ExtendMode.ObeysAnswer)},
		{history.KeptExtension, s.extensions(locks.ExtendMode.KeepsKey)},
		{history.OwnValue, s.everybody(func(c *Client) bool {
			return c.Lock.TokenScope == locks.PerRequest || d.Applies(&c.Lock, history.OwnValue)
		})},
		{history.RelativeExpiry, s.everybody(func(c *Client) bool {
			return d.Setting("expiry") == nil && d.Setting("time") == nil || d.Applies(&c.Lock, history.RelativeExpiry)
		})},
		{history.CountedEntries, s.everybody(func(c *Client) bool {
			return !c.Work.Nested || c.Lock.Reentry != locks.UncountedReentry
		})},
		{history.GrantToken, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.GrantToken) })},
	}
}

// leaseSettings returns the safety measures for leases: how long a lock is valid, what extends it, and what protects
// the data after it has expired.
func (s *Scenario) leaseSettings(d *locks.Definition) []applied {
	session := s.Servers.consensus()
	return []applied{
		{history.Fencing, s.Resource.Fencing != FencingOff && d.Tokens},
		{history.ComparedWrites, s.Resource.Writes != BlindWrites},
		{history.FsyncAlways, session || s.Servers.Persistence == store.Always},
		{history.WaitForReplicas, s.Servers.Replicas > 0 &&
			s.everybody(func(c *Client) bool {
				return c.Lock.Wait != nil && c.Lock.Wait.Obey && c.Lock.Wait.ForReplicas() > 0
			})},
		{history.MinReplicas, s.Servers.MinReplicasToWrite > 0},
		{history.ElapsedCheck, s.everybody(func(c *Client) bool {
			return c.Lock.ElapsedCheck || session && d.Applies(&c.Lock, history.ElapsedCheck)
		}) && s.extensions(locks.ExtendMode.ObeysElapsed)},
		{history.MonotonicClock, session || s.everybody(func(c *Client) bool { return c.Lock.Clock == sim.Monotonic })},
		{history.DriftAllowance, s.everybody(func(c *Client) bool { return c.Lock.Drift != locks.Allowance{} }) &&
			s.extensions(locks.ExtendMode.ObeysElapsed)},
		{history.ValidityCheck, s.everybody(func(c *Client) bool { return c.Work.CheckValidity })},
		{history.StopWhenLost, s.everybody(func(c *Client) bool {
			return c.Work.StopWhenLost && (!session || d.Applies(&c.Lock, history.StopWhenLost))
		})},
		{history.Renewal, session || s.everybody(func(c *Client) bool { return c.Lock.Extension != nil })},
		{history.CappedExtension,
			s.everybody(func(c *Client) bool { return c.Lock.Extension == nil || c.Lock.Extension.Limit > 0 })},
		{history.SeenLease, !d.Service.Kind().ClientsExpire ||
			s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.SeenLease) })},
		{history.LongLease, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.LongLease) })},
		{history.StopFirst, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.StopFirst) })},
	}
}

// waitingSettings returns the safety measures for how a client requests a lock and waits for it.
func (s *Scenario) waitingSettings(d *locks.Definition) []applied {
	return []applied{
		{history.RandomRetry, s.everybody(func(c *Client) bool {
			return c.Lock.Retry.Hi > c.Lock.Retry.Lo || c.Lock.Wake == locks.WakeOnMessage
		})},
		{history.ShortTimeout, s.everybody(func(c *Client) bool {
			return c.Lock.Timeout > 0 && c.Lock.Timeout <= c.Lock.TTL/10
		})},
		{history.LooksAgain, s.everybody(func(c *Client) bool { return c.Lock.Wake != locks.WakeOnMessage })},
		{history.Parallel, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.Parallel) })},
		{history.Recheck, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.Recheck) })},
		{history.FirstInLine, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.FirstInLine) })},
		{history.KeptPlaces, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.KeptPlaces) })},
		{history.RenewedPlaces, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.RenewedPlaces) })},
		{history.LeftPlaces, s.everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.LeftPlaces) })},
	}
}
