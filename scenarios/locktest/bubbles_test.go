package locktest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// metrics counts for ever, beside a lock.
func metrics() {
	for n := 0; ; n++ {
		time.Sleep(50 * time.Millisecond)
	}
}

// What follows a library makes when it is first used, for the whole program.
var (
	clockOnce, turnsOnce sync.Once
	clockMu              sync.Mutex
	coarse               time.Time     // that coarseClock keeps
	turns                chan struct{} // has one element while somebody is in Lock
)

// coarseClock keeps the time, to a second.
func coarseClock() {
	for {
		time.Sleep(time.Second)
		clockMu.Lock()
		coarse = time.Now()
		clockMu.Unlock()
	}
}

// shared is a lock that leaves metrics behind, and uses something before each Lock.
type shared struct {
	plain
	use func()
}

func (l *shared) Lock(ctx context.Context) error {
	l.use()
	return l.plain.Lock(ctx)
}

// TestLeftoversOfARunMakeNoDifferenceToTheNext: runs are those of a lock that leaves nothing, wherever they are made:
// also where the library keeps something for the whole program, which must not be left in an earlier bubble.
func TestLeftoversOfARunMakeNoDifferenceToTheNext(t *testing.T) {
	config := func(use func()) Config {
		return Config{Faults: Pauses, Seeds: testkit.Size(8, 60), Untried: true,
			Tolerated: []string{"metrics", "coarseClock"},
			New: func(c *Client) Lock {
				if use == nil {
					return newPlain(c)
				}
				go metrics()
				return &shared{plain{c: c, ttl: 8 * time.Second}, use}
			}}
	}
	alone, ok := Explore(t, config(nil))
	uses := map[string]func(){
		"nothing is kept": func() {},
		"a goroutine is kept": func() {
			clockOnce.Do(func() {
				coarse = time.Now()
				go coarseClock()
			})
			clockMu.Lock()
			defer clockMu.Unlock()
			if time.Since(coarse) > 2*time.Second {
				time.Sleep(time.Second) // which makes another run
			}
		},
		"a channel is kept": func() {
			turnsOnce.Do(func() { turns = make(chan struct{}, 1) })
			turns <- struct{}{}
			<-turns
		},
	}
	for name, use := range uses {
		t.Run(name, func(t *testing.T) {
			r, here := Explore(t, config(use))
			if !ok || !here {
				return
			}
			if len(r.Failures)+len(r.Differing)+r.Tolerated > 0 {
				t.Errorf("%+v", r)
			}
			if !maps.Equal(r.Digests(), alone.Digests()) {
				t.Error("the runs differ")
			}
		})
	}
}

// TestOnlyWhatEveryRunLeavesIsLeftBehind: what has been made once may be used by later runs.
func TestOnlyWhatEveryRunLeavesIsLeftBehind(t *testing.T) {
	type counts = map[string]int
	for name, test := range map[string]struct {
		before, first, now counts
		want               bool
	}{
		"the same of each run":         {counts{"m": 1}, counts{"m": 1, "a": 4}, counts{"m": 1, "a": 12}, true},
		"beside those of a bubble":     {counts{"a": 8}, counts{"a": 12}, counts{"a": 20}, true},
		"a pool, made once":            {counts{}, counts{"a": 4, "pool": 8}, counts{"a": 12, "pool": 8}, false},
		"made once, later":             {counts{}, counts{"a": 4}, counts{"a": 12, "late": 1}, false},
		"a pool, made later":           {counts{}, counts{"a": 4}, counts{"a": 12, "pool": 8}, false},
		"of some runs":                 {counts{}, counts{"a": 4, "b": 1}, counts{"a": 12, "b": 2}, false},
		"what was there before":        {counts{"idle": 3}, counts{"idle": 3, "a": 1}, counts{"idle": 3, "a": 3}, true},
		"what was there and has ended": {counts{"idle": 3}, counts{"a": 1}, counts{"a": 3}, true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &bubbles{before: test.before}
			if got := b.learn(test.first, test.now, 2); got != test.want {
				t.Fatalf("%v, want %v", got, test.want)
			}
			if test.want && (!b.known(test.now) || b.known(counts{"new": 1})) {
				t.Error("a later bubble is judged otherwise")
			}
		})
	}
}
