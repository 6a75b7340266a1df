package live

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strconv"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
)

// Child is the main function of a process that runs one of a scenario's clients, with the scenario's own protocol.
// Another process of this program, the parent, starts it and runs the servers. The child's world contains only this
// client and uses the same clock as the parent. The child sends the client's records to the parent. At each step in the
// client's work where a fault may strike, it also sends a report and waits until the parent has acknowledged it.
func Child() error {
	c := &child{id: sim.ProcessID(os.Getenv("FENCEPOST_CLIENT")), world: sim.New(0, sim.Options{})}
	zero, err := strconv.ParseInt(os.Getenv(zeroVariable), 10, 64)
	if err != nil {
		return err
	}
	clock, err := realtime.HostClockSince(zero)
	if err != nil {
		return err
	}
	c.loop = realtime.NewOwnLoop(c.world, clock)
	if c.reports, err = c.dialControl(c.door("FENCEPOST_RESOURCE")); err != nil {
		return err
	}
	var text []byte
	c.reports.say(func(answer []byte) { text = answer }, "FENCEPOST", toOpen)
	c.loop.Run(history.Never, func() bool { return text != nil })
	if err := c.loop.Err(); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &c.birth); err != nil {
		return err
	}
	return c.run()
}

// child is the client in a child process's world.
type child struct {
	id      sim.ProcessID
	birth   birth
	reports *control
	loop    *realtime.Loop
	world   *sim.World
	over    bool
}

// door returns the address and password from the URL in an environment variable.
func (c *child) door(variable string) realtime.Door {
	u, err := url.Parse(os.Getenv(variable))
	if err != nil {
		return realtime.Door{}
	}
	secret, _ := u.User.Password()
	return realtime.Door{Address: u.Host, Secret: secret}
}

// spare is the number of connections that a client opens to each server when it starts.
const spare = 2

func (c *child) run() error {
	s, err := scenarios.Parse("scenario.yaml", []byte(c.birth.Scenario))
	if err != nil {
		return err
	}
	c.world.Reset(c.birth.Seed, sim.Options{Wall: c.birth.Wall, Endless: true,
		Keep: func(*history.Event) bool { return false }})
	masters := 0
	for _, server := range append(c.birth.Servers, history.Resource) {
		remote, err := realtime.NewRemote(c.loop, c.door(variableOf(server, &masters)), spare, wrapped)
		if err != nil {
			return err
		}
		c.world.AddServer(server, remote)
	}
	main := s.Main(c.id)
	c.world.AddClient(c.id, 0, func(env sim.Env) {
		own := &reporting{Env: env, child: c}
		env.Sleep(c.untilBegin(env))
		main(own)
		c.over = true
	})
	c.loop.Run(history.Never, func() bool { return c.over })
	if err := c.loop.Err(); err != nil {
		return err
	}
	return c.world.Err()
}

func wrapped(r *sim.Incoming) []string {
	return append([]string{"FENCEPOST", toAsk, string(r.Attempt), r.Phase}, r.Args...)
}

// untilBegin reports that the client is ready, and returns how long it must wait before its work begins.
func (c *child) untilBegin(env sim.Env) time.Duration {
	answered := &sim.Signal{}
	var begin sim.Time
	c.reports.say(func(answer []byte) {
		n, err := strconv.ParseInt(string(answer), 10, 64)
		if err != nil {
			c.loop.Fail(err)
		}
		begin = sim.Time(n)
		answered.Raise()
	}, "FENCEPOST", toBegin)
	env.Sleep(sim.Forever, answered)
	return begin.Duration() - env.Monotonic()
}

// setClock changes the client's clocks as directed by the parent's notification.
func (c *child) setClock(text string) {
	switch what, n := parseClock(text); what {
	case "JUMP":
		c.world.Jump(c.id, history.Time(n).Duration())
	case "DRIFT":
		c.world.Drift(c.id, n)
	default:
		c.loop.Fail(fmt.Errorf("%s received %q", c.id, text))
	}
}

// reporting is a client's Env. It sends the client's records to the parent process, and reports each step in the
// client's work where a fault may strike.
type reporting struct {
	sim.Env
	child *child
}

// report sends a report and waits until it is acknowledged.
func (r *reporting) report(args ...string) {
	done := &sim.Signal{}
	r.child.reports.report(done, args)
	r.Env.Sleep(sim.Forever, done)
}

// Go starts another task with an Env that also reports to the parent.
func (r *reporting) Go(name string, task func(sim.Env)) {
	r.Env.Go(name, func(env sim.Env) { task(&reporting{env, r.child}) })
}

// Point reports that the client has reached a point in its work where a fault may strike.
func (r *reporting) Point(p sim.Point) { r.report("FENCEPOST", toPass, string(p)) }

// Record reports an event.
func (r *reporting) Record(e history.Event) { r.send(record{Event: e}) }

// RecordGrant reports an event with its grant.
func (r *reporting) RecordGrant(e history.Event, g sim.Grant) {
	w := r.child.world
	r.send(record{e, &grant{w.Time(g.Since), w.Time(g.Granted), g.Until, g.Counted}})
}

func (r *reporting) send(x record) {
	text, err := json.Marshal(x)
	if err != nil {
		r.child.loop.Fail(err)
	}
	r.report("FENCEPOST", toRecord, string(text))
}
