package bubble

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// trial is a world with one guest and one Redis server. Messages take a millisecond.
type trial struct {
	*Driver
	g     *Guest
	said  []string
	world *sim.World
}

func (r *trial) note(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf("%.0f ", float64(r.now().Duration())/1e6)+fmt.Sprintf(format, args...))
}

func (r *trial) dial(ctx context.Context) net.Conn {
	c, err := r.g.DialContext(ctx, "tcp", r.Addr("redis-1"))
	if err != nil {
		r.note("dial: %v", kind(err))
		return nil
	}
	return c
}

// kind returns a short name for an error.
func kind(err error) string {
	var timeout net.Error
	switch {
	case err == nil:
		return "nil"
	case errors.Is(err, os.ErrDeadlineExceeded) && errors.As(err, &timeout) && timeout.Timeout():
		return "timeout"
	case errors.Is(err, context.DeadlineExceeded):
		return "context deadline"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "refused"
	case errors.Is(err, syscall.ETIMEDOUT) && errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}

// attempt runs guest code under the plan's faults, and returns the lines logged by the guest. Times are in ms.
func attempt(t *testing.T, plan func(w *sim.World), guest func(ctx context.Context, r *trial)) string {
	t.Helper()
	return attemptOf(t, 1, plan, guest)
}

// attemptOf is like attempt, but with the given seed.
func attemptOf(t *testing.T, seed uint64, plan func(w *sim.World), guest func(ctx context.Context, r *trial)) string {
	t.Helper()
	var said []string
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		w := newWorld(d, stacks, seed)
		d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
		r := &trial{Driver: d, g: d.Guest("client-1"), world: w}
		w.AddClient("client-1", 0, func(env sim.Env) {
			r.g.Call(env, "Lock", func(ctx context.Context) { guest(ctx, r) })
		})
		if plan != nil {
			plan(w)
		}
		d.Run(sim.Time(10*time.Minute), func() bool { return !w.Busy() })
		if err := d.End(); err != nil {
			t.Error(err)
		}
		w.Finish()
		stacks.Close()
		d.Close()
		said = r.said
	})
	return strings.Join(said, "; ")
}

func at(w *sim.World, ms int, f func()) { w.At(sim.Time(time.Duration(ms)*time.Millisecond), f) }

const incr = "*2\r\n$4\r\nINCR\r\n$1\r\na\r\n"

func TestConnections(t *testing.T) {
	line := func(r *trial, in *bufio.Reader) {
		s, err := in.ReadString('\n')
		r.note("%q %s", s, kind(err))
	}
	for name, test := range map[string]struct {
		plan  func(w *sim.World)
		guest func(ctx context.Context, r *trial)
		want  string
	}{
		"requests in one write are answered in their order": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			in := bufio.NewReader(c)
			io.WriteString(c, incr+incr)
			line(r, in)
			line(r, in)
		}, `4 ":1\r\n" nil; 4 ":2\r\n" nil`},
		"a request in parts leaves when it is whole": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			for i := range incr {
				io.WriteString(c, incr[i:i+1])
				time.Sleep(time.Millisecond)
			}
			line(r, bufio.NewReader(c))
		}, `24 ":1\r\n" nil`},
		"a reply is read in parts": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			io.WriteString(c, incr)
			b := make([]byte, 2)
			for range 2 {
				n, err := c.Read(b)
				r.note("%q %s", b[:n], kind(err))
			}
		}, `4 ":1" nil; 4 "\r\n" nil`},
		"nobody listens": {func(w *sim.World) { w.Stop("redis-1", sim.ShutDown) },
			func(ctx context.Context, r *trial) { r.dial(ctx) }, "2 dial: refused"},
		"the host is off": {func(w *sim.World) { w.Stop("redis-1", sim.PowerLoss) },
			func(ctx context.Context, r *trial) {
				ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
				r.dial(ctx)
			}, "50 dial: context deadline"},
		"the host is off, and on again before the second SYN": {func(w *sim.World) {
			w.Stop("redis-1", sim.PowerLoss)
			at(w, 999, func() { w.Restart("redis-1") })
		}, func(ctx context.Context, r *trial) {
			r.dial(ctx)
			r.note("open")
		}, "1002 open"},
		"the host is off, and on again after the third SYN": {func(w *sim.World) {
			w.Stop("redis-1", sim.PowerLoss)
			at(w, 3500, func() { w.Restart("redis-1") })
		}, func(ctx context.Context, r *trial) {
			r.dial(ctx)
			r.note("open")
		}, "7002 open"},
		"the host is off for good": {func(w *sim.World) { w.Stop("redis-1", sim.PowerLoss) },
			func(ctx context.Context, r *trial) { r.dial(ctx) }, "127000 dial: timed out"},
		"the host is on again, and nobody listens": {func(w *sim.World) {
			w.Stop("redis-1", sim.PowerLoss)
			at(w, 2000, func() { w.Restart("redis-1") })
			at(w, 2001, func() { w.Stop("redis-1", sim.ShutDown) })
		}, func(ctx context.Context, r *trial) { r.dial(ctx) }, "3002 dial: refused"},
		"a cut loses the SYN": {func(w *sim.World) {
			w.Cut("client-1", "redis-1")
			at(w, 500, func() { w.Heal("client-1", "redis-1") })
		}, func(ctx context.Context, r *trial) {
			r.dial(ctx)
			r.note("open")
		}, "1002 open"},
		"a cut loses the answer to the SYN": {func(w *sim.World) {
			w.Cut("redis-1", "client-1")
			at(w, 500, func() { w.Heal("redis-1", "client-1") })
		}, func(ctx context.Context, r *trial) {
			r.dial(ctx)
			r.note("open")
		}, "1002 open"},
		"a request that reaches a host which is off is sent again, and refused after the restart": {
			func(w *sim.World) {
				at(w, 2, func() { w.Stop("redis-1", sim.PowerLoss) })
				at(w, 1000, func() { w.Restart("redis-1") })
			}, func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				io.WriteString(c, incr)
				line(r, bufio.NewReader(c)) // the request is sent at 2, 202, 602 and 1402 ms
			}, `1404 "" reset`},
		"a request to a host that stays off": {
			func(w *sim.World) { at(w, 2, func() { w.Stop("redis-1", sim.PowerLoss) }) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				io.WriteString(c, incr)
				line(r, bufio.NewReader(c)) // the keepalive probes fail before the retransmissions do
			}, `135002 "" reset`},
		"a connection without traffic is probed": {func(w *sim.World) {
			at(w, 1000, func() { w.Stop("redis-1", sim.PowerLoss) })
			at(w, 20000, func() { w.Restart("redis-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			line(r, bufio.NewReader(c))
		}, `31000 "" reset`},
		"a paused server's machine accepts, and answers late": {func(w *sim.World) {
			w.Pause("redis-1")
			at(w, 100, func() { w.Resume("redis-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			r.note("open")
			io.WriteString(c, incr)
			line(r, bufio.NewReader(c))
		}, `2 open; 101 ":1\r\n" nil`},
		"a shut down ends connections": {func(w *sim.World) { at(w, 10, func() { w.Stop("redis-1", sim.ShutDown) }) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				line(r, bufio.NewReader(c))
			}, `11 "" EOF`},
		"a connection to a life that is over is reset when it is used": {func(w *sim.World) {
			at(w, 10, func() { w.Stop("redis-1", sim.PowerLoss) })
			at(w, 20, func() { w.Restart("redis-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			time.Sleep(28 * time.Millisecond)
			io.WriteString(c, incr)
			line(r, bufio.NewReader(c))
			_, err := c.Write([]byte(incr))
			r.note("%s", kind(err))
		}, `32 "" reset; 32 reset`},
		"a deadline passes, and the connection lives": {func(w *sim.World) {
			w.Cut("redis-1", "client-1")
			at(w, 1, func() { w.Heal("redis-1", "client-1") })
			at(w, 3, func() { w.Cut("redis-1", "client-1") })
			at(w, 100, func() { w.Heal("redis-1", "client-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			io.WriteString(c, incr)
			c.SetDeadline(time.Now().Add(20 * time.Millisecond))
			in := bufio.NewReader(c)
			line(r, in)
			c.SetReadDeadline(time.Time{})
			line(r, in)
		}, `22 "" timeout; 101 ":1\r\n" nil`},
		"a deadline that is moved while a read waits": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			r.g.Go(func(context.Context) {
				time.Sleep(10 * time.Millisecond)
				c.SetReadDeadline(time.Now().Add(40 * time.Millisecond))
				time.Sleep(30 * time.Millisecond)
				c.SetReadDeadline(time.Unix(1, 0))
			})
			line(r, bufio.NewReader(c))
		}, `42 "" timeout`},
		"a deadline earlier than one that a read before it had": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			in := bufio.NewReader(c)
			io.WriteString(c, incr)
			c.SetReadDeadline(time.Now().Add(time.Hour))
			line(r, in)
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			line(r, in)
		}, `4 ":1\r\n" nil; 24 "" timeout`},
		"Close ends a read that waits": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			r.g.Go(func(context.Context) {
				time.Sleep(10 * time.Millisecond)
				c.Close()
			})
			line(r, bufio.NewReader(c))
			_, err := c.Write([]byte(incr))
			r.note("%s %s", kind(err), kind(c.Close()))
		}, `12 "" closed; 12 closed closed`},
		"a pause of the client holds what it sends and receives": {func(w *sim.World) {
			at(w, 3, func() { w.Pause("client-1") })
			at(w, 50, func() { w.Resume("client-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			in := bufio.NewReader(c)
			io.WriteString(c, incr)
			line(r, in)
			io.WriteString(c, incr)
			line(r, in)
		}, `50 ":1\r\n" nil; 52 ":2\r\n" nil`},
		"a client that is paused after an answer sends when it continues, and waits as long as ever": {
			func(w *sim.World) { pauseAfter(w, "INCR", 60*time.Millisecond) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				in := bufio.NewReader(c)
				for range 2 {
					io.WriteString(c, incr)
					c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
					line(r, in)
				}
			}, `4 ":1\r\n" nil; 66 ":2\r\n" nil`},
		"a client that is paused closes no connection and opens none": {func(w *sim.World) {
			at(w, 5, func() { w.Pause("client-1") })
			at(w, 50, func() { w.Resume("client-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			time.Sleep(10 * time.Millisecond)
			r.note("wakes")
			c.Close()
			r.note("closed")
			r.dial(ctx)
			r.note("open")
		}, "12 wakes; 50 closed; 52 open"},
		"a client that has crashed sends and receives nothing " +
			"more": {func(w *sim.World) { at(w, 3, func() { w.Crash("client-1") }) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				io.WriteString(c, incr)
				line(r, bufio.NewReader(c))
			}, `4 "" reset`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := attempt(t, test.plan, test.guest); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// pauseAfter pauses client-1 when it receives the first reply to a given command.
func pauseAfter(w *sim.World, command string, d time.Duration) {
	done := false
	w.Inspect(func(p sim.Passage) (none sim.Interference) {
		if p.Answer && p.Arrives && p.Command == command && !done {
			done = true
			w.Pause("client-1")
			w.At(w.Now()+sim.Time(d), func() { w.Resume("client-1") })
		}
		return none
	})
}

// TestAClientThatContinuesReadsWhatArrivedOrItsTimeOut checks what happens if both a reply arrives and the read
// deadline passes during a pause. Both take effect when the pause ends. The seed decides which of them the client sees,
// regardless of which came first. The same applies to a dial and its deadline. In real processes that were stopped by
// SIGSTOP, Go's net package reads the reply about half of the time, and CPython always does.
func TestAClientThatContinuesReadsWhatArrivedOrItsTimeOut(t *testing.T) {
	pause := func(w *sim.World) {
		at(w, 3, func() { w.Pause("client-1") })
		at(w, 100, func() { w.Resume("client-1") })
	}
	read := func(deadline int) func(context.Context, *trial) {
		return func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			in := bufio.NewReader(c)
			io.WriteString(c, incr)
			c.SetReadDeadline(time.Now().Add(time.Duration(deadline) * time.Millisecond))
			s, err := in.ReadString('\n')
			r.note("%q %s", s, kind(err))
			_, err = c.Read(make([]byte, 1))
			r.note("%s", kind(err))
		}
	}
	for name, test := range map[string]struct {
		plan  func(w *sim.World)
		guest func(ctx context.Context, r *trial)
		want  [2]string
	}{
		"the deadline comes after the answer": {pause, read(50),
			[2]string{`100 ":1\r\n" nil; 100 timeout`, `100 "" timeout; 100 timeout`}},
		"the deadline comes before the answer": {func(w *sim.World) {
			pause(w)
			w.Slow("redis-1", "client-1", 0)
			at(w, 2, func() { w.Slow("redis-1", "client-1", 60*time.Millisecond) })
		}, read(20), [2]string{`100 ":1\r\n" nil; 100 timeout`, `100 "" timeout; 100 timeout`}},
		"a dial": {func(w *sim.World) {
			at(w, 1, func() { w.Pause("client-1") })
			at(w, 100, func() { w.Resume("client-1") })
		}, func(ctx context.Context, r *trial) {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			if r.dial(ctx) != nil {
				r.note("open")
			}
		}, [2]string{"100 open", "100 dial: context deadline"}},
	} {
		t.Run(name, func(t *testing.T) {
			count := map[string]int{}
			for seed := range uint64(100) {
				got := attemptOf(t, seed, test.plan, test.guest)
				if again := attemptOf(t, seed, test.plan, test.guest); again != got {
					t.Errorf("seed %d: %s, and then %s", seed, got, again)
				}
				count[got]++
			}
			for _, want := range test.want {
				if count[want] < 30 || len(count) != 2 {
					t.Errorf("%s: %d times of 100; all: %v", want, count[want], count)
				}
			}
		})
	}
}

// TestAMutexThatIsHeldWhileItsHolderWaitsForTheNetwork checks that the network keeps running if a goroutine holds a
// mutex while it is waiting for the network, even if other goroutines are waiting for the mutex.
func TestAMutexThatIsHeldWhileItsHolderWaitsForTheNetwork(t *testing.T) {
	if !countMutexes() {
		t.Fatal("the table of this version of Go is not known: see mutex.go")
	}
	got := attempt(t, func(w *sim.World) {
		w.Stop("redis-1", sim.PowerLoss)
		at(w, 2000, func() { w.Restart("redis-1") })
	}, func(ctx context.Context, r *trial) {
		var mu, notes sync.Mutex
		var rw sync.RWMutex
		var all sync.WaitGroup
		wait := func(name string, ms int, lock sync.Locker) {
			all.Go(func() {
				time.Sleep(time.Duration(ms) * time.Millisecond)
				lock.Lock()
				defer lock.Unlock()
				notes.Lock()
				defer notes.Unlock()
				r.note("%s", name)
			})
		}
		wait("mutex", 10, &mu)
		wait("write", 20, &rw)
		wait("read", 30, rw.RLocker())
		mu.Lock()
		rw.Lock()
		r.dial(ctx)
		time.Sleep(time.Second)
		mu.Unlock()
		rw.Unlock()
		all.Wait()
	})
	for _, want := range []string{"4002 mutex", "4002 write", "4002 read"} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: no %q", got, want)
		}
	}
}

// TestBytesThatAreNoRequestAreReported checks that the run fails if a library uses the wrong protocol.
func TestBytesThatAreNoRequestAreReported(t *testing.T) {
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "*1\r\n:1\r\n", "*-0\r\n", "*1\r\n$x\r\n", "*00\r\n",
		"*+1\r\n$4\r\nPING\r\n", "*01\r\n$4\r\nPING\r\n"} {
		synctest.Test(t, func(t *testing.T) {
			d, stacks := NewDriver(), new(sim.Stacks)
			w := newWorld(d, stacks, 1)
			d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
			g := d.Guest("client-1")
			w.AddClient("client-1", 0, func(env sim.Env) {
				g.Call(env, "Lock", func(ctx context.Context) {
					c, err := g.DialContext(ctx, "tcp", d.Addr("redis-1"))
					if err == nil {
						io.WriteString(c, text)
						c.Read(make([]byte, 1))
					}
				})
			})
			d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() })
			if err := d.End(); !errors.Is(err, sim.ErrProtocol) {
				t.Errorf("%q: %v", text, err)
			}
			w.Finish()
			stacks.Close()
			d.Close()
		})
	}
}
