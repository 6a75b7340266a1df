package locktest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// statistics runs forever, like a library goroutine that has nothing to do with the lock.
func statistics() {
	for n := 0; ; n++ {
		time.Sleep(50 * time.Millisecond)
	}
}

// Global state that a library creates on first use.
var (
	clockOnce, turnsOnce sync.Once
	clockMu              sync.Mutex
	coarse               time.Time     // set by coarseClock
	turns                chan struct{} // holds one element while a client is in Lock
)

// coarseClock updates a global clock once per second.
func coarseClock() {
	for {
		time.Sleep(time.Second)
		clockMu.Lock()
		coarse = time.Now()
		clockMu.Unlock()
	}
}

// shared is a lock that uses global state before each call to Lock.
type shared struct {
	plain
	use func()
}

func (l *shared) Lock(ctx context.Context) error {
	l.use()
	return l.plain.Lock(ctx)
}

// TestLeftoversOfARunMakeNoDifferenceToTheNext checks that goroutines and global state that a library leaves behind do
// not change later runs. These runs must be identical to runs of a lock that does not leave anything behind, even if
// the library creates a goroutine or channel in one run and uses it in later ones.
func TestLeftoversOfARunMakeNoDifferenceToTheNext(t *testing.T) {
	config := func(use func()) Config {
		return Config{Faults: Pauses, Seeds: testkit.Size(2, 8, 60), SkipTrial: true,
			IgnoredGoroutines: []string{"statistics", "coarseClock"},
			New: func(c *Client) (Lock, error) {
				if use == nil {
					return newPlain(c)
				}
				go statistics()
				return &shared{plain{c: c, ttl: 8 * time.Second}, use}, nil
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
				time.Sleep(time.Second) // this sleep would change the run
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
			testkit.OneIn(t, 3)
			r, here := Explore(t, config(use))
			if !ok || !here {
				return
			}
			if len(r.Failures)+len(r.DifferingSeeds)+r.Ignored > 0 {
				t.Errorf("%+v", r)
			}
			if !maps.Equal(r.Digests(), alone.Digests()) {
				t.Error("the runs differ")
			}
		})
	}
}

// TestWhatARunDoesNotLeaveAgainMayBeKept checks when a goroutine that a run leaves behind counts as started once for
// the whole program. It does if the next run does not leave another one behind.
func TestWhatARunDoesNotLeaveAgainMayBeKept(t *testing.T) {
	type counts = map[string]int
	for name, test := range map[string]struct {
		runs []counts // goroutines after each run; nil: the run left none
		want bool
	}{
		"nothing is left":          {[]counts{nil, nil, nil}, false},
		"the same of each run":     {[]counts{{"m": 1, "a": 4}, {"m": 1, "a": 8}, {"m": 1, "a": 12}}, false},
		"more of the first":        {[]counts{{"m": 1, "a": 9}, {"m": 1, "a": 10}, {"m": 1, "a": 12}}, false},
		"a pool, made once":        {[]counts{{"m": 1, "a": 4, "pool": 8}, {"m": 1, "a": 8, "pool": 8}}, true},
		"a pool, and nothing else": {[]counts{{"m": 1, "pool": 8}, nil}, true},
		"made once, later":         {[]counts{{"m": 1, "a": 4}, {"m": 1, "a": 8, "late": 1}}, false},
		"made later, and used after": {[]counts{{"m": 1, "a": 4}, {"m": 1, "a": 8, "late": 1},
			{"m": 1, "a": 12, "late": 1}}, true},
		"of some runs":                 {[]counts{{"m": 1, "a": 4}, nil}, true},
		"what was there and has ended": {[]counts{{"a": 4}, {"a": 8}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			l := left{counts: counts{"m": 1}, everyRun: map[string]bool{}}
			for _, now := range test.runs {
				l.grew(now)
			}
			if l.kept != test.want {
				t.Errorf("kept: %t", l.kept)
			}
		})
	}
}
