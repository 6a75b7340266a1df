package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/embedded"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
)

// place is the server at which a command finds its campaign.
type place struct {
	console
	access queue.Access
	name   string // of the campaign; may be empty
	folder string // of the campaign on this machine; may be empty
	listen string // of an embedded server

	server *embedded.Server
	nc     *nats.Conn
}

// natsURL is the variable from which commands take the URL of the server, so that its secrets need not be in a command
// line, which other users of the machine may read.
const natsURL = "NATS_URL"

func (p *place) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&p.access.URL, "nats", os.Getenv(natsURL),
		"the `URL` of a NATS server with JetStream (default $"+natsURL+")")
	f.StringVar(&p.access.Creds, "creds", "", "a `FILE` with NATS credentials")
	f.StringVar(&p.access.CA, "tls-ca", "", "a `FILE` with certificates of authorities to trust")
	f.StringVar(&p.access.Cert, "tls-cert", "", "a `FILE` with a certificate of this client")
	f.StringVar(&p.access.Key, "tls-key", "", "a `FILE` with its key")
	f.StringVar(&p.name, "name", "", "the campaign's `NAME`")
}

// storeIn is where an embedded server keeps its store in the folder of a campaign.
func storeIn(folder string) string { return filepath.Join(folder, "nats") }

// serve starts an embedded server, and connects to it.
func (p *place) serve(folder string) (err error) {
	p.server, err = embedded.Start(embedded.Options{Folder: storeIn(folder), Listen: p.listen})
	if err != nil {
		return err
	}
	p.access.URL = p.server.URL
	return p.connect()
}

// connect connects to the server of the URL.
func (p *place) connect() (err error) {
	p.nc, err = p.access.Connect("fencepost campaign", p.notice)
	return err
}

// find is reach, and starts the server of a folder if it does not run.
func (p *place) find() error {
	away := p.access.URL == "" && p.folder != ""
	err := p.reach()
	if err != nil && away && p.access.URL != "" {
		return p.serve(p.folder)
	}
	return err
}

// reach connects to the server of the URL, or to the one that serves the campaign's folder.
func (p *place) reach() error {
	if p.access.URL != "" {
		return p.connect()
	}
	if p.folder == "" {
		return errors.New("say where the campaign is: --nats URL, or --out DIR if it was begun on this machine")
	}
	url := embedded.URL(storeIn(p.folder))
	if url == "" {
		return fmt.Errorf("%s holds no campaign", p.folder)
	}
	p.access.URL = url
	return p.connect()
}

// choose settles the name of the campaign: the one that was given, or the only one on the server.
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
		return fmt.Errorf("there are several campaigns at %s: say which with --name: %s", p.access.Shown(),
			strings.Join(names, ", "))
	}
	p.name = names[0]
	return nil
}

// opened finds the campaign, and opens what is stored of it.
func (p *place) opened(ctx context.Context) (*queue.Campaign, error) {
	if err := p.find(); err != nil {
		return nil, err
	}
	if err := p.choose(ctx); err != nil {
		return nil, err
	}
	return queue.Open(ctx, p.nc, p.name)
}

// close ends the connection, and the server if it is embedded.
func (p *place) close() {
	if p.nc != nil {
		p.nc.Close()
	}
	if p.server != nil {
		p.server.Close()
	}
}
