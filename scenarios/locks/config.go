// Package locks holds the lock protocols under test, written as their documents describe them against sim.Env alone.
// Documents are named by their authors; scenarios/STATEMENTS.md has their titles and addresses.
// Every step that a shipped library has left out is a knob that can be left out here.
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

// The protocols on Redis without replication.
const (
	SetNX       Protocol = "setnx"        // SETNX, DEL: no expiry (Grace Collins)
	SetNXExpire Protocol = "setnx-expire" // SETNX, then EXPIRE: not atomic (Grace Collins)
	SetNXPX     Protocol = "set-nx-px"    // SET NX PX (youngju.dev)
	Fenced      Protocol = "fenced"       // SET NX PX and INCR of a token counter, in one script
	Redlock     Protocol = "redlock"      // a majority of independent masters (Sanfilippo, "Distributed locks with Redis")
)

// The protocols on coordination services.
const (
	Etcd      Protocol = "etcd"      // a lease, a key of one's own, the oldest key holds: clientv3/concurrency
	ZooKeeper Protocol = "zookeeper" // an ephemeral sequential znode, the lowest holds (youngju.dev)
)

// LeaseCount says from when an etcd client counts its lease.
type LeaseCount string

const (
	FromSending LeaseCount = "sending" // from when the request left that prolonged it: never longer than the server's
	FromReceipt LeaseCount = "receipt" // from its answer, looking twice a second: the shipped client
)

// Watching says whom a waiting ZooKeeper client watches.
type Watching string

const (
	Predecessor Watching = "predecessor" // the znode before its own: one is woken by a release
	Lowest      Watching = "lowest"      // the lowest znode: all are woken, the herd
)

// TokenFrom says what a ZooKeeper client takes for a fencing token.
type TokenFrom string

const (
	OwnNode    TokenFrom = "own-node"    // the czxid of its own znode
	ParentNode TokenFrom = "parent-node" // the czxid of the folder, as the article's code has it: all holders share it
)

// Naming says what a ZooKeeper client calls its znodes.
type Naming string

const (
	MarkedNames Naming = "marked" // a mark of its own and a number: Curator's protection
	BareNames   Naming = "bare"   // a number alone, which begins anew with the folder that the last to release removes (zk-ruby 34)
)

// Expiry says by whose clock a key's deadline is set.
type Expiry string

const (
	RelativeExpiry Expiry = "relative" // PX: the server adds the TTL to its clock as it sets the key
	AbsoluteExpiry Expiry = "absolute" // PXAT: the client has added it to its own before it asks (ShedLock 132)
)

// TokenRead says when the client of a fenced lock learns its token.
type TokenRead string

const (
	TokenInStep TokenRead = "in-step" // from the script that takes the lock
	TokenLater  TokenRead = "later"   // from the counter, once it has the lock: perhaps a later holder's (Redisson's fenced lock)
)

// Reentry says what a lock library does when a client takes a lock that it holds.
type Reentry string

const (
	CountedReentry     Reentry = "counted"   // the holds are counted, and the last release gives the lock back
	UncountedReentry   Reentry = "uncounted" // the first release gives it back (go-zero 1338)
	OverwritingReentry Reentry = "overwrite" // compares the owner, then sets the key anew, whoever holds it by then (redisson 84)
)

// Release says how a lock is given back.
type Release string

const (
	ReleaseScript     Release = "script"       // compare and delete in one script: the documents' rule
	ReleaseDel        Release = "del"          // plain DEL, whoever holds it
	ReleaseGetThenDel Release = "get-then-del" // compare, then DEL: the lock may change hands between
	ReleaseCAD        Release = "cad"          // Tair's compare and delete (Alibaba Cloud)
	ReleaseDelex      Release = "delex"        // Redis 8.4's DELEX key IFEQ value
)

// Contact says how the servers of a Redlock are asked.
type Contact string

const (
	Sequential Contact = "sequential" // one after another, as the document lists it
	Parallel   Contact = "parallel"   // all at once, as the document recommends
)

// Order says with which server a sequential client begins.
type Order string

const (
	Listed  Order = "listed"  // redis-1 first
	Rotated Order = "rotated" // client k of n begins k-1 n-ths down the list, so that clients spread
)

// ReleaseTo says whom a Redlock asks to give the lock back.
type ReleaseTo string

const (
	ReleaseToAll        ReleaseTo = "all"         // every server, whatever it has said: the document's rule
	ReleaseToGranted    ReleaseTo = "granted"     // only those that have granted the lock (Grace Collins, step 5)
	ReleaseToFirstError ReleaseTo = "first-error" // in turn, until one does not answer (Grace Collins, code)
)

// Asking says how many servers an attempt asks.
type Asking string

const (
	AskAll         Asking = "all"
	AskUntilQuorum Asking = "until-quorum" // in turn, and no more once enough have granted (Grace Collins, step 2)
)

// Waking says when a client that found the lock taken tries again.
type Waking string

const (
	WakeAfterDelay   Waking = "delay"          // after retry.delay
	WakeOnMessage    Waking = "message"        // when the holder publishes that it has released
	WakeOnMessageTTL Waking = "message-or-ttl" // then, or once the TTL has passed, whatever comes first
)

// Line says what clients of etcd put.
type Line string

const (
	OwnKeys Line = "own-keys" // each a key of its own, and waits in line: etcd's recipe
	OneKey  Line = "one-key"  // one key for all, if there is none: no line (youngju.dev)
)

// KeepAlive says when an etcd client gives its lease up.
type KeepAlive string

const (
	UntilLost  KeepAlive = "until-lost"  // it asks one member after another until the lease is over, and tells its client
	UntilError KeepAlive = "until-error" // the first request without an answer ends it, and nobody is told (youngju.dev)
)

// Listening says what a ZooKeeper client does when its connection is suspended.
type Listening string

const (
	NotListening Listening = "off"
	StopsAtOnce  Listening = "on"        // takes it for a lost lock
	TakesAnew    Listening = "reacquire" // pauses its work, and takes the lock anew once it is connected (youngju.dev)
)

// TokenScope says for how long one owner value is used.
type TokenScope string

const (
	PerRequest TokenScope = "per-request" // a new value for every attempt: the documents' rule
	PerClient  TokenScope = "per-client"  // one value for all attempts of a client
)

// ExtendMode says how an extension decides.
type ExtendMode string

const (
	ExtendChecked       ExtendMode = "checked"        // by script, a quorum, within the validity: the document's rule
	ExtendCAS           ExtendMode = "cas"            // Tair's compare and set with the same value (Alibaba Cloud)
	ExtendUnchecked     ExtendMode = "unchecked"      // ignores answers and elapsed time
	ExtendAnyAnswer     ExtendMode = "any-answer"     // takes every answer for a yes, also that the key is gone (go-redsync 38)
	ExtendIgnoreElapsed ExtendMode = "ignore-elapsed" // counts the TTL from the last answer (go-redsync 71, 72)
	ExtendOrAcquire     ExtendMode = "or-acquire"     // takes the lock anew if it is gone, whoever had it meanwhile (redis-semaphore 175, redlock-rb 36)
	ExtendExpire        ExtendMode = "expire"         // prolongs the key without comparing its owner (Redisson's RedLock)
	ExtendRelease       ExtendMode = "release"        // gives the lock back and says that it has prolonged it (py-sherlock 66)
	ExtendReacquire     ExtendMode = "reacquire"      // runs the acquisition again with the same value (Grace Collins)
)

// Allowance is what a client takes off its validity for drifting clocks: TTL x PPM / 1,000,000 + Plus.
type Allowance struct {
	PPM  int64 // 10000 is one percent
	Plus time.Duration
}

// Extension prolongs a lock while its work goes on.
type Extension struct {
	Mode       ExtendMode    // default checked
	TTL        time.Duration // of the prolonged lock; default the lock's own
	Every      time.Duration // default TTL / 3
	Limit      int           // how many at most; 0: no limit
	Background bool          // by a keepalive task beside the work; otherwise between steps of the work
}

// Wait is the WAIT command after a lock was set on a replicated Redis (Alibaba Cloud).
type Wait struct {
	Replicas int           // that must have the write
	Timeout  time.Duration // as WAIT takes it, in whole ms; 0 waits for ever
	Obey     bool          // give the attempt up if fewer answered; default on
	Release  bool          // also after the release
	// SameConnection sends WAIT where the lock was set, which is all that it tells of; otherwise to the master as it is known
	// by then. Default on.
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
	Timeout  time.Duration   // for one server's answer; default 50 ms

	Extension *Extension // nil: none
	Reentry   Reentry    // default counted

	Expiry    Expiry    // SetNXPX only; default relative
	TokenRead TokenRead // Fenced only; default in-step

	// Etcd only.
	Recheck         bool       // look, after waiting, whether the own key still stands (etcd issue 11456); default on
	Count           LeaseCount // default sending
	Line            Line       // default own-keys
	KeepAlive       KeepAlive  // default until-lost
	CompareRevision bool       // delete the own key only if it is still this attempt's (etcd issue 22082); default on

	// ZooKeeper only.
	Watch     Watching  // default predecessor
	TokenFrom TokenFrom // default own-node
	Names     Naming    // default marked
	// CheckSession counts a znode that was found again as one's own only if the session that made it still lives; otherwise
	// it may go with a dying one while its client believes to hold (curator 1121). Default on.
	CheckSession bool
	Shared       bool      // ask for a read lock, which others that are shared may hold as well; default off
	ReadWrite    bool      // the lock is a read-write lock: some client asks for a shared hold
	Listener     Listening // default off

	// Replicated Redis only.
	Sentinel sim.ProcessID // whom to ask for the master of Servers[0]; empty: nobody replaces it
	Wait     *Wait         // nil: do not wait for replicas

	// Locks on Redis with an expiry.
	Clock        sim.ClockKind // that measures elapsed time and validity; default monotonic
	ElapsedCheck bool          // step 3 of the Redlock document; default on, on one Redis for clients that check or renew
	Drift        Allowance     // default none; for Redlock 1 % + 2 ms
	TokenScope   TokenScope    // of locks without expiry, too; default per-request

	// Redlock only.
	Contact          Contact   // default sequential
	Order            Order     // default listed
	Quorum           int       // default N/2 + 1; 1 to N
	ReleaseOnFailure bool      // step 5 of the document; default on
	ReleaseTo        ReleaseTo // default all
	Asking           Asking    // default all

	// First is the place in Servers with which a rotated client begins.
	First int
}
