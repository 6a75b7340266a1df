package libraries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/reading"
	"github.com/fencepost-sim/fencepost/checker/recorder"
)

// recorded is a redsync mutex that records what a service does with it. The service uses it in the same way as
// redsync's own mutex.
type recorded struct {
	*redsync.Mutex
	to *recorder.Recorder
	recorder.Attempt
}

func (m *recorded) LockContext(ctx context.Context) error {
	m.Attempt = m.to.Acquiring(history.Lock(m.Mutex.Name()))
	err := m.Mutex.LockContext(ctx)
	if err != nil {
		m.Attempt.NotAcquired(history.Info) // some servers may have set the key
		return err
	}
	m.Attempt.Acquired(m.Mutex.Until(), 0)
	return nil
}

func (m *recorded) ExtendContext(ctx context.Context) (bool, error) {
	x := m.Attempt.Extending()
	ok, err := m.Mutex.ExtendContext(ctx)
	if ok {
		x.Extended(m.Mutex.Until())
	} else {
		x.NotExtended(history.Info)
	}
	return ok, err
}

func (m *recorded) UnlockContext(ctx context.Context) (bool, error) {
	m.Attempt.Releasing()
	ok, err := m.Mutex.UnlockContext(ctx)
	switch {
	case ok:
		m.Attempt.Released(history.OK)
	case err == nil:
		m.Attempt.Released(history.Fail)
	default:
		m.Attempt.Released(history.Info)
	}
	return ok, err
}

// Two machines take turns holding a redsync lock, and each records its events in its own file. Then one of them carries
// on working although its key has expired, and the other one acquires the lock. "fencepost check machine-1.jsonl
// machine-2.jsonl" reports the same verdicts as this example.
func Example_recorder() {
	dir, err := os.MkdirTemp("", "recorder")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	server, err := miniredis.Run()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer server.Close()
	var machines [2]*recorded
	var files [2]string
	for i := range machines {
		files[i] = filepath.Join(dir, fmt.Sprintf("machine-%d.jsonl", i+1))
		to, err := recorder.Create(files[i], recorder.Options{ClockError: time.Microsecond,
			Process: history.Process(fmt.Sprintf("machine-%d", i+1)), Header: history.Header{Service: history.Redis}})
		if err != nil {
			fmt.Println(err)
			return
		}
		client := goredislib.NewClient(&goredislib.Options{Addr: server.Addr()})
		defer client.Close()
		machines[i] = &recorded{to: to,
			Mutex: redsync.New(goredis.NewPool(client)).NewMutex("stock", redsync.WithExpiry(8*time.Second))}
	}
	ctx := context.Background()
	turn := func(m *recorded, work func()) {
		if err := m.LockContext(ctx); err != nil {
			fmt.Println(err)
		}
		work()
		_, _ = m.UnlockContext(ctx) // the error can be ignored, because the result has been recorded
	}
	turn(machines[0], func() {})
	turn(machines[1], func() {})
	judge(files[:])
	turn(machines[0], func() {
		server.FastForward(time.Minute) // the key expires, and its holder does not notice
		turn(machines[1], func() {})
	})
	judge(files[:])
	// Output:
	// mutual-exclusion holds
	// lease-exclusion holds
	// mutual-exclusion violated
	// lease-exclusion violated
}

// judge prints the verdicts of "fencepost check" on two laws.
func judge(files []string) {
	var parts []reading.Part
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer f.Close()
		read, err := reading.Read(name, f)
		if err != nil {
			fmt.Println(err)
			return
		}
		parts = append(parts, read.Part)
	}
	h, err := reading.Merge(parts)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, law := range []checker.Law{checker.MutualExclusion, checker.LeaseExclusion} {
		fmt.Println(law, checker.Check(h).Of(law).Outcome)
	}
}
