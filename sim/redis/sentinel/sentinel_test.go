package sentinel_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis"
	"github.com/fencepost-sim/fencepost/sim/redis/sentinel"
)

const (
	ms       = time.Millisecond
	master   = sim.ProcessID("redis-1")
	replica1 = sim.ProcessID("redis-1-replica-1")
	replica2 = sim.ProcessID("redis-1-replica-2")
	observer = sim.ProcessID("sentinel")
)

// quick is a Sentinel that finds a master down after three seconds.
var quick = sentinel.Config{DownAfter: 3 * time.Second}

// group is a master with its replicas and the Sentinel quick, behind links of a millisecond.
type group struct {
	*sim.World
	group *redis.Group
	said  []string // by clients, with the true time
}

func newGroup(replicas int) *group {
	s := &group{World: sim.New(3, sim.Options{Delay: sim.Delay{Lo: ms, Hi: ms}}), group: &redis.Group{}}
	names := []sim.ProcessID{master, replica1, replica2}[:replicas+1]
	s.AddServer(master, redis.New(redis.Config{Replicas: names[1:], Group: s.group}))
	for _, name := range names[1:] {
		s.AddServer(name, redis.New(redis.Config{Replicates: master, Group: s.group}))
	}
	cfg := quick
	cfg.Groups = [][]sim.ProcessID{names}
	s.AddServer(observer, sentinel.New(cfg))
	return s
}

func (s *group) at(t time.Duration, f func()) { s.At(sim.Time(t), f) }

// failOver orders a failover at the Sentinel.
func (s *group) failOver(to sim.ProcessID) {
	s.ServerFault(observer, sim.ServerFault{Kind: sim.FailOver, To: to})
}

// client adds a client that begins at the given time.
func (s *group) client(at time.Duration, code func(env sim.Env)) {
	s.AddClient("client-1", sim.Time(at), code)
}

// do sends a command and notes what came of it.
func (s *group) do(env sim.Env, to sim.ProcessID, command string) {
	args := strings.Fields(command)
	request := sim.Request{Conn: sim.Conn{Server: to}, Args: args, Attempt: "client-1/1", Phase: args[0]}
	r := env.Call(10*time.Second, nil, request)[0]
	s.say("%s: %s", command, strings.Join(strings.Fields(string(r.Raw())), " "))
}

func (s *group) say(format string, args ...any) {
	s.said = append(s.said, fmt.Sprintf("%v "+format, append([]any{s.Now().Duration()}, args...)...))
}

// run lets the given time pass and compares what was said.
func (s *group) run(t *testing.T, limit time.Duration, want ...string) {
	t.Helper()
	s.Run(sim.Time(limit), nil)
	if s.Err() != nil {
		t.Fatal(s.Err())
	}
	s.Finish()
	if !slices.Equal(s.said, want) {
		t.Errorf("got\n  %s\nwant\n  %s", strings.Join(s.said, "\n  "), strings.Join(want, "\n  "))
	}
}

const who = "SENTINEL GET-MASTER-ADDR-BY-NAME redis-1"

func TestReplicaThatHasComeFarthestIsPromoted(t *testing.T) {
	s := newGroup(2)
	s.Cut(master, replica1)
	s.client(0, func(env sim.Env) {
		s.do(env, master, "SET lock a NX PX 60000")
		env.Sleep(3 * time.Second)
		s.Stop(master, sim.PowerLoss)
		env.Sleep(6 * time.Second)
		s.do(env, observer, who)
		s.do(env, replica1, "GET lock")
	})
	s.run(t, 20*time.Second, "2ms SET lock a NX PX 60000: +OK", "9.004s "+who+": *2 $17 redis-1-replica-2 $4 6379",
		"9.006s GET lock: $1 a")
}

func TestSubscribersAreToldOfASwitch(t *testing.T) {
	s := newGroup(1)
	s.client(0, func(env sim.Env) {
		s.do(env, observer, "SUBSCRIBE switch-master")
		for range 2 {
			told, _ := env.Receive(sim.Conn{Server: observer}, time.Minute)
			s.say("%s", told)
		}
	})
	s.at(time.Second, func() { s.failOver(replica1) })
	s.at(20*time.Second, func() { s.failOver(master) })
	s.run(t, 30*time.Second, "2ms SUBSCRIBE switch-master: *3 $9 subscribe $13 switch-master :1",
		"1.003s switch-master redis-1 redis-1-replica-1", "20.003s switch-master redis-1-replica-1 redis-1")
}

func TestDeathIsDetectedWithinTheDownTimeAndAPing(t *testing.T) {
	for _, death := range []time.Duration{4 * time.Second, 4500 * ms, 4999 * ms} {
		s := newGroup(1)
		var at time.Duration
		s.group.Promoted = func(_, _ sim.ProcessID) { at = s.Now().Duration() }
		s.at(death, func() { s.Pause(master) })
		s.run(t, 20*time.Second)
		if d := at - death; d < quick.DownAfter || d > quick.DownAfter+time.Second+2*ms {
			t.Errorf("a master that stood still at %v was replaced after %v", death, d)
		}
	}
}

func TestSentinelThatWasPausedMistrustsWhatItSees(t *testing.T) {
	s := newGroup(1)
	s.at(time.Second, func() { s.Pause(observer); s.Pause(master) })
	s.at(10*time.Second, func() { s.Resume(observer) })
	s.client(39*time.Second, func(env sim.Env) {
		s.do(env, observer, who)
		env.Sleep(5 * time.Second)
		s.do(env, observer, who)
	})
	s.run(t, 60*time.Second, "39.002s "+who+": *2 $7 redis-1 $4 6379", "44.004s "+who+": *2 $17 redis-1-replica-1 $4 6379")
}
