package locks

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// SetNX is a lock that uses SETNX and DEL, without an expiry (as in Grace Collins's article on locks with Redis).
const SetNX Protocol = "setnx"

func init() {
	Register(&Definition{
		Name: SetNX, Place: 1, Service: history.Redis, Text: "SETNX, DEL: no expiry", Backend: OnRedis,
		Settings: slices.Concat(
			[]Setting{ttlKey, retryKey, retryDelay, retryPatience, retryCount, retryClock, patienceEnds,
				retryWake, timeoutKey, releaseOnFailure,
				format.Only(reentrantKey, CountedReentry, UncountedReentry),
				releaseKey.Standing(format.Value{Word: string(ReleaseDel)}), valueKey, waitKey}, waitKeys),
		Without: map[string]string{
			"extension": "setnx sets no expiry, so there is nothing to extend: remove `extension`, or use set-nx-px",
			"elapsed-check": "setnx sets no expiry, so there is nothing to check: " +
				"remove `elapsed-check`, or use set-nx-px",
			"drift-allowance": "setnx has no validity from which drift could be subtracted: " +
				"remove `drift-allowance`, or use set-nx-px",
			"clock": "setnx has no validity to measure: remove `clock`, or use set-nx-px",
			"reentrant.overwrite": "overwrite sets the key again with an expiry, but setnx sets no expiry: " +
				"use set-nx-px",
		},
		Alike: map[string]string{"ttl": "setnx sets no time to live; " +
			"its `ttl` only says how long a client may wait, and is the same for all clients: set `ttl` under `lock`"},
		make: onOne(sendSetNX),
	})
}

func sendSetNX(l *single, env sim.Env, h *Hold, _ expiry) (held, taken bool) {
	n, answered := l.ask(env, h, "set", "SETNX", string(l.config.Key), h.value).Int()
	return n == 1, answered && n == 0
}
