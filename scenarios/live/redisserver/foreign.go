package redisserver

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/live/fleet"
	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/redis/resp"
)

// Foreign describes servers that the user has started. A run can use them instead of starting its own. Faults cannot be
// injected into them, and nothing is recorded about their keys. A law that depends on what happens to a key is
// therefore unchecked. The run changes only keys with its prefix. It gives them a time to live, in case it cannot
// delete them (see guard).
type Foreign struct {
	// Servers lists the names of the servers in the world. Addresses lists their addresses, either HOST:PORT or a URL
	// like redis://[USER]:PASSWORD@HOST:PORT/DATABASE.
	Servers   []sim.ProcessID
	Addresses []string
	// Prefix is the prefix of this run's keys. No key may have this prefix when the run starts.
	Prefix string
	// Lasts is the time to live of keys for which the client does not set one. It is a whole number of milliseconds,
	// and must be longer than the run.
	Lasts time.Duration
	// Failed is called when a server can no longer be reached. From then on, the run cannot be judged. Any goroutine
	// may call it.
	Failed func(error)
}

// Can returns an error that explains why a fault cannot be injected into these servers. It returns nil if the fault can
// be injected or does not affect the servers. Faults on the links between servers and clients are always possible.
func (c *Foreign) Can(f nemesis.Fault) error {
	is := func(p sim.ProcessID) bool { return slices.Contains(c.Servers, p) }
	at := f.Target
	switch {
	case f.Kind.Has(nemesis.FieldSides):
		left := slices.IndexFunc(f.Left, is)
		if left < 0 || !slices.ContainsFunc(f.Right, is) {
			return nil
		}
		at = f.Left[left]
	// the fault does not affect a server, or affects only a link between a server and a client
	case !is(at), f.Kind.Has(nemesis.FieldPeer) && f.Kind != nemesis.FailOver && !is(f.Peer):
		return nil
	}
	return fmt.Errorf("%s is a server that you started: faults can strike only clients and their links to it", at)
}

// These errors report that a user's server requires a password, or has rejected the user or password.
var (
	ErrNeedsPassword = errors.New("the server requires a password: " +
		"put the address redis://[USER]:PASSWORD@HOST:PORT into an environment variable or a file, " +
		"and give --servers env:VARIABLE or file:PATH")
	ErrWrongPassword = errors.New("the server refused this user or password")
)

// Attach connects to the servers and checks that they can be used.
func (c Foreign) Attach() (*fleet.Fleet, error) {
	if c.Prefix == "" || len(c.Servers) != len(c.Addresses) {
		return nil, fmt.Errorf("expected a prefix for the run's keys and an address for each of the %d servers",
			len(c.Servers))
	}
	all, err := fleet.New(nil, false, c.Failed)
	if err != nil {
		return nil, err
	}
	f := &servers{Fleet: all}
	for i, address := range c.Addresses {
		at, err := endpointOf(address)
		if err != nil {
			return nil, fmt.Errorf("address %d: %w", i+1, err)
		}
		if err = c.suits(at); err != nil {
			return nil, fmt.Errorf("the server at %s: %w", at.address, err)
		}
		name := c.Servers[i]
		f.Add(name, &Server{Lives: f.Remote(), name: name, cfg: f, at: at, guard: newGuard(c.Prefix, c.Lasts)})
	}
	return f.Fleet, nil
}

// ErrAddress reports an address that cannot be parsed. It does not quote the address, since that might contain a
// password.
var ErrAddress = errors.New("this is not the address of a Redis server: " +
	"write HOST:PORT or redis://[USER]:PASSWORD@HOST:PORT/DATABASE, with %-escapes for /, ?, # and @ in a password")

// endpointOf parses an address.
func endpointOf(address string) (e endpoint, err error) {
	if !strings.Contains(address, "://") {
		address = "redis://" + address
	}
	u, err := url.Parse(address)
	if err != nil || strings.Count(address, "@") > 1 || strings.Contains(address, "@") != (u.User != nil) ||
		u.RawQuery != "" || u.Fragment != "" || u.Hostname() == "" ||
		strings.Contains(u.Hostname(), ":") != strings.HasPrefix(u.Host, "[") {
		return e, ErrAddress
	}
	if u.Scheme != "redis" {
		return e, errors.New("only redis:// is supported, without TLS")
	}
	database := strings.Trim(u.Path, "/")
	if strings.Trim(database, "0123456789") != "" {
		return e, ErrAddress
	}
	port := u.Port()
	if port == "" {
		port = resp.Port
	}
	e = endpoint{network: "tcp", address: net.JoinHostPort(u.Hostname(), port), database: database}
	e.password, _ = u.User.Password()
	e.user = u.User.Username()
	if e.user != "" && e.password == "" {
		return endpoint{}, ErrAddress
	}
	return e, nil
}

// answerLimit is how long a user's server may take to answer a request.
const answerLimit = 5 * time.Second

// suits returns an error that says why a server cannot be used, or nil if it can. It tries the commands that the run
// needs, on a key that does not exist.
func (c Foreign) suits(e endpoint) error {
	w, err := e.dial()
	if err != nil {
		return err
	}
	defer w.close()
	_ = w.conn.SetDeadline(time.Now().Add(answerLimit))
	v, err := w.ask("PING")
	switch {
	case err != nil:
		return fmt.Errorf("it does not reply as Redis does: %w", err)
	case strings.HasPrefix(v.Text, "NOAUTH"):
		return ErrNeedsPassword
	case v.IsError():
		return errors.New(v.Text)
	}
	g := newGuard(c.Prefix, c.Lasts)
	if v, err = w.ask(g.limit([]string{c.Prefix + "none"})...); err != nil || v.Kind != ':' {
		return errors.Join(err, fmt.Errorf("the run gives its keys a time to live with EVAL, "+
			"which the server refused: %s", v.Text))
	}
	if v, err = w.ask("DEL", c.Prefix+"none"); err != nil || v.Kind != ':' {
		return errors.Join(err, fmt.Errorf("the run deletes its keys with DEL, which the server refused: %s", v.Text))
	}
	names, err := c.names(w)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("the server already has keys that begin with %q", c.Prefix)
	}
	return err
}

// login authenticates with the server and selects the database.
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

// Sweep deletes the keys that a run has left behind: all keys with its prefix.
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
	names, err := c.names(w)
	if err != nil || len(names) == 0 {
		return err
	}
	v, err := w.ask(append([]string{"DEL"}, names...)...)
	if err == nil && v.IsError() {
		err = fmt.Errorf("deleting the keys of the run at %s: %s", e.address, v.Text)
	}
	return err
}

// names lists the keys that have the prefix.
func (c Foreign) names(w *wire) (names []string, err error) {
	for cursor := "0"; ; {
		v, err := w.ask("SCAN", cursor, "COUNT", "1000", "MATCH", quoted(c.Prefix)+"*")
		switch {
		case err != nil:
			return nil, err
		case v.IsError() || len(v.List) != 2:
			return nil, fmt.Errorf("the run finds its keys with SCAN, which the server refused: %s", v.Text)
		}
		for _, name := range v.List[1].Texts() {
			if strings.HasPrefix(name, c.Prefix) {
				names = append(names, name)
			}
		}
		if cursor = v.List[0].Text; cursor == "0" {
			return names, nil
		}
	}
}

// quoted returns a glob pattern that matches only s.
func quoted(s string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`).Replace(s)
}
