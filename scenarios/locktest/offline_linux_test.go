package locktest

import (
	"context"
	"net"
	"os"
	"runtime"
	"strings"
	"testing"
)

// listens is the environment variable that tells the worker processes the address of a server on this host.
const listens = "FENCEPOST_LOCKTEST_LISTENS"

// TestALockThatDialsByItselfReachesNobody checks that if a lock dials without DialContext, it does not reach a server
// on this host.
func TestALockThatDialsByItselfReachesNobody(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("it is not prevented there")
	}
	var came chan struct{}
	if os.Getenv(environment) == "" {
		server, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		came = make(chan struct{}, 100)
		go func() {
			for {
				c, err := server.Accept()
				if err != nil {
					close(came)
					return
				}
				came <- struct{}{}
				c.Close()
			}
		}()
		defer func() {
			server.Close()
			if _, some := <-came; some {
				t.Error("it was reached")
			}
		}()
		t.Setenv(listens, server.Addr().String())
	}
	p, _ := begin(t, Config{New: made(func(ctx context.Context, l *trying) error {
		_, err := new(net.Dialer).DialContext(ctx, "tcp", os.Getenv(listens))
		return err
	}, nil)})
	if p == nil {
		return
	}
	p.try()
	want := `Lock of worker-10 returned "dial tcp ` + os.Getenv(listens) + `: connect: network is unreachable"`
	if len(p.problems) != 1 || !strings.HasPrefix(p.problems[0], "the lock opened no connection: pass c.DialContext") ||
		!strings.Contains(p.problems[0], want) {
		t.Errorf("%q, want %s", p.problems, want)
	}
}
