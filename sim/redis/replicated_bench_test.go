package redis_test

import (
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

// benchmarkGroup runs a client that sends one request after another, each as soon as the previous reply has arrived.
func benchmarkGroup(b *testing.B, cfg redis.Config, replicas int, requests ...[]string) {
	names := []sim.ProcessID{master, replica1, replica2}[:replicas+1]
	nodes := make([]*redis.Node, len(names))
	for i := range nodes {
		nodes[i] = redis.New(cfg)
	}
	const rounds = 1000
	w := sim.New(1, sim.Options{})
	b.ReportAllocs()
	for n := 0; n < b.N; n += rounds {
		w.Reset(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}})
		for i, name := range names {
			own := cfg
			if own.Group = nil; i == 0 {
				own.Replicas = names[1:]
			} else {
				own.Replicates = master
			}
			nodes[i].Reset(own)
			w.AddServer(name, nodes[i])
		}
		done := false
		w.AddClient("client-1", 0, func(env sim.Env) {
			for range rounds {
				for _, args := range requests {
					env.Call(time.Second, nil, sim.Request{Conn: sim.Conn{Server: master}, Args: args, Phase: args[0]})
				}
			}
			done = true
		})
		w.Run(sim.Time(time.Hour), func() bool { return done })
		w.Finish()
	}
}

var (
	setLock = []string{"SET", "lock", "client-1/1", "PX", "10000"}
	waitOne = []string{"WAIT", "1", "1000"}
)

// BenchmarkReplicatedSet measures a SET in the simulator, including its messages and the replicas' work.
func BenchmarkReplicatedSet(b *testing.B) {
	b.Run("alone", func(b *testing.B) { benchmarkGroup(b, redis.Config{}, 0, setLock) })
	b.Run("1 replica", func(b *testing.B) { benchmarkGroup(b, redis.Config{}, 1, setLock) })
	b.Run("2 replicas", func(b *testing.B) { benchmarkGroup(b, redis.Config{}, 2, setLock) })
	b.Run("1 replica and WAIT", func(b *testing.B) { benchmarkGroup(b, redis.Config{}, 1, setLock, waitOne) })
	b.Run("semi-synchronous", func(b *testing.B) { benchmarkGroup(b, redis.Config{SemiSync: true}, 1, setLock) })
}
