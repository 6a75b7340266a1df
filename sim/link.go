package sim

// link is one direction between two processes. Faults act on links, but order is preserved per connection.
type link struct {
	w      *World
	ends   linkName
	name   uint64 // hash of both ends; part of the key from which delays are drawn
	delay  Delay
	tail   Tail
	sent   int          // number of messages so far
	cuts   int          // number of cuts in force
	held   []heldParcel // parcels that wait for the end of the cut, in order
	extra  Time         // sum of the delay faults in force
	once   []nextDelay  // delays that apply only to the next message
	nth    []nthDelay   // delays of messages with given numbers
	breaks []nthBreak   // replies that break the connection instead of arriving
	// lastMessage is the arrival time of the latest message, if both ends are servers.
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

// draw returns the travel time of a message. It depends on what the message is (link, attempt, phase, number within the
// phase), not on earlier draws. So removing a fault leaves all other delays unchanged.
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

// purpose returns a hash of the link, the attempt and the phase, which the messages of one phase have in common.
func (l *link) purpose(attempt, phase string) uint64 {
	return hashString(hashString(l.name, attempt), phase)
}

// tailDraw makes the choice between the tail and the ordinary delays independent of the choice within them.
const tailDraw = 0x7461696c

// number returns the number of a request among those of the same phase and attempt, in the order in which their sender
// created them. A reply has the number of its request, because the times and the order of replies depend on faults.
func (l *link) number(attempt, phase string) uint64 {
	if l.w.opts.Endless { // a count for each attempt would be kept forever
		return uint64(l.sent)
	}
	return l.w.net.asked.next(l.purpose(attempt, phase))
}

// faultDelay returns the delay that faults add to message number n.
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

// parcel is anything that travels on a link.
type parcel interface {
	depart(extra Time) // starts to travel, and takes extra longer than its drawn delay
	abandoned() bool   // it will never travel: its connection is closed, or its receiver has died
}

type heldParcel struct {
	parcel
	extra Time
}

// next returns the number of the next message, from 1.
func (l *link) next() int {
	l.sent++
	return l.sent
}

// carry sends a parcel, at once or when the cut heals. n is its number among the messages of the link, or 0 for other
// parcels, such as a push. later is an additional delay.
func (l *link) carry(p parcel, n int, later Time) {
	extra := l.faultDelay(n) + later
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, extra})
		return
	}
	p.depart(extra)
}

// trail sends a parcel that does not count as a message: faults that wait for a message do not affect it.
func (l *link) trail(p parcel) {
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, l.extra})
		return
	}
	p.depart(l.extra)
}

// heal sends the parcels that waited for the end of the cut.
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
