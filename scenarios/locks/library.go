package locks

import (
	"errors"
	"strconv"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// FromLibrary is a lock whose code is not a protocol of this package but a Go library's, as it is shipped.
const FromLibrary Protocol = "library"

// Foreign makes the lock of a library, as one client uses it.
type Foreign func(client sim.ProcessID, c *Config, of *Library) ForeignLock

// ForeignLock is such a lock.
type ForeignLock interface{ protocol }

// RefusedError reports that an acquire or an extension of a foreign lock failed because the library refused.
type RefusedError struct {
	Said string // the library's error: one line that can be printed
	Err  error  // the corresponding error of this package
}

// Error gives the library's words.
func (e *RefusedError) Error() string { return "locks: the library said: " + e.Said }

// Unwrap returns the corresponding error of this package.
func (e *RefusedError) Unwrap() error { return e.Err }

// Said returns the error text of a library that refused; empty if err is no such refusal.
func Said(err error) string {
	var r *RefusedError
	if errors.As(err, &r) {
		return r.Said
	}
	return ""
}

// library is none of the protocols in the reference: a scenario has it only with the library's code.
var library = &Definition{
	Name:    FromLibrary, // on any servers, which say what service it is
	Text:    "a Go library as it is shipped, under scenarios/locktest",
	Several: true, Expires: true, Renews: true, Tokens: true,
	Settings: append([]Setting{ttlKey, timeoutKey, retryKey, retryPatience,
		// how is up to the library
		format.Only(reentrantKey, CountedReentry, UncountedReentry), extensionKey}, extensionKeys[2:]...),
	make: func(r requester) protocol { return &borrowed{requester: r} },
}

// borrowed makes the foreign lock when its client is known.
type borrowed struct {
	requester
	ForeignLock
}

func (l *borrowed) Acquire(env sim.Env) (*Hold, error) {
	if l.ForeignLock == nil {
		l.ForeignLock = l.library.Foreign(env.Name(), l.config, l.library)
	}
	return l.ForeignLock.Acquire(env)
}

// Close closes a lock that was used.
func (l *borrowed) Close(env sim.Env) {
	if l.ForeignLock != nil {
		l.ForeignLock.Close(env)
	}
}

// Attempt begins an attempt of a foreign lock.
func (l *Library) Attempt(env sim.Env) history.Attempt {
	l.attempts++
	return history.Attempt(string(env.Name()) + "/" + strconv.Itoa(l.attempts))
}
