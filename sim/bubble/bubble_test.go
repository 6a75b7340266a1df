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
)

// newWorld has one Redis and links of a millisecond.
func newWorld(d *Driver, stacks *sim.Stacks, seed uint64) *sim.World {
	w := sim.New(seed, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}, Stacks: stacks})
	w.AddServer("redis-1", redis.New(redis.Config{}))
	return w
}

func ask(c interface{ Write([]byte) (int, error) }, r *bufio.Reader, request string) (string, error) {
	if _, err := c.Write([]byte(request)); err != nil {
		return "", err
	}
	return r.ReadString('\n')
}

// Guests send deadlines by their own clock, which is the bubble's: a server goes by the same time, in the first run and later.
// It can be dialled by its name, too.
func TestServersShowTheTimeOfTheBubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		for seed := range uint64(3) {
			w := newWorld(d, stacks, seed)
			d.Begin(w, []sim.ProcessID{"redis-1"})
			g := d.Guest("client-1")
			var said []string
			w.AddClient("client-1", 0, func(env sim.Env) {
				g.Call(env, "Lock", func(ctx context.Context) {
					c, err := g.DialContext(ctx, "tcp", "redis-1:6379")
					if err != nil {
						t.Error(err)
						return
					}
					defer c.Close()
					r := bufio.NewReader(c)
					deadline := time.Now().Add(time.Second).UnixMilli()
					line, _ := ask(c, r, fmt.Sprintf("*5\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n$4\r\nPXAT\r\n$13\r\n%d\r\n", deadline))
					said = append(said, line)
					for range 2 {
						time.Sleep(600 * time.Millisecond)
						line, _ = ask(c, r, "*2\r\n$6\r\nEXISTS\r\n$1\r\na\r\n")
						said = append(said, line)
					}
				})
			})
			if limited := d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() }); limited || w.Err() != nil {
				t.Error(limited, w.Err())
			}
			if err := d.End(); err != nil {
				t.Error(err)
			}
			w.Finish()
			if got, want := fmt.Sprintf("%q", said), `["+OK\r\n" ":1\r\n" ":0\r\n"]`; got != want {
				t.Errorf("run %d: %s, want %s", seed+1, got, want)
			}
		}
		stacks.Close()
		d.Close()
	})
}

func TestAGuestAsksAServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		for seed := range uint64(3) {
			w := newWorld(d, stacks, seed)
			d.Begin(w, []sim.ProcessID{"redis-1"})
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
