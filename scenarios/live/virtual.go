package live

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/realtime"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/traced"
)

// virtual executes a run's clients in virtual time. It is the clock of the run's loop: while the loop waits, the
// clients run. It is also the clients' network: it passes their bytes to the loop, which handles them at the same
// virtual time.
type virtual struct {
	stage   *stage
	machine *traced.Machine
	stacks  sim.Stacks
	calls   []traced.Call
}

func (st *stage) newClock() (hostClock, error) {
	if st.Virtual == nil {
		return realtime.NewHostClock()
	}
	v := &virtual{stage: st}
	o := traced.Options{Seed: st.seed, Network: v, Wall: sim.Epoch}
	if st.Virtual.compare {
		o.Record = func(c traced.Call) { v.calls = append(v.calls, c) }
	}
	v.machine = st.Virtual.tracer.New(o)
	st.virtual = v
	return v, nil
}

// Now returns the virtual time.
func (v *virtual) Now() sim.Time { return history.Of(v.machine.Now()) }

// Wait lets the clients run for d, or until they have done something that affects the simulated world.
func (v *virtual) Wait(d time.Duration, wake <-chan struct{}) {
	err := v.machine.Run(v.machine.Now()+d, func() bool { return len(wake) > 0 })
	if program := (*traced.ProgramError)(nil); errors.As(err, &program) {
		k := v.stage.client(sim.ProcessID(program.Process))
		v.keep(k)
		k.fails(program.Does())
	} else if err != nil {
		v.stage.loop.Fail(err)
	}
	select {
	case <-wake:
	default:
	}
}

// Begin returns the wall-clock time at virtual time 0.
func (v *virtual) Begin() time.Time { return time.Unix(0, sim.Epoch) }

// Monotonic returns 0, because Fencepost's own clients do not run in virtual time.
func (v *virtual) Monotonic() int64 { return 0 }

// Close ends the clients' remaining processes.
func (v *virtual) Close() {
	v.machine.Close()
	v.stacks.Close()
}

// end stores the clients' output at the end of the run.
func (v *virtual) end() {
	for _, k := range v.stage.clients {
		v.keep(k)
	}
}

// denied describes which of the client's requests to the host were refused, and says what the client is allowed to do.
// It returns "" if none were refused.
func (k *client) denied() string {
	list := slices.DeleteFunc(append(slices.Clone(k.wanted), k.traced.Refused()...), func(what string) bool {
		return strings.Contains(what, "__pycache__") // Python works without this folder
	})
	list = slices.Compact(list)
	if len(list) == 0 {
		return ""
	}
	return fmt.Sprintf(" (it wanted %s, and was refused: "+
		"in virtual time, a client may connect only to the addresses in its environment, and may only read files)",
		strings.Join(list[:min(len(list), 3)], ", "))
}

// waits returns the names of the system calls in which the client is blocked.
func (k *client) waits() string {
	if calls := k.traced.Waits(); len(calls) > 0 {
		return " (it waits in " + strings.Join(calls, ", ") + ")"
	}
	return ""
}

// keep stores what a client has printed so far.
func (v *virtual) keep(k *client) {
	if k.traced != nil {
		k.said.replace(k.traced.Printed())
	}
}

// virtualSecret is the password in the URLs of clients in virtual time. It need not be secret, because no other process
// can reach their servers.
const virtualSecret = "virtual"

// redisPort is the port used by Redis servers and the resource.
const redisPort = 6379

// resourceHost is the last byte of the resource's IP address. The servers' addresses end in 1, 2 and so on.
const resourceHost = 200

// address returns the address at which clients can reach a server.
func (v *virtual) address(server sim.ProcessID) netip.AddrPort {
	host, port := resourceHost, redisPort
	if server != history.Resource {
		host = 1 + slices.Index(v.stage.servers, server)
	}
	if v.stage.wires(server) {
		port = v.stage.Scenario.Servers.Front().Port()
	}
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(host)}), uint16(port))
}

func (v *virtual) start(k *client, env []string) (err error) {
	o := v.stage.Virtual
	k.traced, err = v.machine.Start(traced.Command{Name: string(k.id), Args: o.words,
		Env: append(v.stage.inherited(), env...), Dir: o.dir})
	if err != nil {
		return err
	}
	k.Guest = realtime.NewGuest(v.stage.front, k.id, program{k.traced})
	v.stage.world.Attach(k.id, k)
	return nil
}

// program is a client's process as a target for faults.
type program struct{ *traced.Process }

// Stop pauses the process.
func (p program) Stop() error {
	if _, ended := p.Exited(); ended {
		return process.ErrEnded
	}
	p.Pause()
	return nil
}

// Cont ends the pause.
func (p program) Cont() error {
	if _, ended := p.Exited(); ended {
		return process.ErrEnded
	}
	p.Resume()
	return nil
}

// Kill kills the process.
func (p program) Kill() error {
	if !p.Process.Kill() {
		return process.ErrEnded
	}
	return nil
}

// line is a client's connection, in the form that the front end uses.
type line struct {
	conn  *traced.Conn
	to    *realtime.Conn // set once the loop has handled the client's attempt to connect
	in    []byte
	ended bool
}

// Dialed connects a client to a server.
func (v *virtual) Dialed(c *traced.Conn) {
	client := sim.ProcessID(c.Process().Name())
	at := slices.IndexFunc(v.reachable(), func(s sim.ProcessID) bool { return v.address(s) == c.To })
	if at < 0 {
		k := v.stage.client(client)
		k.wanted = append(k.wanted, fmt.Sprintf("to connect to %v, where no server of the run is", c.To))
		v.stage.incidents.add(string(client)+c.To.String(), fmt.Sprintf("%s tried to connect to %s, "+
			"which is not a server of the run; the connection was refused", client, c.To))
		c.Refuse(false)
		return
	}
	l := &line{conn: c}
	c.State = l
	server := v.reachable()[at]
	v.stage.loop.Do(func() {
		if v.stage.world.Down(client) || l.ended {
			return
		}
		wiring := v.stage.client(client).wiring(v.stage.wires(server))
		l.to = v.stage.front.Connect(client, server, l, l, wiring)
	})
}

// reachable lists the servers that clients can connect to.
func (v *virtual) reachable() []sim.ProcessID {
	return append(slices.Clone(v.stage.servers), history.Resource)
}

// Wrote handles bytes written by a client.
func (v *virtual) Wrote(c *traced.Conn, b []byte) {
	if l, ok := c.State.(*line); ok && l.to != nil {
		l.in = append(l.in, b...)
		l.to.Collect()
	}
}

// Closed handles the end of a connection.
func (v *virtual) Closed(c *traced.Conn) {
	if l, ok := c.State.(*line); ok {
		l.ended = true
		if l.to != nil {
			l.to.Collect()
		}
	}
}

// Exited handles the end of a client's process.
func (v *virtual) Exited(p *traced.Process) {
	k := v.stage.client(sim.ProcessID(p.Name()))
	v.keep(k)
	var err error
	if how, _ := p.Exited(); how.Code != 0 {
		err = errors.New(how.String())
	}
	v.stage.loop.Do(func() { k.exited(err) })
}

// The front end uses the methods below to read from and write to the connection.

// Take reports whether the client has sent anything, or closed the connection, since the last call to Collected.
func (l *line) Take() bool { return len(l.in) > 0 || l.ended }

// Collected returns what the client has sent since the last call, and whether the client has closed the connection.
func (l *line) Collected() (in []byte, ended bool) {
	in, l.in = l.in, nil
	return in, l.ended
}

// Stop does nothing, because no goroutine reads from the client.
func (l *line) Stop() {}

// Add passes bytes to the client, which can then read them.
func (l *line) Add(b []byte) bool {
	l.conn.Deliver(b)
	return true
}

// Finish closes the connection.
func (l *line) Finish() { l.conn.Finish() }

// Reset resets the connection, or refuses it if it is not open yet.
func (l *line) Reset() { l.conn.Reset() }

// Opened completes the client's attempt to connect, with the given status.
func (l *line) Opened(s sim.Status) {
	switch s {
	case sim.Answered:
		l.conn.Open()
	case sim.Refused:
		l.conn.Refuse(false)
	default:
		l.conn.Refuse(true)
	}
}
