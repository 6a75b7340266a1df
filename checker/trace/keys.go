package trace

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// place is where a key may be stored: on a server, for a lock, as one member of what several hold.
type place struct {
	server history.Process
	lock   history.Lock
	member string
}

// LiveKey is a key that is present on a server, or was.
type LiveKey struct {
	there bool
	Of    history.Attempt
	until history.Time // when it is due to expire
}

// keys tracks which keys are present, according to the records read so far.
type keys struct{ at table[place, LiveKey] }

// Reset removes all keys.
func (k *keys) Reset() { k.at.reset() }

// LiveAt is what is present where a record's key is stored. What several members keep together has one place, whichever
// of them records it.
func (t *Trace) LiveAt(e *history.Event) *LiveKey {
	return t.Live.at.of(place{t.Keeper(e.Process), e.Lock, e.Member})
}

// Keeper is who keeps what a server records: the service of which it is a member, else the server itself.
func (t *Trace) Keeper(server history.Process) history.Process {
	if t.History.Header.OneService() {
		return t.Unit(server)
	}
	return server
}

// Unit names the servers that share one copy of a lock: a group by its first member, or a server alone.
func (t *Trace) Unit(p history.Process) history.Process {
	for _, group := range t.History.Header.Groups {
		if slices.Contains(group, p) {
			return group[0]
		}
	}
	return p
}

// Setter is the attempt that set a key.
func Setter(e *history.Event) history.Attempt {
	if e.By != "" {
		return e.By
	}
	return e.Of
}

// Overwritten reports whether a key-set replaces the key: one that was still present. If expiry is not recorded, it
// must not have been due to expire.
func (t *Trace) Overwritten(was *LiveKey, e *history.Event) bool {
	return was.there && (t.Expiries || e.Time < was.until)
}

// Promote gives a replica that takes its master's place the master's keys: what it lacks is recorded as lost
// afterwards. What it had itself, when it was the master before, was replaced long ago.
func (k *keys) Promote(f *Fault) {
	if f.Does != history.Promotes || len(f.On) == 0 || len(f.To) == 0 {
		return
	}
	for p := range k.at.number {
		if p.server == f.To[0] {
			*k.at.of(p) = LiveKey{}
		}
	}
	for p := range k.at.number {
		if p.server == f.On[0] {
			key := *k.at.of(p)
			p.server = f.To[0]
			*k.at.of(p) = key
		}
	}
}

// Note applies a record of the key. A record of a key that is not there changes nothing.
func (k *LiveKey) Note(e *history.Event) {
	switch {
	case e.F == history.KeySet:
		*k = LiveKey{there: true, Of: e.Of, until: e.Until}
	case e.Of != "" && e.Of != k.Of:
	case e.F == history.KeyProlonged:
		k.until = e.Until
	case e.F == history.KeyGone:
		k.there = false
	}
}
