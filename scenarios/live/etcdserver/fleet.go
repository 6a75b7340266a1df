package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/sim/etcd"
)

// cluster is the set of real etcd members in one run.
type cluster struct {
	*fleet.Fleet
	identity process.Identity
	http     *http.Client
	members  []*member
	records  records // only the world's goroutine uses it
	// whether a user's library exchanges bytes with the members; if so, requests do not show which leases exist
	passes atomic.Bool
}

// Launch starts the members and waits until the first one is the leader. The members end when the keeper process ends
// (see package process).
func Launch(c Config) (_ *fleet.Fleet, err error) {
	if err := look(); err != nil {
		return nil, err
	}
	f := &cluster{records: newRecords()}
	if f.Fleet, err = fleet.New(c.Keeper, false, c.Failed); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			f.End()
		}
	}()
	if f.identity, err = process.NewIdentity(c.Keeper.Folder()); err != nil {
		return nil, fmt.Errorf("making a certificate for the members: %w", err)
	}
	f.http = overHTTP2(f.Dial(clients))
	for _, name := range c.Members {
		lives, err := f.NewLives(name, (*fleet.Relay).Listen)
		if err != nil {
			return nil, err
		}
		lives.Daemon.Env = environment()
		m := &member{Lives: lives, name: name, cluster: f, services: services{"http://" + string(name), f.http}}
		f.members = append(f.members, m)
		f.Add(name, m)
	}
	for _, m := range f.members {
		if err := m.launch(); err != nil {
			return nil, fmt.Errorf("starting %s: %w", m.name, err)
		}
	}
	return f.Fleet, f.enthrone()
}

// environment returns this process's environment without the variables that etcd uses.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
}

// launch starts a member's process, and waits until it is listening for other members. The member does not accept
// requests until other members have started.
func (m *member) launch() error {
	peers, err := m.Port.Free()
	if err != nil {
		return err
	}
	m.Daemon.Args = m.arguments(peers.String())
	if err := m.start(); err != nil {
		return err
	}
	return m.Open(peers)
}

// clients is the name of the socket on which a member accepts clients. The socket is in the member's folder, where no
// other user can reach it. The name looks like a host and a port because etcd requires that.
const clients = "clients:1"

// start starts the process. If an earlier process was killed, start first removes the socket that it left behind.
func (m *member) start() error {
	if err := os.RemoveAll(filepath.Join(m.Daemon.Folder, clients)); err != nil {
		return err
	}
	return m.Daemon.Start()
}

// arguments returns the arguments for the member's program.
func (m *member) arguments(peers string) []string {
	f := m.cluster
	var all []string
	for _, o := range f.members {
		all = append(all, fmt.Sprintf("%s=%s", o.name, o.peer()))
	}
	return []string{program, "--name", string(m.name), "--data-dir", filepath.Join(m.Daemon.Folder, "data"),
		"--listen-client-urls", "unix://" + clients, "--advertise-client-urls", "unix://" + clients,
		"--listen-peer-urls", "https://" + peers, "--initial-advertise-peer-urls", m.peer(),
		"--peer-client-cert-auth", "--peer-trusted-ca-file", f.identity.Certificate,
		"--peer-cert-file", f.identity.Certificate, "--peer-key-file", f.identity.Key,
		"--initial-cluster", strings.Join(all, ","), "--initial-cluster-state", "new",
		"--initial-cluster-token", filepath.Base(f.Keeper.Folder()),
		"--heartbeat-interval", "100", "--election-timeout", "1000", // in ms
		"--logger", "zap", "--log-outputs", "stderr"}
}

// peer returns the URL at which the other members reach this one.
func (m *member) peer() string { return fmt.Sprintf("https://127.0.0.1:%d", m.Port.Number()) }

// enthrone makes the first member the leader, and waits until all members accept requests and know the leader.
func (f *cluster) enthrone() error {
	return f.Settle(func(ctx context.Context) error {
		first := f.members[0]
		led, err := f.agreed(ctx)
		if err == nil && led != first {
			_, _ = led.read(ctx, etcd.MoveLeader(first.number)) // if this fails, it is tried again
			err = errors.New("another member leads")
		}
		return err
	})
}

// agreed returns the leader if all members agree on it.
func (f *cluster) agreed(ctx context.Context) (*member, error) {
	leader := int64(0)
	for i, m := range f.members {
		s, err := m.read(ctx, etcd.AskStatus())
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.name, err)
		case i > 0 && s.Leader != leader || s.Leader == 0:
			return nil, errors.New("the members report different leaders, or none")
		}
		leader, m.number = s.Leader, s.Member
		f.records.upTo = s.Revision
	}
	at := slices.IndexFunc(f.members, func(m *member) bool { return m.number == leader })
	if at < 0 {
		return nil, errors.New("the reported leader is not one of the members")
	}
	return f.members[at], nil
}
