package locks

import (
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// The scripts, in the documents' wording.
const (
	// releaseScript deletes the key if it still has the owner's value (Sanfilippo, "Distributed locks with Redis").
	releaseScript = `if redis.call("get",KEYS[1]) == ARGV[1] then
    return redis.call("del",KEYS[1])
else
    return 0
end`
	// extendScript extends the key's expiry if it still has the owner's value (Alibaba Cloud, there in seconds).
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

// args is the request that an extension of this mode sends.
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

// says reports whether a reply means success to the mode.
func (m ExtendMode) says(r *sim.Reply) bool {
	n, answered := r.Int()
	return answered && (n == 1 || m == ExtendAnyAnswer)
}

// ObeysElapsed reports whether the mode refuses an extension that took longer than its TTL.
func (m ExtendMode) ObeysElapsed() bool { return m != ExtendUnchecked && m != ExtendIgnoreElapsed }

// Compares reports whether the server compares the owner before it prolongs the key.
func (m ExtendMode) Compares() bool { return m != ExtendExpire }

// ObeysAnswer reports whether the mode takes a lock for extended only if the server says that it is still the client's.
func (m ExtendMode) ObeysAnswer() bool {
	return m.Compares() && m != ExtendAnyAnswer && m != ExtendUnchecked
}

// KeepsKey reports whether an extension leaves the key where it is.
func (m ExtendMode) KeepsKey() bool { return m != ExtendRelease && m != ExtendReacquire }

func setArgs(key history.Lock, value, millis string) []string {
	return []string{"SET", string(key), value, "NX", "PX", millis}
}

// args is the WAIT that a client sends.
func (w *Wait) args() []string { return []string{"WAIT", strconv.Itoa(w.Replicas), millis(w.Timeout)} }

// patience is how long a client waits for the reply to WAIT, if it waits timeout for others.
func (w *Wait) patience(timeout time.Duration) time.Duration {
	if w.Timeout == 0 {
		return sim.Forever
	}
	return timeout + w.Timeout
}

// ask sends one request and closes the connection if no reply arrived, as client libraries do: a later reply must not
// be taken for that of the next request.
func ask(env sim.Env, timeout time.Duration, r sim.Request) *sim.Reply {
	replies := env.Call(timeout, nil, r)
	if s := replies[0].Status; s == sim.NoReply || s == sim.Reset {
		env.Close(r.Conn)
	}
	return &replies[0]
}
