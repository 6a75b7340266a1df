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

// liveKey is a key that is present on a server.
type liveKey struct {
	Of    history.Attempt
	until history.Time // when it is due to expire
}

// keys tracks which keys are present, according to the records read so far.
type keys struct{ at map[place]liveKey }

// Reset removes all keys.
func (k *keys) Reset() {
	if k.at == nil {
		k.at = make(map[place]liveKey)
	}
	clear(k.at)
}

// PlaceOf is the place of a record's key. What several members keep together has one place, whichever of them records
// it.
func (t *Trace) PlaceOf(e *history.Event) place { return place{t.Keeper(e.Process), e.Lock, e.Member} }

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

// Overwritten returns the key that a key-set replaces: one that was still present. If expiry is not recorded, it must
// not have been due to expire.
func (t *Trace) Overwritten(e *history.Event) (liveKey, bool) {
	was, ok := t.Live.at[t.PlaceOf(e)]
	return was, ok && (t.Expiries || e.Time < was.until)
}

// Promote gives a replica that takes its master's place the master's keys: what it lacks is recorded as lost
// afterwards. What it had itself, when it was the master before, was replaced long ago.
func (k *keys) Promote(f *Fault) {
	if f.Does != history.Promotes || len(f.On) == 0 || len(f.To) == 0 {
		return
	}
	for p := range k.at {
		if p.server == f.To[0] {
			delete(k.at, p)
		}
	}
	for p, key := range k.at {
		if p.server == f.On[0] {
			p.server = f.To[0]
			k.at[p] = key
		}
	}
}

// Note applies a record of the keys at p. A record of a key that is not there changes nothing.
func (k *keys) Note(p place, e *history.Event) {
	if e.F == history.KeySet {
		k.at[p] = liveKey{Of: e.Of, until: e.Until}
		return
	}
	was, ok := k.at[p]
	switch {
	case !ok || e.Of != "" && e.Of != was.Of:
	case e.F == history.KeyProlonged:
		was.until = e.Until
		k.at[p] = was
	case e.F == history.KeyGone:
		delete(k.at, p)
	}
}
