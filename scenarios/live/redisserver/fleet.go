package redisserver

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
	"github.com/fencepost-sim/fencepost/sim/redis/store"
)

// Launch starts the servers and prepares them for the faults in plan. It waits until they accept commands and the
// replicas are following their masters. The servers end when c.Keeper ends.
func Launch(c Config, plan []nemesis.Fault) (_ *fleet.Fleet, err error) {
	v, err := installed()
	if err != nil {
		return nil, err
	}
	f := &servers{Config: c, seven: v[0] >= 7, secret: rand.Text(), all: map[sim.ProcessID]*Server{}}
	if f.Fleet, err = fleet.New(c.Keeper, slices.ContainsFunc(plan, c.needsShim), c.Failed); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.End()
		}
	}()
	several := c.Sentinel != ""
	for _, names := range c.Groups {
		g := &group{lost: map[store.Title]history.Why{}, past: newPast()}
		for i, name := range names {
			if err := f.launch(name, g, names, i); err != nil {
				return nil, err
			}
		}
		several = several || len(names) > 1
	}
	if several {
		f.names = f.addresses()
	}
	if err := f.awaitReplicas(); err != nil || c.Sentinel == "" {
		return f.Fleet, err
	}
	return f.Fleet, f.launchSentinel()
}

// launch starts the ith server in a group.
func (f *servers) launch(name sim.ProcessID, g *group, names []sim.ProcessID, i int) (err error) {
	lines := f.lines()
	s, err := f.server(name, len(names) > 1 || f.Sentinel != "")
	if err != nil {
		return err
	}
	if s.Port != nil {
		lines = append(lines, "replica-announce-ip 127.0.0.1", fmt.Sprint("replica-announce-port ", s.Port.Number()))
	}
	if len(names) > 1 {
		lines = append(lines, "repl-diskless-sync-delay 0", "repl-ping-replica-period 1", "masterauth "+f.secret)
	}
	if i > 0 {
		lines = append(lines, fmt.Sprint("replicaof 127.0.0.1 ", f.all[names[0]].Port.Number()))
	}
	s.cuts = f.Persistence == store.Everysec || f.Persistence == store.No ||
		f.Persistence == store.Always && f.HasShim() // without the library, every acknowledged write has been fsynced
	s.reports, s.group = true, g
	s.records.open(i > 0, g)
	g.members = append(g.members, s)
	g.master = g.members[0]
	return s.launch(lines)
}

// lines returns the redis.conf lines that are the same for all servers.
func (f *servers) lines() []string {
	lines := []string{`save ""`, "auto-aof-rewrite-percentage 0", "notify-keyspace-events EA"}
	switch f.Persistence {
	case store.None:
		lines = append(lines, "appendonly no")
	default:
		lines = append(lines, "appendonly yes", "appendfsync "+f.Persistence.String())
	}
	if f.seven {
		lines = append(lines, "shutdown-timeout 0")
	}
	if f.MinReplicasToWrite > 0 {
		lines = append(lines, fmt.Sprint("min-replicas-to-write ", f.MinReplicasToWrite))
	}
	if f.MinReplicasMaxLag > 0 {
		lines = append(lines, fmt.Sprint("min-replicas-max-lag ", max(1, int(f.MinReplicasMaxLag/time.Second))))
	}
	return lines
}

// awaitReplicas waits until all replicas have received their masters' data and will receive further changes. A master
// sends changes only to a replica that has received the data and has acknowledged something afterward (replicaPutOnline
// in replication.c).
func (f *servers) awaitReplicas() error {
	for _, group := range f.Groups {
		master, replicas := f.all[group[0]], len(group)-1
		if replicas == 0 {
			continue
		}
		w, err := master.at.dial()
		if err != nil {
			return fmt.Errorf("starting %s: %w", master.name, err)
		}
		var v resp.Value
		if err = awaitInfo(w, "replication", fmt.Sprintf("connected_slaves:%d\r", replicas)); err == nil {
			_, _ = w.ask("PUBLISH", "fencepost", "") // replicas must acknowledge this message
			v, err = w.ask("WAIT", strconv.Itoa(replicas), millis(patience))
		}
		w.close()
		if err == nil && v.Number() < int64(replicas) {
			err = &process.LateError{Err: fmt.Errorf("only %d of them acknowledged a message within %v",
				v.Number(), patience)}
		}
		if err != nil {
			return fmt.Errorf("%s has %d replicas: %w%s", master.name, replicas, err, master.Daemon.LastWords())
		}
	}
	return nil
}

// awaitInfo waits until an INFO section contains the given text.
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
