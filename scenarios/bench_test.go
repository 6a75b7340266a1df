package scenarios

import (
	"bufio"
	"bytes"
	"runtime"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/sim"
)

// BenchmarkRedlockSchedule performs runs of random plans on one core, records their histories and judges all laws. The
// x-bare metric is the processor time for this, divided by the time that miniredis needs for the same Redis commands
// (Server().Dispatch). Both are measured in the same loop. A script counts as the commands that it executes.
func BenchmarkRedlockSchedule(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	s, bare := newSchedules(b), newBareServers(b, newSchedules(b))
	var c checker.Checker
	var seed uint64
	var full, alone time.Duration
	events := 0
	for b.Loop() {
		start := processor.Time()
		for range scheduleBatch {
			seed++
			result := s.run(b, seed)
			c.Check(result.History)
			events += result.Events
		}
		full += processor.Time() - start
		start = processor.Time()
		bare.dispatch()
		alone += processor.Time() - start
	}
	n := float64(seed)
	b.ReportMetric(n/full.Seconds(), "schedules/cpu-s")
	b.ReportMetric(float64(full)/float64(alone), "x-bare")
	b.ReportMetric(float64(events)/n, "events/schedule")
	b.ReportMetric(float64(bare.commands)/scheduleBatch, "commands/schedule")
}

// scheduleBatch is how many runs are timed together. Their time is compared with the time that their commands alone
// take.
const scheduleBatch = 100

// bareServers contains miniredis servers, and the commands that a batch of runs sent to each of them.
type bareServers struct {
	scripts  []bareScript
	commands int
}

type bareScript struct {
	server *server.Server
	peer   *server.Peer
	out    *bytes.Buffer
	clear  func()
	calls  [][][]string // the calls of each run
}

func newBareServers(b *testing.B, from *schedules) *bareServers {
	all := &bareServers{scripts: make([]bareScript, from.scenario.Servers.N)}
	from.tap = func(id sim.ProcessID, s sim.Server) sim.Server {
		return &listener{Server: s, to: &all.scripts[int(id[len(id)-1]-'1')]}
	}
	for i := range all.scripts {
		m := miniredis.NewMiniRedis()
		conn, err := m.Dial()
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { conn.Close(); m.Close() })
		out := &bytes.Buffer{}
		all.scripts[i] = bareScript{server: m.Server(), peer: server.NewPeer(bufio.NewWriter(out)), out: out,
			clear: m.FlushAll}
	}
	for seed := range uint64(scheduleBatch) {
		for i := range all.scripts {
			all.scripts[i].calls = append(all.scripts[i].calls, nil)
		}
		from.run(b, seed+1)
	}
	for _, script := range all.scripts {
		for _, calls := range script.calls {
			all.commands += len(calls)
		}
	}
	return all
}

// dispatch executes the commands recorded for each server, and nothing else.
func (s *bareServers) dispatch() {
	for i := range s.scripts {
		b := &s.scripts[i]
		for _, calls := range b.calls {
			b.clear()
			for _, args := range calls {
				b.server.Dispatch(b.peer, args)
				b.peer.Flush()
				b.out.Reset()
			}
		}
	}
}

// listener records the commands that a server receives. Instead of the release script, it records the commands that the
// script executes.
type listener struct {
	sim.Server
	to *bareScript
}

func (l *listener) note(args ...string) {
	last := len(l.to.calls) - 1
	l.to.calls[last] = append(l.to.calls[last], args)
}

func (l *listener) Serve(q *sim.Incoming) {
	if q.Args[0] != "EVAL" {
		l.note(q.Args...)
		l.Server.Serve(q)
		return
	}
	key := q.Args[3]
	l.note("GET", key)
	l.Server.Serve(sim.NewIncoming(q.Client, q.ConnID, q.Attempt, q.Args, func(reply []byte) {
		if string(reply) == ":1\r\n" {
			l.note("DEL", key)
		}
		q.Reply(reply)
	}))
}

// BenchmarkScenario runs each scenario in the catalog on one core, records its history and judges all laws.
func BenchmarkScenario(b *testing.B) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	for _, name := range Names() {
		b.Run(name, func(b *testing.B) {
			s, err := Named(name)
			if err != nil {
				b.Fatal(err)
			}
			var c checker.Checker
			r := NewRunner(s)
			var seed uint64
			start := processor.Time()
			for b.Loop() {
				seed++
				result, err := r.Run(s.Plan(seed))
				if err != nil {
					b.Fatal(err)
				}
				c.Check(result.History)
			}
			b.ReportMetric(float64(seed)/(processor.Time()-start).Seconds(), "schedules/cpu-s")
		})
	}
}
