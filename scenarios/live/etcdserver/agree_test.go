//go:build linux

package etcdserver

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/etcd"
	"github.com/fencepost-sim/fencepost/sim/raft"
)

// step is a request of a script, on one of the connections to the member.
type step struct {
	conn    int
	attempt history.Attempt
	args    []string
}

// watchers is the number of connections that are used only for watches.
const watchers = 2

// script draws requests whose answers do not depend on time.
type script struct {
	random  *rand.Rand
	attempt int
	granted int
}

var names = []string{"a", "a/1", "a/2", "b", "b/1", "c"}

func (s *script) pick(words ...string) string { return words[s.random.IntN(len(words))] }

func (s *script) key() string { return s.pick(names...) }

// lease returns the ID of a granted lease, or sometimes one of no lease.
func (s *script) lease() string { return fmt.Sprint(1 + s.random.IntN(s.granted+2)) }

func (s *script) op() []string {
	switch s.random.IntN(4) {
	case 0, 1:
		args := []string{"PUT", s.key(), s.pick("", "x", "y z", "ü\x00")}
		if s.random.IntN(3) == 0 {
			args = append(args, "LEASE", s.lease())
		}
		return args
	case 2:
		return s.maybe([]string{"DELETE", s.key()}, "PREFIX")
	}
	args := s.maybe([]string{"RANGE", s.key()}, "PREFIX")
	args = s.maybe(args, "SORT", s.pick("KEY", "CREATE", "MOD"), s.pick("ASC", "DESC"))
	args = s.maybe(args, "LIMIT", s.pick("0", "1", "2"))
	for _, bound := range []string{"MINCREATE", "MAXCREATE", "MINMOD", "MAXMOD"} {
		if s.random.IntN(6) == 0 {
			args = append(args, bound, fmt.Sprint(s.random.IntN(40)))
		}
	}
	return s.maybe(args, "SERIALIZABLE")
}

func (s *script) maybe(args []string, more ...string) []string {
	if s.random.IntN(3) == 0 {
		return append(args, more...)
	}
	return args
}

func (s *script) txn() []string {
	args := []string{"TXN"}
	for range s.random.IntN(3) {
		target := s.pick("CREATE", "MOD", "VERSION", "LEASE", "VALUE")
		operand := fmt.Sprint(s.random.IntN(4))
		if target == "VALUE" {
			operand = s.pick("", "x", "y z")
		}
		args = append(args, "IF", target, s.key(), s.pick("=", "!=", "<", ">"), operand)
	}
	for _, branch := range []string{"THEN", "ELSE"} {
		for range s.random.IntN(3) {
			op := s.op()
			args = append(append(args, branch, fmt.Sprint(len(op))), op...)
		}
	}
	return args
}

// next draws a request.
func (s *script) next() step {
	s.attempt++
	p := step{2 + s.random.IntN(2), history.Attempt(fmt.Sprint("client-1/", s.attempt)), nil}
	switch s.random.IntN(12) {
	case 0:
		s.granted++
		p.args = []string{"LEASE", "GRANT", s.pick("1000", "2000"), fmt.Sprint(s.granted)}
	case 1:
		p.args = []string{"LEASE", "REVOKE", s.lease()}
	case 2:
		p.args = []string{"LEASE", "KEEPALIVE", s.lease()}
	case 3:
		p.args = []string{"LEASE", "TIMETOLIVE", s.lease()}
	case 4, 5, 6:
		p.args = s.txn()
	case 7:
		p.args = []string{s.pick("STATUS", "PET", "LEASE", "TXN", "RANGE", "PUT", "DELETE"), s.pick("", "a", "IF"),
			s.pick("", "-1", "THEN")}
		if p.args[0] == "STATUS" {
			p.args = p.args[:1]
		}
	default:
		p.args = s.op()
	}
	return p
}

// watches are the watches of the script, one on each of its watch connections.
var watches = [watchers][]string{{"WATCH", "a", "PREFIX", "REV", "2"}, {"WATCH", "c"}}

// play runs a script, and appends everything that is answered and pushed to said.
func play(steps []step, said *[]string) func(sim.Env) {
	return func(env sim.Env) {
		at := func(n int) sim.Conn { return sim.Conn{Server: "etcd-1", N: n} }
		ask := func(s step) sim.Reply {
			r := env.Call(time.Minute, nil, sim.Request{Conn: at(s.conn), Args: s.args, Attempt: s.attempt,
				Phase: s.args[0]})[0]
			*said = append(*said, fmt.Sprintf("%q: %s", s.args, shown(s.args, r.Raw())))
			return r
		}
		for i, w := range watches {
			ask(step{conn: i, args: w})
		}
		for _, s := range steps {
			ask(s)
		}
		for i, w := range watches { // until the last put is pushed
			ask(step{conn: 2, args: []string{"PUT", w[1], "the end"}})
			for {
				b, status := env.Receive(at(i), time.Minute)
				*said = append(*said, fmt.Sprintf("watch %d: %v %s", i, status, b))
				if status != sim.Answered || strings.Contains(string(b), "the end") {
					break
				}
			}
		}
	}
}

// shown returns an answer in the form in which it is compared: without the remaining time of a lease, which decreases
// meanwhile.
func shown(args []string, answer []byte) string {
	if len(args) < 2 || args[1] != "TIMETOLIVE" {
		return string(answer)
	}
	lines := strings.Split(string(answer), "\r\n")
	if len(lines) > 2 && !strings.HasPrefix(lines[2], ":-") {
		lines[2] = "some left"
	}
	return strings.Join(lines, "\r\n")
}

// recordsOf lists which keys appeared and vanished in a history, with their owners.
func recordsOf(h *history.History) (list []string) {
	for i := range h.Events {
		if e := &h.Events[i]; e.F == history.KeySet || e.F == history.KeyGone {
			list = append(list, fmt.Sprint(e.F, " ", e.Lock, " ", e.Member, " of ", e.Of))
		}
	}
	return list
}

// TestARealMemberAnswersAndRecordsAsTheSimulated sends random requests to both and compares the answers to the byte,
// except for the remaining time of leases.
func TestARealMemberAnswersAndRecordsAsTheSimulated(t *testing.T) {
	scripts, length := 3, 150
	if testkit.Full() {
		scripts, length = 25, 400
	}
	for seed := range uint64(scripts) {
		s := script{random: rand.New(rand.NewPCG(seed, 7))}
		var steps []step
		for range length {
			steps = append(steps, s.next())
		}
		var real, simulated []string
		realHistory := start(t, 1).run(play(steps, &real))
		w := sim.New(1, sim.Options{Endless: true})
		etcd.New(raft.Config{}, members(1)).AddTo(w.AddServer)
		done := runClients(w, []func(sim.Env){play(steps, &simulated)})
		w.Run(sim.Time(time.Hour), func() bool { return *done == 1 })
		if err := w.Err(); err != nil {
			t.Fatal(err)
		}
		sameLists(t, "answers", real, simulated)
		sameLists(t, "records", recordsOf(realHistory), recordsOf(w.Finish()))
	}
}

func sameLists(t *testing.T, what string, real, simulated []string) {
	t.Helper()
	if slices.Equal(real, simulated) {
		return
	}
	for i := range max(len(real), len(simulated)) {
		if i >= len(real) || i >= len(simulated) || real[i] != simulated[i] {
			t.Fatalf("%s differ at %d:\nreal\n%q\nsimulated\n%q", what, i, real[i:min(i+2, len(real))],
				simulated[i:min(i+2, len(simulated))])
		}
	}
}
