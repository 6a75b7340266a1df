package claims

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
)

// copied returns a copy of a history whose events can be changed freely. The lists in its header are not copied.
func copied(h *history.History) *history.History {
	c := &history.History{Header: h.Header, Events: slices.Clone(h.Events)}
	for i := range c.Events {
		e := &c.Events[i]
		if e.Grant != nil {
			g := *e.Grant
			g.Counted = slices.Clone(g.Counted)
			e.Grant = &g
		}
		if e.Fault != nil {
			f := *e.Fault
			f.On, f.To = slices.Clone(f.On), slices.Clone(f.To)
			e.Fault = &f
		}
	}
	return c
}

// moments calls f for each time in the history.
func moments(h *history.History, f func(*history.Time)) {
	f(&h.Header.End)
	for i := range h.Events {
		e := &h.Events[i]
		f(&e.Time)
		if e.Until != 0 && e.Until != history.Never {
			f(&e.Until)
		}
		if g := e.Grant; g != nil {
			f(&g.Since)
			f(&g.Granted)
			if g.Until != history.Never {
				f(&g.Until)
			}
		}
	}
}

// onHistories judges the histories of many runs, before and after a change, and calls compare with both verdicts.
func onHistories(t *testing.T, relation string, few, many int, change func(*history.History) *history.History,
	compare func(t *testing.T, h *history.History, was, is checker.Verdict)) {
	t.Helper()
	tried := newTally(t, relation)
	for _, s := range subjects(t) {
		runner := scenarios.NewRunner(s)
		for _, p := range plansOf(t, s, plans(few, many)) {
			r, err := runner.Run(p)
			if err != nil {
				t.Fatalf("%s: %v\n%s", s.Name, err, p)
			}
			changed := change(copied(r.History))
			tried.done()
			failed := t.Failed()
			compare(t, r.History, checker.Check(r.History), checker.Check(changed))
			if t.Failed() && !failed {
				t.Logf("%s\n%s", s.Name, p)
			}
		}
	}
}

// sameVerdict fails the test unless two verdicts agree on outcomes, causes, and the positions of violations. Their
// wording may differ.
func sameVerdict(t *testing.T, h *history.History, was, is checker.Verdict) {
	t.Helper()
	alike := func(f, g checker.Finding) bool {
		return f.Outcome == g.Outcome && f.Cause == g.Cause && slices.Equal(f.Witness, g.Witness) && f.At == g.At &&
			slices.Equal(f.Faults, g.Faults)
	}
	for i, f := range was.Findings {
		if g := is.Findings[i]; !alike(f, g) || !slices.EqualFunc(f.Further, g.Further, alike) {
			t.Errorf("%s seed %d: %s is %s, by %v at %d, then %s, by %v at %d", h.Header.Scenario, h.Header.Seed, f.Law,
				f.Came(), f.Witness, f.At, g.Came(), g.Witness, g.At)
		}
	}
}

// TestAHistoryShiftedInTimeIsJudgedTheSame checks that the verdict does not depend on when a run began.
func TestAHistoryShiftedInTimeIsJudgedTheSame(t *testing.T) {
	for _, by := range []time.Duration{time.Nanosecond, time.Hour} {
		onHistories(t, "shifted by "+by.String(), 3, 60, func(h *history.History) *history.History {
			moments(h, func(at *history.Time) { *at += history.Of(by) })
			return h
		}, sameVerdict)
	}
}

// TestAHistoryRenamedIsJudgedTheSame checks that the verdict does not depend on names. The test swaps the clients'
// names and gives the locks new ones.
func TestAHistoryRenamedIsJudgedTheSame(t *testing.T) {
	onHistories(t, "renamed", 4, 100, func(h *history.History) *history.History {
		clients := ordinary(h)
		name := map[history.Process]history.Process{}
		for i, c := range clients {
			name[c] = clients[len(clients)-1-i]
		}
		rename(h, func(p history.Process) history.Process {
			if other, is := name[p]; is {
				return other
			}
			return p
		}, func(l history.Lock) history.Lock { return "other/" + l })
		return h
	}, sameVerdict)
}

// ordinary returns the clients except the probe, which only tests the locks at the end of a run.
func ordinary(h *history.History) []history.Process {
	return slices.DeleteFunc(slices.Clone(h.Header.Clients), func(p history.Process) bool { return p == history.Probe })
}

// rename renames processes and locks. It also renames attempts, whose names begin with the name of their client.
func rename(h *history.History, process func(history.Process) history.Process, lock func(history.Lock) history.Lock) {
	attempt := func(a history.Attempt) history.Attempt {
		if client, number, ok := strings.Cut(string(a), "/"); ok {
			return history.Attempt(string(process(history.Process(client))) + "/" + number)
		}
		return a
	}
	all := func(list []history.Process) []history.Process {
		list = slices.Clone(list)
		for i := range list {
			list[i] = process(list[i])
		}
		return list
	}
	h.Header.Clients, h.Header.Servers, h.Header.Locks = all(h.Header.Clients), all(h.Header.Servers),
		slices.Clone(h.Header.Locks)
	for i := range h.Header.Locks {
		h.Header.Locks[i] = lock(h.Header.Locks[i])
	}
	for i := range h.Events {
		e := &h.Events[i]
		e.Process, e.Attempt, e.Of, e.By = process(e.Process), attempt(e.Attempt), attempt(e.Of), attempt(e.By)
		if e.Lock != "" {
			e.Lock = lock(e.Lock)
		}
		if e.Grant != nil {
			e.Grant.Counted = all(e.Grant.Counted)
		}
		if e.Fault != nil {
			e.Fault.On, e.Fault.To = all(e.Fault.On), all(e.Fault.To)
		}
	}
}

// TestTwoCopiesOfAHistoryBreakWhatOneBreaks checks that a history merged with a copy of itself violates the same laws
// as the original. In the copy, other clients use other locks on the same servers at the same times. The probe is left
// out, because it is a single client and would have to do two things at once.
func TestTwoCopiesOfAHistoryBreakWhatOneBreaks(t *testing.T) {
	second := func(p history.Process) history.Process { return p + "-b" }
	tried := newTally(t, "two copies")
	for _, s := range subjects(t) {
		runner := scenarios.NewRunner(s)
		for _, p := range plansOf(t, s, plans(3, 60)) {
			r, err := runner.Run(p)
			if err != nil {
				t.Fatal(err)
			}
			one := withoutProbe(copied(r.History))
			clients := ordinary(one)
			other := copied(one)
			rename(other, func(p history.Process) history.Process {
				if slices.Contains(clients, p) {
					return second(p)
				}
				return p
			}, func(l history.Lock) history.Lock { return l + "-b" })
			both := interleaved(one, other, clients)
			tried.done()
			was, is := checker.Check(one), checker.Check(both)
			for i, f := range was.Findings {
				if g := is.Findings[i]; f.Came() != g.Came() {
					t.Errorf("%s: %s %s, of two copies %s: %s\n%s", s.Name, f.Law, f.Came(), g.Came(), g.Explanation,
						p)
				}
			}
		}
	}
}

// withoutProbe removes the probe and everything that servers did for it.
func withoutProbe(h *history.History) *history.History {
	h.Header.Clients = ordinary(h)
	its := func(a history.Attempt) bool { return strings.HasPrefix(string(a), "probe/") }
	h.Events = slices.DeleteFunc(h.Events, func(e history.Event) bool {
		return e.Process == history.Probe || its(e.Of) || its(e.By) || its(e.Attempt)
	})
	renumber(h)
	return h
}

func renumber(h *history.History) {
	for i := range h.Events {
		h.Events[i].Index = i
	}
}

// interleaved puts each event of the second history after the corresponding event of the first. A fault that does not
// strike clients is included only once.
func interleaved(one, other *history.History, clients []history.Process) *history.History {
	both := &history.History{Header: one.Header}
	both.Header.Clients = slices.Concat(one.Header.Clients, other.Header.Clients)
	both.Header.Locks = slices.Concat(one.Header.Locks, other.Header.Locks)
	for i, e := range one.Events {
		both.Events = append(both.Events, e)
		if e.Process == history.Nemesis && !slices.ContainsFunc(e.Fault.Struck(),
			func(p history.Process) bool { return slices.Contains(clients, p) }) {
			continue
		}
		f := other.Events[i]
		if e.Process == history.Nemesis {
			f.Value += " b"
		}
		both.Events = append(both.Events, f)
	}
	renumber(both)
	return both
}

// atOnce lists the laws that are violated at a single event. Any history that contains this event and the witness's
// other events shows the violation. Other laws depend on what must happen within a certain time, or on whether all
// the values that were read can be explained.
var atOnce = []checker.Law{checker.LeaseExclusion, checker.MutualExclusion, checker.Ownership, checker.TokenOrder}

// TestAHistoryCutOffBreaksWhatTheWholeBreaksByThen checks that later events do not undo a violation: if a prefix of a
// history violates a law, so does the whole history. Therefore, a law that holds in the whole history is not violated
// in any prefix, though it may be undecided or unchecked there.
func TestAHistoryCutOffBreaksWhatTheWholeBreaksByThen(t *testing.T) {
	tried := newTally(t, "cut off")
	for _, s := range subjects(t) {
		runner := scenarios.NewRunner(s)
		for _, p := range plansOf(t, s, plans(2, 40)) {
			r, err := runner.Run(p)
			if err != nil {
				t.Fatal(err)
			}
			whole, n := checker.Check(r.History), len(r.History.Events)
			step := max(1, n/8)
			for end := step; end < n; end += step {
				h := copied(r.History)
				h.Events = h.Events[:end]
				h.Header.End = h.Events[end-1].Time
				tried.done()
				prefix := checker.Check(h)
				for _, law := range checker.Laws {
					f, g := whole.Of(law), prefix.Of(law)
					switch {
					case g.Outcome == checker.Violated && f.Outcome != checker.Violated:
						t.Errorf("%s: %s is violated in the first %d events (%v), but the whole %v\n%s", s.Name, law,
							end, g.Cause, f.Outcome, p)
					case slices.Contains(atOnce, law) && f.Outcome == checker.Violated && f.At < end &&
						slices.Max(f.Witness) < end && g.Outcome != checker.Violated:
						t.Errorf("%s: %s is broken at event %d, but in the first %d it is %v\n%s", s.Name, law, f.At,
							end, g.Outcome, p)
					}
				}
			}
		}
	}
}
