// Package history defines what a run leaves behind: plain data about who did what to which lock and when. The laws are
// judged from a history alone, so a history of a real system is as good as a simulated one.
//
// Goals: one event type that reads like a Jepsen operation; a lossless form in JSON lines, and Jepsen's own in EDN,
// read with memory that grows with the history alone, and with errors that name the line and what is wrong there.
// Non-goals: knowing how the history was made; operations on anything but locks, the data they guard, and registers.
package history

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Process names what an event belongs to: "client-1", "redis-3", "resource", "probe", "nemesis".
type Process string

// Nemesis is the process under which faults are recorded.
const Nemesis Process = "nemesis"

// Probe is the process that requests each lock once more when the work and the faults are over: it shows whether the
// lock can still be acquired. Its own waiting is not counted as a user's.
const Probe Process = "probe"

// Resource is the process under which the protected resource records what it accepted and refused.
const Resource Process = "resource"

// Lock names a lock; on a Redis node it is the key.
type Lock string

// Attempt names one request for a lock ("client-1/3" is client-1's third). The owner of a lock is an attempt, not a
// client: a client that retries makes a new one (Redlock: the value is unique across all lock requests). The empty
// Attempt means "none known".
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

// F is what was done.
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
	Flushed         Why = "flushed"
	NotRecorded     Why = "not recorded"    // the server says that the key is gone, and neither why nor by whom
	StaleToken      Why = "stale token"     // Apply Fail: a fencing token lower than (or, if so set, equal to) one seen
	CompareFailed   Why = "compare failed"  // Apply Fail: the value expected was not the value found
	AlreadyApplied  Why = "already applied" // Apply Fail: an operation of this identity has taken effect before
	AcquireTimeout  Why = "timeout"         // Acquire Fail: the client's patience, or its attempts, ended
	BySentinel      Why = "by the Sentinel" // FailOver: no fault asked for it
	LeaseNotValid   Why = "lease not valid" // Write Fail, Extend Fail: the client saw that its lease had ended
	ExtendLimit     Why = "limit reached"   // Extend Fail: the capped number of extensions is used up
	// Release Fail, Extend Fail: too few servers still knew the attempt as owner
	NotOwner Why = "not owner"
	Refused  Why = "refused"  // Release Fail, Extend Fail: too few servers took the request, or carried it out
	NoReply  Why = "no reply" // Info: the answer never came
)

// Check is what a request looked at before it changed a key, in one step with the change: by a condition of a command,
// in a script, or by watching the key in a transaction. It says what the request could have refused to change, and not
// whether it decided rightly.
type Check uint8

// What a request may have checked.
const (
	CheckNotRecorded Check = iota
	CheckedNothing         // the key was changed whatever was there
	CheckedPresence        // whether there was a key
	CheckedValue           // what the key held: its value, or the field or member that was changed
	// CheckedLapse: that another key of the owner, by which it shows that it lives, had expired.
	CheckedLapse
)

var checkNames = [...]string{CheckedNothing: "nothing", CheckedPresence: "presence", CheckedValue: "value",
	CheckedLapse: "lapse"}

// String returns the word in a history; "" if it is not recorded.
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
	// acquire, extend, release, lost; apply, read and write name the lock that guards them, or in a history without
	// locks the register, as does cas; key-*: the key
	Lock    Lock
	Shared  bool    // acquire: a shared (read) hold; sections that are both shared may overlap
	Checked Check   // key-*: what the request of By looked at before
	Attempt Attempt // acquire, extend, release, lost, read, write: the grant this belongs to, if known
	Token   Token   // acquire ok, read, write, apply
	// Value is what was read or written (read ok, write, cas, txn, apply), the value of a key (key-set), a library's
	// error message (acquire, extend, release; no part of a digest) or, for the nemesis, the fault line.
	Value string
	// Of is the attempt that set the key (key-*), or on whose behalf the resource was called (apply).
	Of Attempt
	// Member, on key-* and copies only, distinguishes several holds of one key, or the keys in one lock's queue: the
	// field of a hash, the member of a sorted set, the name of a znode, one of the keys that a library derives from a
	// lock. Each has its own owner.
	Member string
	// By is the attempt whose request set, prolonged or deleted the key. Empty if no request did (expiry, crash).
	By Attempt
	// Sent, on key-*, is when the request of By left its client; 0 if that is not known.
	Sent Time
	Why  Why
	// Op distinguishes an apply's two kinds: Read or Write. Empty elsewhere.
	Op F
	// Until, on key-set and key-prolonged, is the true time at which the key is due to expire if the node's clock runs
	// true from here on; Never without expiry. On crash it is until when the process is known to have lived, which
	// ended at some time from then to Time; 0 if it ended at Time. Elsewhere it is 0.
	Until Time
	// Grant is set on acquire ok and extend ok, and nil elsewhere. It was granted by Time.
	Grant *Grant
	// Fault is set on events of the nemesis. It is nil elsewhere, and where a foreign history does not state whom a
	// fault strikes.
	Fault *Fault
}

// Grant is a lease as reported to its holder.
type Grant struct {
	Since   Time      // when the winning attempt's first request left
	Granted Time      // not before Since: when the protocol decided, before any check of the remaining validity
	Until   Time      // end of the validity stated to the caller, in true time; may lie before Granted
	Counted []Process // the servers whose grant was counted
	// Open says that the caller was given no end: Until is when it was told that the lock was lost, or crashed.
	Open bool
}

// Header describes the system that the events are about. Without one, the laws that need it are unchecked.
type Header struct {
	Scenario string      `json:"scenario,omitempty"`
	Seed     uint64      `json:"seed"`
	Clients  []Process   `json:"clients,omitempty"`
	Servers  []Process   `json:"servers,omitempty"` // lock servers only, in order; the resource is not one
	Groups   [][]Process `json:"shards,omitempty"`  // servers that replicate, master first; empty: each stands alone
	Locks    []Lock      `json:"locks,omitempty"`
	Quorum   int         `json:"quorum,omitempty"` // servers that must grant a lock
	TTL      Time        `json:"ttl,omitempty"`    // the longest in use, ns
	Hold     Time        `json:"hold,omitempty"`   // the longest declared time a client works inside its section, ns
	Uncapped bool        `json:"uncapped,omitempty"`
	// deadlock-freedom: how much longer than TTL + Hold one may be stuck, ns
	Slack    Time `json:"slack,omitempty"`
	Messages int  `json:"messages,omitempty"` // requests that clients sent to lock servers, except the probe's
	// requests for a lock, except the probe's; an acquire may make several
	Attempts int `json:"attempts,omitempty"`
	Taken    int `json:"taken,omitempty"` // of the attempts: those that found the lock taken by another
	// fault-tolerance: how long an uncontended acquire or release may take, ns
	Bound    Time      `json:"bound,omitempty"`
	Service  Service   `json:"service,omitempty"`
	Measures []Measure `json:"measures,omitempty"` // that every client and server applies
	// For a lock whose code is not known: the measures that its requests neither show nor rule out, and what they show
	// it to do against its safety.
	Unknown []Measure `json:"unknown_measures,omitempty"`
	Lapses  []Lapse   `json:"lapses,omitempty"`
	// Asked is, for each client, when its latest request for a lock reached a lock server; 0 if none did. What only
	// keeps a connection or a session up does not count. It is nil where the requests of a run are not read.
	Asked map[Process]Time `json:"asked,omitempty"`
	End   Time             `json:"end"` // true time at which recording stopped
	Recording
}

// Recording holds the header fields of a history that was recorded outside the simulator.
type Recording struct {
	// Start is the instant from which times count, in ns since 1970 (Unix time); 0 if it is not known.
	Start int64 `json:"start,omitempty"`
	// ClockError is how far the clock of a process may have been from true time, either way, ns. The acts of one
	// process are in the order of the index; of the acts of two processes it is known which came first if their times
	// are further apart than both errors together. 0: one clock stamped all events.
	ClockError Time `json:"clock_error,omitempty"`
	// ClockErrors holds the errors of processes whose clocks are known better than ClockError, the worst of all: each
	// machine has its own clock.
	ClockErrors map[Process]Time `json:"clock_errors,omitempty"`
	// Seen is when the record of a process ended, if it ended before that of others: whatever the process was doing
	// then may have gone on, or not. It needs a ClockError.
	Seen      map[Process]Time `json:"seen,omitempty"`
	Reading   Reading          `json:"reading,omitempty"`
	Reentrant bool             `json:"reentrant,omitempty"` // acquires of one owner nest
	// Initial is what every register held initially, as EDN writes it ("nil", "0"); empty if that is not known.
	Initial string `json:"initial,omitempty"`
}

// Reading says whose view of a release the laws take.
type Reading string

// The readings.
const (
	// Default is the holder's: a section ends when its release is called, whatever the outcome.
	Default Reading = ""
	// Strict is the service's: a release that failed released nothing, and the lock stays held.
	Strict Reading = "strict"
)

// String returns the word by which users choose the reading.
func (r Reading) String() string {
	if r == Default {
		return "default"
	}
	return string(r)
}

// UnmarshalText reads the word of a reading.
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

// Time is true time: nanoseconds since the start of the run. No process of a run can read it.
type Time int64

// Of converts a duration since the start.
func Of(d time.Duration) Time { return Time(d) }

// Duration is the time since the start.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// String returns seconds with as many decimals as a reader needs, down to microseconds: "10.131 s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	s := strconv.FormatFloat(float64(t)/1e9, 'f', 6, 64)
	for s[len(s)-1] == '0' && s[len(s)-4] != '.' { // keep milliseconds
		s = s[:len(s)-1]
	}
	return s + " s"
}

var typeNames = [...]string{Invoke: "invoke", OK: "ok", Fail: "fail", Info: "info"}

// String returns the type's name in Jepsen's terms; "" for an invalid one.
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

// IsKey reports whether events of f are a server's records of a key.
func (f F) IsKey() bool { return isKeyDeadline(f) || f == KeyGone || f.IsCopy() }

// IsCopy reports whether events of f show which records the members of a service that acts as one have copied. They
// decide nothing: what the service did is in its other records of keys.
func (f F) IsCopy() bool { return f == KeyCopied || f == CopyGone }

func parseType(s string) (Type, bool) {
	i := slices.Index(typeNames[1:], s)
	return Type(i + 1), i >= 0
}
