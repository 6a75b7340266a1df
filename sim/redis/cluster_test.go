package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
)

const (
	ms       = time.Millisecond
	master   = sim.ProcessID("redis-1")
	replica1 = sim.ProcessID("redis-1-replica-1")
	replica2 = sim.ProcessID("redis-1-replica-2")
	observer = sim.ProcessID("sentinel")
)

// cluster is a master with its replicas, and a Sentinel if requested. All messages take a millisecond.
type cluster struct {
	*sim.World
	t     *testing.T
	names []sim.ProcessID
	nodes map[sim.ProcessID]*redis.Node
	group *redis.Group
	said  []string // what clients have recorded, each line with the true time
}

// newCluster returns a cluster that consists of a master and its replicas, all configured by cfg.
func newCluster(t *testing.T, cfg redis.Config, replicas int) *cluster {
	return newSeeded(t, 3, cfg, replicas)
}

// newSeeded is like newCluster, but takes a seed for the Sentinel's and the nodes' random times.
func newSeeded(t *testing.T, seed uint64, cfg redis.Config, replicas int) *cluster {
	c := &cluster{World: sim.New(seed, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), t: t,
		names: []sim.ProcessID{master, replica1, replica2}[:replicas+1],
		nodes: map[sim.ProcessID]*redis.Node{}, group: &redis.Group{}}
	cfg.Group = c.group
	for i, name := range c.names {
		own := cfg
		if i == 0 {
			own.Replicas = c.names[1:]
		} else {
			own.Replicates = master
		}
		c.nodes[name] = redis.New(own)
		c.AddServer(name, c.nodes[name])
	}
	return c
}

// watch adds a Sentinel to the cluster.
func (c *cluster) watch(cfg redis.SentinelConfig) *cluster {
	cfg.Groups = [][]sim.ProcessID{c.names}
	c.AddServer(observer, redis.NewSentinel(cfg))
	return c
}

// session lets a client's code send commands to servers and log the replies.
type session struct {
	sim.Env
	c       *cluster
	attempt history.Attempt
}

// client adds a client that begins at the given time.
func (c *cluster) client(name string, at time.Duration, code func(s *session)) {
	c.AddClient(sim.ProcessID(name), sim.Time(at), func(env sim.Env) {
		code(&session{env, c, history.Attempt(name + "/1")})
	})
}

// ask sends a command on connection n to a server and returns the reply. If there is none, it returns the reason: after
// ten seconds, or as soon as the connection is refused or broken.
func (s *session) ask(to sim.ProcessID, n int, args ...string) string {
	r := s.Call(10*time.Second, nil,
		sim.Request{Conn: sim.Conn{Server: to, N: n}, Args: args, Attempt: s.attempt, Phase: args[0]})[0]
	switch r.Status {
	case sim.Answered:
		return strings.ReplaceAll(strings.TrimSuffix(string(r.Raw()), "\r\n"), "\r\n", " ")
	case sim.NoReply:
		s.Close(sim.Conn{Server: to, N: n})
		return "no reply"
	case sim.Reset:
		s.Close(sim.Conn{Server: to, N: n})
		return "reset"
	}
	return "refused"
}

// do splits a command into words, sends it with s.ask, and logs the reply.
func (s *session) do(to sim.ProcessID, command string) string {
	reply := s.ask(to, 0, strings.Fields(command)...)
	s.say("%s: %s", command, reply)
	return reply
}

func (s *session) say(format string, args ...any) {
	s.c.said = append(s.c.said, fmt.Sprintf("%v %s "+format, append([]any{s.c.Now().Duration(), s.Name()}, args...)...))
}

func (c *cluster) at(t time.Duration, f func()) { c.At(sim.Time(t), f) }

// cut cuts the links between one process and others, in both directions.
func (c *cluster) cut(p sim.ProcessID, others ...sim.ProcessID) {
	for _, o := range others {
		c.Cut(p, o)
		c.Cut(o, p)
	}
}

func (c *cluster) heal(p sim.ProcessID, others ...sim.ProcessID) {
	for _, o := range others {
		c.Heal(p, o)
		c.Heal(o, p)
	}
}

// failOver makes the Sentinel start a failover to the given node.
func (c *cluster) failOver(to sim.ProcessID) {
	c.ServerFault(observer, sim.ServerFault{Kind: sim.FailOver, To: to})
}

// run lets the given time pass and returns the nodes' records, one per line.
func (c *cluster) run(limit time.Duration) (records []string) {
	c.t.Helper()
	c.Run(sim.Time(limit), nil)
	if c.Err() != nil {
		c.t.Fatal(c.Err())
	}
	for _, e := range c.Finish().Events {
		switch {
		case !strings.HasPrefix(string(e.F), "key-"):
		case e.F == history.KeyGone:
			records = append(records,
				strings.TrimSpace(fmt.Sprintf("%s: %s gone of %s, %s %s", e.Process, e.Lock, e.Of, e.Why, e.By)))
		default:
			records = append(records, strings.TrimSpace(fmt.Sprintf("%s: %s %s of %s by %s", e.Process, e.Lock,
				strings.TrimPrefix(string(e.F), "key-"), e.Of, e.By)))
		}
	}
	return records
}

// keys formats a node's data as text.
func (c *cluster) keys(name sim.ProcessID) string {
	var b strings.Builder
	for _, k := range c.nodes[name].Keys() {
		if k.Owner != "" {
			fmt.Fprintf(&b, "%s=%s(%s) ", k.Name, k.Value, k.Owner)
		}
		for _, m := range k.Members {
			fmt.Fprintf(&b, "%s.%s=%s(%s) ", k.Name, m.Name, m.Value, m.Owner)
		}
	}
	return strings.TrimSpace(b.String())
}

func want(t *testing.T, what string, got []string, lines ...string) {
	t.Helper()
	if !slices.Equal(got, lines) {
		t.Errorf("%s: got\n  %s\nwant\n  %s", what, strings.Join(got, "\n  "), strings.Join(lines, "\n  "))
	}
}

// untimed removes the times from what clients have logged, because a Sentinel acts at random times.
func untimed(said []string) (list []string) {
	for _, line := range said {
		_, rest, _ := strings.Cut(line, " ")
		list = append(list, rest)
	}
	return list
}
