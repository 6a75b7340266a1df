package consulserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim/consul"
)

// cluster is the set of real Consul servers in one run.
type cluster struct {
	*fleet.Fleet
	identity   process.Identity
	gossipKey  []byte
	multiplier int
	http       *http.Client
	members    []*member
	records    records // only the world's goroutine uses it
}

// Launch starts the servers and waits until the first one is the leader. The servers end when the keeper process ends
// (see package process).
func Launch(c Config) (_ *fleet.Fleet, err error) {
	if err := look(); err != nil {
		return nil, err
	}
	f := &cluster{records: newRecords(), gossipKey: make([]byte, 32),
		multiplier: cmp.Or(c.Multiplier, consul.DefaultMultiplier)}
	_, _ = rand.Read(f.gossipKey) // it never fails
	if f.Fleet, err = fleet.New(c.Keeper, false, c.Failed); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.End()
		}
	}()
	if f.identity, err = process.NewIdentity(c.Keeper.Folder()); err != nil {
		return nil, fmt.Errorf("making a certificate for the servers: %w", err)
	}
	f.http = &http.Client{Transport: &http.Transport{DialContext: f.Dial(clients), DisableCompression: true}}
	for _, name := range c.Members {
		m := &member{name: name, cluster: f}
		if m.Lives, err = f.NewLives(name, (*fleet.Relay).Listen); err != nil {
			return nil, err
		}
		if m.gossip, err = fleet.FreePort(loopback); err != nil {
			return nil, fmt.Errorf("finding a port for %s: %w", name, err)
		}
		m.Daemon.Args = []string{program, "agent", "-config-file", m.file()}
		f.members = append(f.members, m)
		f.Add(name, m)
	}
	for _, m := range f.members {
		if err := m.launch(); err != nil {
			return nil, fmt.Errorf("starting %s: %w", m.name, err)
		}
	}
	return f.Fleet, f.Settle(f.enthrone)
}

// launch starts a server's first process, and waits until it is listening for other servers.
func (m *member) launch() error {
	b, err := json.Marshal(m.settings())
	if err == nil {
		err = os.WriteFile(m.file(), b, 0o600)
	}
	if err == nil {
		err = m.Daemon.Start()
	}
	if err == nil {
		err = m.Open(m.rpc())
	}
	return err
}

// file is the path of the server's configuration file.
func (m *member) file() string { return filepath.Join(m.Daemon.Folder, "settings.json") }

const (
	loopback = "127.0.0.1" // address at which servers reach each other
	clients  = "clients"   // name of the socket in a server's folder on which it accepts clients
	never    = "100000h"   // how often a server checks by gossip whether another one has failed
	off      = -1          // instead of a port
)

// settings returns the server's configuration. Other servers connect to the address that it advertises, where m.Port
// accepts their connections. The process itself listens at its own address, on the same port number.
func (m *member) settings() map[string]any {
	f := m.cluster
	var others []string
	for _, o := range f.members {
		others = append(others, fmt.Sprintf("%s:%d", loopback, o.gossip))
	}
	type object = map[string]any
	no := object{"enabled": false}
	return object{
		"server": true, "node_name": m.name, "bootstrap_expect": len(f.members), "log_level": "error",
		"data_dir": filepath.Join(m.Daemon.Folder, "data"), "performance": object{"raft_multiplier": f.multiplier},
		"bind_addr": m.Port.Own(), "advertise_addr": loopback, "serf_lan": loopback,
		"addresses": object{"http": "unix://" + filepath.Join(m.Daemon.Folder, clients)},
		"ports": object{"server": m.Port.Number(), "serf_lan": m.gossip, "serf_wan": off, "dns": off, "grpc": off,
			"grpc_tls": off},
		"retry_join": others, "retry_interval": "1s", "encrypt": f.gossipKey, "disable_keyring_file": true,
		"gossip_lan": object{"probe_interval": never},
		"tls": object{"internal_rpc": object{"verify_incoming": true, "verify_outgoing": true,
			"ca_file": f.identity.Certificate, "cert_file": f.identity.Certificate, "key_file": f.identity.Key}},
		"connect": no, "peering": no, "disable_coordinates": true, "disable_update_check": true,
	}
}

// enthrone makes the first server the leader. It returns nil once all servers know this, and the leader has registered
// them, which is needed for sessions.
func (f *cluster) enthrone(ctx context.Context) error {
	var all []status
	for _, m := range f.members {
		s, err := m.status(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if s.voters() < len(f.members) {
			return fmt.Errorf("%s does not know all servers", m.name)
		}
		all = append(all, s)
	}
	first := f.members[0]
	for i := range all {
		switch s := &all[i]; {
		case s.Consul.Leader == fmt.Sprintf("%s:%d", loopback, first.Port.Number()):
		case i == 0 && s.Raft.State == "Follower":
			return errors.Join(fmt.Errorf("%s does not lead", first.name), first.rule())
		default:
			return fmt.Errorf("%s does not know that %s leads", f.members[i].name, first.name)
		}
	}
	return first.registered(ctx, len(f.members))
}
