package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
)

// place says where a command finds its campaign: on which server, and under which name.
type place struct {
	console
	access access.Server
	file   string // the file that says how to reach the server; may be empty
	name   string // the name of the campaign; may be empty
	folder string // the campaign's folder on this machine; may be empty
	listen string // address for an embedded server

	server *embedded.Server
	nc     *nats.Conn
}

// natsURL is the environment variable that holds the server's URL. Unlike a command line, which other users of the
// machine can read, it may contain a secret.
const natsURL = "NATS_URL"

func (p *place) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.access.URL, "nats", "",
		fmt.Sprintf("`URL` of a NATS server with JetStream (default: the variable %s, which may contain a password)",
			natsURL))
	f.StringVar(&p.file, "access", "",
		fmt.Sprintf("`FILE` with the address and credentials of a server: a copy of DIR/nats/%s", access.FileName))
	f.StringVar(&p.access.Creds, "creds", "", "`FILE` with NATS credentials")
	f.StringVar(&p.access.CA, "tls-ca", "", "`FILE` with trusted CA certificates")
	f.StringVar(&p.access.Cert, "tls-cert", "", "`FILE` with the TLS client certificate")
	f.StringVar(&p.access.Key, "tls-key", "", "`FILE` with the key of the client certificate")
	f.StringVar(&p.name, "name", "", "the campaign's `NAME`")
	f.StringSliceVar(&p.access.Binaries, "binary", nil,
		"allow the test binary with this `SHA256` to run on this machine, although it was not built here")
	c.MarkFlagsMutuallyExclusive("nats", "access")
}

// settle determines how to reach the server, if a flag or the environment variable names it. elsewhere reports whether
// one of them does. settle also unsets the variable, because it may contain a secret that programs started later must
// not inherit.
func (p *place) settle() (elsewhere bool, err error) {
	fromVariable := os.Getenv(natsURL)
	os.Unsetenv(natsURL)
	switch {
	case p.file != "":
		a, err := access.ReadFile(p.file)
		if err != nil {
			return true, fmt.Errorf("--access: %w", err)
		}
		a.Binaries = append(a.Binaries, p.access.Binaries...)
		p.access = *a
		return true, nil
	case p.access.URL != "" && p.access.Secret():
		return true, fmt.Errorf("--nats must not contain a user, password or token, "+
			"since every user of this machine can see it in the process list: "+
			"set the environment variable %s, or use --creds or --access", natsURL)
	case p.access.URL == "":
		p.access.URL = fromVariable
	}
	return p.access.URL != "", nil
}

// storeIn returns the path where a campaign folder's embedded server stores its data.
func storeIn(folder string) string { return filepath.Join(folder, "nats") }

// serve starts an embedded server, and connects to it.
func (p *place) serve(folder string) (err error) {
	p.server, err = embedded.Start(embedded.Options{Folder: storeIn(folder), Listen: p.listen, Notice: p.notice})
	if err != nil {
		return err
	}
	p.trust(&p.server.Access)
	return p.connect()
}

// trust copies a to p.access, and also permits the test binaries given with --binary.
func (p *place) trust(a *access.Server) {
	binaries := p.access.Binaries
	p.access = *a
	p.access.Binaries = slices.Concat(a.Binaries, binaries)
}

func (p *place) connect() (err error) {
	p.nc, err = p.access.Connect("fencepost campaign", p.notice)
	return err
}

// find is like reach, but starts the campaign folder's embedded server if it is not running.
func (p *place) find() error {
	err := p.reach()
	if errors.Is(err, errAway) {
		return p.serve(p.folder)
	}
	return err
}

// errAway reports that a folder's server is not running.
var errAway = errors.New("the server of the campaign is not running")

// reach connects to the server named by the user, or to the one that serves the campaign's folder.
func (p *place) reach() error {
	if elsewhere, err := p.settle(); err != nil {
		return err
	} else if elsewhere {
		return p.connect()
	}
	if p.folder == "" {
		return errors.New("name the campaign's server with --nats URL or --access FILE, " +
			"or its folder with --out DIR if it was started on this machine")
	}
	running, a, err := embedded.Running(storeIn(p.folder))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no campaign in the folder %s", p.folder)
	case err != nil:
		return err
	case !running:
		return fmt.Errorf("%w in %s: rerun the command that started the campaign", errAway, p.folder)
	}
	p.trust(a)
	return p.connect()
}

// choose determines the campaign's name: the given name, or the name of the only campaign on the server.
func (p *place) choose(ctx context.Context) error {
	if p.name != "" {
		return nil
	}
	names, err := queue.List(ctx, p.nc)
	switch {
	case err != nil:
		return err
	case len(names) == 0:
		return fmt.Errorf("there is no campaign at %s", p.access.Shown())
	case len(names) > 1:
		return fmt.Errorf("there are several campaigns at %s: choose one with --name: %s", p.access.Shown(),
			strings.Join(names, ", "))
	}
	p.name = names[0]
	return nil
}

// opened finds the campaign on its server and opens it.
func (p *place) opened(ctx context.Context) (*queue.Campaign, error) {
	if err := p.find(); err != nil {
		return nil, err
	}
	if err := p.choose(ctx); err != nil {
		return nil, err
	}
	return queue.Open(ctx, p.nc, p.name)
}

// close closes the connection, and also stops the server if it is embedded.
func (p *place) close() {
	if p.nc != nil {
		p.nc.Close()
	}
	if p.server != nil {
		p.server.Close()
	}
}
