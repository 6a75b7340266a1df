package sim

// link is one direction of the network between two processes. A fault applies to a whole link, but the order of
// messages is preserved only within a connection.
type link struct {
	w      *World
	ends   linkName
	name   uint64 // hash of the names of both ends; delays depend on it
	delay  Delay
	tail   Tail
	sent   int          // number of messages so far
	cuts   int          // number of cuts in force
	held   []heldParcel // parcels that wait until the cut heals, in order
	extra  Time         // total extra delay by the faults in force
	once   []nextDelay  // extra delays for the next message or push only
	nth    []nthDelay   // extra delays for messages with certain numbers
	breaks []nthBreak   // numbers of replies that are replaced by a reset
	// lastMessage is when the last message arrives; it is used only if both ends are servers.
	lastMessage Time
}

type nextDelay struct {
	extra  Time
	struck func()
}

type nthDelay struct {
	n      int
	extra  Time
	struck func()
}

type nthBreak struct {
	n      int
	struck func()
}

func (w *World) link(from, to ProcessID) *link {
	name := linkName{from, to}
	l := w.net.links[name]
	if l == nil {
		l = w.net.linkSlab.take()
		*l = link{w: w, ends: name, delay: w.opts.Delay, tail: w.opts.Tail,
			name: hashString(hashString(mix(w.seed), string(from)), string(to)),
			held: l.held[:0], once: l.once[:0], nth: l.nth[:0], breaks: l.breaks[:0]}
		for _, o := range w.opts.Links {
			if o.From == from && o.To == to {
				l.delay = o.Delay
			}
		}
		w.net.links[name] = l
	}
	return l
}

// draw returns a message's travel time. The result depends on the link, the attempt, the phase, and the message's
// number within the phase, but not on earlier draws. So removing a fault does not change the travel time that is drawn
// for any message.
func (l *link) draw(attempt, phase string, which uint64) Time {
	if l.delay.Lo == l.delay.Hi && l.tail.PPM == 0 {
		return Time(l.delay.Lo)
	}
	key := l.purpose(attempt, phase) + which
	if l.tail.PPM > 0 && mix(key^tailDraw)%million < uint64(l.tail.PPM) {
		if l.w.inTail != nil {
			l.w.inTail(l.ends.from, l.ends.to)
		}
		return l.tail.Delay.pick(mix(key))
	}
	return l.delay.pick(mix(key))
}

// purpose returns a hash of the link, the attempt and the phase. It is the same for all messages in the phase.
func (l *link) purpose(attempt, phase string) uint64 {
	return hashString(hashString(l.name, attempt), phase)
}

// tailDraw is mixed into the key that chooses between the tail delay and the ordinary delay. It makes this choice
// independent of the drawn delay itself.
const tailDraw = 0x7461696c

// number returns the sequence number of a request among those with the same attempt and phase, in the order in which
// their sender created them. A reply does not get a number of its own but uses its request's, because the times and the
// order of replies depend on faults.
func (l *link) number(attempt, phase string) uint64 {
	if l.w.opts.Endless { // counts per attempt would never be freed
		return uint64(l.sent)
	}
	return l.w.net.asked.next(l.purpose(attempt, phase))
}

// faultDelay returns the extra delay caused by faults for message number n.
func (l *link) faultDelay(n int) Time {
	d := l.extra
	for _, o := range l.once {
		d += o.extra
		o.struck()
	}
	clear(l.once)
	l.once = l.once[:0]
	for _, m := range l.nth {
		if m.n == n {
			d += m.extra
			m.struck()
		}
	}
	return d
}

// parcel is anything that can be sent over a link.
type parcel interface {
	depart(extra Time) // starts the journey; extra is added to the drawn delay
	// reports whether the parcel must no longer be sent because its connection is closed or its receiver has died
	abandoned() bool
}

type heldParcel struct {
	parcel
	extra Time
}

// next returns the number of the next message on the link, counting from 1.
func (l *link) next() int {
	l.sent++
	return l.sent
}

// carry sends a parcel immediately or, if the link is cut, when the cut heals. n is the parcel's number among the
// link's messages, or 0 if the parcel, such as a push, does not count as a message. later is an additional delay.
func (l *link) carry(p parcel, n int, later Time) {
	extra := l.faultDelay(n) + later
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, extra})
		return
	}
	p.depart(extra)
}

// trail sends a parcel that does not count as a message. Faults that wait for a message ignore it.
func (l *link) trail(p parcel) {
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, l.extra})
		return
	}
	p.depart(l.extra)
}

// heal sends the parcels held back by the cut.
func (l *link) heal() {
	held := l.held
	l.held = nil
	for _, h := range held {
		if !h.abandoned() {
			h.depart(h.extra)
		}
	}
}

func (l *link) breaksAt(n int) bool {
	for _, b := range l.breaks {
		if b.n == n {
			b.struck()
			return true
		}
	}
	return false
}
