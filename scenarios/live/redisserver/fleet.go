package redisserver

import (
	"crypto/rand"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Fleet holds the real servers of one run.
type Fleet struct {
	cfg     *settings
	servers map[sim.ProcessID]*Server
	library string // loaded into the processes; empty: none
	origin  *process.Origin
}

// Launch starts the servers and waits until they accept commands and replicas follow their masters. plan is the plan of
// the run: a fault that the servers cannot suffer is an error before anything is started. The servers end with the
// keeper.
func Launch(c Config, plan []nemesis.Fault) (_ *Fleet, err error) {
	if c.Program == "" {
		c.Program = usual
	}
	v, err := of(c.Program)
	if err != nil {
		return nil, err
	}
	needsShim := false
	for _, f := range plan {
		if err := c.Can(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
		needsShim = needsShim || c.needsShim(f)
	}
	f := &Fleet{cfg: &settings{Config: c, absolute: v[0] >= 7, seven: v[0] >= 7, secret: rand.Text()},
		origin: &process.Origin{}, servers: map[sim.ProcessID]*Server{}}
	if needsShim {
		if f.library, err = process.Compile(c.Keeper.Folder()); err != nil {
			return nil, err
		}
	}
	if c.Sentinel != "" || slices.ContainsFunc(c.Groups, func(g []sim.ProcessID) bool { return len(g) > 1 }) {
		f.cfg.relay = relay.New(c.Failed)
		defer func() {
			if err != nil {
				f.cfg.relay.Close()
			}
		}()
	}
	for _, names := range c.Groups {
		g := &group{lost: map[store.Title]history.Why{}, past: newPast()}
		for i, name := range names {
			if err := f.launch(name, g, names, i); err != nil {
				return nil, err
			}
		}
	}
	if f.cfg.relay != nil {
		f.cfg.names = f.addresses()
	}
	if err := f.awaitReplicas(); err != nil || c.Sentinel == "" {
		return f, err
	}
	return f, f.launchSentinel()
}

// Begin gives the servers the loop of the world that they were added to. Until then they accept requests, and answer
// none.
func (f *Fleet) Begin(l relay.Loop) {
	f.cfg.loop.Begin(l)
	if f.cfg.relay != nil {
		f.cfg.relay.Begin(l)
	}
}

// End ends what the servers do for the world. It must be called when the world's loop has ended, before the keeper is
// closed: a process that dies after it does not fail the run.
func (f *Fleet) End() {
	defer func() {
		f.cfg.relay.Close()
		f.cfg.relay = nil
	}()
	for _, s := range f.servers {
		if s.life != nil {
			s.life.End()
			s.life = nil
		}
	}
}

// Server is the server with a name, for [sim.World.AddServer]; nil if there is none.
func (f *Fleet) Server(name sim.ProcessID) sim.Server {
	if s := f.servers[name]; s != nil {
		return s
	}
	return nil
}

// launch starts the i-th server of a group.
func (f *Fleet) launch(name sim.ProcessID, g *group, names []sim.ProcessID, i int) (err error) {
	lines := f.cfg.lines()
	p, err := f.program(name, len(names) > 1 || f.cfg.Sentinel != "")
	if err != nil {
		return err
	}
	if p.gate != nil {
		lines = append(lines, "replica-announce-ip 127.0.0.1", fmt.Sprint("replica-announce-port ", p.gate.Number()))
	}
	if len(names) > 1 {
		lines = append(lines, "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "masterauth "+f.cfg.secret)
	}
	if i > 0 {
		lines = append(lines, fmt.Sprint("replicaof 127.0.0.1 ", f.servers[names[0]].program.gate.Number()))
	}
	p.config = lines
	p.cuts = f.cfg.Persistence == store.Everysec || f.cfg.Persistence == store.No ||
		f.cfg.Persistence == store.Always && f.library != "" // otherwise everything that was answered was fsynced
	if err := p.launch(f.library, f.origin); err != nil {
		return fmt.Errorf("starting %s: %w", name, err)
	}
	s := &Server{Lives: p.lives(), name: name, cfg: f.cfg, reports: true, at: p.at, program: p, group: g}
	s.records.open(i > 0, g)
	g.members = append(g.members, s)
	g.master = g.members[0]
	f.servers[name] = s
	return nil
}

// program makes the process of a server; one of several has a port at which others reach it.
func (f *Fleet) program(name sim.ProcessID, oneOfSeveral bool) (p *program, err error) {
	p = &program{cfg: f.cfg, name: name, folder: filepath.Join(f.cfg.Keeper.Folder(), string(name))}
	if oneOfSeveral {
		p.gate, err = f.cfg.relay.Listen(name, p.daemon.PID)
	}
	return p, err
}

// lines are the lines of redis.conf that all servers share.
func (c *settings) lines() []string {
	lines := []string{`save ""`, "auto-aof-rewrite-percentage 0", "notify-keyspace-events EA"}
	switch c.Persistence {
	case store.None:
		lines = append(lines, "appendonly no")
	default:
		lines = append(lines, "appendonly yes", "appendfsync "+c.Persistence.String())
	}
	if c.seven {
		lines = append(lines, "shutdown-timeout 0")
	}
	if c.MinReplicasToWrite > 0 {
		lines = append(lines, fmt.Sprint("min-replicas-to-write ", c.MinReplicasToWrite))
	}
	if c.MinReplicasMaxLag > 0 {
		lines = append(lines, fmt.Sprint("min-replicas-max-lag ", max(1, int(c.MinReplicasMaxLag/time.Second))))
	}
	return lines
}

// awaitReplicas waits until all replicas have the data of their masters, and will receive changes: a master sends them
// none before it has heard from them after they have its data (replicaPutOnline in replication.c).
func (f *Fleet) awaitReplicas() error {
	for _, group := range f.cfg.Groups {
		master, replicas := f.servers[group[0]], len(group)-1
		if replicas == 0 {
			continue
		}
		w, err := master.at.dial()
		if err != nil {
			return fmt.Errorf("starting %s: %w", master.name, err)
		}
		var v resp.Value
		if err = awaitInfo(w, "replication", fmt.Sprintf("connected_slaves:%d\r", replicas)); err == nil {
			_, _ = w.ask("PUBLISH", "fencepost", "") // which they must acknowledge
			v, err = w.ask("WAIT", strconv.Itoa(replicas), millis(patience))
		}
		w.close()
		if err == nil && v.Number() < int64(replicas) {
			err = &process.LateError{Err: fmt.Errorf("only %d follow within %v", v.Number(), patience)}
		}
		if err != nil {
			return fmt.Errorf("%s has %d replicas: %w%s", master.name, replicas, err, master.program.daemon.LastWords())
		}
	}
	return nil
}

// awaitInfo waits until a section of INFO contains a text.
func awaitInfo(w *wire, section, what string) error {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		v, err := w.ask("INFO", section)
		switch {
		case err != nil:
			return err
		case strings.Contains(v.Text, what):
			return nil
		case time.Now().After(end):
			return &process.LateError{Err: fmt.Errorf("INFO %s does not say %s within %v", section, what, patience)}
		}
	}
}
