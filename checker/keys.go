package checker

import "github.com/fencepost-sim/fencepost/checker/history"

// place is where a key may stand: on a server, for a lock, as one member of what several hold.
type place struct {
	server history.Process
	lock   history.Lock
	member string
}

// liveKey is a key that stands on a server.
type liveKey struct {
	of    history.Attempt
	at    int          // its key-set
	until history.Time // when it is due to expire
}

// keys knows what stands where, as far as the records read so far tell.
type keys struct{ at map[place]liveKey }

func (k *keys) reset() {
	if k.at == nil {
		k.at = make(map[place]liveKey)
	}
	clear(k.at)
}

// overwritten gives the key that a key-set replaces: one that still stood, and was not due to expire by then.
func (k *keys) overwritten(e *history.Event) (liveKey, bool) {
	was, ok := k.at[place{e.Process, e.Lock, e.Member}]
	return was, ok && e.Time < was.until
}

// note takes a record into account.
func (k *keys) note(i int, e *history.Event) {
	p := place{e.Process, e.Lock, e.Member}
	switch e.F {
	case history.KeySet:
		k.at[p] = liveKey{e.Of, i, e.Until}
	case history.KeyProlonged:
		if was, ok := k.at[p]; ok {
			was.until = e.Until
			k.at[p] = was
		}
	case history.KeyGone:
		delete(k.at, p)
	}
}
