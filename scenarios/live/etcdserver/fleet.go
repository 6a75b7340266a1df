package etcdserver

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/relay"
	"github.com/fencepost-sim/fencepost/sim"
)

// Fleet holds the real members of one run.
type Fleet struct {
	Config
	identity process.Identity
	relay    *relay.Relay
	http     *http.Client
	members  []*member
	records  records // the world's goroutine's
	gate     relay.Gate
}

// Launch starts the members and waits until the first is the leader. plan is the plan of the run: a fault that the
// members cannot suffer is an error before anything is started. The members end with the keeper.
func Launch(c Config, plan []nemesis.Fault) (_ *Fleet, err error) {
	c = c.withDefaults()
	for _, f := range plan {
		if err := c.Can(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	if err := look(c.Program); err != nil {
		return nil, err
	}
	identity, err := process.NewIdentity(c.Keeper.Folder())
	if err != nil {
		return nil, fmt.Errorf("making a certificate for the members: %w", err)
	}
	f := &Fleet{Config: c, identity: identity, relay: relay.New(c.Failed), records: newRecords()}
	f.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DialContext: f.dial}}
	defer func() {
		if err != nil {
			f.relay.Close()
		}
	}()
	for _, name := range c.Members {
		d := &process.Daemon{Keeper: c.Keeper, Name: name, Folder: filepath.Join(c.Keeper.Folder(), string(name)),
			Env: environment()}
		p, err := f.relay.Listen(name, d.PID)
		if err != nil {
			return nil, err
		}
		f.members = append(f.members, &member{
			Lives: &relay.Lives{Daemon: d, Port: p, Gate: &f.gate, Failed: c.Failed}, name: name, fleet: f})
	}
	for _, m := range f.members {
		if err := m.launch(); err != nil {
			return nil, fmt.Errorf("starting %s: %w", m.name, err)
		}
	}
	return f, f.enthrone()
}

// environment is the environment of this process, without the variables that etcd would read.
func environment() []string {
	return slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "ETCD_") })
}

// launch starts the process of a member, on other ports if the chosen ones are in use. It accepts requests once there
// are other members.
func (m *member) launch() (err error) {
	if err := os.MkdirAll(m.Daemon.Folder, 0o700); err != nil {
		return err
	}
	for range tries {
		port, err := m.fleet.port(m.Port.Own())
		if err != nil {
			return fmt.Errorf("finding a port: %w", err)
		}
		peers := fmt.Sprintf("%s:%d", m.Port.Own(), port)
		m.gateway = gateway{"http://" + string(m.name), m.fleet.http}
		m.Daemon.Args = m.arguments(peers)
		if err = m.start(); err == nil {
			err = m.listens(peers)
		}
		if err == nil {
			m.Port.Open(peers)
		}
		if err == nil || !strings.Contains(err.Error(), inUse) {
			return err
		}
	}
	return err
}

// tries is how many ports are tried if one is in use.
const tries = 20

// inUse is etcd's error for a port that is in use.
const inUse = "address already in use"

// clients is the name of the socket in its folder on which a member listens for clients, where no other user can reach
// it. etcd requires it to look like a host and a port.
const clients = "clients:1"

// start starts the process, which does not take over the socket of a process that was killed.
func (m *member) start() error {
	if err := os.RemoveAll(filepath.Join(m.Daemon.Folder, clients)); err != nil {
		return err
	}
	return m.Daemon.Start()
}

// dial connects to the member with an address.
func (f *Fleet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	return new(net.Dialer).DialContext(ctx, "unix", filepath.Join(f.Keeper.Folder(), name, clients))
}

// arguments are the program's arguments.
func (m *member) arguments(peers string) []string {
	f := m.fleet
	var cluster []string
	for _, o := range f.members {
		cluster = append(cluster, fmt.Sprintf("%s=%s", o.name, o.peer()))
	}
	return []string{f.Program, "--name", string(m.name), "--data-dir", filepath.Join(m.Daemon.Folder, "data"),
		"--listen-client-urls", "unix://" + clients, "--advertise-client-urls", "unix://" + clients,
		"--listen-peer-urls", "https://" + peers, "--initial-advertise-peer-urls", m.peer(),
		"--peer-client-cert-auth", "--peer-trusted-ca-file", f.identity.Certificate,
		"--peer-cert-file", f.identity.Certificate, "--peer-key-file", f.identity.Key,
		"--initial-cluster", strings.Join(cluster, ","), "--initial-cluster-state", "new",
		"--initial-cluster-token", filepath.Base(f.Keeper.Folder()),
		"--heartbeat-interval", fmt.Sprint(f.Heartbeat.Milliseconds()),
		"--election-timeout", fmt.Sprint(f.ElectionTimeout.Milliseconds()),
		"--logger", "zap", "--log-outputs", "stderr"}
}

// listens waits until the process listens at an address, as it does before anything else.
func (m *member) listens(address string) error {
	for end := time.Now().Add(patience); !relay.Listens(m.Daemon.PID(), netip.MustParseAddrPort(address)); {
		select {
		case <-m.Daemon.Ended():
			return m.Daemon.Died()
		case <-time.After(again):
		}
		if time.Now().After(end) {
			m.Daemon.Kill()
			return m.Daemon.Late("does not listen", patience)
		}
	}
	return nil
}

// peer is the URL at which the others reach a member.
func (m *member) peer() string { return fmt.Sprintf("https://127.0.0.1:%d", m.Port.Number()) }

// enthrone makes the first member the leader, and waits until all members accept requests and know it.
func (f *Fleet) enthrone() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first := f.members[0]
	for {
		led, err := f.agreed(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return &process.LateError{Err: fmt.Errorf("the members do not agree on a leader within %v: %w%s", patience,
				err, first.Daemon.LastWords())}
		case err != nil:
		case led == first:
			return nil
		default:
			_ = led.gateway.ask(ctx, "/v3/maintenance/transfer-leadership", fields{"targetID": first.number},
				&struct{}{}) // if that fails, another leads by now, or it is asked again
		}
		for _, m := range f.members {
			select {
			case <-m.Daemon.Ended():
				return m.Daemon.Died()
			default:
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}

// agreed returns the leader that all members know.
func (f *Fleet) agreed(ctx context.Context) (*member, error) {
	leader := ""
	for i, m := range f.members {
		s, err := m.gateway.status(ctx)
		switch {
		case err != nil:
			return nil, fmt.Errorf("%s: %w", m.name, err)
		case i > 0 && s.Leader != leader || s.Leader == "":
			return nil, errors.New("they know different leaders, or none")
		}
		leader, m.number = s.Leader, s.Member
		f.records.upTo = s.Header.Revision
	}
	return f.numbered(leader), nil
}

// numbered returns the member with an ID of etcd's; nil if there is none.
func (f *Fleet) numbered(number string) *member {
	if at := slices.IndexFunc(f.members, func(m *member) bool { return m.number == number }); at >= 0 {
		return f.members[at]
	}
	return nil
}

// named returns the name of the member with an ID of etcd's; empty if there is none.
func (f *Fleet) named(number string) sim.ProcessID {
	if m := f.numbered(number); m != nil {
		return m.name
	}
	return ""
}

// Server is the member with a name, for [sim.World.AddServer]; nil if there is none.
func (f *Fleet) Server(name sim.ProcessID) sim.Server {
	if at := slices.Index(f.Members, name); at >= 0 {
		return f.members[at]
	}
	return nil
}

// Begin gives the members the loop of the world that they were added to. Until then they accept requests, and answer
// none.
func (f *Fleet) Begin(l relay.Loop) {
	f.relay.Begin(l)
	f.gate.Begin(l)
}

// End ends what the members do for the world. It must be called when the world's loop has ended, before the keeper is
// closed: a process that dies after it does not fail the run.
func (f *Fleet) End() {
	for _, m := range f.members {
		if m.life != nil {
			m.life.End()
			m.life = nil
		}
	}
	f.relay.Close()
	f.http.CloseIdleConnections()
}
