package redisserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/live/daemon"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Foreign is servers that the user runs, in the place of those that a fleet starts. They can suffer nothing themselves,
// and nothing is recorded of their keys: a law that needs to know what became of a key is unchecked. Of theirs nothing
// is changed but keys under the run's prefix: commands that name others are refused, and those that change a whole
// server. What a script does to keys that it does not declare cannot be known.
type Foreign struct {
	// Servers are the names in the world, and Addresses where they are: HOST:PORT, or a URL as
	// redis://[USER]:PASSWORD@HOST:PORT/DATABASE.
	Servers   []sim.ProcessID
	Addresses []string
	// Prefix is what the keys of this run begin with. It must be this run's alone.
	Prefix string
	// Failed is told, on any goroutine, that a server cannot be reached any more and the run decides nothing.
	Failed func(error)
}

// Can says why these servers cannot suffer a fault; nil if they can, or if it is none of theirs. What happens to their
// links with clients can happen to any.
func (c *Foreign) Can(f nemesis.Fault) error {
	own := Config{}
	for _, name := range c.Servers {
		own.Groups = append(own.Groups, []sim.ProcessID{name})
	}
	a, _, between := own.betweenServers(f)
	switch {
	case between:
	case f.Kind.Has(nemesis.FieldSides), f.Kind.Has(nemesis.FieldPeer) && f.Kind != nemesis.FailOver:
		return nil // a link with a client
	case own.isServer(f.Target):
		a = f.Target
	default:
		return nil
	}
	return fmt.Errorf("%s is a server of yours: only clients, and their links with it, can suffer something", a)
}

// Errors of servers that the user runs.
var (
	ErrNeedsPassword = errors.New("the server asks for a password: give it in the address, as " +
		"redis://:PASSWORD@HOST:PORT")
	ErrWrongPassword = errors.New("the server does not take this user or password")
)

// Attach looks whether the servers answer, and refuses what they cannot suffer.
func (c Foreign) Attach(plan []nemesis.Fault) (*Fleet, error) {
	for _, f := range plan {
		if err := c.Can(f); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	if c.Prefix == "" || len(c.Servers) != len(c.Addresses) {
		return nil, fmt.Errorf("there must be a prefix for the run's keys, and an address for each of the %d servers",
			len(c.Servers))
	}
	cfg := &settings{Config: Config{Failed: c.Failed}}
	fleet := &Fleet{cfg: cfg, servers: map[sim.ProcessID]*Server{}}
	for i, address := range c.Addresses {
		at, err := endpointOf(address)
		if err == nil {
			err = at.answers()
		}
		if err != nil {
			return nil, fmt.Errorf("the server at %s: %w", withoutPassword(address), err)
		}
		lives := &daemon.Lives{Gate: &cfg.loop, Failed: cfg.Failed}
		fleet.servers[c.Servers[i]] = &Server{Lives: lives, name: c.Servers[i], cfg: cfg, at: at, prefix: c.Prefix}
	}
	return fleet, nil
}

// endpointOf reads an address.
func endpointOf(address string) (e endpoint, err error) {
	if !strings.Contains(address, "://") {
		address = "redis://" + address
	}
	u, err := url.Parse(address)
	if err != nil {
		return e, fmt.Errorf("this is no address: %w", errors.Unwrap(err))
	}
	if u.Scheme != "redis" {
		return e, fmt.Errorf("%s:// is not known, only redis:// without TLS", u.Scheme)
	}
	if u.Hostname() == "" {
		return e, errors.New("the address names no host: HOST:PORT")
	}
	port := u.Port()
	if port == "" {
		port = resp.Port
	}
	e = endpoint{network: "tcp", address: net.JoinHostPort(u.Hostname(), port), database: strings.Trim(u.Path, "/")}
	e.password, _ = u.User.Password()
	e.user = u.User.Username()
	return e, nil
}

// withoutPassword is an address as it may be shown.
func withoutPassword(address string) string {
	if at := strings.LastIndexByte(address, '@'); at >= 0 {
		return address[at+1:]
	}
	return address
}

// soon is how long a server of the user's may take to answer.
const soon = 5 * time.Second

// answers reports why a server cannot be used.
func (e endpoint) answers() error {
	w, err := e.dial()
	if err != nil {
		return err
	}
	defer w.close()
	_ = w.conn.SetDeadline(time.Now().Add(soon))
	v, err := w.ask("PING")
	switch {
	case err != nil:
		return fmt.Errorf("it does not answer as a Redis does: %w", err)
	case strings.HasPrefix(v.Text, "NOAUTH"):
		return ErrNeedsPassword
	case v.IsError():
		return errors.New(v.Text)
	}
	return nil
}

// login says who is calling, and chooses the database.
func (e endpoint) login(w *wire) error {
	if e.password != "" {
		args := []string{"AUTH", e.user, e.password}
		if e.user == "" {
			args = []string{"AUTH", e.password}
		}
		if v, err := w.ask(args...); err != nil {
			return err
		} else if v.IsError() {
			return fmt.Errorf("%w: %s", ErrWrongPassword, v.Text)
		}
	}
	if e.database != "" {
		if v, err := w.ask("SELECT", e.database); err != nil {
			return err
		} else if v.IsError() {
			return fmt.Errorf("database %s: %s", e.database, v.Text)
		}
	}
	return nil
}

// trespass is why a command must not reach a server of the user's, or nothing.
func (x *life) trespass(name string, args []string) (trouble string, err error) {
	switch name {
	case "select", "reset":
		return "ERR fencepost: the database on a server of the user's is chosen by its address", nil
	case "flushall", "flushdb", "script", "function", "config", "acl", "replicaof", "slaveof", "latency", "slowlog":
		if name != "script" || len(args) > 1 && strings.EqualFold(args[1], "flush") {
			return "ERR fencepost: " + strings.ToUpper(name) + " would change a server of the user's", nil
		}
	}
	v, err := x.admin.ask(append([]string{"COMMAND", "GETKEYS"}, args...)...)
	if err != nil || v.IsError() {
		return "", err // it has no keys, or is wrong and will be told so
	}
	for _, key := range v.Texts() {
		if !strings.HasPrefix(key, x.s.prefix) {
			return fmt.Sprintf("ERR fencepost: on a server of the user's, keys begin with %q, and this does not: %.64q",
				x.s.prefix, key), nil
		}
	}
	return "", nil
}

// Sweep deletes what a run has left under its prefix.
func (c Foreign) Sweep() (err error) {
	for _, address := range c.Addresses {
		err = errors.Join(err, c.sweep(address))
	}
	return err
}

func (c Foreign) sweep(address string) error {
	e, err := endpointOf(address)
	if err != nil {
		return err
	}
	w, err := e.dial()
	if err != nil {
		return err
	}
	defer w.close()
	for cursor := "0"; ; {
		v, err := w.ask("SCAN", cursor, "COUNT", "1000", "MATCH", quoted(c.Prefix)+"*")
		if err != nil || v.IsError() {
			return errors.Join(err, errors.New(v.Text))
		}
		if names := v.List[1].Texts(); len(names) > 0 {
			if _, err := w.ask(append([]string{"DEL"}, names...)...); err != nil {
				return err
			}
		}
		if cursor = v.List[0].Text; cursor == "0" {
			return nil
		}
	}
}

// quoted is a pattern of nothing but s.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
