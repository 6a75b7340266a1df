// Package timeline draws one history: as text with time flowing down, and as a picture for a page with time flowing to
// the right.
//
// Goals: one sees the critical section outlive its lease; what a law's witness names is never left out; the same
// history gives the same lines and the same page.
// Non-goals: judging (checker), and what a report says around the picture.
//
// A history is arranged in lanes (lanes, arrange): who was in which section and under which lease, what the servers
// held, which faults struck. The text is rows (rows, fold) beside columns (columns, text, text_legend). The picture is
// shapes on a scale (scale, true_scale, axis, chart, chart_lanes, tips), written as SVG (chart_svg) for a script
// (chart.js); its colours are those of reports/html.
package timeline

import (
	"slices"
	"sort"
	"strings"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/reports/text"
)

// Lanes is a history laid out for the eye: who was in which section, under which lease, and what the servers, the
// resource and the faults did meanwhile. Text and HTML are drawn from it.
//
// Instants are given twice: as a true time, for the axis, and as a position in the history, since events that share
// a time still have an order.
type Lanes struct {
	end       history.Time // of the recording; no event and no span but a validity lies after it
	locks     []history.Lock
	registers int          // of a history without locks, those that its operations name
	clients   []clientLane // those of the header in its order, then others in order of appearance
	servers   []serverLane // likewise
	effects   []effect     // what the resource judged, in order
	faults    []fault      // in order of striking
	history   *history.History
	witness   map[int]bool // positions that some violated law names
	clientOf  map[history.Process]int
	serverOf  map[history.Process]int
	madeBy    map[history.Attempt]history.Process
	// laneOf and laneAt are the lanes of attempts and of events, by position, of the clients that do several things at
	// once and so have several lanes. An event need not name its attempt: who asks for a lock has none yet.
	laneOf   map[history.Attempt]int
	laneAt   map[int]int
	fine     bool // times are shown to the microsecond
	messages []Message
}

// open is the position "after everything": of what had not ended when the recording stopped.
const open = int(^uint(0) >> 1)

// span is a stretch of a run, from the event that began it to the event that ended it.
type span struct {
	From, To    history.Time
	First, Last int // positions; Last is open if it had not ended by the end of the recording
}

// covers reports whether the span has begun and not ended once the event at pos has happened.
func (s span) covers(pos int) bool { return s.First <= pos && pos < s.Last }

// clientLane is what one client did.
type clientLane struct {
	Process  history.Process
	Name     string // of the lane: the client's, with a number where it has several
	Sections []section
	Waits    []wait
	Calls    []call
	// Operations are those of registers, in a history without locks; of a lock's resource they are effects.
	Operations []call
	Pauses     []span
	Crashes    []span
	Clock      []int // faults (positions in Lanes.faults) that moved its clocks
}

// section is a critical section: from acquire ok to the first of release called, lost, crash.
type section struct {
	span
	Lock    history.Lock
	Attempt history.Attempt
	Token   history.Token
	Shared  bool
	Ended   history.F // Release, Lost or Crashed; empty if it was open at the end
	// Validity is the lease as it was stated to the holder, in true time: each piece from the decision to the end of
	// the stated validity, cut at the release call, joined where extensions touch. It may outlast the recording.
	Validity []window
}

// window is a stretch of true time.
type window struct{ From, To history.Time }

// wait is an acquire from its call to its return.
type wait struct {
	span
	Lock    history.Lock
	Attempt history.Attempt // empty if that is not known
	Result  history.Type    // zero if it never returned
}

// call is a request of a client to the resource, a release or an extension, from its call to its return.
type call struct {
	span
	F       history.F
	Attempt history.Attempt
	Result  history.Type // zero if it never returned
}

// serverLane is what one lock server held.
type serverLane struct {
	Process history.Process
	Keys    []keySpan
	Down    []span
	Pauses  []span
	Clock   []int // faults (positions in Lanes.faults) that moved its clocks
}

// keySpan is the life of one key on one server: from being set to being overwritten or gone.
type keySpan struct {
	span
	Lock history.Lock
	Of   history.Attempt
	Why  history.Why // how it went; empty if it was overwritten or is still there
	By   history.Attempt
	Due  history.Time // when it was last due to expire
}

// effect is a read or write that the resource accepted or refused.
type effect struct {
	At       history.Time
	Pos      int
	Op       history.F // Read or Write
	Accepted bool
	Of       history.Attempt
	Client   history.Process // empty if unknown
	Sent     int             // position of the client's call; -1 if unknown
}

// fault is one fault as it struck.
type fault struct {
	span // From == To if it has no duration
	Kind history.F
	Line string
	How  history.Fault
}

// client returns the lane of a client, the first if it has several.
func (l *Lanes) client(p history.Process) (*clientLane, bool) {
	i, ok := l.clientOf[p]
	if !ok {
		return nil, false
	}
	return &l.clients[i], true
}

// holder returns the client that made an attempt. Where no client event names the attempt it goes by the attempt's
// own name ("client-1/3"); empty if neither says so.
func (l *Lanes) holder(a history.Attempt) history.Process {
	if p, ok := l.madeBy[a]; ok {
		return p
	}
	name := string(a)
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		name = name[:i]
	}
	if _, ok := l.clientOf[history.Process(name)]; ok {
		return history.Process(name)
	}
	return ""
}

// number returns the place of an attempt's client among the client lanes, or -1.
func (l *Lanes) number(a history.Attempt) int {
	if i, ok := l.laneOf[a]; ok {
		return i
	}
	if i, ok := l.clientOf[l.holder(a)]; ok {
		return i
	}
	return -1
}

// lane returns the place of the lane of the client's event at a position, or -1.
func (l *Lanes) lane(pos int) int {
	if i, ok := l.laneAt[pos]; ok {
		return i
	}
	e := &l.history.Events[pos]
	if i, ok := l.laneOf[e.Attempt]; ok {
		return i
	}
	if i, ok := l.clientOf[e.Process]; ok {
		return i
	}
	return -1
}

// apart reports whether an attempt is distinguished from others of its client by its own name: they overlap.
func (l *Lanes) apart(a history.Attempt) bool {
	_, is := l.laneOf[a]
	return is
}

// ToTheMicrosecond has times shown so, if the history states any that is no whole millisecond.
func (l *Lanes) ToTheMicrosecond() {
	l.fine = slices.ContainsFunc(l.history.Events, func(e history.Event) bool { return e.Time%1e6 != 0 })
}

// Message is a request of a client or the answer to it, on its way.
type Message struct {
	From, To      history.Process
	Left, Arrived history.Time
	Words         string // which it is: "the 2nd DEL of client-1 to redis-1"
	Number        int    // by which the page's script knows it
}

// Carry draws messages, too: on a page only, where each is a line from lane to lane.
func (l *Lanes) Carry(messages []Message) { l.messages = messages }

// clock is an instant without its unit.
func (l *Lanes) clock(at history.Time) string {
	if l.fine {
		return text.Microseconds(at)
	}
	return text.Clock(at)
}

// instant is an instant with its unit.
func (l *Lanes) instant(at history.Time) string {
	if at == history.Never {
		return l.clock(at)
	}
	return l.clock(at) + " s"
}

// outlived returns the sections that went on after the last stated validity had ended, and when it ended.
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

// outliving is a section and the instant at which it began to outlive its lease.
type outliving struct {
	Client  history.Process
	Section *section
	At      history.Time
}

// overlapped reports whether, after the event at pos, two sections of one lock are open that are not both shared.
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
			if h.all > 1 && h.shared < h.all {
				return true
			}
			open[sec.Lock] = h
		}
	}
	return false
}

// depth is the most keys of one lock that stood on one server at a time: more than one where clients wait in line by
// keys of their own, or hold the lock together. The probe's does not count.
func (l *Lanes) depth() int {
	most := 1
	for i := range l.servers {
		lane := &l.servers[i]
		for k, before := range lane.ahead() {
			if l.holder(lane.Keys[k].Of) != probe {
				most = max(most, len(before)+1)
			}
		}
	}
	return most
}

// ahead lists, for each key, those of the same lock that stood when it was set, in the order in which they had been.
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

// names lists the processes that have a lane.
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
	return describer{Holder: l.holder, Apart: l.apart, Several: len(l.locks) > 1, Locks: l.locks,
		Registers: l.registers, Long: long}
}

// described is an event in words.
type described struct {
	Pos   int // in the history
	At    history.Time
	Words string
}

// describe puts the events at some positions into words; those outside of the history are left out.
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
