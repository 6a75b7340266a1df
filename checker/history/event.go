// Package history defines what a run leaves behind: plain data about who did what to which lock and when. The laws are
// judged from a history alone, so a history of a real system is as good as a simulated one.
//
// Goals: one event type that reads like a Jepsen operation; a lossless file format in JSON lines, and a reader of
// Jepsen's own EDN; readers that need no memory beyond that of the history, and whose errors name the line and what is
// wrong there. Non-goals: knowing how the history was made; operations on anything but locks, the data that they guard,
// and registers.
package history

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Process names the process that an event belongs to: "client-1", "redis-3", "resource", "probe", "nemesis".
type Process string

// Nemesis is the process under which faults are recorded.
const Nemesis Process = "nemesis"

// Probe is the process that requests each lock once more after the work and the faults are over. It shows whether the
// lock can still be acquired. Its waiting time is not counted as a client's.
const Probe Process = "probe"

// Resource is the process under which the protected resource records what it accepted and refused.
const Resource Process = "resource"

// Lock names a lock; on a Redis server it is the key.
type Lock string

// Attempt names one request for a lock ("client-1/3" is client-1's third). The owner of a lock is an attempt, not a
// client: a client that tries again makes a new attempt. (The Redlock document, too, makes the value unique across all
// lock requests.) An empty Attempt means that the attempt is not known.
type Attempt string

// Token is a fencing token. Zero means that the lock issues none.
type Token int64

// Type is a stage in the life of an operation, in Jepsen's terms.
type Type uint8

// The zero Type is invalid, so that a forgotten one is noticed.
const (
	Invoke Type = iota + 1 // the operation was called; for a fault: it struck
	OK                     // it returned and took effect; for a fault: it ended
	Fail                   // it returned and took no effect
	Info                   // it returned (or never did) and may or may not have taken effect
)

// F is the function of an event: the operation, record or fault.
type F string

// Operations of clients.
const (
	Acquire F = "acquire"
	Extend  F = "extend"
	Release F = "release"
	Lost    F = "lost"    // the client learned that its lock is gone and stops its work
	Read    F = "read"    // of the protected resource, or of a register
	Write   F = "write"   // to the protected resource, or a register
	CAS     F = "cas"     // of a register: Value is "[OLD NEW]", in EDN; Fail where it did not hold OLD
	Txn     F = "txn"     // reads and writes of registers at once: Value is "[[:read REGISTER VALUE] …]", in EDN
	Woken   F = "woken"   // a waiting client was notified and will try for the lock again
	Crashed F = "crashed" // the process ended in the middle of an operation
)

// Records of servers.
const (
	Apply        F = "apply"         // the resource judged a read or a write; Type OK accepted, Fail refused
	KeySet       F = "key-set"       // a key was created or overwritten
	KeyProlonged F = "key-prolonged" // the deadline of an existing key was moved
	KeyGone      F = "key-gone"      // a key was removed; Why says how
	KeyCopied    F = "key-copied"    // another member of a service that acts as one has learned of a key-set
	CopyGone     F = "copy-gone"     // another member has learned of a key-gone
)

// Why says how a key was removed, or why the resource refused a request.
type Why string

// Reasons on KeyGone.
const (
	Expired         Why = "expired"
	Deleted         Why = "deleted"
	LostUnsynced    Why = "lost in crash (unsynced)"
	LostUnpersisted Why = "lost in crash (no persistence)"
	LostDisk        Why = "lost in crash (disk lost)"
	LostInFailover  Why = "lost in failover"
	Flushed         Why = "flushed"         // by a request of a client
	NotRecorded     Why = "not recorded"    // the server recorded that the key is gone, but not why or who removed it
	StaleToken      Why = "stale token"     // Apply Fail: a fencing token lower than (or, if so set, equal to) one seen
	CompareFailed   Why = "compare failed"  // Apply Fail: the value expected was not the value found
	AlreadyApplied  Why = "already applied" // Apply Fail: an operation of this identity has taken effect before
	AcquireTimeout  Why = "timeout"         // Acquire Fail: the client's patience, or its attempts, ended
	BySentinel      Why = "by the Sentinel" // FailOver: the Sentinel started it, not a fault
	LeaseNotValid   Why = "lease not valid" // Write Fail, Extend Fail: the client saw that its lease had ended
	ExtendLimit     Why = "limit reached"   // Extend Fail: the capped number of extensions is used up
	// Release Fail, Extend Fail: too few servers still recognised the attempt as the owner
	NotOwner Why = "not owner"
	Refused  Why = "refused"  // Release Fail, Extend Fail: too few servers accepted the request and carried it out
	NoReply  Why = "no reply" // Info: no reply came
)

// Reasons on KeyGone where no client took part: the server evicted the key to free memory (maxmemory-policy), or an
// operator's DEL or FLUSHALL removed it.
const (
	Evicted           Why = "evicted"
	DeletedByOperator Why = "removed by an operator (deleted)"
	FlushedByOperator Why = "removed by an operator (flushed)"
)

// Check states what a request checked before it changed a key, atomically with the change: by a condition of a command,
// in a script, or by watching the key in a transaction. It shows which changes the request was able to refuse, not
// whether it decided correctly.
type Check uint8

// What a request may have checked.
const (
	CheckNotRecorded Check = iota
	CheckedNothing         // the key was changed whatever it was before
	CheckedPresence        // whether there was a key
	CheckedValue           // what the key held: its value, or the field or member that was changed
	// CheckedLapse means that the request checked that another key of the owner, a sign of life, had expired.
	CheckedLapse
)

var checkNames = [...]string{CheckedNothing: "nothing", CheckedPresence: "presence", CheckedValue: "value",
	CheckedLapse: "lapse"}

// String returns the check's word in a history, or "" if the check is not recorded.
func (c Check) String() string {
	if int(c) >= len(checkNames) {
		return ""
	}
	return checkNames[c]
}

// Never is the deadline of a key without expiry.
const Never Time = math.MaxInt64

// Event is one line of a history. Events are ordered by Index, never by Time: two events may have the same time.
type Event struct {
	Index   int // position in the history, from 0
	Time    Time
	Process Process
	Type    Type
	F       F
	// Lock is the lock of an acquire, extend, release or lost, and the lock that guards the data of an apply, read or
	// write. In a history without locks, it is the register of a read, write or cas. On key-* it is the key. On a fault
	// that removes one key it is that key.
	Lock    Lock
	Shared  bool    // acquire: a shared (read) hold; sections that are both shared may overlap
	Checked Check   // key-*: what the request of the attempt By checked before it changed the key
	Attempt Attempt // acquire, extend, release, lost, read, write: the grant this belongs to, if known
	Token   Token   // acquire ok, read, write, apply
	// Value is the value that was read or written (read ok, write, cas, txn, apply), the value of a key (key-set), a
	// library's error message (acquire, extend, release; not part of a digest) or, for the nemesis, the line of the
	// fault in the plan.
	Value string
	// Of is the attempt that set the key (key-*), or on whose behalf the resource was called (apply).
	Of Attempt
	// Member, on key-* and copies only, distinguishes several holds of one key, or the keys in one lock's queue: the
	// field of a hash, the member of a sorted set, the name of a znode, or one of the keys that a library derives from
	// a lock. Each member has its own owner.
	Member string
	// By is the attempt whose request set, extended or deleted the key. It is empty if no request did (expiry, crash).
	By Attempt
	// Sent, on key-*, is when the request of the attempt By left its client; 0 if that is not known.
	Sent Time
	Why  Why
	// Op is what an apply was: Read or Write. It is empty on other events.
	Op F
	// Until, on key-set and key-prolonged, is the true time at which the key is due to expire if the server's clock
	// keeps true time from here on; Never for a key without expiry. On crash, it is the last time at which the process
	// is known to have lived: the process ended between Until and Time, or at Time if Until is 0. On other events it is
	// 0.
	Until Time
	// Grant is set on acquire ok and extend ok, and nil elsewhere. Grant.Granted is not after Time.
	Grant *Grant
	// Fault may be set on events of the nemesis. It is nil on other events, and if a foreign history does not state
	// which processes a fault strikes.
	Fault *Fault
}

// Grant is a lease as reported to its holder.
type Grant struct {
	Since   Time      // when the winning attempt's first request left
	Granted Time      // when the protocol decided, before any check of the remaining validity; not before Since
	Until   Time      // end of the validity stated to the caller, in true time; it may be before Granted
	Counted []Process // the servers whose grant was counted
	// Open means that the lease was granted without a stated end. Until is then the time at which the holder learned
	// that the lock was lost, or crashed.
	Open bool
}

// TTLOf returns the longest TTL that a client uses: its entry in TTLs, or else TTL.
func (h *Header) TTLOf(p Process) Time {
	if ttl, stated := h.TTLs[p]; stated {
		return ttl
	}
	return h.TTL
}

// Span is the time from one instant to another.
type Span struct {
	From Time `json:"from"`
	To   Time `json:"to"` // not before From
}

// Header describes the system that produced the events. Laws that need a field that is not stated are unchecked.
type Header struct {
	Scenario string      `json:"scenario,omitempty"`
	Seed     uint64      `json:"seed"`
	Clients  []Process   `json:"clients,omitempty"`
	Servers  []Process   `json:"servers,omitempty"` // the lock servers, in order; the resource is not one of them
	Groups   [][]Process `json:"shards,omitempty"`  // servers that replicate, master first; empty: each stands alone
	Locks    []Lock      `json:"locks,omitempty"`
	Quorum   int         `json:"quorum,omitempty"` // servers that must grant a lock
	// number of clients that may hold a lock at the same time, if it is a semaphore; 0 or 1: a lock with one holder
	Permits int  `json:"permits,omitempty"`
	TTL     Time `json:"ttl,omitempty"` // the longest TTL in use, ns
	// TTLs gives the longest TTL of each client that uses only shorter ones than TTL, ns
	TTLs     map[Process]Time `json:"ttls,omitempty"`
	Hold     Time             `json:"hold,omitempty"` // the longest declared time a client works inside its section, ns
	Uncapped bool             `json:"uncapped,omitempty"`
	// deadlock-freedom: how much longer than TTL + Hold a client may be stuck, ns
	Slack    Time `json:"slack,omitempty"`
	Messages int  `json:"messages,omitempty"` // requests that clients sent to lock servers, except the probe's
	// requests for a lock, except the probe's; an acquire may make several
	Attempts int `json:"attempts,omitempty"`
	Taken    int `json:"taken,omitempty"` // how many of the attempts found the lock taken by another
	// fault-tolerance: how long an uncontended acquire or release may take, ns
	Bound    Time      `json:"bound,omitempty"`
	Service  Service   `json:"service,omitempty"`
	Measures []Measure `json:"measures,omitempty"` // the measures that every client and server applies
	// Unknown is for a lock whose code is not known: it lists the measures that the lock's requests neither show nor
	// rule out. Lapses lists the unsafe things that its requests show.
	Unknown []Measure `json:"unknown_measures,omitempty"`
	Lapses  []Lapse   `json:"lapses,omitempty"`
	// Asked gives, for each client, when its latest request for a lock reached a lock server; 0 if none did. Requests
	// that only keep a connection or a session alive do not count. Asked is nil if the requests of the run were not
	// inspected.
	Asked map[Process]Time `json:"asked,omitzero"`
	// Quiet gives, for each client in Asked, the longest time between two such requests, or before the first one.
	Quiet map[Process]Span `json:"quiet,omitzero"`
	End   Time             `json:"end"` // true time at which recording stopped
	Recording
}

// Recording holds the header fields of a history that was recorded outside the simulator.
type Recording struct {
	// Start is the instant from which times are counted, as Unix time in ns; 0 if it is not known.
	Start int64 `json:"start,omitempty"`
	// ClockError is the maximum distance between the clock of a process and true time, in either direction, ns. Events
	// of one process are ordered by their index. The order of two processes' events is known if their times differ by
	// more than both errors together. 0 means that one clock stamped all events.
	ClockError Time `json:"clock_error,omitempty"`
	// ClockErrors gives smaller errors for processes whose clocks are known better than ClockError, which is the worst
	// of all. Each machine has its own clock.
	ClockErrors map[Process]Time `json:"clock_errors,omitempty"`
	// Seen gives, for each process whose record ended before that of others, when it ended. What the process was doing
	// at that time may or may not have continued. Seen requires a ClockError.
	Seen      map[Process]Time `json:"seen,omitempty"`
	Reading   Reading          `json:"reading,omitempty"`
	Reentrant bool             `json:"reentrant,omitempty"` // acquires of one owner nest
	// Initial is the initial value of every register, as EDN writes it ("nil", "0"); empty if it is not known.
	Initial string `json:"initial,omitempty"`
}

// Reading determines how the laws interpret a release that failed: from the holder's or from the service's point of
// view.
type Reading string

// The readings of a release.
const (
	// Default is the holder's view: a section ends when its release is called, whatever the outcome.
	Default Reading = ""
	// Strict is the service's view: a release that failed released nothing, and the lock stays held.
	Strict Reading = "strict"
)

// String returns the name by which users choose the reading.
func (r Reading) String() string {
	if r == Default {
		return "default"
	}
	return string(r)
}

// UnmarshalText parses the name of a reading.
func (r *Reading) UnmarshalText(text []byte) error {
	switch word := string(text); word {
	case "", "default":
		*r = Default
	case string(Strict):
		*r = Strict
	default:
		return unknown("unknown reading", word, []string{Default.String(), string(Strict)})
	}
	return nil
}

// History is a header and its events, in index order.
type History struct {
	Header Header
	Events []Event
}

// Time is true time, in nanoseconds since the start of the run. No process of a run can read it.
type Time int64

// Of converts a duration since the start of the run to a Time.
func Of(d time.Duration) Time { return Time(d) }

// Duration returns the time since the start of the run.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// String returns the time in seconds, with three decimals or as many as it needs, up to six: "10.131 s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	s := strconv.FormatFloat(float64(t)/1e9, 'f', 6, 64)
	for s[len(s)-1] == '0' && s[len(s)-4] != '.' { // keep three decimals
		s = s[:len(s)-1]
	}
	return s + " s"
}

var typeNames = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

// String returns the type's name in Jepsen's terms, or "" for an invalid type.
func (t Type) String() string {
	if int(t) >= len(typeNames) {
		return ""
	}
	return typeNames[t]
}

// functions lists what processes other than the nemesis may do.
var functions = []F{Acquire, Extend, Release, Lost, Read, Write, CAS, Txn, Woken, Crashed, Apply, KeySet, KeyProlonged,
	KeyGone, KeyCopied, CopyGone}

// isKeyDeadline reports whether events of f carry Event.Until.
func isKeyDeadline(f F) bool { return f == KeySet || f == KeyProlonged }

// IsKey reports whether events of f are a server's record of a key.
func (f F) IsKey() bool { return isKeyDeadline(f) || f == KeyGone || f.IsCopy() }

// IsCopy reports whether events of f record that another member of a replicated service has copied a record. Copies
// decide nothing: what the service did is in its other records of keys.
func (f F) IsCopy() bool { return f == KeyCopied || f == CopyGone }

func parseType(s string) (Type, bool) {
	i := slices.Index(typeNames[1:], s)
	return Type(i + 1), i >= 0
}
