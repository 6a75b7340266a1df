package redis

import (
	"bufio"
	"io"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/fencepost-sim/fencepost/cmd/processor"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

const releaseScript = `if redis.call("get", KEYS[1]) == ARGV[1] then return redis.call("del", KEYS[1]) else return 0 end`

// benchmark lets the node serve the requests one after another, without the rest of the simulator.
func benchmark(b *testing.B, cfg Config, requests ...[]string) {
	m := newMachine(cfg)
	m.quiet = true
	incoming := make([]*sim.Incoming, len(requests))
	for i, args := range requests {
		incoming[i] = sim.NewIncoming("client-1", 1, "client-1/1", args, nil)
	}
	b.ReportAllocs()
	b.ResetTimer()
	start := processor.Time()
	for i := 0; i < b.N; i++ {
		for _, r := range incoming {
			m.node.Serve(r)
		}
		if m.timers = m.timers[:0]; i%4096 == 0 {
			m.node.Reset(cfg) // otherwise the log would grow without end
			m.node.Start(m)
		}
	}
	b.ReportMetric(float64((processor.Time()-start).Nanoseconds())/float64(b.N), "cpu-ns/op")
}

var (
	acquire = []string{"SET", "lock", "client-1/1", "NX", "PX", "10000"}
	release = []string{"EVAL", releaseScript, "1", "lock", "client-1/1"}
)

func BenchmarkMiniredisSet(b *testing.B) {
	m := miniredis.NewMiniRedis()
	conn, err := m.Dial()
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	m.SetTime(time.Unix(0, 0))
	s, p := m.Server(), server.NewPeer(bufio.NewWriter(io.Discard))
	args := []string{"SET", "lock", "client-1/1", "PX", "10000"}
	b.ReportAllocs()
	for b.Loop() {
		s.Dispatch(p, args)
		p.Flush()
	}
}

func BenchmarkSet(b *testing.B) {
	benchmark(b, Config{}, []string{"SET", "lock", "client-1/1", "PX", "10000"})
}

func BenchmarkSetNXHeld(b *testing.B) { benchmark(b, Config{}, acquire) }

// BenchmarkAcquireRelease measures two commands: SET NX PX and DEL.
func BenchmarkAcquireRelease(b *testing.B) {
	del := []string{"DEL", "lock"}
	b.Run("none", func(b *testing.B) { benchmark(b, Config{}, acquire, del) })
	b.Run("everysec", func(b *testing.B) {
		benchmark(b, Config{Persistence: store.Everysec, FsyncTime: store.DefaultFsyncTime}, acquire, del)
	})
	b.Run("always", func(b *testing.B) { benchmark(b, Config{Persistence: store.Always}, acquire, del) })
}

// BenchmarkReleaseScript measures a script that releases a held lock. The time includes the SET that acquires the lock;
// see BenchmarkSet for how long that takes.
func BenchmarkReleaseScript(b *testing.B) {
	b.Run("twin", func(b *testing.B) { benchmark(b, Config{}, acquire, release) })
	b.Run("lua", func(b *testing.B) {
		other := []string{"EVAL", releaseScript + " -- " + "\n local unused = 1", "1", "lock", "client-1/1"}
		other[1] = `local unused = 1 ` + releaseScript // a script that has no implementation in Go
		benchmark(b, Config{}, acquire, other)
	})
}

func BenchmarkReset(b *testing.B) {
	m := newMachine(Config{})
	m.quiet = true
	for b.Loop() {
		m.node.Serve(sim.NewIncoming("client-1", 1, "client-1/1", acquire, nil))
		m.node.Reset(Config{})
		m.node.Start(m)
		m.timers = m.timers[:0]
	}
}
