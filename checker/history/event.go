// Package history defines the record of a run: plain data about who did what to which lock and when. The laws are
// checked against a history alone, so they apply to histories of real systems as well as simulated ones.
//
// Goals: one event type that reads like a Jepsen operation; a lossless file format in JSON lines; and a reader for
// Jepsen's own EDN. Reading a history needs no memory beyond the history itself, and each error names the line and says
// what is wrong with it.
//
// Non-goals: knowledge of how the history was made; operations on anything but locks, the data that they guard, and
// registers.
package history

import (
	"math"
	"slices"
	"strconv"
	"time"
)

// Process is the name of an event's process: "client-1", "redis-3", "resource", "probe", "nemesis".
type Process string

// Nemesis is the process that records faults.
const Nemesis Process = "nemesis"

// Probe is the process that requests each lock once more after the clients have finished and the faults have ended. It
// shows whether the lock can still be acquired. Its waiting time is not counted as a client's.
const Probe Process = "probe"

// Resource is the process that records what the protected resource accepted and refused.
const Resource Process = "resource"

// Lock is a lock's name. On a Redis server, it is the key.
type Lock string

// Attempt is the name of one request for a lock ("client-1/3" is client-1's third). A lock's owner is an attempt, not a
// client: a client that tries again makes a new attempt. (The Redlock document, too, makes the value unique across all
// lock requests.) An empty Attempt means that the attempt is unknown.
type Attempt string

// Token is a fencing token. Zero means that the lock does not issue any.
type Token int64

// Type says whether an event is the call of an operation or one of its outcomes, in Jepsen's terms.
type Type uint8

// The event types. The zero Type is invalid, so that a missing type is noticed.
const (
	Invoke Type = iota + 1 // the operation was called; for a fault: it struck
	OK                     // it returned and took effect; for a fault: it ended
	Fail                   // it returned and did not take effect
	Info                   // it may or may not have taken effect; it may never have returned
)

// F is an event's function: the operation, record or fault.
type F string

// Client operations.
const (
	Acquire F = "acquire"
	Extend  F = "extend"
	Release F = "release"
	Lost    F = "lost"  // the client learned that it had lost its lock and stopped working
	Read    F = "read"  // read of the protected resource or a register
	Write   F = "write" // write to the protected resource, or to a register
	// a register's compare-and-set: Value is "[OLD NEW]", in EDN; Fail if the register did not contain OLD
	CAS F = "cas"
	// several register reads and writes at once: Value is "[[:read REGISTER VALUE] …]", in EDN
	Txn     F = "txn"
	Woken   F = "woken"   // a waiting client was notified and will try for the lock again
	Crashed F = "crashed" // the process ended without returning from what it was doing
)

// Events recorded by servers.
const (
	Apply        F = "apply"         // the resource decided on a read or a write: Type OK if accepted, Fail if refused
	KeySet       F = "key-set"       // a key was created or overwritten
	KeyProlonged F = "key-prolonged" // an existing key's deadline was changed
	KeyGone      F = "key-gone"      // a key was removed; Why says how
	KeyCopied    F = "key-copied"    // in a replicated service, another member has learned of a key-set
	CopyGone     F = "copy-gone"     // in a replicated service, another member has learned of a key-gone
)

// Why says how a key was removed, or why an operation failed.
type Why string

// Reasons for a key-gone event or, where a comment says so, for another event.
const (
	Expired         Why = "expired"
	Deleted         Why = "deleted"
	LostUnsynced    Why = "lost in crash (unsynced)"
	LostUnpersisted Why = "lost in crash (no persistence)"
	LostDisk        Why = "lost in crash (disk lost)"
	LostInFailover  Why = "lost in failover"
	Flushed         Why = "flushed"      // a client's request removed it
	NotRecorded     Why = "not recorded" // the server recorded that the key is gone, but not why or who removed it
	// an apply failed because the fencing token was lower than one already seen (or equal, if so configured)
	StaleToken     Why = "stale token"
	CompareFailed  Why = "compare failed"  // Apply Fail: the value was not the expected one
	AlreadyApplied Why = "already applied" // Apply Fail: an operation with this identity has already taken effect
	AcquireTimeout Why = "timeout"         // Acquire Fail: the client ran out of time or attempts
	BySentinel     Why = "by the Sentinel" // FailOver: started by the Sentinel, not by a fault
	ByCluster      Why = "by the Cluster"  // FailOver: a Redis Cluster's masters elected the replica
	LeaseNotValid  Why = "lease not valid" // Write Fail, Extend Fail: the client noticed that its lease had ended
	ExtendLimit    Why = "limit reached"   // Extend Fail: the lock was already extended as often as is allowed
	// a release or an extend failed because too few servers still recognized the attempt as the owner
	NotOwner Why = "not owner"
	Refused  Why = "refused"  // Release Fail, Extend Fail: too few servers accepted the request and carried it out
	NoReply  Why = "no reply" // Info: no reply came
)

// BySystem reports whether the lock service itself decided on a failover, rather than a fault ordering it.
func (w Why) BySystem() bool { return w == BySentinel || w == ByCluster }

// Reasons for key-gone events that involve no client: the server evicted the key to free memory (maxmemory-policy), or
// an operator's DEL or FLUSHALL removed it.
const (
	Evicted           Why = "evicted"
	DeletedByOperator Why = "removed by an operator (deleted)"
	FlushedByOperator Why = "removed by an operator (flushed)"
)

// Check says what a request checked in the same atomic step in which it changed a key: with a command's condition, in a
// script, or by watching the key in a transaction. It shows which changes the request could have refused, not whether
// it decided correctly.
type Check uint8

// The checks that a request may make.
const (
	CheckNotRecorded Check = iota
	CheckedNothing         // nothing: the key was changed whatever it was before
	CheckedPresence        // whether the key existed
	CheckedValue           // what the key contained: its value, or the field or member that was changed
	// CheckedLapse means that the request checked that another key, whose presence shows that the owner is alive, had
	// expired.
	CheckedLapse
	// CheckedScore means that the request checked the scores of a sorted set's members. It removed the members with a
	// low score, no matter who owned them, because they had expired.
	CheckedScore
	// CheckedEarlyScore is like CheckedScore, except that by the server's clock the members had not yet expired: the
	// client that sent the request compared the score with a clock that was ahead.
	CheckedEarlyScore
	// CheckedWatched means that the request did not check anything, although its client had watched the key: the client
	// sent the request outside a transaction, so the server did not check whether the key had changed.
	CheckedWatched
)

var checkNames = [...]string{CheckedNothing: "nothing", CheckedPresence: "presence", CheckedValue: "value",
	CheckedLapse: "lapse", CheckedScore: "score", CheckedEarlyScore: "early-score", CheckedWatched: "watched"}

// IsScore reports whether the request checked the score of a member of a sorted set.
func (c Check) IsScore() bool { return c == CheckedScore || c == CheckedEarlyScore }

// String returns the word for c in a history file, or "" if the check is not recorded or c is invalid.
func (c Check) String() string {
	if int(c) >= len(checkNames) {
		return ""
	}
	return checkNames[c]
}

// Task identifies a process's task by its number, counted from 1.
type Task int

// Never is the deadline of a key that does not expire.
const Never Time = math.MaxInt64

// Event is one line in a history. Events are ordered by Index, never by Time: two events may have the same time.
type Event struct {
	Index   int // position in the history, from 0
	Time    Time
	Process Process
	Type    Type
	F       F
	// Lock depends on the event. For an acquire, extend, release or lost, it is the lock. For an apply, read or write,
	// it is the lock that guards the data. In a history without locks, it is the register of a read, write or cas. For
	// key-* it is the key, and for a fault that removes one key, it is that key.
	Lock    Lock
	Shared  bool    // acquire: whether the hold is shared (read); sections that are both shared may overlap
	Task    Task    // acquire: which task (thread) of the process asks; 0 if it has only one, or if this is unknown
	Checked Check   // key-*: what By's request checked before it changed the key
	Attempt Attempt // acquire, extend, release, lost, read, write: the attempt that the event belongs to, if known
	Token   Token   // acquire ok, read, write, apply: the fencing token
	// Value is the value that was read or written (read ok, write, cas, txn, apply) or a key's value (key-set). On
	// acquire, extend and release, it is a library's error message, which digests leave out. On a nemesis event, it is
	// the fault's line in the plan.
	Value string
	// Of is the attempt that set the key (key-*), or the attempt on whose behalf the resource was called (apply).
	Of Attempt
	// Member, on key-* and copies, says which part of Lock the event is about: a hash field, a sorted-set member, a
	// znode name, or one of the keys that a library derives from a lock. It distinguishes several holds of one key, or
	// the keys in one lock's queue. Each member has its own owner.
	Member string
	// By is the attempt whose request set, extended or deleted the key. It is empty if no request did, for example if
	// the key expired or was lost in a crash.
	By Attempt
	// Sent, in key-* events, is the time at which By's request left its client, or 0 if that is unknown.
	Sent Time
	Why  Why
	// Op says whether an apply was a Read or a Write. It is empty on other events.
	Op F
	// Until, on key-set and key-prolonged, is the true time at which the key is due to expire if the server's clock
	// keeps true time from then on. If the key does not expire, it is Never. On crash, Until is the last time at which
	// the process is known to have been alive: the process ended between Until and Time, or at Time if Until is 0. On
	// other events it is 0.
	Until Time
	// Grant may be set on acquire ok and extend ok, and is nil on other events. It is also nil if the history does not
	// say when the lease was granted. Grant.Granted is not after Time.
	Grant *Grant
	// Fault may be set on nemesis events, and is nil on other events. It is also nil if a history from another program
	// does not say what a fault strikes.
	Fault *Fault
}

// Takes reports whether the event removes a key that any client may take. For example, a request pops an element of a
// list: it checks only that the list is not empty.
func (e *Event) Takes() bool {
	return e.F == KeyGone && e.Why == Deleted && e.Checked == CheckedPresence && e.By != ""
}

// Grant is a lease as reported to its holder.
type Grant struct {
	Since Time // when the winning attempt sent its first request
	// Granted is the time at which the protocol decided to grant the lease. If it then checks the remaining validity,
	// it does so after Granted. It is not before Since.
	Granted Time
	Until   Time      // end of the validity that the caller was told, in true time; it may be before Granted
	Counted []Process // the servers whose grants the client counted
	// Open means that the holder was not told when the lease ends. Until is then the time at which the holder crashed
	// or learned that it had lost the lock.
	Open bool
	// Told means that the holder was told when the lease ends, but learned before then that it had lost the lock. Until
	// is then the time at which it learned of the loss.
	Told bool
}

// TTLOf returns the longest TTL that a client uses: its entry in TTLs, or TTL if it does not have one.
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

// Header describes the system that produced the events. If a law needs a field that is missing, the law is unchecked.
type Header struct {
	Scenario string    `json:"scenario,omitempty"`
	Seed     uint64    `json:"seed"`
	Clients  []Process `json:"clients,omitempty"`
	Servers  []Process `json:"servers,omitempty"` // the lock servers, in order; the resource is not one of them
	// groups of servers with copies of the same data, the master first; if empty, each server stands alone
	Groups [][]Process `json:"shards,omitempty"`
	Locks  []Lock      `json:"locks,omitempty"`
	Quorum int         `json:"quorum,omitempty"` // number of servers that must grant a lock
	// if the lock is a semaphore, the number of clients that may hold it at the same time; 0 or 1 for a lock with one
	// holder
	Permits int  `json:"permits,omitempty"`
	TTL     Time `json:"ttl,omitempty"` // the longest TTL in use, in ns
	// TTLs contains the longest TTL of a client, in ns. It lists only clients whose TTLs are all shorter than the TTL
	// field.
	TTLs map[Process]Time `json:"ttls,omitempty"`
	// the declared maximum time for which a client works inside its section, in ns
	Hold     Time `json:"hold,omitempty"`
	Uncapped bool `json:"uncapped,omitempty"`
	// deadlock-freedom: how much longer than TTL + Hold a client may be stuck, in ns
	Slack Time `json:"slack,omitempty"`
	// number of requests that clients, not counting the probe, sent to lock servers
	Messages int `json:"messages,omitempty"`
	// number of lock requests, not counting the probe's; an acquire may make several requests
	Attempts int `json:"attempts,omitempty"`
	Taken    int `json:"taken,omitempty"` // number of attempts that found the lock taken
	// fairness: what a fair lock promises; the zero Order if the lock does not promise any order
	Order Order `json:"order,omitzero"`
	// fault-tolerance: how long an uncontended acquire or release may take, in ns
	Bound    Time      `json:"bound,omitempty"`
	Service  Service   `json:"service,omitempty"`
	Measures []Measure `json:"measures,omitempty"` // the safety measures that all clients and servers take
	// Unknown lists the safety measures that the lock may or may not take. It is for a lock whose code is unknown, if
	// its requests do not show which it takes. Lapses lists the unsafe things that the lock is known to do.
	Unknown []Measure `json:"unknown_measures,omitempty"`
	Lapses  []Lapse   `json:"lapses,omitempty"`
	// Asked contains, for each client, the time at which its latest lock request reached a lock server, or 0 if none
	// did. Requests that only keep a connection or a session alive do not count. Asked is nil if the run's requests
	// were not inspected.
	Asked map[Process]Time `json:"asked,omitzero"`
	// Quiet contains, for each client, the longest time without a lock request: between two such requests, or between
	// its first call to acquire and its first request. It omits clients that are not in Asked or that did not send a
	// request.
	Quiet map[Process]Span `json:"quiet,omitzero"`
	End   Time             `json:"end"` // true time at which recording stopped
	Recording
}

// Recording contains the header fields of a history that was recorded outside the simulator.
type Recording struct {
	// Start is the instant from which times are measured, as Unix time in ns, or 0 if it is unknown.
	Start int64 `json:"start,omitempty"`
	// ClockError is the maximum difference between a process's clock and true time, in either direction, in ns. One
	// process's events are ordered by their index. The order of two processes' events is known if their times differ by
	// more than the sum of both errors. 0 means that a single clock was used for all events.
	ClockError Time `json:"clock_error,omitempty"`
	// ClockErrors contains the errors of processes whose clocks are more accurate than ClockError says. ClockError is
	// the largest error of all. Each machine has its own clock.
	ClockErrors map[Process]Time `json:"clock_errors,omitempty"`
	// Seen contains the times at which processes' records ended. A process that is not in it was recorded until the
	// end. What a process was doing when its record ended may or may not have continued. Seen requires a ClockError.
	Seen    map[Process]Time `json:"seen,omitempty"`
	Reading Reading          `json:"reading,omitempty"`
	// whether an owner may acquire the lock again while holding it
	Reentrant bool `json:"reentrant,omitempty"`
	// Initial is every register's initial value, in EDN ("nil", "0"). It is empty if the value is unknown.
	Initial string `json:"initial,omitempty"`
}

// Reading says how the laws interpret a failed release: from the holder's or the service's point of view.
type Reading string

// The ways in which the laws can interpret a failed release.
const (
	// Default is the holder's view: a section ends when its release is called, whatever the outcome.
	Default Reading = ""
	// Strict is the service's view: a failed release did not release anything, and the lock stays held.
	Strict Reading = "strict"
)

// String returns the reading's name for users.
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

// History is a header and a list of events, in index order.
type History struct {
	Header Header
	Events []Event
}

// Time is true time, in nanoseconds since the start of the run. No process in a run can read it.
type Time int64

// Of converts a duration since the start of the run to a Time.
func Of(d time.Duration) Time { return Time(d) }

// Duration returns the time since the start of the run.
func (t Time) Duration() time.Duration { return time.Duration(t) }

// String returns the time in seconds with three to six decimals, as many as needed: "10.131 s".
func (t Time) String() string {
	if t == Never {
		return "never"
	}
	s := strconv.FormatFloat(float64(t)/1e9, 'f', 6, 64)
	for s[len(s)-1] == '0' && s[len(s)-4] != '.' { // remove trailing zeros, but keep three decimals
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

// functions lists the functions of all events except nemesis events.
var functions = []F{Acquire, Extend, Release, Lost, Read, Write, CAS, Txn, Woken, Crashed, Apply, KeySet, KeyProlonged,
	KeyGone, KeyCopied, CopyGone}

// isKeyDeadline reports whether events with function f have a deadline in Event.Until.
func isKeyDeadline(f F) bool { return f == KeySet || f == KeyProlonged }

// IsKey reports whether events with function f are a server's key records.
func (f F) IsKey() bool { return isKeyDeadline(f) || f == KeyGone || f.IsCopy() }

// IsCopy reports whether an event with function f says that another member of a replicated service has copied a record.
// Such events do not decide anything: the other key records say what the service did.
func (f F) IsCopy() bool { return f == KeyCopied || f == CopyGone }

func parseType(s string) (Type, bool) {
	i := slices.Index(typeNames[1:], s)
	return Type(i + 1), i >= 0
}
