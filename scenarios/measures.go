package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/aof"
)

// service is the kind of lock service that the clients of s use.
func (s *Scenario) service() history.Service {
	if d := s.definition(); d != nil {
		return d.Service
	}
	return ""
}

// definition is that of the protocol, which all clients share; nil if there is no client.
func (s *Scenario) definition() *locks.Definition {
	if len(s.Clients) == 0 {
		return nil
	}
	return locks.Define(s.Clients[0].Lock.Protocol)
}

// measures lists what every client and server of s does for its safety, so that no remedy asks for it.
func (s *Scenario) measures() []history.Measure {
	everybody := func(does func(c *Client) bool) bool {
		for i := range s.Clients {
			if !does(&s.Clients[i]) {
				return false
			}
		}
		return true
	}
	session, d := s.Servers.consensus(), s.definition()
	if d == nil {
		return nil
	}
	var list []history.Measure
	for _, m := range []struct {
		measure history.Measure
		applied bool
	}{
		{history.Fencing, s.Resource.Writes != BlindWrites || s.Resource.Fencing != FencingOff && d.Tokens},
		{history.FsyncAlways, session || s.Servers.Persistence == aof.Always},
		{history.WaitForReplicas, s.Servers.Replicas > 0 &&
			everybody(func(c *Client) bool { return c.Lock.Wait != nil && c.Lock.Wait.Obey })},
		{history.MinReplicas, s.Servers.MinReplicasToWrite > 0},
		{history.Expiry, d.Expires && !d.Later},
		{history.OwnerCheck, session || everybody(func(c *Client) bool {
			return c.Lock.Release != locks.ReleaseDel && c.Lock.Release != locks.ReleaseGetThenDel
		})},
		{history.OwnValue, everybody(func(c *Client) bool { return c.Lock.TokenScope == locks.PerRequest })},
		{history.ElapsedCheck, everybody(func(c *Client) bool {
			return c.Lock.ElapsedCheck || session && d.Applies(&c.Lock, history.ElapsedCheck)
		})},
		{history.RelativeExpiry, everybody(func(c *Client) bool {
			return d.Setting("expiry") == nil || d.Applies(&c.Lock, history.RelativeExpiry)
		})},
		{history.CountedEntries, everybody(func(c *Client) bool { return c.Lock.Reentry != locks.UncountedReentry })},
		{history.MonotonicClock, session || everybody(func(c *Client) bool { return c.Lock.Clock == sim.Monotonic })},
		{history.DriftAllowance, everybody(func(c *Client) bool { return c.Lock.Drift != locks.Allowance{} })},
		{history.ValidityCheck, everybody(func(c *Client) bool { return c.Work.CheckValidity })},
		{history.StopWhenLost, everybody(func(c *Client) bool {
			return c.Work.StopWhenLost && (!session || d.Applies(&c.Lock, history.StopWhenLost))
		})},
		{history.Renewal, session || everybody(func(c *Client) bool { return c.Lock.Extension != nil })},
		{history.CappedExtension,
			everybody(func(c *Client) bool { return c.Lock.Extension == nil || c.Lock.Extension.Limit > 0 })},
		{history.RandomRetry, everybody(func(c *Client) bool {
			return c.Lock.Retry.Hi > c.Lock.Retry.Lo || c.Lock.Wake == locks.WakeOnMessage
		})},
		{history.ShortTimeout, everybody(func(c *Client) bool {
			return c.Lock.Timeout > 0 && c.Lock.Timeout <= c.Lock.TTL/10
		})},
		{history.LooksAgain, everybody(func(c *Client) bool { return c.Lock.Wake != locks.WakeOnMessage })},
		{history.Parallel, everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.Parallel) })},
		{history.Recheck, everybody(func(c *Client) bool { return d.Applies(&c.Lock, history.Recheck) })},
	} {
		if m.applied {
			list = append(list, m.measure)
		}
	}
	return list
}
