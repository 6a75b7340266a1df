package verify

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// course is a run as faults see it.
type course struct {
	moments []sim.Moment    // in their order; those before a fault are the same with and without it
	settles []sim.Moment    // kept apart since they are known late
	events  []history.Event // of the history
	digest  sim.Digest
	sent    []nemesis.Sent // if faults are named by requests
}

// opening is where a fault can start: at the passing of a point, with a message, or anywhere in an interval of true
// time.
type opening struct {
	// of the target's moment at which, or some time before which, it starts; one past the last after all
	index  int
	target sim.ProcessID   // of a message: its sender
	peer   sim.ProcessID   // of a message: its receiver
	number int             // of a message on its link
	answer nemesis.Message // which the target takes, before it does anything with it
	point  sim.Point
	pass   int
	// at is the instant, or the last one of an interval that begins after since.
	since, at sim.Time
}

// isInterval reports whether the opening stands for all instants from since on, excluded, to at.
func (o *opening) isInterval() bool { return o.number == 0 && o.point == "" && !o.answer.Named() }

// stands is for how many starts, to the nanosecond, one at the given instant of the opening stands.
func (o *opening) stands(at sim.Time) float64 {
	if o.isInterval() {
		return float64(at - o.since)
	}
	return 1
}

// trigger strikes at the opening, if it is an interval at the given instant of it.
func (o *opening) trigger(at sim.Time) nemesis.Trigger {
	switch {
	case o.point != "":
		return nemesis.Trigger{Point: o.point, Pass: o.pass}
	case o.answer.Named():
		return nemesis.Trigger{Message: o.answer}
	}
	return nemesis.Trigger{Time: at.Duration()}
}

// begin is from where on the next fault of a plan may start: the start of the last one. The zero begin is that of the
// run.
type begin struct {
	index int
	at    sim.Time
	last  opening
}

// ofProcess lists the openings for a fault of process p: before each of its acts, after the last, at each point that it
// passes, and at unseen instants, ascending, after which a fault meets it otherwise than before.
func (c *course) ofProcess(p sim.ProcessID, from begin, unseen []sim.Time) []opening {
	var list []opening
	since := from.at - 1
	add := func(index int, at sim.Time) {
		if at > since {
			list = append(list, opening{index: index, target: p, since: since, at: at})
			since = at
		}
	}
	upTo := func(index int, at sim.Time) {
		for ; len(unseen) > 0 && unseen[0] < at; unseen = unseen[1:] {
			add(index, unseen[0])
		}
		add(index, at)
	}
	for i := range c.moments {
		switch m := &c.moments[i]; {
		case i < from.index || m.Process != p:
		case m.Kind == sim.Passes:
			list = append(list, opening{index: i, target: p, point: m.Point, pass: m.Pass, at: m.At})
		case m.Kind == sim.Acts && m.Early && m.At > 0: // a fault of its instant comes after it
			upTo(i, m.At-1)
		case m.Kind == sim.Acts:
			upTo(i, m.At)
		}
	}
	for _, at := range unseen {
		add(len(c.moments), at)
	}
	add(len(c.moments), since+1)
	return list
}

// ofMessages lists the messages to the given receivers as openings; none: to all.
func (c *course) ofMessages(from begin, to ...sim.ProcessID) []opening {
	var list []opening
	for i := range c.moments {
		if m := &c.moments[i]; i >= from.index && m.Kind == sim.Sends && (len(to) == 0 || slices.Contains(to, m.To)) {
			list = append(list, opening{index: i, target: m.Process, peer: m.To, number: m.Number, at: m.At})
		}
	}
	return list
}

// ofLinks lists the openings for a fault of one direction of a link: before each message on it, and before each in the
// other direction, since the first message of a connection needs both.
func (c *course) ofLinks(from begin) []opening {
	last := map[[2]sim.ProcessID]sim.Time{}
	var list []opening
	for _, o := range c.ofMessages(from) {
		if c.moments[o.index].Early && o.at > 0 { // as above
			o.at--
		}
		o.number = 0
		for range 2 {
			link := [2]sim.ProcessID{o.target, o.peer}
			before, used := last[link]
			if o.since = from.at - 1; used {
				o.since = before
			}
			if o.at > o.since {
				list = append(list, o)
			}
			last[link] = o.at
			o.target, o.peer = o.peer, o.target
		}
	}
	return list
}

// acts lists the instants at which p acts from a moment on, each once.
func (c *course) acts(p sim.ProcessID, index int) []sim.Time {
	var list []sim.Time
	for _, m := range c.moments[min(index, len(c.moments)):] {
		if m.Process == p && m.Kind == sim.Acts && (len(list) == 0 || list[len(list)-1] < m.At) {
			list = append(list, m.At)
		}
	}
	return list
}

// after is from where on another fault may start once one has struck at the given instant of an opening.
func (c *course) after(o *opening, at sim.Time) begin {
	if o.index < len(c.moments) && c.moments[o.index].At == at {
		return begin{o.index, at, *o}
	}
	i := slices.IndexFunc(c.moments, func(m sim.Moment) bool { return m.At >= at })
	if i < 0 {
		i = len(c.moments)
	}
	return begin{i, at, *o}
}

// settled lists the last instants at which a loss of power takes what p has written since the one before.
func (c *course) settled(p sim.ProcessID) []sim.Time {
	var list []sim.Time
	for _, m := range c.settles {
		if m.Process == p {
			list = append(list, m.At-1)
		}
	}
	return list
}

// noticed lists the last instants at which server p can hang up so that a client knows before it sends its next
// request, and those at which it knows at the same instant.
func (c *course) noticed(p sim.ProcessID, travel travelTimes) []sim.Time {
	var list []sim.Time
	for i := range c.moments {
		if m := &c.moments[i]; m.Kind == sim.Sends && m.To == p {
			same := m.At - travel.of(p, m.Process)
			list = append(list, same-1, same)
		}
	}
	slices.Sort(list)
	return list
}

// stated lists the last instants at which a jump back of its clock prolongs a validity that was stated to p.
func (c *course) stated(p sim.ProcessID) []sim.Time {
	var list []sim.Time
	for i := range c.events {
		if e := &c.events[i]; e.Process == p && e.Grant != nil && e.Grant.Until != history.Never {
			list = append(list, e.Grant.Until)
		}
	}
	slices.Sort(list)
	return list
}

// synced lists the last instants at which an fsync that p begins is over before its next act; none if it takes no time.
func (c *course) synced(p sim.ProcessID, fsync sim.Time) []sim.Time {
	if fsync == 0 {
		return nil
	}
	list := c.acts(p, 0)
	for i := range list {
		list[i] -= fsync + 1
	}
	return list
}
