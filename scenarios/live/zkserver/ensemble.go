package zkserver

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// Ensemble holds the members of one run.
type Ensemble struct {
	cfg   *settings
	order []*program
}

// Launch starts the members and waits until all serve and the first is the leader. plan is the plan of the run: a fault
// that the members cannot suffer is an error before anything is started. They end with the keeper.
func Launch(c Config, plan []nemesis.Fault) (_ *Ensemble, err error) {
	if err := c.install(); err != nil {
		return nil, err
	}
	needsShim := false
	for _, f := range plan {
		if err := c.Can(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		needsShim = needsShim || c.needsShim(f)
	}
	e := &Ensemble{cfg: &settings{Config: c, secret: rand.Text(), sessions: sessions{all: map[int64]session{}},
		records: records{nodes: map[string]node{}, asked: map[origin]history.Attempt{}}}}
	if e.cfg.identity, err = process.NewIdentity(c.Keeper.Folder()); err != nil {
		return nil, fmt.Errorf("making a certificate for the members: %w", err)
	}
	if len(c.Members) > 1 {
		e.cfg.relay = relay.New(c.Failed)
		defer func() {
			if err != nil {
				e.cfg.relay.Close()
			}
		}()
	}
	library := ""
	if needsShim {
		if library, err = process.Compile(c.Keeper.Folder()); err != nil {
			return nil, err
		}
	}
	if err := e.prepare(library); err != nil {
		return nil, err
	}
	if err = e.elect(); err == nil {
		err = e.cfg.closeRoot(e.order[0].address())
	}
	return e, err
}

// prepare makes the members, whose processes are not started yet.
func (e *Ensemble) prepare(library string) (err error) {
	origin := &process.Origin{}
	for i, name := range e.cfg.Members {
		p := &program{number: len(e.cfg.Members) - i, host: loopback, Daemon: &process.Daemon{
			Keeper: e.cfg.Keeper, Name: name, Folder: filepath.Join(e.cfg.Keeper.Folder(), string(name))}}
		if err := os.MkdirAll(p.Folder, 0o700); err != nil {
			return err
		}
		if e.cfg.relay != nil {
			if p.gate, err = e.cfg.relay.ListenSOCKS(name, p.PID); err != nil {
				return err
			}
			p.host = p.gate.Own()
		}
		if library != "" {
			if p.shim, err = process.NewShim(library, p.Folder, origin); err != nil {
				return err
			}
		}
		p.prepare(e.cfg)
		lives := &relay.Lives{Daemon: p.Daemon, Port: p.gate, Gate: &e.cfg.loop, Failed: e.cfg.Failed}
		e.cfg.members = append(e.cfg.members, &member{Lives: lives, name: name, cfg: e.cfg, program: p})
		e.order = append(e.order, p)
	}
	return nil
}

// tries limits how often the members are started: a port may be in use, or another member elected.
const tries = 5

// inUse is Java's error for a port that is in use.
const inUse = "Address already in use"

// errOther reports that another member than the first was elected.
var errOther = errors.New("another than the first was elected")

// elect starts the members until the first is the leader: it has the highest number, and the others are started once it
// runs.
func (e *Ensemble) elect() (err error) {
	for range tries {
		if err = e.start(); err == nil {
			return nil
		}
		for _, p := range e.order {
			p.Kill()
			err = errors.Join(err, os.RemoveAll(p.data()))
		}
		if !errors.Is(err, errOther) && !strings.Contains(err.Error(), inUse) {
			return err
		}
	}
	return err
}

// start starts all members, on ports of their own.
func (e *Ensemble) start() error {
	for _, p := range e.order {
		if err := p.choosePorts(); err != nil {
			return err
		}
	}
	for i, p := range e.order {
		if err := p.configure(e.order, e.cfg.identity); err != nil {
			return fmt.Errorf("configuring %s: %w", p.Name, err)
		}
		if err := p.spawn(); err != nil {
			return fmt.Errorf("starting %s: %w", p.Name, err)
		}
		if i == 0 && len(e.order) > 1 {
			if err := e.await(p, p.votes); err != nil {
				return err
			}
		}
	}
	for i, p := range e.order {
		mode := ""
		err := e.await(p, func() bool {
			mode = p.mode()
			return mode != ""
		})
		switch {
		case err != nil:
			return err
		case i == 0 && mode == "follower":
			return errOther
		}
	}
	return nil
}

// votes reports whether the process takes part in elections.
func (p *program) votes() bool {
	conn, err := net.DialTimeout("tcp", net.JoinHostPort(p.host, strconv.Itoa(p.election)), soon)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// await waits until a process that is starting is as wanted.
func (e *Ensemble) await(p *program, is func() bool) error {
	for end := time.Now().Add(patience); !is(); time.Sleep(10 * time.Millisecond) {
		for _, o := range e.order {
			select {
			case <-o.Ended():
				return o.Died()
			default:
			}
		}
		if time.Now().After(end) {
			return p.Late("serves nobody", patience)
		}
	}
	return nil
}

// Begin gives the members the loop of the world that they were added to. Until then they accept requests, and answer
// none.
func (e *Ensemble) Begin(l relay.Loop) {
	e.cfg.loop.Begin(l)
	if e.cfg.relay != nil {
		e.cfg.relay.Begin(l)
	}
}

// End ends what the members do for the world. It must be called when the world's loop has ended, before the keeper is
// closed: a process that dies after it does not fail the run.
func (e *Ensemble) End() {
	for _, m := range e.cfg.members {
		if m.life != nil {
			m.life.close()
			m.life = nil
		}
	}
	e.cfg.relay.Close()
	e.cfg.relay = nil
}

// Server is the member with a name, for [sim.World.AddServer]; nil if there is none.
func (e *Ensemble) Server(name sim.ProcessID) sim.Server {
	for _, m := range e.cfg.members {
		if m.name == name {
			return m
		}
	}
	return nil
}
