package locks

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Lua scripts. The comments name the documents that they come from.
const (
	// releaseScript deletes the key if it still has the owner's value (Sanfilippo, "Distributed locks with Redis").
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then
    return redis.call("del",KEYS[1])
else
    return 0
end`
	// extendScript extends the key's expiry if it still has the owner's value (Alibaba Cloud, where the expiry is in
	// seconds).
	extendScript = `if redis.call("get",KEYS[1]) == ARGV[1] then
    return redis.call("pexpire",KEYS[1],ARGV[2])
else
    return 0
end`
	// fencedScript takes the lock and the next fencing token in one step.
	fencedScript = `if redis.call("set",KEYS[1],ARGV[1],"NX","PX",ARGV[2]) then
    return redis.call("incr",KEYS[2])
else
    return 0
end`
)

func releaseArgs(key history.Lock, value string) []string {
	return []string{"EVAL", releaseScript, "1", string(key), value}
}

// args returns the request that a client in this mode sends to extend the lock.
func (m ExtendMode) args(key history.Lock, value, millis string) []string {
	switch m {
	case ExtendCAS:
		return []string{"CAS", string(key), value, value, "PX", millis}
	case ExtendExpire:
		return []string{"PEXPIRE", string(key), millis}
	case ExtendRelease:
		return releaseArgs(key, value)
	}
	return []string{"EVAL", extendScript, "1", string(key), value, millis}
}

// isSuccess reports whether, in this mode, a client that gets the given reply considers its extension successful.
func (m ExtendMode) isSuccess(r *sim.Reply) bool {
	n, answered := r.Int()
	return answered && (n == 1 || m == ExtendAnyAnswer)
}

// ObeysElapsed reports whether the mode refuses an extension that took longer than its TTL.
func (m ExtendMode) ObeysElapsed() bool { return m != ExtendUnchecked && m != ExtendIgnoreElapsed }

// Compares reports whether, in this mode, the server checks the owner before extending the key.
func (m ExtendMode) Compares() bool { return m != ExtendExpire }

// ObeysAnswer reports whether the mode considers a lock extended only if the server confirms that the client still owns
// it.
func (m ExtendMode) ObeysAnswer() bool {
	return m.Compares() && m != ExtendAnyAnswer && m != ExtendUnchecked
}

// KeepsKey reports whether an extension in this mode leaves the key in place.
func (m ExtendMode) KeepsKey() bool { return m != ExtendRelease && m != ExtendReacquire }

func setArgs(key history.Lock, value, millis string) []string {
	return []string{"SET", string(key), value, "NX", "PX", millis}
}

// counted returns how many masters and replicas must acknowledge a write.
func (w *Wait) counted() (masters, replicas int) {
	switch w.Fsync {
	case MasterDisk:
		return 1, 0
	case AllDisks:
		return 1, w.Replicas
	}
	return 0, w.Replicas
}

// ForReplicas returns the number of replicas that must have received the write before the client considers the lock
// acquired.
func (w *Wait) ForReplicas() int {
	_, replicas := w.counted()
	return replicas
}

// args returns the client's WAIT or WAITAOF command.
func (w *Wait) args() []string {
	masters, replicas := w.counted()
	if w.Fsync == NoDisks {
		return []string{"WAIT", strconv.Itoa(replicas), millis(w.Timeout)}
	}
	return []string{"WAITAOF", strconv.Itoa(masters), strconv.Itoa(replicas), millis(w.Timeout)}
}

// isSatisfiedBy reports whether enough servers have acknowledged the writes, according to the reply to WAIT or WAITAOF.
func (w *Wait) isSatisfiedBy(r *sim.Reply) bool {
	if w.Fsync == NoDisks {
		n, _ := r.Int()
		return int(n) >= w.Replicas
	}
	counts := r.Array()
	if len(counts) != 2 {
		return false // an error
	}
	masters, replicas := w.counted()
	local, _ := counts[0].Int()
	n, _ := counts[1].Int()
	return int(local) >= masters && int(n) >= replicas
}

// patience returns how long a client waits for the reply to WAIT. timeout is how long it waits for other replies.
func (w *Wait) patience(timeout time.Duration) time.Duration {
	if w.Timeout == 0 {
		return sim.Forever
	}
	return timeout + w.Timeout
}

// ask sends one request. If it gets no reply, it closes the connection, as client libraries do. Otherwise a late reply
// could be mistaken for the reply to the next request.
func ask(env sim.Env, timeout time.Duration, r sim.Request) *sim.Reply {
	replies := env.Call(timeout, nil, r)
	if s := replies[0].Status; s == sim.NoReply || s == sim.Reset {
		env.Close(r.Conn)
	}
	return &replies[0]
}
