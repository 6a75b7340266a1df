package locks

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// SetNXPX is a lock that is set with SET NX PX (youngju.dev).
const SetNXPX Protocol = "set-nx-px"

func init() {
	Register(&Definition{
		Name: SetNXPX, Place: 3, Service: history.Redis, Text: "SET NX PX", Backend: OnRedis, Expires: true,
		Settings: onOneRedis(append([]Setting{reentrantKey, releaseKey}, ownSettings(expiryKey)...)...),
		Without:  withoutOnOneRedis,
		make: func(r requester) protocol {
			l := newSingle(r, sendSetNXPX)
			if ownOf[setNXPXConfig](r.config).expiry == absoluteExpiry {
				l.expiry = absolute
			}
			return l
		},
		Measures: func(c *Config) []history.Measure {
			if ownOf[setNXPXConfig](c).expiry == relativeExpiry {
				return []history.Measure{history.RelativeExpiry}
			}
			return nil
		},
	})
}

// setNXPXConfig contains the settings that only this protocol has.
type setNXPXConfig struct {
	expiry expiryCount // default relative
}

// expiryCount determines by whose clock a key's expiry is measured.
type expiryCount string

const (
	relativeExpiry expiryCount = "relative" // PX: the server adds the TTL to its clock when it sets the key
	// PXAT: the client adds the TTL to the time on its own clock before it sends the request (ShedLock 132)
	absoluteExpiry expiryCount = "absolute"
)

var expiryKey = format.Choice("expiry", func(c *setNXPXConfig) *expiryCount { return &c.expiry },
	"who computes the key's expiry. `relative`: the server adds the TTL to its clock (PX). "+
		"`absolute`: the client adds it to its own clock before its request (PXAT), as ShedLock does (132)",
	format.Options(relativeExpiry, absoluteExpiry)...).OnWall(string(absoluteExpiry))

func sendSetNXPX(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	r := l.ask(env, h, "set", "SET", string(l.config.Key), h.value, "NX", due.unit, due.at)
	return r.OK(), r.Nil()
}

// absolute returns an expiry as a point in time. The client calculates it from its own clock before sending its
// request.
func absolute(env sim.Env, ttl time.Duration) expiry {
	return expiry{"PXAT", strconv.FormatInt(env.Wall().Add(ttl).UnixMilli(), 10), ttl}
}
