package scenarios

import (
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/aof"
)

// service is the kind of lock service that the clients of s use.
func (s *Scenario) service() history.Service {
	switch {
	case s.Servers.Etcd > 0:
		return history.Etcd
	case s.Servers.ZooKeeper > 0:
		return history.ZooKeeper
	}
	for i := range s.Clients {
		if s.Clients[i].Lock.Protocol == locks.Redlock {
			return history.Redlock
		}
	}
	return history.Redis
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
	session := s.Servers.consensus()
	var list []history.Measure
	for _, m := range []struct {
		measure history.Measure
		applied bool
	}{
		{history.Fencing, s.Resource.Writes != BlindWrites || s.Resource.Fencing != FencingOff && everybody(func(c *Client) bool { return c.givesToken() })},
		{history.FsyncAlways, session || s.Servers.Persistence == aof.Always},
		{history.WaitForReplicas, s.Servers.Replicas > 0 && everybody(func(c *Client) bool { return c.Lock.Wait != nil && c.Lock.Wait.Obey })},
		{history.MinReplicas, s.Servers.MinReplicasToWrite > 0},
		{history.Expiry, everybody(func(c *Client) bool {
			return session || c.Lock.Protocol != locks.SetNX && c.Lock.Protocol != locks.SetNXExpire
		})},
		{history.OwnerCheck, session || everybody(func(c *Client) bool {
			return c.Lock.Release != locks.ReleaseDel && c.Lock.Release != locks.ReleaseGetThenDel
		})},
		{history.OwnValue, everybody(func(c *Client) bool { return c.Lock.TokenScope != locks.PerClient })},
		{history.ElapsedCheck, session || everybody(func(c *Client) bool { return c.Lock.ElapsedCheck })},
		{history.MonotonicClock, session || everybody(func(c *Client) bool { return c.Lock.Clock == sim.Monotonic })},
		{history.DriftAllowance, everybody(func(c *Client) bool { return c.Lock.Drift != locks.Allowance{} })},
		{history.ValidityCheck, everybody(func(c *Client) bool { return c.Work.CheckValidity })},
		{history.StopWhenLost, everybody(func(c *Client) bool {
			return c.Work.StopWhenLost && (!session || c.Lock.Listener == locks.StopsAtOnce)
		})},
		{history.Renewal, session || everybody(func(c *Client) bool { return c.Lock.Extension != nil })},
		{history.CappedExtension, everybody(func(c *Client) bool { return c.Lock.Extension == nil || c.Lock.Extension.Limit > 0 })},
		{history.RandomRetry, everybody(func(c *Client) bool {
			return c.Lock.Retry.Hi > c.Lock.Retry.Lo || c.Lock.Wake == locks.WakeOnMessage
		})},
		{history.LooksAgain, everybody(func(c *Client) bool { return c.Lock.Wake != locks.WakeOnMessage })},
		{history.Parallel, everybody(func(c *Client) bool { return c.Lock.Contact == locks.Parallel })},
		{history.Recheck, everybody(func(c *Client) bool { return c.Lock.Recheck })},
	} {
		if m.applied {
			list = append(list, m.measure)
		}
	}
	return list
}

// givesToken reports whether a client's lock hands out fencing tokens.
func (c *Client) givesToken() bool {
	switch c.Lock.Protocol {
	case locks.Fenced, locks.Etcd, locks.ZooKeeper:
		return true
	}
	return false
}
