package locks

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/sim"
)

// FromLibrary is the protocol name of locks that are implemented by a released Go library instead of this package.
const FromLibrary Protocol = "library"

// Foreign is a function that creates a client's lock using code outside this package.
type Foreign func(client sim.ProcessID, c *Config, of *Library) ForeignLock

// ForeignLock is a lock created by a Foreign function.
type ForeignLock interface{ protocol }

// RefusedError reports that the library returned an error when asked to acquire or extend a foreign lock.
type RefusedError struct {
	Said string // the library's error as a single printable line
	Err  error  // the corresponding error of this package
}

// Error returns the library's error message.
func (e *RefusedError) Error() string { return "locks: the library said: " + e.Said }

// Unwrap returns the corresponding error from this package.
func (e *RefusedError) Unwrap() error { return e.Err }

// Said returns the library's error message if err is a RefusedError, and "" otherwise.
func Said(err error) string {
	var r *RefusedError
	if errors.As(err, &r) {
		return r.Said
	}
	return ""
}

// library is the definition of the FromLibrary protocol. It is not in the list of protocols, since a scenario can use
// it only together with the library's code.
var library = &Definition{
	Name:    FromLibrary, // the protocol runs on any backend; the backend determines the service
	Text:    "an unmodified Go library, run by scenarios/locktest",
	Several: true, Expires: true, Renews: true, Tokens: true,
	Alike: map[string]string{"permits": permitsAlike},
	Without: map[string]string{"shared": "remove `shared`: a lock in Go reports which of its holds are shared, " +
		"with a method Shared() bool (locktest.Sharer)"},
	Settings: slices.Concat([]Setting{ttlKey, timeoutKey, retryKey, retryPatience, permitsKey,
		// What these settings do depends on the library's own code.
		format.Only(reentrantKey, CountedReentry, UncountedReentry), extensionKey}, extensionKeys[2:],
		ownSettings(libraryPlaces)),
	Order: func(c *Config) time.Duration { return ownOf[libraryConfig](c).placeTimeout },
	make:  func(r requester) protocol { return &borrowed{requester: r, foreign: r.library.Foreign} },
}

// libraryConfig contains the settings that apply only to locks from libraries.
type libraryConfig struct {
	placeTimeout time.Duration // default 0: the lock does not promise any order
}

var libraryPlaces = format.Positive("place-timeout",
	func(c *libraryConfig) *time.Duration { return &c.placeTimeout }, 0,
	"how long the place of a client that no longer waits may stay in the queue of a fair lock; "+
		"`none`: the lock promises no order", "none")

// borrowed is a lock from a Go library. It is created at the first acquire, when the client is known.
type borrowed struct {
	requester
	ForeignLock
	foreign Foreign
}

func (l *borrowed) Acquire(env sim.Env) (*Hold, error) {
	if l.ForeignLock == nil {
		l.ForeignLock = l.foreign(env.Name(), l.config, l.library)
	}
	return l.ForeignLock.Acquire(env)
}

// Close closes the foreign lock, if it was used.
func (l *borrowed) Close(env sim.Env) {
	if l.ForeignLock != nil {
		l.ForeignLock.Close(env)
	}
}

// Attempt starts a new attempt to acquire a foreign lock and returns its name.
func (l *Library) Attempt(env sim.Env) history.Attempt {
	l.attempts++
	return history.Attempt(string(env.Name()) + "/" + strconv.Itoa(l.attempts))
}
