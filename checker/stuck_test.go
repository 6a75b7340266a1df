package checker

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// randomWaits makes a history of three clients that ask for two locks, keep one while they ask for the other, give up,
// release and crash: one event a nanosecond, at most.
func randomWaits(r *rand.Rand) *history.History {
	h := &history.History{Header: history.Header{TTL: 2, Hold: 1, Slack: 1, Uncapped: r.IntN(2) == 0, Locks: []history.Lock{"a", "b"}}}
	var waits [3]history.Lock
	var holds [3]map[history.Lock]bool
	now := history.Time(0)
	for range 14 {
		i := r.IntN(3)
		if holds[i] == nil {
			holds[i] = map[history.Lock]bool{}
		}
		e := history.Event{Index: len(h.Events), Process: history.Process(fmt.Sprintf("client-%d", i+1)), Type: history.OK, F: history.Acquire,
			Lock: h.Header.Locks[r.IntN(2)]}
		switch {
		case r.IntN(12) == 0:
			e.F, e.Type, e.Lock, waits[i], holds[i] = history.Crashed, history.Info, "", "", map[history.Lock]bool{}
		case waits[i] != "":
			if e.Lock = waits[i]; r.IntN(3) == 0 {
				e.Type = history.Fail
			}
			holds[i][e.Lock] = holds[i][e.Lock] || e.Type == history.OK
			waits[i] = ""
		case holds[i][e.Lock]:
			e.F, e.Type = history.Release, history.Invoke
			delete(holds[i], e.Lock)
		default:
			e.Type = history.Invoke
			waits[i] = e.Lock
		}
		now += history.Time(1 + r.IntN(3))
		e.Time = now
		h.Events = append(h.Events, e)
	}
	h.Header.End = now + history.Time(r.IntN(8))
	return h
}

// stuckByTheTick is the slow twin of firstStuck. It looks at every nanosecond: it believes that all locks stand still,
// takes back those with a holder that gets on until nothing changes, and counts how long each waiter's lock stood
// still without changing hands.
func stuckByTheTick(t *trace, limit history.Time) bool {
	counts := make([]history.Time, len(t.asks))
	isOpen := func(from, to int, now history.Time) bool {
		return t.time(from) <= now && (to == open || t.time(to) > now)
	}
	for now := history.Time(0); now < t.end; now++ {
		still := make([]bool, len(t.locks))
		for l := range still {
			still[l] = true
		}
		moved := make([]bool, len(t.locks))
		for range t.locks { // each round may take back one more
			for _, g := range t.grants {
				moved[g.lock] = moved[g.lock] || t.time(g.ok) == now || g.end != open && g.ending != crashed && t.time(g.end) == now
				if !isOpen(g.ok, g.end, now) {
					continue
				}
				stuck := t.h.Header.Uncapped && now-t.time(g.ok) >= t.h.Header.Hold
				for _, a := range t.asks {
					stuck = stuck || a.process == g.process && isOpen(a.call, a.ret, now) && still[a.lock]
				}
				still[g.lock] = still[g.lock] && stuck
			}
		}
		for n, a := range t.asks {
			if !isOpen(a.call, a.ret, now) || !still[a.lock] {
				counts[n] = 0
				continue
			}
			if moved[a.lock] {
				counts[n] = 0
			}
			if counts[n]++; counts[n] > limit {
				return true
			}
		}
	}
	return false
}

func TestStandstillIsWhatEveryTickShows(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	var tr trace
	seen := map[CauseKind]int{}
	for range 30_000 {
		h := randomWaits(r)
		tr.read(h)
		limit := history.Time(2 + r.IntN(6))
		s, got := tr.firstStuck(-1, limit)
		if want := stuckByTheTick(&tr, limit); got != want {
			t.Fatalf("limit %d: got %v (%+v), want %v\n%+v\n%v", limit, got, s, want, h.Header, list(timed(h.Events)))
		}
		if got && !tr.longWait(-1, limit) {
			t.Fatalf("the first look finds no long wait where there is one:\n%s", list(timed(h.Events)))
		}
		if kind := CauseKind(""); got {
			cause, _, _ := tr.stuckCause(&s)
			kind = cause.Kind
			seen[kind]++
		}
	}
	for _, kind := range []CauseKind{StuckBehindCrashed, StuckBehindUncapped, StuckInCycle, StuckWithoutHolder} {
		if seen[kind] < 50 {
			t.Errorf("only %d rounds were %s", seen[kind], kind)
		}
	}
}

func timed(events []history.Event) []string {
	all := lines(events)
	for i, e := range events {
		all[i] += fmt.Sprintf(" %s at %d", e.Lock, e.Time)
	}
	return all
}
