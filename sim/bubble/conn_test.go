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
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
)

// trial is one guest and one Redis, a millisecond away.
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

// kind classifies an error.
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
	case errors.Is(err, syscall.ECONNRESET):
		return "reset"
	case errors.Is(err, net.ErrClosed):
		return "closed"
	case errors.Is(err, io.EOF):
		return "EOF"
	}
	return err.Error()
}

// attempt runs guest code, with faults that the plan installs; times are in ms.
func attempt(t *testing.T, plan func(w *sim.World), guest func(ctx context.Context, r *trial)) string {
	t.Helper()
	var said []string
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		w := newWorld(d, stacks, 1)
		d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
		r := &trial{Driver: d, g: d.Guest("client-1"), world: w}
		w.AddClient("client-1", 0, func(env sim.Env) {
			r.g.Call(env, "Lock", func(ctx context.Context) { guest(ctx, r) })
		})
		if plan != nil {
			plan(w)
		}
		d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() })
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
	line := func(r *trial, c net.Conn, in *bufio.Reader) {
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
			line(r, c, in)
			line(r, c, in)
		}, `4 ":1\r\n" nil; 4 ":2\r\n" nil`},
		"a request in parts leaves when it is whole": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			for i := range incr {
				io.WriteString(c, incr[i:i+1])
				time.Sleep(time.Millisecond)
			}
			line(r, c, bufio.NewReader(c))
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
		"a paused server's machine accepts, and answers late": {func(w *sim.World) {
			w.Pause("redis-1")
			at(w, 100, func() { w.Resume("redis-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			r.note("open")
			io.WriteString(c, incr)
			line(r, c, bufio.NewReader(c))
		}, `2 open; 101 ":1\r\n" nil`},
		"a shut down ends connections": {func(w *sim.World) { at(w, 10, func() { w.Stop("redis-1", sim.ShutDown) }) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				line(r, c, bufio.NewReader(c))
			}, `11 "" EOF`},
		"a connection to a life that is over is reset when it is used": {func(w *sim.World) {
			at(w, 10, func() { w.Stop("redis-1", sim.PowerLoss) })
			at(w, 20, func() { w.Restart("redis-1") })
		}, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			time.Sleep(28 * time.Millisecond)
			io.WriteString(c, incr)
			line(r, c, bufio.NewReader(c))
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
			line(r, c, in)
			c.SetReadDeadline(time.Time{})
			line(r, c, in)
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
			line(r, c, bufio.NewReader(c))
		}, `42 "" timeout`},
		"a deadline earlier than one that a read before it had": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			in := bufio.NewReader(c)
			io.WriteString(c, incr)
			c.SetReadDeadline(time.Now().Add(time.Hour))
			line(r, c, in)
			c.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
			line(r, c, in)
		}, `4 ":1\r\n" nil; 24 "" timeout`},
		"Close ends a read that waits": {nil, func(ctx context.Context, r *trial) {
			c := r.dial(ctx)
			r.g.Go(func(context.Context) {
				time.Sleep(10 * time.Millisecond)
				c.Close()
			})
			line(r, c, bufio.NewReader(c))
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
			line(r, c, in)
			io.WriteString(c, incr)
			line(r, c, in)
		}, `50 ":1\r\n" nil; 52 ":2\r\n" nil`},
		"a client that has crashed sends and receives nothing " +
			"more": {func(w *sim.World) { at(w, 3, func() { w.Crash("client-1") }) },
			func(ctx context.Context, r *trial) {
				c := r.dial(ctx)
				io.WriteString(c, incr)
				line(r, c, bufio.NewReader(c))
			}, `4 "" reset`},
	} {
		t.Run(name, func(t *testing.T) {
			if got := attempt(t, test.plan, test.guest); got != test.want {
				t.Errorf("%s\nwant %s", got, test.want)
			}
		})
	}
}

// TestBytesThatAreNoRequestAreReported: a library that uses another protocol fails the run.
func TestBytesThatAreNoRequestAreReported(t *testing.T) {
	for _, text := range []string{"GET / HTTP/1.1\r\n\r\n", "*1\r\n:1\r\n", "*-1\r\n", "*1\r\n$x\r\n", "*0\r\n"} {
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
