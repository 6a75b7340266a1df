package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports/document"
	"github.com/fencepost-sim/fencepost/scenarios/search"
)

// registerPage adds the --serve flag to a command.
func registerPage(c *cobra.Command, page *string) {
	c.Flags().StringVar(page, "serve", "", "serve a live web page of the campaign at `HOST:PORT` of this machine")
	c.Flags().Lookup("serve").NoOptDefVal = "127.0.0.1:0"
}

// show serves the campaign's page until end is called, if the user has asked for it.
func (b *begun) show(ctx context.Context, j *job) (end func(), err error) {
	if b.page == "" {
		return func() {}, nil
	}
	return serve(ctx, b.page, j, b.console)
}

// every is how often the browser reloads a page, in seconds.
const every = "2"

// site serves a campaign's pages.
type site struct {
	*job
	ctx    context.Context
	hosts  []string // host names that requests may use
	secret string   // first element of the pages' paths; other users of the machine do not know it

	mu      sync.Mutex
	stories map[string][]byte // pages of findings, by slug
}

// mainPage is the path of the page that shows the campaign's progress. In a URL, it comes after the secret. The pages
// of findings are in the same folder.
const mainPage = "/campaign.html"

// serve serves the pages at an address that only this machine can reach, until end is called.
func serve(ctx context.Context, at string, j *job, to console) (end func(), err error) {
	l, err := net.Listen("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("--serve: %w", err)
	}
	address := l.Addr().(*net.TCPAddr)
	if !address.IP.IsLoopback() {
		l.Close()
		return nil, fmt.Errorf("--serve %s: the address must be on the loopback interface, "+
			"for example 127.0.0.1:8080", at)
	}
	s := &site{job: j, ctx: ctx, stories: map[string][]byte{}, secret: "/" + rand.Text(),
		hosts: []string{address.String(), fmt.Sprintf("localhost:%d", address.Port)}}
	server := &http.Server{Handler: s, ReadHeaderTimeout: 5 * time.Second}
	go server.Serve(l)
	to.notice(fmt.Sprintf("the page of campaign %s is http://%s%s%s", j.Name, address, s.secret, mainPage))
	return func() { server.Close() }, nil
}

// ServeHTTP serves the main page or a finding's page.
func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	known := false
	for _, host := range s.hosts {
		known = known || r.Host == host
	}
	// The request may come from another site's page, if that site has made its host name resolve to this machine.
	if !known || r.Method != http.MethodGet {
		http.Error(w, "forbidden", http.StatusForbidden)
		return
	}
	page, ours := strings.CutPrefix(r.URL.Path, s.secret)
	if !ours {
		http.NotFound(w, r)
		return
	}
	var text []byte
	var err error
	switch page {
	case mainPage:
		text, err = s.main(w)
	default:
		slug, ours := strings.CutPrefix(page, strings.TrimSuffix(mainPage, ".html")+"-")
		slug, html := strings.CutSuffix(slug, ".html")
		if !ours || !html {
			http.NotFound(w, r)
			return
		}
		text, err = s.finding(slug)
	}
	switch {
	case errors.Is(err, errNoPage):
		http.NotFound(w, r)
	case err != nil:
		w.Header().Set("Refresh", every)
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
	default:
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Referrer-Policy", "no-referrer")
		w.Header().Set("X-Frame-Options", "DENY")
		w.Write(text)
	}
}

// answer is how long the server may take to report the campaign's state.
const answer = 10 * time.Second

func (s *site) status() (*status, error) {
	ctx, cancel := context.WithTimeout(s.ctx, answer)
	defer cancel()
	return statusOf(ctx, s.Campaign)
}

// main returns the campaign's page in its current state. While the campaign is running, the browser reloads it
// regularly.
func (s *site) main(w http.ResponseWriter) ([]byte, error) {
	now, err := s.status()
	if err != nil {
		return nil, err
	}
	if now.Verdict == "running" {
		w.Header().Set("Refresh", every)
	}
	d := now.document()
	var links document.Links
	for _, f := range now.Findings {
		links = append(links, document.LinkTo{Words: fmt.Sprintf("%s by %s: seed %d", f.Law, f.Cause, f.First),
			Slug: slugOf(f)})
	}
	if len(links) > 0 {
		d.Body = append(d.Body, document.Section{Heading: "What happened", Body: []document.Block{links}})
	}
	return render(d, mainPage)
}

func render(d *document.Document, at string) ([]byte, error) {
	var b bytes.Buffer
	err := d.HTML(&b, path.Base(at))
	return b.Bytes(), err
}

// slugOf returns the name of a finding's page. The name contains the finding's lowest seed, so a finding gets a new
// page when it occurs with a lower seed.
func slugOf(f finding) string {
	return fmt.Sprintf("%s-%s-%d", f.Entry, search.Slug(f.Finding), f.First)
}

// errNoPage is returned for a page that does not exist.
var errNoPage = errors.New("there is no such page")

// finding returns a finding's page. It shows the run with the finding's first seed, and that run's timeline.
func (s *site) finding(slug string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if text := s.stories[slug]; text != nil {
		return text, nil
	}
	now, err := s.status()
	if err != nil {
		return nil, err
	}
	for _, f := range now.Findings {
		if slugOf(f) != slug {
			continue
		}
		for i, e := range s.order.Entries {
			if e.Name != f.Entry {
				continue
			}
			d, err := s.subjects[i].story(f)
			if err != nil {
				return nil, err
			}
			text, err := render(d, mainPage)
			if err == nil {
				s.stories[slug] = text
			}
			return text, err
		}
	}
	return nil, errNoPage
}
