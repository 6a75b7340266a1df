package libraries

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// The README contains the code between these marks verbatim.

// mutex: begin

func testMutex(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Redis(1), TTL: 8 * time.Second, Faults: locktest.Pauses,
		New: newMutex})
}
func newMutex(c *locktest.Client) (locktest.Lock, error) {
	client := goredislib.NewClient(&goredislib.Options{Addr: c.Addr(0), Dialer: c.DialContext})
	return mutex{redsync.New(goredis.NewPool(client)).NewMutex(c.Key, redsync.WithExpiry(8*time.Second)), client}, nil
}

type mutex struct {
	*redsync.Mutex
	client *goredislib.Client
}

func (m mutex) ValidUntil() time.Time            { return m.Until() }
func (m mutex) Lock(ctx context.Context) error   { return m.LockContext(ctx) }
func (m mutex) Unlock(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err }
func (m mutex) Close() error                     { return m.client.Close() }

// mutex: end

// fenced: begin

func TestFencedMutex(t *testing.T) {
	locktest.Run(t, locktest.Config{Servers: locktest.Redis(1), TTL: 8 * time.Second, Faults: locktest.Pauses,
		Precautions: locktest.Precautions{Fences: true}, Laws: locktest.FencedLaws, New: newFenced})
}

func newFenced(c *locktest.Client) (locktest.Lock, error) {
	l, err := newMutex(c)
	if err != nil {
		return nil, err
	}
	return &fenced{mutex: l.(mutex)}, nil
}

// fenced gets a token while it holds the lock. A token obtained after the end of the lease might be higher than the
// next holder's.
type fenced struct {
	mutex
	token int64
}

func (f *fenced) Lock(ctx context.Context) (err error) {
	if err = f.mutex.Lock(ctx); err != nil {
		return err
	}
	if f.token, err = f.client.Incr(ctx, f.Name()+":token").Result(); err == nil && time.Now().After(f.Until()) {
		err = context.DeadlineExceeded
	}
	return err
}

func (f *fenced) FencingToken() int64 { return f.token }

// fenced: end

var _ = testMutex // testMutex is not run, since it fails, as the README says and as the next test checks.

func TestTheMutexOfTheReadmeFails(t *testing.T) {
	r, ok := locktest.Explore(t, locktest.Config{Servers: locktest.Redis(1), TTL: 8 * time.Second,
		Faults: locktest.Pauses, New: newMutex, Seeds: 40})
	if ok && r.Violated(checker.MutualExclusion) == 0 {
		t.Errorf("no pause broke it in %d runs", r.Runs)
	}
}

func TestReadmesShowThisCode(t *testing.T) {
	source, err := os.ReadFile("usage_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for file, mark := range map[string]string{"../../../README.md": "mutex", "../README.md": "fenced"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, code, _ := strings.Cut(string(source), "// "+mark+": begin\n\n")
		code, _, _ = strings.Cut(code, "\n// "+mark+": end")
		_, shown, _ := strings.Cut(string(text), "<!-- "+mark+": begin -->\n```go\n")
		shown, _, _ = strings.Cut(shown, "```\n<!-- "+mark+": end -->")
		if want := strings.Replace(code, "func testMutex", "func TestMutex", 1); shown != want {
			t.Errorf("%s shows\n%s\nwant\n%s", file, shown, want)
		}
	}
}
