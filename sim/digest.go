package sim

import (
	"bytes"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// Digest is a running hash of everything that happened in a run. Equal seeds give equal digests in all processes and on
// all machines, with any GOMAXPROCS, and with or without the race detector.
type Digest uint64

func (d *Digest) word(w uint64) { *d = Digest(fold(uint64(*d), w)) }

func (d *Digest) text(s string) { *d = Digest(hashString(uint64(*d), s)) }

// digestText updates the digest with a value or text that a client or server has sent. With Options.Nameless, it uses a
// number instead of the text; equal texts have equal numbers.
func (w *World) digestText(s string) {
	if w.texts == nil {
		w.digest.text(s)
		return
	}
	n, known := w.texts[s]
	if !known {
		n = uint64(len(w.texts))
		w.texts[s] = n
	}
	w.digest.word(n)
}

// digestReply adds the bytes of a server's reply to the digest.
func (w *World) digestReply(b []byte) {
	if w.texts == nil {
		w.digest.text(string(b))
		return
	}
	for line := range bytes.SplitSeq(b, []byte("\r\n")) {
		w.digestText(string(line))
	}
}

func (w *World) digestRecord(e *history.Event) {
	d := &w.digest
	d.word(uint64(e.Time)<<8 | uint64(e.Type))
	d.text(string(e.Process))
	d.text(string(e.F))
	d.text(string(e.Lock))
	d.text(string(e.Attempt))
	if e.F == history.Acquire || e.F == history.Extend || e.F == history.Release {
		d.text("") // the text is left out: a library may list several errors in any order
	} else {
		w.digestText(e.Value)
	}
	d.text(string(e.Of))
	d.text(string(e.By))
	d.text(string(e.Why))
	if e.Member != "" {
		w.digestText(e.Member)
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
