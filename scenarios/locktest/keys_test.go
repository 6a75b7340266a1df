package locktest

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// several is a lock with three keys that share a prefix. A client holds the lock if it has two of them.
type several struct {
	plain
	key   []string
	steal string // key that each release deletes, even if another client owns it
}

func threeKeys(lock string) []string { return []string{"my:0:" + lock, "my:1:" + lock, "my:2:" + lock} }

func newSeveral(steal string) func(c *Client) (Lock, error) {
	return making(func(c *Client) Lock {
		return &several{plain: plain{c: c, ttl: 8 * time.Second}, key: threeKeys(c.Key), steal: steal}
	})
}

func (l *several) Lock(ctx context.Context) error {
	for l.n++; ; l.n++ {
		asked, have := time.Now(), 0
		for _, key := range l.key {
			if said, err := l.do(ctx, "SET", key, l.value(), "NX", "PX", "8000"); err == nil && said == "+OK" {
				have++
			}
		}
		if l.until = asked.Add(l.ttl); have >= 2 && time.Now().Before(l.until) {
			return nil
		}
		l.Unlock(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func (l *several) Unlock(ctx context.Context) (err error) {
	for _, key := range l.key {
		if _, e := l.do(ctx, "EVAL", compareAndDelete, "1", key, l.value()); e != nil {
			err = e
		}
	}
	if l.steal != "" {
		_, err = l.do(ctx, "DEL", l.steal)
	}
	return err
}

// TestKeysOfOtherNames checks that the servers' records of each key in Config.Keys are judged as records of the lock.
// Without Config.Keys, ownership must not be judged, since it is unknown to which lock the keys belong.
func TestKeysOfOtherNames(t *testing.T) {
	seeds := testkit.Size(3, 3, 20)
	for name, test := range map[string]struct {
		keys           func(string) []string
		steal          string
		held, violated int
	}{
		"not named":                         {nil, "my:1:lock", 0, 0},
		"sound":                             {threeKeys, "", seeds, 0},
		"one of three is taken from others": {threeKeys, "my:1:lock", 0, seeds},
		"a key that is none of the lock's":  {threeKeys, "lock", seeds, 0},
	} {
		t.Run(name, func(t *testing.T) {
			testkit.OneIn(t, 4)
			r, ok := Explore(t, Config{New: newSeveral(test.steal), Keys: test.keys, Seeds: seeds, Faults: Pauses,
				SkipTrial: true})
			if !ok {
				return
			}
			held, violated := r.Held(checker.Ownership), r.Violated(checker.Ownership)
			if held != test.held || violated != test.violated || len(r.Failures) > 0 {
				t.Errorf("of %d runs ownership held in %d, and was violated in %d: %v", r.Runs, held, violated,
					r.Failures)
			}
			if n := r.Violated(checker.LeaseExclusion); n > 0 && test.steal != "my:1:lock" {
				t.Errorf("two leases were valid at once in %d runs: %v", n, r.Breaches)
			}
		})
	}
}

func TestKeysThatMakeNoSense(t *testing.T) {
	for want, of := range map[string]func(string) []string{
		`Config.Keys names no key of the lock "a": return the keys that every holder of the lock sets`: func(string) []string { return nil },
		`Config.Keys names "k" twice: as a key of the lock "a" and of "b"`: func(string) []string {
			return []string{"k"}
		},
		`Config.Keys names "a1" twice: as a key of the lock "a" and of "a"`: func(lock string) []string {
			return []string{lock + "1", lock + "1"}
		},
	} {
		c := Config{Keys: of}
		if _, err := c.newKeys([]history.Lock{"a", "b"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// TestWhichLockAKeyIsOf checks the keys' member names. If a lock has several keys, each key's name becomes its member
// name; a lock's only key does not get a member name. A key that does not belong to any lock must not be assigned to
// one, even if a lock has the same name as the key.
func TestWhichLockAKeyIsOf(t *testing.T) {
	several, err := (&Config{Keys: threeKeys}).newKeys([]history.Lock{"lock"})
	if err != nil {
		t.Fatal(err)
	}
	one, err := (&Config{Keys: func(lock string) []string { return []string{"my:" + lock} }}).newKeys(
		[]history.Lock{"lock"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		keys   *keys
		key    history.Lock
		member string
		want   string
	}{
		{one, "my:lock", "", "lock "}, {one, "my:lock", "client-1", "lock client-1"}, {one, "other", "x", "other x"},
		{one, "lock", "", "key lock "}, {several, "my:1:lock", "", "lock my:1:lock"},
		{several, "my:1:lock", "client-1", "lock my:1:lock/client-1"},
	} {
		lock, member := c.keys.lockOf(c.key, c.member)
		if got := string(lock) + " " + member; got != c.want {
			t.Errorf("%s, %s is of %q, want %q", c.key, c.member, got, c.want)
		}
	}
}

// TestAFaultThatNamesAKeyFindsIt checks that a fault that removes the key with the lock's name is refused if the lock's
// keys have other names, because the fault would do nothing. Otherwise it must be accepted.
func TestAFaultThatNamesAKeyFindsIt(t *testing.T) {
	other := func(lock string) []string { return []string{"my:" + lock} }
	same := func(lock string) []string { return []string{lock, lock + ":queue"} }
	for _, of := range []struct {
		config Config
		want   string
	}{
		{Config{Plan: []string{"evict key of lock on redis-1 at 3s"}, Keys: other}, `Config.Plan: "evict key of lock on`},
		{Config{Plan: []string{"delete key of lock on redis-1 at 3s"}, Keys: other}, `Config.Plan: "delete key of lock on`},
		{Config{Faults: Faults{"evict key"}, Keys: other}, `Config.Faults: "evict key"`},
		{Config{Plan: []string{"flush redis-1 at 3s"}, Keys: other}, ""},
		{Config{Faults: Faults{"flush"}, Keys: other}, ""},
		{Config{Faults: Faults{"evict key"}, Keys: same}, ""},
		{Config{Plan: []string{"evict key of lock on redis-1 at 3s"}, Keys: same}, ""},
		{Config{Plan: []string{"evict key of lock on redis-1 at 3s"}}, ""},
	} {
		s, err := of.config.scenario("lock")
		if err != nil {
			t.Fatal(err)
		}
		if of.config.keys, err = of.config.newKeys(s.Locks()); err != nil {
			t.Fatal(err)
		}
		switch err := of.config.unmatched(s); {
		case of.want == "" && err != nil:
			t.Errorf("%v", err)
		case of.want != "" && (err == nil || !strings.HasPrefix(err.Error(), of.want)):
			t.Errorf("%v, want %s", err, of.want)
		}
	}
}
