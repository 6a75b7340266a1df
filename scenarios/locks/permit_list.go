package locks

import (
	"slices"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// PermitList is a semaphore with its free permits stored as the elements of a list. A client acquires a permit by
// removing an element. If that client never puts the element back, the permit is lost.
const PermitList Protocol = "permit-list"

func init() {
	Register(&Definition{
		Name: PermitList, Place: 9, Service: history.Redis,
		Text: "a semaphore without expiry: " +
			"a list has an element for each free permit, which a client removes and later puts back",
		Backend: OnRedis, Shares: true,
		Settings: slices.Concat([]Setting{permitsKey, ttlKey, retryKey, retryDelay, retryPatience, retryCount,
			retryClock, patienceEnds, timeoutKey,
			format.Only(reentrantKey, CountedReentry, UncountedReentry), waitKey}, waitKeys),
		Without: withoutOneKey,
		Alike:   map[string]string{"permits": permitsAlike},
		make: func(r requester) protocol {
			l := newSingle(r, takePermit)
			l.giveBack = func(h *Hold) []string {
				return []string{"EVAL", putBack, "1", string(l.config.Key), h.value}
			}
			return l
		},
		clash:     func(a, b history.Lock) string { return sameKey(a, b, permitsMade(a), "number of permits") },
		secondKey: permitsMade,
	})
}

const (
	// makePermits is a script that fills the list of permits, unless this has already been done.
	makePermits = `if redis.call("set", KEYS[2], ARGV[1], "NX") then
    for i = 1, tonumber(ARGV[1]) do
        redis.call("rpush", KEYS[1], "permit-" .. i)
    end
end
return 1`
	putBack = `redis.call("rpush", KEYS[1], ARGV[1])
return 1`
)

// permitsMade returns the key that marks a lock's list as filled.
func permitsMade(key history.Lock) string { return string(key) + ":permits" }

// takePermit removes an element from the list. Before a client's first removal, it fills the list, unless another
// client has already done so.
func takePermit(l *single, env sim.Env, h *Hold, _ expiry) (held, taken bool) {
	key := string(l.config.Key)
	if !l.prepared {
		_, l.prepared = l.ask(env, &Hold{}, "prepare", "EVAL", makePermits, "2", key, permitsMade(l.config.Key),
			strconv.Itoa(l.config.permits())).Int()
	}
	if !l.prepared {
		return false, false
	}
	r := l.ask(env, h, "set", "LPOP", key)
	h.value, held = r.Bulk()
	return held, r.Nil()
}
