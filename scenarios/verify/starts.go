package verify

import (
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
)

// course contains the parts of a run that show where faults can strike.
type course struct {
	moments []sim.Moment    // in order; until a fault strikes, the moments are the same with and without it
	settles []sim.Moment    // stored separately, because these moments become known later
	events  []history.Event // events of the history
	digest  sim.Digest
	sent    []nemesis.Sent // set only if faults are identified by requests
}

// opening is a place in a run where a fault can start: when a client passes a point, at a message, or at any time in an
// interval.
type opening struct {
	// index is the position of one of the target's moments in the run's list of moments (see sim.Moment). The fault
	// starts at or before that moment. index is len(moments) if the fault starts after all moments.
	index  int
	target sim.ProcessID   // if the opening is a message: the sender
	peer   sim.ProcessID   // if the opening is a message: the receiver
	number int             // if the opening is a message: its number on its link
	answer nemesis.Message // the answer that the target has just received and has not used yet
	point  sim.Point
	pass   int
	// at is the instant at which the fault starts. If the opening is an interval, at is its last instant, and since is
	// the instant just before its first.
	since, at sim.Time
}

// isInterval reports whether the opening represents all instants t with since < t <= at.
func (o *opening) isInterval() bool { return o.number == 0 && o.point == "" && !o.answer.Named() }

// stands returns how many possible starts the given instant represents: in an interval, the number of nanoseconds from
// its beginning to that instant; otherwise 1.
func (o *opening) stands(at sim.Time) float64 {
	if o.isInterval() {
		return float64(at - o.since)
	}
	return 1
}

// trigger returns the trigger for a fault that strikes at the opening. If the opening is an interval, the fault strikes
// at the given instant.
func (o *opening) trigger(at sim.Time) nemesis.Trigger {
	switch {
	case o.point != "":
		return nemesis.Trigger{Point: o.point, Pass: o.pass}
	case o.answer.Named():
		return nemesis.Trigger{Message: o.answer}
	}
	return nemesis.Trigger{Time: at.Duration()}
}

// begin is the earliest place where a plan's next fault may start: the start of the last fault or, for the zero value,
// the start of the run.
type begin struct {
	index int
	at    sim.Time
	last  opening
}

// ofProcess returns the openings for a fault that strikes process p: before each of its actions, after its last action,
// and at each point that it passes. The instants in unseen, in ascending order, divide the intervals further.
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
		case m.Kind == sim.Acts && m.Early && m.At > 0: // a fault at the same instant would strike after this action
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

// ofMessages returns the openings for faults that affect messages to the given receivers, or all messages if no
// receivers are given.
func (c *course) ofMessages(from begin, to ...sim.ProcessID) []opening {
	var list []opening
	for i := range c.moments {
		if m := &c.moments[i]; i >= from.index && m.Kind == sim.Sends && (len(to) == 0 || slices.Contains(to, m.To)) {
			list = append(list, opening{index: i, target: m.Process, peer: m.To, number: m.Number, at: m.At})
		}
	}
	return list
}

// ofLinks returns the openings for a fault that affects one direction of a link. There is one before each message in
// that direction. There is also one before each message in the other direction, because a connection's first message
// needs both directions.
func (c *course) ofLinks(from begin) []opening {
	last := map[[2]sim.ProcessID]sim.Time{}
	var list []opening
	for _, o := range c.ofMessages(from) {
		if c.moments[o.index].Early && o.at > 0 { // a fault at the same instant would strike after the message is sent
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

// acts returns the instants at which p acts, without duplicates, beginning with the moment at the given index.
func (c *course) acts(p sim.ProcessID, index int) []sim.Time {
	var list []sim.Time
	for _, m := range c.moments[min(index, len(c.moments)):] {
		if m.Process == p && m.Kind == sim.Acts && (len(list) == 0 || list[len(list)-1] < m.At) {
			list = append(list, m.At)
		}
	}
	return list
}

// earliestNext returns the earliest place for the next fault if the last fault strikes in opening o, at the given
// instant.
func (c *course) earliestNext(o *opening, at sim.Time) begin {
	if o.index < len(c.moments) && c.moments[o.index].At == at {
		return begin{o.index, at, *o}
	}
	i := slices.IndexFunc(c.moments, func(m sim.Moment) bool { return m.At >= at })
	if i < 0 {
		i = len(c.moments)
	}
	return begin{i, at, *o}
}

// settled returns the instants just before p's writes become durable. Each is the last instant at which a power failure
// would still destroy the writes.
func (c *course) settled(p sim.ProcessID) []sim.Time {
	var list []sim.Time
	for _, m := range c.settles {
		if m.Process == p {
			list = append(list, m.At-1)
		}
	}
	return list
}

// noticed returns two instants for each request that a client sends to server p. If p closes its connections at the
// first instant or earlier, the client already knows this when it sends the request. If p closes them at the second
// instant, the client finds out just as it sends the request.
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

// stated returns the end times of all validity periods that were reported to process p. They matter if p's clock jumps
// back, because a jump extends a period only if it happens no later than the period's end.
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

// synced returns, for each of p's actions, the last instant at which p can begin an fsync that ends before the action.
// It returns nil if an fsync takes no time.
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
