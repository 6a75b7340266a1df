package redis

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// epoch is the time at which the tests' wall clocks start: 2024-01-01 00:00:00 UTC plus 400 µs, to show that Redis
// rounds down.
const epoch = int64(1_704_067_200)*1e9 + 400_000

// machine is the host of a single node. The test advances and sets its clocks. Its monotonic clock shows the true time.
type machine struct {
	wall, mono int64
	timers     []timer
	fired      int
	events     []history.Event
	quiet      bool // for benchmarks: records are only counted
	count      int
	node       *Node
	up         bool
	conn       uint64
	hungUp     []uint64 // connections that the node has closed
}

type timer struct {
	at   int64
	wall bool
	tag  uint64
}

func newMachine(cfg Config) *machine {
	m := &machine{wall: epoch, node: New(cfg), up: true, conn: 1}
	m.node.Start(m)
	return m
}

func (m *machine) Name() history.Process            { return "redis-1" }
func (m *machine) Wall() int64                      { return m.wall }
func (m *machine) Monotonic() time.Duration         { return time.Duration(m.mono) }
func (m *machine) Rand(string, sim.Key) uint64      { return 4 }
func (m *machine) Due(d time.Duration) history.Time { return history.Time(m.mono) + history.Time(d) }

func (m *machine) WakeAtWall(at int64, tag uint64) {
	m.timers = append(m.timers, timer{at: at, wall: true, tag: tag})
}

func (m *machine) WakeAfter(d time.Duration, tag uint64) {
	m.timers = append(m.timers, timer{at: m.mono + int64(d), tag: tag})
}

func (m *machine) Record(e history.Event) {
	m.count++
	if m.quiet {
		return
	}
	e.Time, e.Process, e.Index = history.Time(m.mono), "redis-1", len(m.events)
	m.events = append(m.events, e)
}

// sleep advances the time by d, and wakes the node whenever one of its timers is due.
func (m *machine) sleep(d time.Duration) {
	end := m.mono + int64(d)
	for m.up {
		next, wait := -1, int64(0)
		for i, t := range m.timers {
			w := t.at - m.mono
			if t.wall {
				w = t.at - m.wall
			}
			if w = max(w, 0); next < 0 || w < wait {
				next, wait = i, w
			}
		}
		if next < 0 || m.mono+wait > end {
			break
		}
		m.mono += wait
		m.wall += wait
		tag := m.timers[next].tag
		m.timers = append(m.timers[:next], m.timers[next+1:]...)
		m.fired++
		m.node.Wake(tag)
	}
	m.wall += end - m.mono
	m.mono = end
}

// freeze pauses the node for d. Timers that become due in the meantime fire afterward.
func (m *machine) freeze(d time.Duration) {
	m.wall += int64(d)
	m.mono += int64(d)
}

func (m *machine) jump(d time.Duration) {
	m.wall += int64(d)
	kept := m.timers[:0]
	for _, t := range m.timers {
		if !t.wall {
			kept = append(kept, t)
		}
	}
	m.timers = kept
	m.node.ClockChanged()
	m.sleep(0)
}

func (m *machine) stop(how sim.Stop) {
	m.node.Stop(how)
	m.up, m.timers = false, nil
}

func (m *machine) start() {
	m.up = true
	m.node.Start(m)
	m.sleep(0)
}

func (m *machine) slowFsync(by time.Duration, begin bool) {
	m.node.Fault(sim.ServerFault{Kind: sim.SlowFsync, By: by, Begin: begin})
}

// send sends a request. It returns a pointer through which the reply can be read as soon as there is one.
func (m *machine) send(attempt history.Attempt, args ...string) *string {
	reply := new(string)
	client, _, _ := strings.Cut(string(attempt), "/")
	m.node.Serve(sim.NewIncoming(history.Process(client), m.conn, attempt, args, func(b []byte) { *reply = string(b) }))
	return reply
}

// do sends a command and returns the reply as one line, for example OK instead of +OK and 1 instead of :1. Errors keep
// their '-'.
func (m *machine) do(attempt history.Attempt, command string) string {
	return m.args(attempt, strings.Fields(command)...)
}

func (m *machine) args(attempt history.Attempt, args ...string) string {
	reply := m.send(attempt, args...)
	for i := 0; i < 100 && *reply == ""; i++ {
		m.sleep(time.Millisecond)
	}
	return readable(*reply)
}

// readable formats a reply compactly for tests: [arrays], {maps and sets}, and >[pushes].
func readable(reply string) string {
	text, _ := render(reply)
	return text
}

func render(s string) (text, rest string) {
	if s == "" {
		return "no reply", ""
	}
	line, rest, _ := strings.Cut(s, "\r\n")
	switch line[0] {
	case '+', ':', ',', '#':
		return line[1:], rest
	case '_':
		return "null", rest
	case '-':
		return line, rest
	case '$', '=':
		if line == "$-1" {
			return "null", rest
		}
		var size int
		fmt.Sscan(line[1:], &size)
		return rest[:size], rest[size+2:]
	}
	if line == "*-1" {
		return "null array", rest
	}
	var count int
	fmt.Sscan(line[1:], &count)
	if line[0] == '%' {
		count *= 2
	}
	items := make([]string, count)
	for i := range items {
		items[i], rest = render(rest)
	}
	all := strings.Join(items, " ")
	switch line[0] {
	case '%', '~':
		return "{" + all + "}", rest
	case '>':
		return ">[" + all + "]", rest
	}
	return "[" + all + "]", rest
}

// story returns the records since the last call, one per line.
func (m *machine) story() string {
	var b strings.Builder
	for _, e := range m.events {
		name := string(e.Lock)
		if e.Member != "" {
			name += "." + e.Member
		}
		fmt.Fprintf(&b, "%s %s %s of %s", seconds(e.Time), e.F, name, e.Of)
		if e.By != "" {
			fmt.Fprintf(&b, " by %s", e.By)
		}
		if e.Value != "" {
			fmt.Fprintf(&b, " = %s", e.Value)
		}
		if e.F != history.KeyGone {
			fmt.Fprintf(&b, " until %s", seconds(e.Until))
		}
		if e.Why != "" {
			fmt.Fprintf(&b, ": %s", e.Why)
		}
		b.WriteByte('\n')
	}
	m.events = m.events[:0]
	return b.String()
}

// seconds formats a time in seconds, with as many decimals as needed but at least three.
func seconds(t history.Time) string {
	if t == history.Never {
		return "never"
	}
	s := strings.TrimRight(fmt.Sprintf("%.9f", t.Duration().Seconds()), "0")
	_, decimals, _ := strings.Cut(s, ".")
	return s + strings.Repeat("0", max(3-len(decimals), 0)) + " s"
}

// check reports a test error unless got equals want.
func check[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

func (m *machine) Send(sim.ProcessID, string, sim.Key, any) {}

func (m *machine) Push(uint64, sim.Key, []byte) {}

func (m *machine) HangUp(conn uint64) { m.hungUp = append(m.hungUp, conn) }
