package sim

import "github.com/fencepost-sim/fencepost/checker/history"

// Digest is a running hash of everything that happened in a run. Equal seeds give equal digests across processes,
// GOMAXPROCS values, race builds and machines.
type Digest uint64

func (d *Digest) word(w uint64) { *d = Digest(fold(uint64(*d), w)) }

func (d *Digest) text(s string) { *d = Digest(hashString(uint64(*d), s)) }

func (d *Digest) record(e *history.Event, canonical func(string) string) {
	d.word(uint64(e.Time)<<8 | uint64(e.Type))
	d.text(string(e.Process))
	d.text(string(e.F))
	d.text(string(e.Lock))
	d.text(string(e.Attempt))
	value := e.Value
	switch {
	case e.F == history.Acquire || e.F == history.Extend || e.F == history.Release:
		value = "" // a library's text, which may name several errors in any order
	case canonical != nil:
		value = canonical(value)
	}
	d.text(value)
	d.text(string(e.Of))
	d.text(string(e.By))
	d.text(string(e.Why))
	if e.Member != "" {
		d.text(e.Member)
	}
	d.word(uint64(e.Token))
	if g := e.Grant; g != nil {
		d.word(uint64(g.Since))
		d.word(uint64(g.Granted))
		for _, s := range g.Counted {
			d.text(string(s))
		}
	}
}
