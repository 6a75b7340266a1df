package margin

import (
	"fmt"
	"slices"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/nemesis"
)

// Way is a way in which a law can come to be violated.
type Way uint8

// The ways of lease-exclusion say why the holder's keys no longer keep the others out while its lease lasts.
const (
	Expires    Way = iota // they expire before the lease ends
	Crashes               // servers lose them in a crash
	Failover              // replicas that lack them are promoted
	Removed               // somebody else's requests remove or overwrite them
	Overstated            // the holder counts on its lease for longer than they live
	Deposed               // a master or leader acts that was replaced
	Mixed                 // more than one of these
	Outlives              // of mutual-exclusion: a holder stays in its section although its keys are gone
	Writes                // of resource-safety: a holder writes after its lease has ended
	Requests              // of ownership: a request is late, and meets the key of another
	Ways       = iota
)

// ways are the law and the name of each way. The name is stable: it stands in JSON.
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

// Law is the law that is violated in this way.
func (w Way) Law() checker.Law { return ways[w].law }

// String is the name of the way.
func (w Way) String() string { return ways[w].name }

// MarshalText gives the name.
func (w Way) MarshalText() ([]byte, error) { return []byte(w.String()), nil }

// UnmarshalText reads a name.
func (w *Way) UnmarshalText(text []byte) error {
	for i := range ways {
		if ways[i].name == string(text) {
			*w = Way(i)
			return nil
		}
	}
	return fmt.Errorf("%q is not the name of a way in which a law is violated", text)
}

// Call is how close a run came to violating a law in one way, and what it was about: a holder, the lease that protected
// it, and whoever might have come in meanwhile.
type Call struct {
	Way   Way          `json:"way"`
	Value float64      `json:"value"` // 0 if the law was violated in this way, else positive: the smaller, the closer
	Lock  history.Lock `json:"lock"`

	Holder  history.Process `json:"holder"`
	Attempt history.Attempt `json:"attempt"` // the holder's
	Called  history.Time    `json:"called"`  // when the holder asked for the lock
	// From and To bound the time in which it must be protected: from the grant, or from when it was protected no more,
	// to the end of its lease, or to its release if that came first.
	From history.Time `json:"from"`
	To   history.Time `json:"to"`

	Next        history.Process `json:"next"`         // who was granted the lock next, or asked for it; empty: nobody
	NextAttempt history.Attempt `json:"next_attempt"` // empty: it was granted nothing
	Contended   bool            `json:"contended"`    // somebody else asked for the lock meanwhile

	Units    int               `json:"units"`              // how many servers, or groups of them, grant the lock
	Missing  int               `json:"missing"`            // how many more of them would have to let another client in
	Spare    int               `json:"spare"`              // how many of them the holder has more than a quorum
	Standing []history.Process `json:"standing,omitempty"` // the servers on which the holder's key stood
	Gone     []Loss            `json:"gone,omitempty"`     // keys that it lost

	// At is when the holder left its section (Outlives), wrote last (Writes), was told another end of its lease or
	// released it (Overstated), served (Deposed), or when its last request arrived (Requests); 0 if there was none.
	At history.Time `json:"at"`
	// After is how long after At the next holder came, wrote, or set its key; history.Never if nobody did. For
	// Overstated it is how long after the end of its keys the end lies that it was told.
	After history.Time `json:"after"`
}

// Loss is a key that a holder lost while its lease lasted.
type Loss struct {
	Server history.Process `json:"server"`
	At     history.Time    `json:"at"`
	Way    Way             `json:"way"`
}

// Reader measures runs, one after the other, and reuses its memory. The zero Reader is ready for use.
type Reader struct {
	t      *trace.Trace
	sent   []nemesis.Sent
	ttl    float64
	units  int // how many units grant the lock
	need   int // how many of them make a quorum
	holds  []hold
	first  map[history.Attempt]int32 // the first hold of an attempt
	live   map[place]int32           // the hold that stands at a place
	stated []statement
	latest map[history.Attempt]history.Time // when the last request of each attempt arrived
	calls  [Ways]Call
	met    [Ways]bool
}

// Read measures a run. t is the trace of its history as the checker has read it, v the verdict on it, and sent what its
// clients sent. It returns the closest call of each way that had one, in the order of the ways. The calls are valid
// until the next Read.
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
		r.requests()
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

// violated makes the margins of a law that was violated 0, of the ways in which it was. Of the other ways it has none:
// there was no close call.
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

// violatedIn is the way in which a law was violated by a cause; ok is false if there is no margin of that.
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
		case checker.RemovedByNonOwner, checker.RemovedByOwner, checker.ProlongedByNonOwner:
			return Removed, true
		}
		return Mixed, true
	}
	return 0, false
}

// take keeps a call if it is the closest of its way so far. Only then more makes it whole.
func (r *Reader) take(w Way, value float64, more func(*Call)) {
	if r.met[w] && value >= r.calls[w].Value {
		return
	}
	c := &r.calls[w]
	*c = Call{Way: w, Value: value, After: history.Never}
	r.met[w] = true
	more(c)
}

// shape is how many units grant a lock, and how many make a quorum.
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

// share is a time as a part of the TTL, from 0 to just below 1.
func (r *Reader) share(d history.Time) float64 { return part(float64(d) / r.ttl) }

// part is x, made to lie between 0 and just below 1.
func part(x float64) float64 { return min(max(x, 0), 0.999) }

// contended is added to the margin of what nobody else asked for meanwhile: it is far from anything.
const uncontended = 2

// about fills in what the call of a grant is about.
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

// next is who was granted the lock after a grant, or else who asked for it at all.
func (r *Reader) next(lock *trace.LockTrace, i int) (history.Process, history.Attempt) {
	t := r.t
	g := &t.Grants[lock.Grants[i]]
	for _, n := range lock.Grants[i+1:] {
		if b := &t.Grants[n]; b.Process != history.Probe && !(g.Shared && b.Shared) {
			return b.Process, b.Attempt
		}
	}
	for _, n := range lock.Asks {
		if a := &t.Asks[n]; a.Process != g.Process && a.Process != history.Probe {
			return a.Process, ""
		}
	}
	return "", ""
}

// asked reports whether somebody else asked for the lock within a span of time.
func (r *Reader) asked(lock *trace.LockTrace, g *trace.Grant, from, to history.Time) bool {
	t := r.t
	last, _ := slices.BinarySearchFunc(lock.Asks, to, func(n int32, at history.Time) int {
		if t.Time(t.Asks[n].Call) < at {
			return -1
		}
		return 1
	})
	for i := last - 1; i >= 0; i-- { // the latest first: mostly one of these
		a := &t.Asks[lock.Asks[i]]
		if a.Process != g.Process && a.Process != history.Probe && t.Time(a.Ret) > from {
			return true
		}
	}
	return false
}
