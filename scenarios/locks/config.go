// Package locks holds the lock protocols under test, written as their documents describe them against sim.Env alone.
// Documents are named by their authors; scenarios/STATEMENTS.md has their titles and addresses. Every step that a
// shipped library has left out can be left out here by a setting.
//
// Goals: each protocol reads like its document; wrong settings are possible and named.
// Non-goals: deciding who is right (checker), doing the protected work (scenarios), being a lock for production use.
package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Protocol names a lock protocol.
type Protocol string

// Reentry says what a lock library does when a client takes a lock that it already holds.
type Reentry string

const (
	CountedReentry   Reentry = "counted"   // the holds are counted, and the last release gives the lock back
	UncountedReentry Reentry = "uncounted" // the first release gives it back (go-zero 1338)
	// compares the owner, then sets the key anew, whoever holds it by then (redisson 84)
	OverwritingReentry Reentry = "overwrite"
)

// Release says how a lock is given back.
type Release string

const (
	ReleaseScript     Release = "script"       // compare and delete in one script: the documents' rule
	ReleaseDel        Release = "del"          // plain DEL, whoever holds it
	ReleaseGetThenDel Release = "get-then-del" // compare, then DEL: the lock may change hands between
	ReleaseCAD        Release = "cad"          // Tair's compare and delete (Alibaba Cloud)
	ReleaseDelex      Release = "delex"        // Redis 8.4's DELEX key IFEQ value
	ReleaseNothing    Release = "nothing"      // no request is made, and the key stays until it expires
)

// Need says that the value of a key requires servers of some version.
type Need struct {
	Key     string
	Version string // as FORMAT.md has it
	Why     string
}

// Needs lists the settings that use a command which not every Redis has.
func (c *Config) Needs() (list []Need) {
	switch c.Release {
	case ReleaseCAD:
		list = append(list, Need{"release", "tair", "CAD is a command of Tair: set servers.version: tair"})
	case ReleaseDelex:
		list = append(list, Need{"release", "8", "DELEX exists from Redis 8.4: set servers.version: 8"})
	}
	if c.Extension != nil && c.Extension.Mode == ExtendCAS {
		list = append(list, Need{"extension.mode", "tair", "CAS is a command of Tair: set servers.version: tair"})
	}
	return list
}

// Waking says when a client that found the lock taken tries again.
type Waking string

const (
	WakeAfterDelay   Waking = "delay"          // after retry.delay
	WakeOnMessage    Waking = "message"        // when the holder publishes that it has released
	WakeOnMessageTTL Waking = "message-or-ttl" // on the message, or once the TTL has passed, whichever comes first
)

// TokenScope says who shares one owner value.
type TokenScope string

const (
	PerRequest TokenScope = "per-request" // a new value for every attempt: the documents' rule
	// one value for all attempts of an acquire, until one succeeds or it gives up
	PerAcquire TokenScope = "per-acquire"
	PerClient  TokenScope = "per-client" // one value for all attempts of a client
	Fixed      TokenScope = "fixed"      // one value for all clients: a constant in their code (Collins)
)

// ExtendMode says how an extension decides.
type ExtendMode string

const (
	ExtendChecked   ExtendMode = "checked"   // by script, a quorum, within the validity: the document's rule
	ExtendCAS       ExtendMode = "cas"       // Tair's compare and set with the same value (Alibaba Cloud)
	ExtendUnchecked ExtendMode = "unchecked" // ignores replies and elapsed time
	// takes any reply for success, even that the key is gone (go-redsync 38)
	ExtendAnyAnswer     ExtendMode = "any-answer"
	ExtendIgnoreElapsed ExtendMode = "ignore-elapsed" // counts the TTL from the last reply (go-redsync 71, 72)
	// acquires the lock again if it is gone, whoever has held it meanwhile (redis-semaphore 175, redlock-rb 36)
	ExtendOrAcquire ExtendMode = "or-acquire"
	// extends the key's expiry without comparing its owner (Redisson's RedLock)
	ExtendExpire ExtendMode = "expire"
	// gives the lock back and reports that it was extended (py-sherlock 66)
	ExtendRelease   ExtendMode = "release"
	ExtendReacquire ExtendMode = "reacquire" // runs the acquisition again with the same value (Grace Collins)
)

// Allowance is what a client subtracts from its validity for clock drift: TTL x PPM / 1,000,000 + Plus.
type Allowance struct {
	PPM  int64 // 10000 is one percent
	Plus time.Duration
}

// Extension extends a lock while its work goes on.
type Extension struct {
	Mode       ExtendMode    // default checked
	TTL        time.Duration // of the extended lock; default the lock's own
	Every      time.Duration // default TTL / 3
	Limit      int           // how many at most; 0: no limit
	Background bool          // by a keepalive task in the background; otherwise between steps of the work
}

// Wait is the WAIT command after a lock was set on a replicated Redis (Alibaba Cloud).
type Wait struct {
	Replicas int           // that must have the write
	Timeout  time.Duration // as WAIT takes it, in whole ms; 0 waits for ever
	Obey     bool          // fail the attempt if fewer replied; default on
	Release  bool          // also after the release
	// SameConnection sends WAIT on the connection that set the lock, whose writes are all that WAIT covers; otherwise
	// to the master as it is known by then. Default on.
	SameConnection bool
}

// Config is a lock library's settings.
type Config struct {
	Protocol Protocol
	Key      history.Lock    // default "lock"
	Servers  []sim.ProcessID // all of them; single-instance protocols use the first
	TTL      time.Duration   // default 10 s; at least 1 ms
	Retry    sim.Delay       // between attempts; default 50 ms to 250 ms
	Patience time.Duration   // after which acquire gives up; 0: never
	Attempts int             // after how many acquire gives up; 0: no limit
	Waits    sim.ClockKind   // on which patience is measured; default monotonic
	Wake     Waking          // on one Redis: when a client that found the lock taken tries again; default delay
	Release  Release         // default script (setnx and setnx-expire: del)
	Timeout  time.Duration   // for one server's reply; default 50 ms

	Extension *Extension // nil: none
	Reentry   Reentry    // default counted

	Shared    bool // ask for a read lock, which other shared clients may hold as well; default off
	ReadWrite bool // the lock is a read-write lock: some client asks for a shared hold

	// Replicated Redis only.
	Sentinel sim.ProcessID // whom to ask for the master of Servers[0]; empty: nobody replaces it
	Wait     *Wait         // nil: do not wait for replicas

	// Locks on Redis with an expiry.
	Clock sim.ClockKind // that measures elapsed time and validity; default monotonic
	// step 3 of the Redlock document; default on, on one Redis for clients that check or renew
	ElapsedCheck bool
	Drift        Allowance  // default none; for Redlock 1 % + 2 ms
	TokenScope   TokenScope // of locks without expiry, too; default per-request

	// Own holds the settings that no other protocol has, as a value of a type defined in the protocol's file; nil: none
	// was given. It is replaced and never changed, so that copies of a Config are independent.
	Own any

	// First is the index in Servers with which a client that spreads its load begins.
	First int
}
