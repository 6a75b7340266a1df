// Package timeline draws one history: as text with time running downward, and as a picture for a page with time running
// to the right.
//
// Goals: a user sees how a critical section outlives its lease; every event in the witness of a violation is shown;
// equal histories give identical text and pages. Non-goals: checking a history (package checker), and the rest of a
// report.
//
// A history is first arranged in lanes (lanes.go, arrange.go), which show which client was in which section and under
// which lease, which keys the servers held, and which faults struck. The text consists of rows (rows.go, fold.go),
// which are laid out in columns (columns.go, text.go, text_legend.go). The picture consists of shapes on a scale
// (scale.go, true_scale.go, axis.go, chart.go, chart_lanes.go, tips.go). It is written as SVG (chart_svg.go) in the
// colors of reports/html, and a script (chart.js) makes it interactive.
package timeline

import (
	"slices"
	"sort"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Lanes is a history arranged for display. It says which client was in which section and under which lease, and what
// the servers, the resource and the faults did at that time. Both the text and the picture are drawn from it.
//
// Each instant is given in two ways: as a true time, for the axis, and as a position in the history, because events at
// the same time still have an order.
type Lanes struct {
	end       history.Time // end of the recording: no event is later, but a lease may last longer
	locks     []history.Lock
	registers int          // number of registers in a history without locks
	clients   []clientLane // the clients that the header lists, then the others in the order in which they appear
	servers   []serverLane // servers in the same order
	effects   []effect     // reads and writes that the resource accepted or refused, in order
	faults    []fault      // faults, in the order in which they struck
	history   *history.History
	bounded   map[*history.Event]history.Time // see describer.Bounded
	witness   map[int]bool                    // positions of the events that violated laws name
	clientOf  map[history.Process]int
	serverOf  map[history.Process]int
	madeBy    byTitle[history.Process]
	// laneOf and laneAt are empty unless a client does several things at once and so has several lanes. laneOf gives an
	// attempt's lane. laneAt gives the lane of the event at a position. It is needed because not every event names its
	// attempt: a request for a lock has no attempt yet.
	laneOf   byTitle[int]
	laneAt   map[int]int
	fine     bool // whether times are written to the microsecond
	messages []Message
}

// open is a position (an index in the list of events) after all events. It is the end of everything that had not ended
// when recording stopped.
const open = int(^uint(0) >> 1)

// span is a part of a run, from the event that began it to the event that ended it.
type span struct {
	From, To    history.Time
	First, Last int // positions; Last is open if the span had not ended by the end of the recording
}

// covers reports whether the span is in progress right after the event at pos.
func (s span) covers(pos int) bool { return s.First <= pos && pos < s.Last }

// clientLane shows what one client did, or a part of it if the client has several lanes.
type clientLane struct {
	Process  history.Process
	Name     string // name of the lane: the client's name, followed by a number if the client has several lanes
	Sections []section
	Waits    []wait
	Calls    []call
	// Operations are operations on registers, in a history without locks. Reads and writes of data guarded by a lock
	// are recorded as effects instead.
	Operations []call
	Pauses     []span
	Crashes    []span
	Clock      []int // faults that changed the clocks of this process, as indices in Lanes.faults
}

// section is a critical section. It begins with the event "acquire ok" and ends with the call to release, with "lost"
// or with a crash, whichever comes first.
type section struct {
	span
	Lock    history.Lock
	Attempt history.Attempt
	Token   history.Token
	Shared  bool
	Ended   history.F // Release, Lost or Crashed; empty if the section was still open when the recording ended
	// Validity contains the periods of true time in which the lock is valid as far as the holder knows. Each window
	// lasts from a grant or extension to the end of its validity, but not beyond the call to release. If an extension
	// begins a window before the previous window ends, the two are joined. Validity may extend beyond the end of the
	// recording.
	Validity []window
}

// did reports whether a read or write was done in the section.
func (s *section) did(f *effect) bool { return f.Of == s.title() }

func (s *section) title() trace.Title { return trace.Title{Lock: s.Lock, Attempt: s.Attempt} }

// window is a period of true time.
type window struct{ From, To history.Time }

// wait is an acquire, from its call to its return.
type wait struct {
	span
	Lock    history.Lock
	Attempt history.Attempt // empty if unknown
	Result  history.Type    // zero if it never returned
}

func (w *wait) title() trace.Title { return trace.Title{Lock: w.Lock, Attempt: w.Attempt} }

// call is a client's read or write of the resource, its release of the lock, or its extension of a lease. It lasts from
// the event that begins the operation to the event that ends it.
type call struct {
	span
	F      history.F
	Of     trace.Title  // the attempt that the call belongs to
	Result history.Type // zero if it never returned
}

// serverLane shows what one lock server stored.
type serverLane struct {
	Process history.Process
	Keys    []keySpan
	Copies  []span // when the server is or may be a replica, whose keys are not recorded
	Down    []span
	Pauses  []span
	Clock   []int // faults that changed the clocks of this process, as indices in Lanes.faults
}

// keySpan is the life of one key on one server. It ends when the key is overwritten or disappears.
type keySpan struct {
	span
	Lock history.Lock
	Of   history.Attempt
	Why  history.Why // why it disappeared; empty if it was overwritten or still exists
	By   history.Attempt
	Due  history.Time // the last known time at which it was due to expire
}

// title returns the attempt that set the key, with the lock that it is of.
func (k *keySpan) title() trace.Title { return trace.Title{Lock: k.Lock, Attempt: k.Of} }

// effect is a read or write that the resource accepted or refused.
type effect struct {
	At       history.Time
	Pos      int
	Op       history.F // Read or Write
	Accepted bool
	Of       trace.Title     // the attempt on whose behalf the resource was called
	Client   history.Process // empty if unknown
	Sent     int             // position of the client's call; -1 if unknown
}

// fault is a fault that struck in the run.
type fault struct {
	span // From == To if the fault has no duration
	Kind history.F
	Line string
	How  history.Fault
}

// client returns a client's lane. If the client has several lanes, it returns the first.
func (l *Lanes) client(p history.Process) (*clientLane, bool) {
	i, ok := l.clientOf[p]
	if !ok {
		return nil, false
	}
	return &l.clients[i], true
}

// holder returns the client that made an attempt. If no client event names the attempt, it takes the client from the
// attempt's name ("client-1/3"). It returns "" if neither identifies a client.
func (l *Lanes) holder(of trace.Title) history.Process {
	if p, ok := l.madeBy.get(of); ok {
		return p
	}
	name := string(of.Attempt)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	if _, ok := l.clientOf[history.Process(name)]; ok {
		return history.Process(name)
	}
	return ""
}

// number returns the index of an attempt's lane among the client lanes, or -1 if it has none.
func (l *Lanes) number(of trace.Title) int {
	if i, ok := l.laneOf.get(of); ok {
		return i
	}
	if i, ok := l.clientOf[l.holder(of)]; ok {
		return i
	}
	return -1
}

// lane returns the index of the lane that shows the client's event at a position, or -1 if there is none.
func (l *Lanes) lane(pos int) int {
	if i, ok := l.laneAt[pos]; ok {
		return i
	}
	e := &l.history.Events[pos]
	if i, ok := l.laneOf.get(made(e)); ok {
		return i
	}
	if i, ok := l.clientOf[e.Process]; ok {
		return i
	}
	return -1
}

// hasOwnName reports whether an attempt is shown under its own name instead of its client's name, because it overlaps
// with its client's other attempts.
func (l *Lanes) hasOwnName(of trace.Title) bool {
	i, ok := l.laneOf.get(of)
	return ok && l.clients[i].Name != string(l.clients[i].Process)
}

// ToTheMicrosecond makes the timeline show times to the microsecond if the history contains a time that is not a whole
// number of milliseconds.
func (l *Lanes) ToTheMicrosecond() {
	l.fine = slices.ContainsFunc(l.history.Events, func(e history.Event) bool { return e.Time%1e6 != 0 })
}

// Message is a client's request, or the answer to it, in transit.
type Message struct {
	From, To      history.Process
	Left, Arrived history.Time
	Words         string // describes the message: "the 2nd DEL of client-1 to redis-1"
	Number        int    // identifies it to the page's script
}

// Carry adds messages to the picture. Each is drawn as a line from lane to lane. The text does not show messages.
func (l *Lanes) Carry(messages []Message) { l.messages = messages }

// clock formats an instant without its unit.
func (l *Lanes) clock(at history.Time) string {
	if l.fine {
		return text.Microseconds(at)
	}
	return text.Clock(at)
}

// instant formats an instant with its unit.
func (l *Lanes) instant(at history.Time) string {
	if at == history.Never {
		return l.clock(at)
	}
	return l.clock(at) + " s"
}

// outlived returns the sections that lasted longer than the lock was valid, as far as their clients knew, each with the
// time at which the validity ended. They are sorted by that time.
func (l *Lanes) outlived() []outliving {
	var out []outliving
	for c := range l.clients {
		for s := range l.clients[c].Sections {
			sec := &l.clients[c].Sections[s]
			if n := len(sec.Validity); n > 0 && sec.Validity[n-1].To < sec.To {
				out = append(out, outliving{Client: l.clients[c].Process, Section: sec, At: sec.Validity[n-1].To})
			}
		}
	}
	sort.SliceStable(out, func(i, j int) bool { return out[i].At < out[j].At })
	return out
}

// outliving is a section that outlived its lease, and the instant at which the lease ended.
type outliving struct {
	Client  history.Process
	Section *section
	At      history.Time
}

// permits returns how many clients may hold a lock at the same time.
func (l *Lanes) permits() int { return max(l.history.Header.Permits, 1) }

// severalMayHold reports whether several clients may hold a lock at once. The keys on a server are then not a line in
// which each key waits for the one before it.
func (l *Lanes) severalMayHold() bool {
	return l.permits() > 1 || slices.ContainsFunc(l.clients, func(c clientLane) bool {
		return slices.ContainsFunc(c.Sections, func(s section) bool { return s.Shared })
	})
}

// overlapped reports whether more sections of one lock are open after the event at pos than the lock allows. A
// semaphore allows as many as it has permits. Other locks allow one, or any number of shared sections.
func (l *Lanes) overlapped(pos int) bool {
	type holds struct{ all, shared int }
	open := map[history.Lock]holds{}
	for c := range l.clients {
		for s := range l.clients[c].Sections {
			sec := &l.clients[c].Sections[s]
			if !sec.covers(pos) {
				continue
			}
			h := open[sec.Lock]
			h.all++
			if sec.Shared {
				h.shared++
			}
			if h.all > l.permits() && h.shared < h.all {
				return true
			}
			open[sec.Lock] = h
		}
	}
	return false
}

// depth returns the largest number of keys of one lock that existed on one server at the same time. It does not count
// the keys of the probe (history.Probe), which acquires each lock after the run. The number is more than one if clients
// queue with keys of their own, or if several clients hold the lock at once.
func (l *Lanes) depth() int {
	most := 1
	for i := range l.servers {
		lane := &l.servers[i]
		for k, before := range lane.ahead() {
			if l.holder(lane.Keys[k].title()) != probe {
				most = max(most, len(before)+1)
			}
		}
	}
	return most
}

// ahead returns, for each key, the indexes of the keys of the same lock that already existed when it was set, oldest
// first.
func (s *serverLane) ahead() [][]int {
	all := make([][]int, len(s.Keys))
	live := map[history.Lock][]int{}
	for k := range s.Keys {
		key := &s.Keys[k]
		line := slices.DeleteFunc(live[key.Lock], func(j int) bool { return !s.Keys[j].covers(key.First) })
		all[k] = slices.Clone(line)
		live[key.Lock] = append(line, k)
	}
	return all
}

func (l *Lanes) names() []string {
	var out []string
	for i := range l.clients {
		out = append(out, l.clients[i].Name)
	}
	for i := range l.servers {
		out = append(out, string(l.servers[i].Process))
	}
	return out
}

func newDescriber(l *Lanes, long bool) describer {
	return describer{Holder: l.holder, Apart: l.hasOwnName, Several: len(l.locks) > 1, Locks: l.locks,
		Registers: l.registers, Long: long, Bounded: l.bounded}
}

// described is an event with its description.
type described struct {
	Pos   int // position in the history
	At    history.Time
	Words string
}

// describe describes the events at the given positions. It skips positions outside of the history.
func (l *Lanes) describe(positions []int) []described {
	t := newDescriber(l, true)
	var all []described
	for _, pos := range positions {
		if pos >= 0 && pos < len(l.history.Events) {
			e := &l.history.Events[pos]
			all = append(all, described{pos, e.Time, t.event(e)})
		}
	}
	return all
}
