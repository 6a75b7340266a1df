package sim

// link is one direction between two processes. Faults act on links; order is kept per connection.
type link struct {
	w      *World
	ends   linkName
	name   uint64 // hash of both ends; keys the draws of delays
	delay  Delay
	tail   Tail
	sent   int          // messages numbered so far
	cuts   int          // cuts in force
	held   []heldParcel // parcels that wait for the cut to heal, in order
	extra  Time         // delay faults in force, summed
	once   []nextDelay  // delays, each for one next message
	nth    []nthDelay   // delays for a message by its number
	breaks []nthBreak   // replies that break the connection instead of arriving
	// lastMessage is the arrival of the latest message between two servers.
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

// draw is the travel time of a message. It depends on what the message is (link, attempt, phase, which of that phase),
// not on what was drawn before, so that removing a fault leaves all other delays unchanged.
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

// purpose is a hash of what messages of one phase within an attempt have in common on this link.
func (l *link) purpose(attempt, phase string) uint64 {
	return hashString(hashString(l.name, attempt), phase)
}

// tailDraw separates the choice between the tail and the rest from the choice within them.
const tailDraw = 0x7461696c

// number distinguishes the requests of one phase within an attempt, in the order in which their sender made them. A
// reply has the number of its request: when and in what order answers arrive depends on faults.
func (l *link) number(attempt, phase string) uint64 {
	if l.w.opts.Endless { // otherwise a count for each attempt would be kept for ever
		return uint64(l.sent)
	}
	return l.w.net.asked.next(l.purpose(attempt, phase))
}

// faultDelay is what faults add to message number n.
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
	depart(extra Time) // it begins to travel, extra longer than usual
	abandoned() bool   // it will never travel: its connection has been closed
}

type heldParcel struct {
	parcel
	extra Time
}

// next numbers a message, from 1.
func (l *link) next() int {
	l.sent++
	return l.sent
}

// carry takes a parcel, which leaves at once or when the cut heals. n is its number among the messages of the link;
// other parcels (a push, the end of a connection) have 0. later is by how much it is held up besides.
func (l *link) carry(p parcel, n int, later Time) {
	extra := l.faultDelay(n) + later
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, extra})
		return
	}
	p.depart(extra)
}

// trail takes a parcel that is no message: faults that wait for a message do not strike it.
func (l *link) trail(p parcel) {
	if l.cuts > 0 {
		l.held = append(l.held, heldParcel{p, l.extra})
		return
	}
	p.depart(l.extra)
}

// heal sends what waited for the end of the cut.
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
