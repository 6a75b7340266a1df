//go:build linux

package redisserver

import (
	"fmt"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// BenchmarkLocks measures eight clients that repeatedly acquire and release a lock, with two commands each time. The
// time includes recording.
func BenchmarkLocks(b *testing.B) {
	r := start(b, Config{})
	left, over := b.N, 0
	b.ResetTimer()
	for n := range 8 {
		r.l.w.AddClient(sim.ProcessID(fmt.Sprint("client-", n+1)), 0, func(e sim.Env) {
			c := &client{Env: e, w: r.l.w, server: "redis-1"}
			for i := 0; left > 0; i++ {
				left--
				of := history.Attempt(fmt.Sprintf("client-%d/%d", n+1, i))
				key := fmt.Sprint("lock-", n)
				c.sendAs(of, "SET", key, string(of), "NX", "PX", "10000")
				c.sendAs(of, "EVAL", compareAndDelete, "1", key, string(of))
			}
			over++
		})
	}
	r.l.run(b, func() bool { return over == 8 || r.failure() != nil })
	b.ReportMetric(float64(2*b.N)/time.Since(r.l.clock.Begin()).Seconds(), "commands/s")
}
