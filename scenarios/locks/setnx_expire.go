package locks

import (
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// SetNXExpire is a lock that clients acquire with SETNX followed by EXPIRE. These are two separate commands, so
// acquiring the lock is not atomic (Grace Collins).
const SetNXExpire Protocol = "setnx-expire"

func init() {
	Register(&Definition{
		Name: SetNXExpire, Place: 2, Service: history.Redis, Text: "SETNX, then EXPIRE in a second command",
		Backend: OnRedis, Expires: true, Later: true,
		Settings: onOneRedis(reentrantKey, releaseKey.Standing(format.Value{Word: string(ReleaseDel)})),
		Without:  withoutOnOneRedis,
		make:     onOne(sendSetNXExpire),
	})
}

func sendSetNXExpire(l *single, env sim.Env, h *Hold, due expiry) (held, taken bool) {
	if held, taken = sendSetNX(l, env, h, due); !held {
		return held, taken
	}
	env.Point(sim.BeforeExpire)
	seconds := max(1, (due.ttl.Milliseconds()+999)/1000)
	l.ask(env, h, "expire", "EXPIRE", string(l.config.Key), strconv.FormatInt(seconds, 10))
	return true, false // the sample code ignores the reply to EXPIRE
}
