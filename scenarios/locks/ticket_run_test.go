package locks_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/locks"
	"github.com/fencepost-sim/fencepost/scenarios/sweep"
)

// The ticket lock is defined only in ticket_test.go. The tests in this file check that all other packages can use it.

const onTicket = `name: ticket
servers: {redis: 1, persistence: none}
clients: 3
lock: {protocol: ticket, poll: 5ms}
work: {cycles: 2, hold: 50ms}
resource: {fencing: on}
`

func parse(t *testing.T, text string) *scenarios.Scenario {
	t.Helper()
	s, err := scenarios.Parse("ticket.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestATicketLockIsRunAndJudged checks three properties of a ticket lock. Clients get the lock in the order of their
// numbers. A holder that crashes blocks all other clients. If Redis loses its data, two clients can hold the lock at
// the same time.
func TestATicketLockIsRunAndJudged(t *testing.T) {
	for _, c := range []struct {
		faults string
		want   map[checker.Law]checker.Outcome
		tokens string
	}{
		{"", map[checker.Law]checker.Outcome{checker.MutualExclusion: checker.Holds, checker.TokenOrder: checker.Holds,
			checker.DeadlockFreedom: checker.Holds}, "1 2 3 4 5 6"},
		{"faults: [crash client-1 after acquired]\n",
			map[checker.Law]checker.Outcome{checker.MutualExclusion: checker.Holds,
				checker.DeadlockFreedom: checker.Violated}, "1"},
		{"faults: [\"crash redis-1 losing everything at 20ms, restart after 10ms\"]\n",
			map[checker.Law]checker.Outcome{checker.MutualExclusion: checker.Violated,
				checker.TokenOrder: checker.Violated}, ""},
	} {
		s := parse(t, onTicket+c.faults)
		r, err := scenarios.NewRunner(s).Run(s.Plan(1))
		if err != nil {
			t.Fatal(err)
		}
		verdict := s.Judge(r).Verdict
		for law, want := range c.want {
			if f := verdict.Of(law); f.Outcome != want {
				t.Errorf("%q: %s: %s, want %s: %s", c.faults, law, f.Outcome, want, f.Cause)
			}
		}
		var tokens []string
		for _, e := range r.History.Events {
			if e.Type == history.OK && e.F == history.Acquire && e.Process != history.Probe {
				tokens = append(tokens, strconv.FormatInt(int64(e.Token), 10))
			}
		}
		if got := strings.Join(tokens, " "); c.tokens != "" && got != c.tokens {
			t.Errorf("%q: the lock was taken with the numbers %s, want %s", c.faults, got, c.tokens)
		}
	}
}

// TestATicketLockIsSwept checks the outcomes of sweeps over a setting that only the ticket lock has, and over
// protocols.
func TestATicketLockIsSwept(t *testing.T) {
	bare := strings.Replace(onTicket, ", poll: 5ms", "", 1)
	for axis, want := range map[string][]sweep.State{
		"lock.poll=2ms,8ms,70s":                      {sweep.Safe, sweep.Safe, sweep.Broken},
		"lock.protocol=fenced,ticket,etcd,set-nx-px": {sweep.Safe, sweep.Safe, sweep.Invalid, sweep.Invalid},
	} {
		b, err := sweep.NewSubject(parse(t, bare))
		if err != nil {
			t.Fatal(err)
		}
		a, err := b.Axis(axis)
		if err != nil {
			t.Fatal(err)
		}
		made, err := b.Sweep(context.Background(),
			sweep.Options{Axes: []sweep.Axis{a}, Laws: []checker.Law{checker.DeadlockFreedom},
				From: 1, Seeds: 2, Crew: campaign.Crew{Workers: 1}})
		if err != nil {
			t.Fatal(err)
		}
		var got []sweep.State
		for _, p := range made.Points {
			got = append(got, p.State(checker.DeadlockFreedom))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: deadlock-freedom is %v, want %v", axis, got, want)
		}
	}
}

// TestATicketLockIsListed checks that the scenario file parser accepts the ticket protocol with its settings and
// rejects other protocols' settings. It also checks that a starter file can be generated for the protocol and parsed.
func TestATicketLockIsListed(t *testing.T) {
	d := locks.Define("ticket")
	if !slices.Contains(locks.Definitions(), d) {
		t.Fatal("it is not among the protocols")
	}
	for text, want := range map[string]string{
		strings.Replace(onTicket, "protocol: ticket", "protocol: tickt",
			1): `did you mean "ticket"`,
		strings.Replace(onTicket, "poll: 5ms", "pol: 5ms",
			1): `did you mean "poll"`,
		strings.Replace(onTicket, "poll: 5ms", "quorum: 2",
			1): "quorum is a setting of redlock, but the protocol is ticket",
		strings.Replace(onTicket, "poll: 5ms", "retry: {delay: 5ms}", 1): "give poll",
		"name: x\nservers: {redis: 1}\nlock: {protocol: setnx, poll: " +
			"5ms}\n": "poll is a setting of ticket, but the protocol is setnx",
		"name: x\nservers: {etcd: 3}\nlock: {protocol: " +
			"ticket}\n": "ticket needs redis servers, not etcd",
		strings.Replace(onTicket, "lock: {protocol: ticket, poll: 5ms}", "lock: {protocol: setnx}",
			1): "or use fenced, ticket",
	} {
		_, err := scenarios.Parse("ticket.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nis answered with\n%v\nnot with %q", text, err, want)
		}
	}
	first := scenarios.KindNamed("ticket").Starter("my-lock", scenarios.DefaultFile)
	s := parse(t, first)
	if s.Clients[0].Lock.Protocol != d.Name || !strings.Contains(first, "#poll: 10ms..20ms") {
		t.Errorf("its first scenario is\n%s", first)
	}
	other := scenarios.KindNamed(string(locks.SetNX)).Starter("my-lock", scenarios.DefaultFile)
	if !strings.Contains(other, "# - ticket: INCR draws a number") {
		t.Errorf("the first scenario of another protocol does not name it:\n%s", other)
	}
}
