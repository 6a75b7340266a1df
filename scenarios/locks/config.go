// Package locks holds the lock protocols under test. Each is written as its document describes it, using only sim.Env.
// The comments name documents by their authors; scenarios/STATEMENTS.md has titles and addresses. For each step that
// some released library is known to omit, there is a setting that omits it.
//
// Goals: each protocol reads like its document; wrong settings are possible and have names. Non-goals: deciding whether
// a lock is safe (checker), doing the protected work (scenarios), being a lock for production use.
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
	CountedReentry   Reentry = "counted"   // the holds are counted, and the last release gives up the lock
	UncountedReentry Reentry = "uncounted" // the first release gives up the lock (go-zero 1338)
	// compares the owner, then sets the key again, even if another client owns it by then (redisson 84)
	OverwritingReentry Reentry = "overwrite"
)

// Release says how a lock is released.
type Release string

const (
	ReleaseScript     Release = "script"       // compare and delete in one script: the documents' rule
	ReleaseDel        Release = "del"          // plain DEL, whoever owns the key
	ReleaseGetThenDel Release = "get-then-del" // compares, then DEL: another client may get the lock in between
	ReleaseCAD        Release = "cad"          // Tair's compare and delete (Alibaba Cloud)
	ReleaseDelex      Release = "delex"        // Redis 8.4's DELEX key IFEQ value
	ReleaseNothing    Release = "nothing"      // no request is sent, and the key stays until it expires
)

// Need says that a setting requires servers of some version.
type Need struct {
	Key     string
	Version string // as written in FORMAT.md
	Why     string
}

// Needs lists the settings in c that use a command which not every version of Redis has.
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
	WakeOnMessage    Waking = "message"        // when the holder publishes its release
	WakeOnMessageTTL Waking = "message-or-ttl" // on the message, or once the TTL has passed, whichever comes first
)

// TokenScope says which attempts share an owner value.
type TokenScope string

const (
	PerRequest TokenScope = "per-request" // a new value for every attempt: the documents' rule
	// one value for all attempts of one acquire call
	PerAcquire TokenScope = "per-acquire"
	PerClient  TokenScope = "per-client" // one value for all attempts of a client
	Fixed      TokenScope = "fixed"      // one value for all clients: a constant in their code (Collins)
)

// ExtendMode says how a client extends a lock, and when it counts the extension as successful.
type ExtendMode string

const (
	ExtendChecked   ExtendMode = "checked"   // by script, on a quorum, within the validity: the document's rule
	ExtendCAS       ExtendMode = "cas"       // Tair's compare and set with the same value (Alibaba Cloud)
	ExtendUnchecked ExtendMode = "unchecked" // ignores replies and elapsed time
	// counts any reply as success, even one that says that the key is gone (go-redsync 38)
	ExtendAnyAnswer     ExtendMode = "any-answer"
	ExtendIgnoreElapsed ExtendMode = "ignore-elapsed" // counts the TTL from the last reply (go-redsync 71, 72)
	// if the lock is gone, acquires it again, even if another client held it meanwhile (redis-semaphore 175, redlock-rb
	// 36)
	ExtendOrAcquire ExtendMode = "or-acquire"
	// extends the key's expiry without comparing the owner (Redisson's RedLock)
	ExtendExpire ExtendMode = "expire"
	// releases the lock and reports that it was extended (py-sherlock 66)
	ExtendRelease   ExtendMode = "release"
	ExtendReacquire ExtendMode = "reacquire" // runs the acquisition again with the same value (Grace Collins)
)

// Allowance is what a client subtracts from the validity for clock drift: TTL x PPM / 1,000,000 + Plus.
type Allowance struct {
	PPM  int64 // 10000 is one percent
	Plus time.Duration
}

// Extension says how a lock is extended while its work goes on.
type Extension struct {
	Mode       ExtendMode    // default checked
	TTL        time.Duration // TTL of the extended lock; default: the lock's own
	Every      time.Duration // default TTL / 3
	Limit      int           // maximum number of extensions of a hold; 0: no limit
	Background bool          // a keepalive task extends the lock; otherwise the worker does, between steps of its work
}

// Wait describes the WAIT command that a client sends after it set a lock on a replicated Redis (Alibaba Cloud).
type Wait struct {
	Replicas int           // number of replicas that must have the write
	Timeout  time.Duration // argument of WAIT, in whole ms; 0 waits for ever
	Obey     bool          // let the attempt fail if fewer replicas replied; default on
	Release  bool          // send WAIT after the release as well
	// SameConnection sends WAIT on the connection that set the lock, because WAIT covers only the writes of its own
	// connection. Otherwise WAIT goes to the master known at that time. Default on.
	SameConnection bool
}

// Config holds the settings of a lock library.
type Config struct {
	Protocol Protocol
	Key      history.Lock    // default "lock"
	Servers  []sim.ProcessID // all servers; single-instance protocols use the first
	TTL      time.Duration   // default 10 s; at least 1 ms
	Retry    sim.Delay       // between attempts; default 50 ms to 250 ms
	Patience time.Duration   // acquire gives up after this time; 0: never
	Attempts int             // acquire gives up after this many attempts; 0: no limit
	Waits    sim.ClockKind   // clock on which patience is measured; default monotonic
	// Abrupt makes the end of the patience end the request under way as well. Default off.
	Abrupt bool
	// ReleaseOnFailure deletes what an attempt that failed may have left. Default on, with one Redis off.
	ReleaseOnFailure bool
	Wake             Waking        // for one Redis: when a client that found the lock taken retries; default delay
	Release          Release       // default script (setnx and setnx-expire: del)
	Timeout          time.Duration // for one server's reply; default 50 ms

	Extension *Extension // nil: none
	Reentry   Reentry    // default counted

	// Permits is how many clients may hold the lock at the same time; default 1. The lock is a semaphore if it is more.
	Permits int

	Shared  bool // ask for a read lock, which other shared clients may hold at the same time; default off
	Readers bool // the lock is a read-write lock, because some client asks for a read lock

	// Only for a replicated Redis.
	Sentinel sim.ProcessID // asked for the master of Servers[0]; empty: no failovers
	Wait     *Wait         // nil: do not wait for replicas

	// Cluster says that the servers are the masters of a Redis Cluster: the client finds the one that serves its key,
	// and follows redirections.
	Cluster bool

	// Only for locks on Redis with an expiry.
	Clock sim.ClockKind // clock that measures elapsed time and validity; default monotonic
	// step 3 of the Redlock document; default on; on one Redis only for clients that check the validity or extend
	ElapsedCheck bool
	Drift        Allowance  // default none; for Redlock 1 % + 2 ms
	TokenScope   TokenScope // also for locks without expiry; default per-request

	// InObject keeps the owner value in a field that all tasks of a client share, instead of with each call. Default
	// off.
	InObject bool

	// Own holds the settings that no other protocol has, as a value of a type defined in the protocol's file; nil if
	// none was given. The value is replaced and never changed in place, so that copies of a Config are independent.
	Own any

	// First is the index in Servers of the server at which a client begins, if clients spread their load.
	First int
}

// permits returns how many clients may hold the lock at the same time.
func (c *Config) permits() int { return max(1, c.Permits) }
