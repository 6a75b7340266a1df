package margin

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Way is one of the ways in which a law can be violated. Each has its own margin.
type Way uint8

// The ways in which lease-exclusion or, where noted, another law can be violated. Lease-exclusion is violated if the
// holder's keys stop protecting it before its lease ends.
const (
	Expires    Way = iota // the keys expire before the lease ends
	Crashes               // servers lose the keys in a crash
	Failover              // a replica that lacks the keys is promoted
	Removed               // another client's requests remove or overwrite the keys
	Overstated            // the holder relies on its lease after its keys have expired
	Deposed               // a master or leader continues to grant the lock after it was replaced
	Mixed                 // several of these ways together
	Outlives              // mutual-exclusion: a holder stays in its section although its keys are gone
	Writes                // resource-safety: a holder writes after its lease has ended
	Requests              // ownership: a late request reaches another attempt's key
	Ways       = iota
)

// ways contains, for each Way, the law that is violated and the Way's name. The names must not change, because they
// appear in JSON.
var ways = [Ways]struct {
	law  checker.Law
	name string
}{
	Expires:    {checker.LeaseExclusion, "keys expire"},
	Crashes:    {checker.LeaseExclusion, "keys lost in crashes"},
	Failover:   {checker.LeaseExclusion, "keys lost in failovers"},
	Removed:    {checker.LeaseExclusion, "keys removed"},
	Overstated: {checker.LeaseExclusion, "validity overstated"},
	Deposed:    {checker.LeaseExclusion, "master deposed"},
	Mixed:      {checker.LeaseExclusion, "keys lost"},
	Outlives:   {checker.MutualExclusion, "holder outlives its lease"},
	Writes:     {checker.ResourceSafety, "late write"},
	Requests:   {checker.Ownership, "late request"},
}

// Law returns the law violated in way w.
func (w Way) Law() checker.Law { return ways[w].law }

// String returns way w's name, as it appears in JSON.
func (w Way) String() string { return ways[w].name }

// MarshalText returns the name of way w.
func (w Way) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText sets w to the Way with the given name. It returns an error if there is none.
func (w *Way) UnmarshalText(text []byte) error {
	for i := range ways {
		if ways[i].name == string(text) {
			*w = Way(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not a known kind of violation", text)
}

// Call is a close call: it says how close a run came to violating a law in one way. It names the holder, the lease that
// protected it, and the client that could have entered the critical section during that lease.
type Call struct {
	Way Way `json:"way"`
	// 0 if the law was violated in this way; otherwise positive, and smaller the closer the run came
	Value float64      `json:"value"`
	Lock  history.Lock `json:"lock"`

	Holder  history.Process `json:"holder"`
	Attempt history.Attempt `json:"attempt"` // the holder's attempt
	Called  history.Time    `json:"called"`  // when the holder requested the lock
	// From and To are the beginning and end of the period in which the holder must be protected. From is the time of
	// the grant or, if the holder's protection ended early, the time at which it ended. To is the end of the lease, or
	// the release if that came first.
	From history.Time `json:"from"`
	To   history.Time `json:"to"`

	// the client that was granted the lock next; if there is none, a client that requested it
	Next        history.Process `json:"next"`
	NextAttempt history.Attempt `json:"next_attempt"` // empty if Next was not granted the lock
	Contended   bool            `json:"contended"`    // whether another client was requesting the lock during that time

	// how many units (servers or server groups) grant the lock
	Units int `json:"units"`
	// how many more units (servers or server groups) another client would have needed to acquire the lock
	Missing int `json:"missing"`
	// number of units (servers or server groups) with the holder's key, minus the number needed for a quorum
	Spare    int               `json:"spare"`
	Standing []history.Process `json:"standing,omitempty"` // the servers on which the holder's keys existed
	Gone     []Loss            `json:"gone,omitempty"`     // the keys that the holder lost

	// At is the time of the event that brought the run close to a violation. For Outlives, this is when the holder left
	// its critical section. For Writes, it is when the holder made its last write. For Overstated, it is when the
	// holder was told a new lease end or released the lease. For Deposed, it is when the holder was served. For
	// Requests, it is when the holder's last request arrived. At is 0 if there was no such event.
	At history.Time `json:"at"`
	// After is the time from At until the next holder entered its critical section, used the resource, or set its key.
	// It is history.Never if nobody did. For Overstated, it is the time from when the holder's keys ended to the lease
	// end that was reported to the holder.
	After history.Time `json:"after"`
}

// Loss is a key that a holder lost before its lease ended.
type Loss struct {
	Server history.Process `json:"server"`
	At     history.Time    `json:"at"`
	Way    Way             `json:"way"`
}

// Reader measures how close runs came to violating laws, one run after another. It reuses its memory. The zero Reader
// is ready to use.
type Reader struct {
	t      *trace.Trace
	sent   []nemesis.Sent
	ttl    float64
	units  int // how many units (servers or server groups) grant the lock
	need   int // how many units form a quorum
	holds  []hold
	first  map[history.Attempt]int32 // index of each attempt's first hold
	live   map[place]int32           // index of the hold that has the key at each place
	stated []statement
	latest map[history.Attempt]history.Time // when each attempt's last request arrived
	fars   []float64                        // buffers that nearest reuses from grant to grant: see lease.go
	lacks  []float64
	calls  [Ways]Call
	met    [Ways]bool
}

// Read measures how close a run came to violating the laws. t is the checker's trace of the run's history, and v is the
// verdict on the run. sent lists the messages that the run's clients sent. For each way in which there was a close
// call, Read returns the closest one, in Way order. The calls are valid until the next Read.
func (r *Reader) Read(t *trace.Trace, v *checker.Verdict, sent []nemesis.Sent) []Call {
	r.t, r.sent, r.met = t, sent, [Ways]bool{}
	r.ttl = float64(max(t.History.Header.TTL, 1))
	r.units, r.need = shape(&t.History.Header)
	r.readLatest()
	for l := range t.Locks {
		lock := &t.Locks[l]
		r.readHolds(int32(l))
		r.overstated(lock)
		r.deposed(lock)
		for i := range lock.Grants {
			g := &t.Grants[lock.Grants[i]]
			if g.Process == history.Probe {
				continue
			}
			r.lease(lock, i)
			r.section(lock, i)
		}
		r.writes(lock, int32(l))
		r.requests(lock.Name)
	}
	for i := range v.Findings {
		r.violated(&v.Findings[i])
	}
	calls := make([]Call, 0, Ways)
	for w := range r.calls {
		if r.met[w] {
			calls = append(calls, r.calls[w])
		}
	}
	r.t, r.sent = nil, nil
	return calls
}

// violated handles a violated law. For each way in which the law was violated, it sets the margin to 0. For all other
// ways to violate the same law, it drops the close calls.
func (r *Reader) violated(f *checker.Finding) {
	if f.Outcome != checker.Violated {
		return
	}
	for w := range Way(Ways) {
		r.met[w] = r.met[w] && w.Law() != f.Law
	}
	for b := range f.Breaches() {
		if w, ok := violatedIn(b.Law, b.Cause); ok {
			r.met[w], r.calls[w] = true, Call{Way: w}
		}
	}
}

// violatedIn returns the way in which a law was violated, given the cause. ok is false if there is no margin for this
// law and cause.
func violatedIn(law checker.Law, cause checker.Cause) (w Way, ok bool) {
	switch law {
	case checker.MutualExclusion:
		return Outlives, true
	case checker.ResourceSafety:
		return Writes, true
	case checker.Ownership:
		return Requests, true
	case checker.LeaseExclusion:
		switch cause.Kind {
		case checker.ExpiredEarly, checker.NeverRenewed:
			return Expires, true
		case checker.ValidityMiscounted, checker.LeaseNotRechecked:
			return Overstated, true
		case checker.DeposedMaster:
			return Deposed, true
		case checker.LostInCrash:
			return Crashes, true
		case checker.LostInFailover:
			return Failover, true
		case checker.RemovedByNonOwner, checker.RemovedByOwner, checker.ProlongedByNonOwner,
			checker.Evicted, checker.RemovedByOperator:
			return Removed, true
		}
		return Mixed, true
	}
	return 0, false
}

// take keeps a close call if no earlier one came as close to violating a law in way w. value is the call's margin. If
// take keeps the call, it calls more to fill in the other fields.
func (r *Reader) take(w Way, value float64, more func(*Call)) {
	if r.met[w] && value >= r.calls[w].Value {
		return
	}
	c := &r.calls[w]
	*c = Call{Way: w, Value: value, After: history.Never}
	r.met[w] = true
	more(c)
}

// shape returns how many units grant a lock, and how many of them form a quorum. A unit is a server, or a group of
// servers. Servers count as a single unit if they are the members of one service, or if each of them alone is a quorum.
func shape(h *history.Header) (units, quorum int) {
	units, quorum = len(h.Servers), h.Quorum
	if len(h.Groups) > 0 {
		units = len(h.Groups)
	}
	if h.OneService() || quorum <= 1 || units < quorum {
		return 1, 1
	}
	return units, quorum
}

// share returns a time as a fraction of the TTL, limited to the range from 0 to just below 1.
func (r *Reader) share(d history.Time) float64 { return part(float64(d) / r.ttl) }

// part limits x to the range from 0 to just below 1.
func part(x float64) float64 { return min(max(x, 0), 0.999) }

// uncontended is added to a close call's margin if no other client was requesting the lock at that time. As a result,
// the call ranks behind all close calls during which another client was requesting it.
const uncontended = 2

// about fills in a close call's lock, holder and next client, given the i-th grant of the lock.
func (r *Reader) about(c *Call, lock *trace.LockTrace, i int) {
	t := r.t
	g := &t.Grants[lock.Grants[i]]
	c.Lock, c.Holder, c.Attempt = lock.Name, g.Process, g.Attempt
	c.Called, c.From, c.To = t.Time(t.Asks[g.Ask].Call), t.Time(g.OK), g.Until
	if g.Lease != nil {
		c.From = g.Lease.Granted
	}
	c.Units = r.units
	c.Next, c.NextAttempt = r.next(lock, i)
}

// next returns the client that was granted the lock after the i-th grant (see beyond), and the client's attempt. If
// there is none, it returns some other client that requested the lock at any time, without an attempt.
func (r *Reader) next(lock *trace.LockTrace, i int) (history.Process, history.Attempt) {
	t := r.t
	g := &t.Grants[lock.Grants[i]]
	if n, ok := r.beyond(lock, i); ok {
		return t.Grants[n].Process, t.Grants[n].Attempt
	}
	for _, n := range lock.Asks {
		if a := &t.Asks[n]; a.Process != g.Process && a.Process != history.Probe {
			return a.Process, ""
		}
	}
	return "", ""
}

// asked reports whether a client other than g's holder was requesting the lock at some time between begin and end. If
// the lock has n permits, n other clients must have been requesting or holding it.
func (r *Reader) asked(lock *trace.LockTrace, g *trace.Grant, begin, end history.Time) bool {
	t := r.t
	if t.Permits() > 1 {
		return r.holdingOrAsking(lock, g, begin, end) >= t.Permits()
	}
	last, _ := slices.BinarySearchFunc(lock.Asks, end, func(n int32, at history.Time) int {
		if t.Time(t.Asks[n].Call) < at {
			return -1
		}
		return 1
	})
	for i := last - 1; i >= 0; i-- { // visit the latest first, because usually one of these matches
		a := &t.Asks[lock.Asks[i]]
		if a.Process != g.Process && a.Process != history.Probe && t.Time(a.Ret) > begin {
			return true
		}
	}
	return false
}
