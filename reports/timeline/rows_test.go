package timeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
)

// TestTheHeaviestRowsAreChosen compares choose, which counts the rows with each score, with a function that sorts all
// rows. Both must choose the same rows.
func TestTheHeaviestRowsAreChosen(t *testing.T) {
	for seed := range uint64(500) {
		r := rand.New(rand.NewPCG(seed, 1))
		rows := make([]row, fewRows+r.IntN(200))
		for i := range rows {
			rows[i] = row{pos: i, weight: int16(r.IntN(20) * 5)}
		}
		most := fewRows + r.IntN(30)
		var want []int
		for i := range rows {
			if rows[i].weight >= weightLeast {
				want = append(want, i)
			}
		}
		sort.SliceStable(want, func(a, b int) bool { return rows[want[a]].weight > rows[want[b]].weight })
		want = want[:min(most, len(want))]
		slices.Sort(want)
		if got := choose(rows, most); !slices.Equal(got, want) {
			t.Fatalf("seed %d: chosen %v, want %v", seed, got, want)
		}
	}
}

// TestNearbyLanesShowTheSame checks that Lanes.near keeps everything that a row shows.
func TestNearbyLanesShowTheSame(t *testing.T) {
	shows, left := 0, 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 2))
		h := &history.History{}
		inside := map[string]history.Attempt{}
		for i := range 120 {
			p, lock := fmt.Sprint("client-", r.IntN(3)), fmt.Sprint("lock-", r.IntN(2))
			e := history.Event{Index: i, Time: history.Time(i) * 10, Process: history.Process(p), Type: history.Invoke,
				Lock: history.Lock(lock), F: history.Acquire}
			switch a, held := inside[p+lock]; {
			case !held && r.IntN(2) == 0:
				e.Type, e.Attempt = history.OK, history.Attempt(fmt.Sprint(p, "/", i))
				e.Grant = &history.Grant{Granted: e.Time, Until: e.Time + history.Time(r.IntN(300))}
				inside[p+lock] = e.Attempt
			case held:
				e.F, e.Attempt = []history.F{history.Release, history.Lost}[r.IntN(2)], a
				delete(inside, p+lock)
			}
			h.Events = append(h.Events, e)
		}
		l := Arrange(h, nil)
		var shown []row
		for i := range h.Events {
			if r.IntN(20) == 0 {
				shown = append(shown, row{at: h.Events[i].Time, pos: i})
			}
		}
		near := l.near(shown)
		for i := range shown {
			of := &shown[i]
			if got, want := near.overlapped(of.pos), l.overlapped(of.pos); got != want {
				t.Errorf("seed %d: at %d two inside: %t, want %t", seed, of.pos, got, want)
			}
			for c := range l.clients {
				left += len(l.clients[c].Sections) - len(near.clients[c].Sections)
				for _, lock := range []history.Lock{"", "lock-0", "lock-1"} {
					sign, tone := sectionSign(&l.clients[c], lock, of)
					begun, runs := leaseStands(&l.clients[c], lock, of)
					nearSign, nearTone := sectionSign(&near.clients[c], lock, of)
					nearBegun, nearRuns := leaseStands(&near.clients[c], lock, of)
					if sign != nearSign || tone != nearTone || begun != nearBegun || runs != nearRuns {
						t.Errorf("seed %d: at %d, client %d, %q: %c %t %t, want %c %t %t", seed, of.pos, c, lock,
							nearSign, nearBegun, nearRuns, sign, begun, runs)
					}
					if runs || sign != ' ' {
						shows++
					}
				}
			}
		}
	}
	if shows == 0 || left == 0 {
		t.Errorf("%d signs shown, %d sections left out", shows, left)
	}
}
