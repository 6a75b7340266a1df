package bubble

import (
	"bufio"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/front"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// commands encodes commands as RESP.
func commands(list ...string) string {
	var b []byte
	for _, c := range list {
		words := strings.Fields(c)
		b = sim.AppendArray(b, len(words))
		for _, w := range words {
			b = sim.AppendBulk(b, w)
		}
	}
	return string(b)
}

// TestAServerReadsAllOfAConnectionBeforeItsEnd checks that after a pause or an fsync, a server reads the commands that
// a client has sent before it handles the end of the connection. The expected counts were measured with redis-server
// 7.0, which used appendfsync always and was stopped by SIGSTOP while the same commands arrived.
func TestAServerReadsAllOfAConnectionBeforeItsEnd(t *testing.T) {
	for name, c := range map[string]struct {
		sent []string
		want string // how many of the keys a and b exist afterwards
	}{
		"a transaction without EXEC does nothing":         {[]string{"MULTI", "SET a 1", "SET b 1"}, ":0"},
		"a whole transaction is executed":                 {[]string{"MULTI", "SET a 1", "SET b 1", "EXEC"}, ":2"},
		"commands without a transaction are executed":     {[]string{"SET a 1", "SET b 1"}, ":2"},
		"what is sent after QUIT is not executed":         {[]string{"SET a 1", "QUIT", "SET b 1"}, ":1"},
		"what waits behind a blocked pop is not executed": {[]string{"SET a 1", "BLPOP list 0", "SET b 1"}, ":1"},
	} {
		for _, paused := range []bool{false, true} {
			if got := closedEarly(t, c.sent, paused); got != c.want {
				t.Errorf("%s (server paused: %v): of the keys a and b %s exist, want %s", name, paused, got, c.want)
			}
		}
	}
}

// closedEarly sends commands on a connection and closes it without reading the replies. Meanwhile, the server is paused
// (if paused is true) or busy with an fsync for another connection. closedEarly returns how many keys the commands have
// set.
func closedEarly(t *testing.T, sent []string, paused bool) (count string) {
	synctest.Test(t, func(t *testing.T) {
		d, stacks := NewDriver(), new(sim.Stacks)
		w := sim.New(1, sim.Options{Delay: sim.Delay{Lo: time.Millisecond, Hi: time.Millisecond}, Stacks: stacks,
			Wall: d.Wall()})
		w.AddServer("redis-1", redis.New(redis.Config{Persistence: store.Always, FsyncTime: time.Millisecond}))
		d.Begin(w, []sim.ProcessID{"redis-1"}, front.Redis{})
		g := d.Guest("client-1")
		w.AddClient("client-1", 0, func(env sim.Env) {
			g.Call(env, "Lock", func(ctx context.Context) {
				dial := func() net.Conn {
					c, err := g.DialContext(ctx, "tcp", d.Addr("redis-1"))
					if err != nil {
						t.Error(err)
					}
					return c
				}
				other, early := dial(), dial()
				io.WriteString(other, commands("SET other 1"))
				io.WriteString(early, commands(sent...))
				early.Close()
				time.Sleep(time.Second)
				in := bufio.NewReader(other)
				in.ReadString('\n')
				count, _ = ask(other, in, commands("EXISTS a b"))
				other.Close()
			})
		})
		if paused { // the pause begins before the commands arrive
			at(w, 4, func() { w.Pause("redis-1") })
			at(w, 400, func() { w.Resume("redis-1") })
		}
		d.Run(sim.Time(time.Minute), func() bool { return !w.Busy() })
		if err := d.End(); err != nil {
			t.Error(err)
		}
		w.Finish()
		stacks.Close()
		d.Close()
	})
	return strings.TrimSpace(count)
}
