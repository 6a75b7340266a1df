// Package locks contains the lock protocols under test. Each is written as its document describes it, and uses only
// sim.Env. The comments refer to documents by author; scenarios/STATEMENTS.md lists titles and addresses. For each step
// that some released library is known to omit, there is a setting that omits it.
//
// Goals: the code of each protocol reads like its document; incorrect settings are possible and have names. Non-goals:
// deciding whether a lock is safe (checker), doing the protected work (scenarios), and locks for production use.
package locks

import (
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// Protocol names a lock protocol.
type Protocol string

// Reentry determines what a lock library does when a client acquires a lock that it already holds.
type Reentry string

const (
	CountedReentry Reentry = "counted" // the holds are counted, and the last release gives up the lock
	// the first release releases the lock, no matter how many holds there are (go-zero 1338)
	UncountedReentry Reentry = "uncounted"
	// the client compares the owner, then sets the key again, even if it belongs to another client by then (redisson
	// 84)
	OverwritingReentry Reentry = "overwrite"
)

// Release determines how a lock is released.
type Release string

const (
	ReleaseScript     Release = "script"       // compare and delete in one script, as the documents require
	ReleaseDel        Release = "del"          // plain DEL, even if another client owns the key
	ReleaseGetThenDel Release = "get-then-del" // compare, then DEL: another client may get the lock in between
	ReleaseCAD        Release = "cad"          // Tair's compare and delete (Alibaba Cloud)
	ReleaseDelex      Release = "delex"        // Redis 8.4's DELEX key IFEQ value
	ReleaseNothing    Release = "nothing"      // no request is sent, and the key stays until it expires
)

// Need is a setting that requires servers of a specific version.
type Need struct {
	Key     string
	Version string // as written in FORMAT.md
	Why     string
}

// Needs returns the settings in c that use a command that only some versions of Redis have.
func (c *Config) Needs() (list []Need) {
	switch c.Release {
	case ReleaseCAD:
		list = append(list, Need{"release", "tair", "CAD is a command of Tair: set `servers.version: tair`"})
	case ReleaseDelex:
		list = append(list, Need{"release", "8", "DELEX requires Redis 8.4: set `servers.version: 8`"})
	}
	if c.Extension != nil && c.Extension.Mode == ExtendCAS {
		list = append(list, Need{"extension.mode", "tair", "CAS is a command of Tair: set `servers.version: tair`"})
	}
	if c.Wait != nil && c.Wait.Fsync != NoDisks {
		list = append(list, Need{"wait.fsync", "8", "WAITAOF requires Redis 7.2: set `servers.version: 8`"})
	}
	return list
}

// Waking determines when a client tries again after finding the lock taken.
type Waking string

const (
	WakeAfterDelay   Waking = "delay"          // after the time retry.delay
	WakeOnMessage    Waking = "message"        // when the holder publishes its release
	WakeOnMessageTTL Waking = "message-or-ttl" // on the message, or once the TTL has passed, whichever comes first
)

// TokenScope determines which attempts share an owner value.
type TokenScope string

const (
	PerRequest TokenScope = "per-request" // a new value for every attempt, as the documents require
	// one value for all attempts in one call to Acquire
	PerAcquire TokenScope = "per-acquire"
	PerClient  TokenScope = "per-client" // one value for all attempts of a client
	Fixed      TokenScope = "fixed"      // one value for all clients: a constant in their code (Collins)
)

// ExtendMode determines how a client extends a lock, and when it considers the extension successful.
type ExtendMode string

const (
	ExtendChecked   ExtendMode = "checked"   // by a script, on a quorum, within the validity, as the document requires
	ExtendCAS       ExtendMode = "cas"       // Tair's compare and set with the same value (Alibaba Cloud)
	ExtendUnchecked ExtendMode = "unchecked" // the client ignores replies and elapsed time
	// any reply counts as success, even one that says the key is gone (go-redsync 38)
	ExtendAnyAnswer     ExtendMode = "any-answer"
	ExtendIgnoreElapsed ExtendMode = "ignore-elapsed" // the TTL is counted from the last reply (go-redsync 71, 72)
	// if the key is gone, the client acquires the lock again, even if another client has held it in the meantime
	// (redis-semaphore 175, redlock-rb 36)
	ExtendOrAcquire ExtendMode = "or-acquire"
	// the client extends the key's expiry without comparing the owner (Redisson's RedLock)
	ExtendExpire ExtendMode = "expire"
	// the client releases the lock but reports that it has extended it (py-sherlock 66)
	ExtendRelease   ExtendMode = "release"
	ExtendReacquire ExtendMode = "reacquire" // the client acquires the lock again with the same value (Grace Collins)
)

// Allowance is how much a client subtracts from the validity to allow for clock drift: TTL x PPM / 1,000,000 + Plus.
type Allowance struct {
	PPM  int64 // 10000 is one percent
	Plus time.Duration
}

// Extension determines how a lock is extended while its holder is working.
type Extension struct {
	Mode  ExtendMode    // default: checked
	TTL   time.Duration // TTL of the extended lock; default: the TTL of the lock
	Every time.Duration // time between extensions; default: TTL / 3
	Limit int           // maximum number of extensions of a hold; 0: no limit
	// a keepalive task extends the lock; if not set, the worker extends it between the steps of its work
	Background bool
	Until      Ending // when the keepalive task ends; default: last-release
}

// Ending determines when a keepalive ends.
type Ending string

const (
	EndsWithLast Ending = "last-release" // with the release after which the client no longer holds the lock
	// The keepalive ends with the first release, even if the client has acquired the lock several times.
	EndsWithFirst Ending = "first-release"
	// The keepalive carries on after the last release, until the server replies that the client does not have the lock
	// (redisson 7272).
	NeverEnds Ending = "never"
)

// Wait describes the WAIT or WAITAOF command that a client sends after setting a lock on a replicated Redis server
// (Alibaba Cloud).
type Wait struct {
	Replicas int           // number of replicas that must have the write
	Fsync    Disks         // with WAITAOF, the disks that must have the write; default: none, which is WAIT
	Timeout  time.Duration // argument of WAIT, in whole ms; 0: wait forever
	Obey     bool          // the attempt fails if fewer replicas have replied; default: on
	Release  bool          // send WAIT also after the release
	// SameConnection makes the client send WAIT on the connection that set the lock, because WAIT covers only writes on
	// its own connection. If it is off, the client sends WAIT to the current master. Default: on.
	SameConnection bool
}

// Disks determines which servers must have written a lock to disk before it counts as acquired.
type Disks string

const (
	NoDisks      Disks = "none"
	MasterDisk   Disks = "master"
	ReplicaDisks Disks = "replicas"
	AllDisks     Disks = "all" // those of the master and of the replicas
)

// Config contains a lock library's settings. The defaults are those of most protocols; some protocols have others.
type Config struct {
	Protocol Protocol
	Key      history.Lock    // default "lock"
	Servers  []sim.ProcessID // all servers; protocols for a single server use the first
	TTL      time.Duration   // default 10 s; at least 1 ms
	Retry    sim.Delay       // delay between attempts; default: 50 ms to 250 ms
	Patience time.Duration   // an acquire gives up after this time; 0: never
	Attempts int             // an acquire gives up after this number of attempts; 0: no limit
	Waits    sim.ClockKind   // clock on which patience is measured; default monotonic
	// Abrupt makes the client abort its current request when it stops waiting for the lock. Default: off.
	Abrupt bool
	// ReleaseOnFailure makes a client delete whatever a failed attempt may have left behind. Default: on, except with a
	// single Redis server.
	ReleaseOnFailure bool
	Wake             Waking        // for one Redis: when a client that found the lock taken tries again; default: delay
	Release          Release       // default: script (for setnx and setnx-expire: del)
	Timeout          time.Duration // how long to wait for one server's reply; default: 50 ms

	Extension *Extension // nil: none
	Reentry   Reentry    // default counted

	// Permits is the number of clients that may hold the lock at the same time. Default: 1. If it is greater than 1,
	// the lock is a semaphore.
	Permits int

	Shared  bool // ask for a read lock, which other readers may hold at the same time; default: off
	Readers bool // the lock is a read-write lock, because some client asks for a read lock

	// These fields are only for a replicated Redis server.
	Sentinel sim.ProcessID // the Sentinel to ask for the master of Servers[0]; empty: no failovers
	Wait     *Wait         // nil: do not wait for replicas

	// Cluster is set if the servers are the masters of a Redis Cluster. The client then finds the master that serves
	// its key, and follows redirections.
	Cluster bool

	// These fields are only for Redis locks with an expiry.
	Clock sim.ClockKind // clock that measures elapsed time and validity; default monotonic
	// ElapsedCheck turns on step 3 of the Redlock document: the client refuses the lock if its validity has run out by
	// the time the replies arrive. Default: on. With a single Redis server, the default is on only if the client checks
	// the validity or extends the lock.
	ElapsedCheck bool
	Drift        Allowance  // default none; for Redlock 1% + 2 ms
	TokenScope   TokenScope // also used by locks without expiry; default: per-request

	// InObject makes all of a client's tasks store the owner value in one shared field. If it is off, each call to
	// Acquire has its own value. Default: off.
	InObject bool

	// Own contains the settings that only this protocol has, as a value of a type defined in the protocol's file. It is
	// nil if there are none. To change a setting, assign a new value to Own instead of changing the old one, so that
	// copies of a Config are independent.
	Own any

	// First is the index in Servers of the server that a client asks first if the clients spread their load.
	First int
}

// permits returns the number of clients that may hold the lock at the same time.
func (c *Config) permits() int { return max(1, c.Permits) }
