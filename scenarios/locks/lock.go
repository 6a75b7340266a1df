package locks

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/locks/zkclient"
	"github.com/fencepost-sim/fencepost/sim"
)

// Errors that a client is told.
var (
	ErrPatience   = errors.New("locks: patience or the attempts ended before the lock was acquired")
	ErrLost       = errors.New("locks: too few servers still know this attempt as owner")
	ErrRefused    = errors.New("locks: too few servers took the request to prolong the lock")
	ErrUnanswered = errors.New("locks: too few servers answered to tell whether the lock was prolonged")
	ErrLate       = errors.New("locks: the answers came when nothing was left of the validity")
	ErrLimit      = errors.New("locks: the number of extensions is used up")
)

// Lock is a lock as a client library offers it. It belongs to one client.
type Lock interface {
	protocol
	// Reenter takes the lock once more for a client that holds it; a Release is due for each. It reports false if the
	// library has found that the lock is gone.
	Reenter(env sim.Env, h *Hold) bool
}

// Answer is what a client has learned of its release.
type Answer uint8

const (
	Denied     Answer = iota // too few servers still knew the attempt as owner
	Refused                  // too few took the request, or carried it out
	Unanswered               // too few answered to tell
	Confirmed                // enough servers gave the lock back, or none had to be asked
)

// answered is what one server's answer says, or none.
func answered(r *sim.Reply) Answer {
	switch {
	case r.Status == sim.NoReply || r.Status == sim.Reset:
		return Unanswered
	case r.Status == sim.Refused || r.Error() != "":
		return Refused
	case isOne(r):
		return Confirmed
	}
	return Denied
}

// protocol is what each lock protocol does in its own way.
type protocol interface {
	// Acquire retries until it holds the lock, or patience or the number of attempts ends (ErrPatience).
	Acquire(env sim.Env) (*Hold, error)
	// Extend prolongs the hold and updates its Grant, or says why not (ErrLost, ErrRefused, ErrUnanswered, ErrLate,
	// ErrLimit).
	Extend(env sim.Env, h *Hold) error
	// Release gives the lock back.
	Release(env sim.Env, h *Hold) Answer
	// Close ends what the library does beside the client's work.
	Close(env sim.Env)
}

// Hold is a lock that was acquired.
type Hold struct {
	Attempt history.Attempt
	Token   history.Token // fencing token; 0 if the protocol has none
	Grant   sim.Grant     // as of the acquisition or the last extension
	// Ends are raised when the library learns that the lock is gone, or may be.
	Ends []*sim.Signal
	// Prolonged, if set, is called when the library has prolonged the lock by itself and updated Grant.
	Prolonged func(env sim.Env)
	// Suspended, if set, is raised when the library no longer knows whether it has the lock: a client that listens
	// pauses its work, and takes the lock anew when it is connected again.
	Suspended *sim.Signal
	Said      string // by a foreign lock that refused to be released
	value     string // owner value at the servers
	entered   int    // how often the client has taken the lock once more and not given that back
	extended  int    // how often
	own       any    // what its protocol keeps of it beside; nil: nothing
}

// Remaining is the validity left by the clock that the protocol counts it on; negative once it has ended.
func (h *Hold) Remaining(env sim.Env) time.Duration {
	switch until := h.Grant.Until; {
	case until.Announced != nil && *until.Announced != history.Never:
		return 0
	case until.At == sim.Forever:
		return sim.Forever
	default:
		return until.At - read(env, until.Clock)
	}
}

// read is the reading of a clock as a Deadline counts it.
func read(env sim.Env, kind sim.ClockKind) time.Duration {
	if kind == sim.Wall {
		return time.Duration(env.Wall().UnixNano())
	}
	return env.Monotonic()
}

// New returns the lock that c describes, for one client. All locks of a client are made with its one Library.
func New(c *Config, of *Library) Lock {
	return &reentrant{protocol: Define(c.Protocol).make(requester{config: c, library: of}), config: c}
}

// reentrant lets a client take a lock that it holds.
type reentrant struct {
	protocol
	config *Config
}

// overwriter is a protocol that can set the key anew for its holder.
type overwriter interface {
	overwrite(sim.Env, *Hold) bool
}

func (l *reentrant) Reenter(env sim.Env, h *Hold) bool {
	if one, can := l.protocol.(overwriter); can && l.config.Reentry == OverwritingReentry && !one.overwrite(env, h) {
		return false
	}
	if l.config.Reentry != UncountedReentry {
		h.entered++
	}
	return true
}

func (l *reentrant) Release(env sim.Env, h *Hold) Answer {
	if h.entered > 0 {
		h.entered--
		return Confirmed
	}
	return l.protocol.Release(env, h)
}

// millis is d in whole milliseconds, as PX takes it.
func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// Library is what the locks of one client share: the count of its attempts, and its session with a coordination
// service. The zero Library is ready.
type Library struct {
	Foreign Foreign // makes the client's locks if they are FromLibrary

	attempts  int
	taken     int // of the attempts: those that found the lock taken
	etcd      *etcdSession
	zooKeeper *zkclient.Client
	holds     []*Hold // what the session keeps alive
}

// Anew is the library of a client that begins again. Its attempts go on being numbered.
func (l *Library) Anew() *Library { return &Library{Foreign: l.Foreign, attempts: l.attempts} }

// counted notes whether an attempt found the lock taken by another.
func (l *Library) counted(taken bool) {
	if taken {
		l.taken++
	}
}

// Attempts is how many requests for a lock the client has made, and how many of them found it taken by another. An
// acquire that tries again makes several; one that waits in line makes one.
func (l *Library) Attempts() (made, taken int) { return l.attempts, l.taken }

// prolonged tells the holds that hang on a session that it lives until the given deadline. An answer that was read too
// late, after a pause, prolongs nothing: what it states is over. Of a hold whose client has not been told of it yet,
// only the deadline moves. While one hold's client is told, in real time others come and go.
func (l *Library) prolonged(env sim.Env, until sim.Deadline, of func(*Hold) bool) {
	if until.At <= read(env, until.Clock) {
		return
	}
	for _, h := range slices.Clone(l.holds) {
		if !slices.Contains(l.holds, h) || !of(h) {
			continue
		}
		if h.Grant.Until = until; h.Prolonged != nil {
			h.Grant.Granted = env.Mark()
			h.Prolonged(env)
		}
	}
}

func (l *Library) keep(h *Hold) { l.holds = append(l.holds, h) }

func (l *Library) drop(h *Hold) {
	l.holds = slices.DeleteFunc(l.holds, func(x *Hold) bool { return x == h })
}

// requester makes a client's attempts and their owner values.
type requester struct {
	config  *Config
	library *Library
	value   string // of the client, or of the acquire under way, if one serves all attempts
}

// fixedValue is the constant of clients that share one (Collins's CLIENT_ID).
const fixedValue = "client_A_123"

// next begins an attempt.
func (r *requester) next(env sim.Env) (history.Attempt, string) {
	r.library.attempts++
	a := history.Attempt(string(env.Name()) + "/" + strconv.Itoa(r.library.attempts))
	switch {
	case r.config.TokenScope == Fixed:
		return a, fixedValue
	case (r.config.TokenScope == PerClient || r.config.TokenScope == PerAcquire) && r.value != "":
		return a, r.value
	}
	r.value = strconv.FormatUint(env.Rand(), 36)
	return a, r.value
}

// resting is what a client does between two attempts, given the delay that was drawn and what is left of its patience.
type resting func(env sim.Env, delay, left time.Duration)

// retry calls try until it holds the lock, or until patience or the number of attempts ends.
func (r *requester) retry(env sim.Env, try func(sim.Env) *Hold, rest resting) (*Hold, error) {
	start := read(env, r.config.Waits)
	if r.config.TokenScope == PerAcquire {
		r.value = ""
	}
	for n := 1; ; n++ {
		if h := try(env); h != nil {
			return h, nil
		}
		if n == r.config.Attempts {
			return nil, ErrPatience
		}
		wait := Draw(env, r.config.Retry)
		left := sim.Forever
		if p := r.config.Patience; p > 0 {
			if left = p - (read(env, r.config.Waits) - start); left <= wait {
				return nil, ErrPatience
			}
		}
		rest(env, wait, left)
	}
}

// sleep is what most clients do between two attempts.
func sleep(env sim.Env, delay, _ time.Duration) { env.Sleep(delay) }

// Draw picks evenly from a range, by the process's own randomness.
func Draw(env sim.Env, d sim.Delay) time.Duration {
	if d.Hi <= d.Lo {
		return d.Lo
	}
	return d.Lo + time.Duration(env.Rand()%uint64(d.Hi-d.Lo+1))
}
