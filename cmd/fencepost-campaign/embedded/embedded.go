// Package embedded runs a NATS server inside this process, for campaigns on one machine or on a few that no other NATS
// server serves.
//
// Goals: what the server has acknowledged outlives a kill and a power failure; started again on the same folder it has
// the same address, so that workers that wait for it come back. Non-goals: clusters, accounts, TLS: whoever wants them
// runs a NATS server of his own.
package embedded

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
)

// Loopback is where the server listens unless it is asked to listen elsewhere, on a free port.
const Loopback = "127.0.0.1:0"

// readyWithin is how long a server may take to read its store and begin to serve.
const readyWithin = 2 * time.Minute

// maxPayload is the largest message, in bytes: NATS advises against more.
const maxPayload = 8 << 20

// Server is a running server.
type Server struct {
	URL    string // with the token without which nobody gets in
	server *server.Server
	lock   *flock.Flock
}

// Options say how a server is run.
type Options struct {
	Folder   string // of its store; created if it does not exist
	Listen   string // host:port; empty: where it listened before, or Loopback
	MaxStore int64  // bytes; 0: as much as the disk has room for, as NATS sees it
}

// urlFile holds the URL of the server in its folder, for nobody but its owner to read: the token is in it.
const urlFile = "url"

// Start starts a server. An error says that its folder or address cannot be used, or that another process uses it.
func Start(o Options) (*Server, error) {
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot write to the folder %s: %w", o.Folder, err)
	}
	lock := flock.New(filepath.Join(o.Folder, "lock"))
	switch free, err := lock.TryLock(); {
	case err != nil:
		return nil, fmt.Errorf("cannot write to the folder %s: %w", o.Folder, err)
	case !free:
		return nil, fmt.Errorf("a server is running in %s already: %s", o.Folder, URL(o.Folder))
	}
	s, err := start(o)
	if err != nil {
		lock.Close()
		return nil, err
	}
	s.lock = lock
	return s, nil
}

func start(o Options) (*Server, error) {
	token, before := rand.Text(), Loopback
	if u, err := url.Parse(URL(o.Folder)); err == nil && u.Host != "" {
		token, before = u.User.Username(), u.Host
	}
	if o.Listen == "" {
		o.Listen = before
	}
	host, text, err := net.SplitHostPort(o.Listen)
	if err != nil {
		return nil, fmt.Errorf("%s is no host:port: %w", o.Listen, err)
	}
	port, err := strconv.Atoi(text)
	if err != nil {
		return nil, fmt.Errorf("%s is no host:port: %w", o.Listen, err)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	n, err := server.NewServer(&server.Options{Host: host, Port: port, Authorization: token, NoSigs: true, NoLog: true,
		JetStream: true, StoreDir: o.Folder, JetStreamMaxStore: o.MaxStore, SyncAlways: true, MaxPayload: maxPayload})
	if err != nil {
		return nil, err
	}
	l := &failures{}
	n.SetLogger(l, false, false)
	go n.Start()
	if !n.ReadyForConnections(readyWithin) {
		n.Shutdown()
		return nil, fmt.Errorf("the NATS server does not start: %w", errors.Join(l.seen()...))
	}
	s := &Server{URL: (&url.URL{Scheme: "nats", User: url.User(token), Host: n.Addr().String()}).String(), server: n}
	if err := os.WriteFile(filepath.Join(o.Folder, urlFile), []byte(s.URL+"\n"), 0o600); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// URL is that of the server that runs, or ran last, in a folder; empty if none has.
func URL(folder string) string {
	text, err := os.ReadFile(filepath.Join(folder, urlFile))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Close ends the server.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
	if s.lock != nil {
		s.lock.Close()
	}
}
