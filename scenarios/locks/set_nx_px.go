package locks

import (
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/scenarios/setting"
	"github.com/fencepost-sim/fencepost/sim"
)

// setNXPX is SET NX PX (youngju.dev).
var setNXPX = Definition{
	Name: SetNXPX, Text: "SET NX PX", Backend: OnRedis, Expires: true,
	Settings: onOneRedis(reentrantKey, releaseKey, expiryKey),
	Without:  withoutOnOneRedis,
	make:     onOne(sendSetNXPX),
}

var expiryKey = setting.Choice("expiry", func(c *Config) *Expiry { return &c.Expiry },
	"`relative`: the server adds the TTL to its clock (PX). `absolute`: the client has added it to its own before it "+
		"asks "+
		"(PXAT), as ShedLock does (132)", setting.Options(RelativeExpiry, AbsoluteExpiry)...)

// onOneRedis are the keys of a lock with an expiry on one Redis, and those given.
func onOneRedis(own ...Setting) []Setting {
	modes := setting.Only(extensionMode, ExtendChecked, ExtendCAS, ExtendAnyAnswer, ExtendIgnoreElapsed, ExtendOrAcquire,
		ExtendExpire, ExtendRelease)
	return slices.Concat([]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, retryWake,
		timeoutKey, valueKey, clockKey,
		elapsedCheckIfCareful, driftAllowance, extensionKey, modes}, extensionKeys[1:], []Setting{waitKey}, waitKeys, own)
}

var withoutOnOneRedis = map[string]string{
	"extension.mode.unchecked": "unchecked leaves out the quorum, and one Redis has none: take any-answer or " +
		"ignore-elapsed",
	"extension.mode.reacquire": "reacquire asks a majority anew, and SET NX on one Redis fails on its own key: take " +
		"or-acquire",
}

func sendSetNXPX(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	r := l.ask(env, h, "set", "SET", string(l.config.Key), h.value, "NX", due.unit, due.at)
	return r.OK(), r.Nil()
}

// expiry is when the key is to expire, as the client counts before it asks.
func (l *single) expiry(env sim.Env) expiry {
	if l.config.Expiry == AbsoluteExpiry {
		return expiry{"PXAT", strconv.FormatInt(env.Wall().Add(l.config.TTL).UnixMilli(), 10), l.config.TTL}
	}
	return after(l.config.TTL)
}
