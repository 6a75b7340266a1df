package bubble

import (
	"bufio"
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// newWorld returns a world with one Redis server and one-millisecond delays.
func newWorld(d *Driver, stacks *sim.Stacks, seed uint64) *sim.World {
	w := sim.New(seed, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}, Stacks: stacks,
		Wall: d.Wall()})
	w.AddServer("redis-1", redis.New(redis.Config{}))
	return w
}

func ask(c interface{ Write([]byte) (int, error) }, r *bufio.Reader, request string) (string, error) {
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	return r.ReadString('\n')
}

func TestAGuestAsksAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		for seed := range uint64(3) {
			w := newWorld(d, stacks, seed)
			d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
			g := d.Guest("client-1")
			var said []string
			w.AddClient("client-1", 0, func(env sim.Env) {
				g.Call(env, "Lock", func(ctx context.Context) {
					c, err := g.DialContext(ctx, "tcp", d.Addr("redis-1"))
					if err != nil {
						t.Error(err)
						return
					}
					said = append(said, fmt.Sprint("open after ", time.Since(d.begin)))
					r := bufio.NewReader(c)
					line, err := ask(c, r, "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n")
					said = append(said, fmt.Sprintf("%q %v after %v", line, err, time.Since(d.begin)))
					c.Close()
				})
			})
			if limited := d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() }); limited || w.Err() != nil {
				t.Error(limited, w.Err())
			}
			if err := d.End(); err != nil {
				t.Error(err)
			}
			w.Finish()
			if got, want := fmt.Sprint(said), `[open after 2ms ":1\r\n" <nil> after 4ms]`; got != want {
				t.Errorf("%s, want %s", got, want)
			}
		}
		stacks.Close()
		d.Close()
	})
}

// TestAGuestsClockIsTheServers checks a key that a guest sets to expire at a given time on the guest's clock. The key
// must have the same remaining TTL in each of several runs in one bubble.
func TestAGuestsClockIsTheServers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		for range 3 {
			w := newWorld(d, stacks, 1)
			d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
			g := d.Guest("client-1")
			var left string
			w.AddClient("client-1", 0, func(env sim.Env) {
				g.Call(env, "Lock", func(ctx context.Context) {
					c, err := g.DialContext(ctx, "tcp", d.Addr("redis-1"))
					if err != nil {
						t.Error(err)
						return
					}
					r := bufio.NewReader(c)
					until := time.Now().Add(1500 * time.Microsecond).Add(8 * time.Second).UnixMilli()
					ask(c, r, fmt.Sprintf(
						"*6\r\n$3\r\nSET\r\n$4\r\nlock\r\n$1\r\nv\r\n$2\r\nNX\r\n$4\r\nPXAT\r\n$13\r\n%d\r\n", until))
					left, _ = ask(c, r, "*2\r\n$4\r\nPTTL\r\n$4\r\nlock\r\n")
					c.Close()
				})
				env.Sleep(700 * time.Microsecond)
			})
			if limited := d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() }); limited || w.Err() != nil {
				t.Error(limited, w.Err())
			}
			if err := d.End(); err != nil {
				t.Error(err)
			}
			w.Finish()
			if left != ":7998\r\n" {
				t.Errorf("%q are left", left)
			}
		}
		stacks.Close()
		d.Close()
	})
}
