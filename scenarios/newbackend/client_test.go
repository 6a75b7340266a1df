package newbackend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/locktest"
)

// client is a lock library for lockd, as a different author might write it.
type client struct {
	dial      func(ctx context.Context, server int) (net.Conn, error)
	servers   int
	key, name string
	ttl       time.Duration
	began     time.Time
	takes     int
	conns     []net.Conn
}

// perServer is how long the client waits for a reply from one server.
const perServer = 300 * time.Millisecond

var errTaken = errors.New("another session has the lock")

// ask sends a line to each server. It returns how many servers agreed.
func (c *client) ask(ctx context.Context, line string) (yes int) {
	if c.conns == nil {
		c.conns = make([]net.Conn, c.servers)
	}
	for i := range c.conns {
		if c.say(ctx, i, line) {
			yes++
		} else if c.conns[i] != nil && ctx.Err() != nil {
			c.conns[i].Close()
			c.conns[i] = nil
		}
	}
	return yes
}

// say sends a line to one server. If there is no answer, it closes the connection.
func (c *client) say(ctx context.Context, i int, line string) bool {
	ctx, cancel := context.WithTimeout(ctx, perServer)
	defer cancel()
	if c.conns[i] == nil {
		conn, err := c.dial(ctx, i)
		if err != nil {
			return false
		}
		c.conns[i] = conn
	}
	end, _ := ctx.Deadline()
	c.conns[i].SetDeadline(end)
	fmt.Fprintln(c.conns[i], line)
	answer, err := bufio.NewReader(c.conns[i]).ReadString('\n')
	if err != nil {
		c.conns[i].Close()
		c.conns[i] = nil
	}
	return strings.HasPrefix(answer, "OK")
}

func (c *client) session() string { return c.name + "/" + strconv.Itoa(c.takes) }

// Lock keeps trying until a majority grants the lock.
func (c *client) Lock(ctx context.Context) error {
	for ctx.Err() == nil {
		c.takes++
		c.began = time.Now()
		take := fmt.Sprintf("TAKE %s %s %d", c.key, c.session(), c.ttl.Milliseconds())
		if yes := c.ask(ctx, take); yes > c.servers/2 && time.Since(c.began) < c.ttl {
			return nil
		}
		c.ask(ctx, "GIVE "+c.key+" "+c.session())
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(50+20*len(c.name)+13*int(c.name[len(c.name)-1]-'0')) * time.Millisecond):
		}
	}
	return errTaken
}

// Unlock releases the lock.
func (c *client) Unlock(ctx context.Context) error {
	if c.ask(ctx, "GIVE "+c.key+" "+c.session()) <= c.servers/2 {
		return errTaken
	}
	return nil
}

// ValidUntil returns when the lease ends, which is one TTL after the first request.
func (c *client) ValidUntil() time.Time { return c.began.Add(c.ttl) }

// Close closes the connections.
func (c *client) Close() error {
	for _, conn := range c.conns {
		if conn != nil {
			conn.Close()
		}
	}
	return nil
}

func newClient(of *locktest.Client) (locktest.Lock, error) {
	return &client{servers: len(of.Addrs), key: of.Key, name: of.Name, ttl: 4 * time.Second,
		dial: func(ctx context.Context, i int) (net.Conn, error) { return of.DialContext(ctx, "tcp", of.Addr(i)) },
	}, nil
}

// asProgram is the environment variable that makes this test binary act as a client in a live run.
const asProgram = "LOCKD_PROGRAM"

func TestMain(m *testing.M) {
	process.Main()
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	if err := program(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// program acquires the lock, changes the resource and releases the lock. It reports each step.
func program() error {
	var addresses []string
	for _, a := range strings.Split(os.Getenv("FENCEPOST_LOCKD"), ",") {
		addresses = append(addresses, strings.TrimPrefix(a, "lockd://"))
	}
	ms, _ := strconv.Atoi(os.Getenv("FENCEPOST_TTL_MS"))
	c := &client{servers: len(addresses), key: os.Getenv("FENCEPOST_LOCK"), name: os.Getenv("FENCEPOST_CLIENT"),
		ttl: time.Duration(ms) * time.Millisecond, dial: func(ctx context.Context, i int) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addresses[i])
		}}
	u, err := url.Parse(os.Getenv("FENCEPOST_RESOURCE"))
	if err != nil {
		return err
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		return err
	}
	in := bufio.NewReader(conn)
	ask := func(args ...string) {
		fmt.Fprintf(conn, "*%d\r\n", len(args))
		for _, a := range args {
			fmt.Fprintf(conn, "$%d\r\n%s\r\n", len(a), a)
		}
		if line, _ := in.ReadString('\n'); strings.HasPrefix(line, "$") && line != "$-1\r\n" {
			in.ReadString('\n')
		}
	}
	password, _ := u.User.Password()
	ask("AUTH", password)
	ctx := context.Background()
	ask("FENCEPOST", "ACQUIRING", c.key)
	if err := c.Lock(ctx); err != nil {
		return err
	}
	ask("FENCEPOST", "ACQUIRED", c.key, c.session())
	ask("READ", c.key)
	ask("WRITE", c.key, c.name)
	ask("FENCEPOST", "RELEASING", c.key, c.session())
	released := []string{"FENCEPOST", "RELEASED", c.key, c.session()}
	if c.Unlock(ctx) != nil {
		released = append(released, "REFUSED")
	}
	ask(released...)
	return nil
}
