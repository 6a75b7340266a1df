// Package embedded runs a NATS server inside this process, for campaigns on one machine or on a few machines that have
// no other NATS server.
//
// Goals: what the server has acknowledged survives a kill and a power failure. A server that is restarted in the same
// folder has the same address and shows the same certificate, so waiting workers reconnect to it, and to no other
// server. A full disk is reported, and once there is room again, the server continues to store messages. Nobody can
// connect without the folder or a copy of its access.json.
//
// Non-goals: clusters and accounts. Users who need them run their own NATS server.
package embedded

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/gofrs/flock"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
)

// Loopback is where the server listens by default: on a free port of the loopback interface.
const Loopback = "127.0.0.1:0"

const (
	readyWithin = 2 * time.Minute        // how long a server may take to read its stored data before it accepts clients
	tryReady    = 100 * time.Millisecond // the interval between checks whether it accepts them
)

// maxPayload is the maximum message size in bytes. NATS advises against larger messages.
const maxPayload = 8 << 20

// Server is a running NATS server.
type Server struct {
	Access  access.Server // what a client needs to connect
	options Options
	folder  *access.Folder
	lock    *flock.Flock
	pair    tls.Certificate

	server *server.Server // the current instance
	log    *failures      // the log of that instance
	at     net.TCPAddr    // the address at which it listens
	nc     *nats.Conn     // for telling other processes that nothing is stored

	stop    context.CancelFunc
	watched chan struct{} // closed when the goroutine that watches the server has ended
}

// Options determine how a server runs.
type Options struct {
	Folder   string // the folder for its data, which only this user can access; created if it does not exist
	Listen   string // host:port; empty: the previous address, or else Loopback
	MaxStore int64  // maximum size of the stored data in bytes; 0: as much as fits on the disk

	// Notice, if set, is called when the server fails to store messages, and when it can store them again. Its argument
	// is a notice for the user. It is called from another goroutine.
	Notice func(string)
}

// lockFile is locked by the process that is running a server in the folder. A process that checks whether a server is
// running holds a shared lock for a moment.
const lockFile = "lock"

const (
	lockWithin = time.Second           // how long to wait for processes that only check
	lockAgain  = 20 * time.Millisecond // the interval between attempts
)

// Start starts a server. It returns an error if the folder or the address cannot be used or is already in use.
func Start(o Options) (*Server, error) {
	if err := os.MkdirAll(o.Folder, 0o700); err != nil {
		return nil, fmt.Errorf("cannot write to the folder %s: %w", o.Folder, err)
	}
	folder, err := access.Open(o.Folder)
	if err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(o.Folder, lockFile), flock.SetPermissions(0o600))
	ctx, cancel := context.WithTimeout(context.Background(), lockWithin)
	defer cancel()
	switch _, err := lock.TryLockContext(ctx, lockAgain); {
	case errors.Is(err, context.DeadlineExceeded):
		err = fmt.Errorf("a server is already running in %s: join it with fencepost campaign work, or stop it first",
			o.Folder)
		return nil, errors.Join(err, folder.Close())
	case err != nil:
		folder.Close()
		return nil, fmt.Errorf("cannot write to the folder %s: %w", o.Folder, err)
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	s := &Server{options: o, folder: folder, lock: lock}
	if err := s.start(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) start() error {
	before, err := s.folder.Server()
	if errors.Is(err, fs.ErrNotExist) {
		before, err = &access.Server{Token: rand.Text()}, nil
	}
	if err != nil {
		return err
	}
	s.Access = *before
	var pinned string
	if s.pair, pinned, err = certificate(s.folder, before.Certificate); err != nil {
		return fmt.Errorf("the certificate of the server in %s: %w", s.options.Folder, err)
	}
	s.Access.Certificate = pinned
	at, err := s.address(s.options.Listen)
	if err != nil {
		return err
	}
	s.at = *at
	ctx, cancel := context.WithCancel(context.Background())
	if err := s.run(ctx); err != nil {
		cancel()
		return err
	}
	s.listening()
	if err := s.folder.Save(&s.Access); err != nil {
		cancel()
		return err
	}
	if s.nc, err = s.Access.Connect("fencepost campaign: its server", nil); err != nil {
		cancel()
		return err
	}
	s.stop, s.watched = cancel, make(chan struct{})
	go s.watch(ctx)
	return nil
}

// run starts the NATS server, and returns once the server accepts clients. If the server does not start, run returns an
// error that says why.
func (s *Server) run(ctx context.Context) error {
	if err := s.distrust(); err != nil {
		return err
	}
	n, err := server.NewServer(&server.Options{Host: s.at.IP.String(), Port: s.at.Port, Authorization: s.Access.Token,
		TLS: true, TLSTimeout: 5, TLSHandshakeFirst: true,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{s.pair}},
		NoSigs:    true, NoLog: true, JetStream: true, StoreDir: s.options.Folder,
		JetStreamMaxStore: cmp.Or(s.options.MaxStore, math.MaxInt64/2), SyncAlways: true, MaxPayload: maxPayload})
	if err != nil {
		return err
	}
	s.server, s.log = n, &failures{}
	n.SetLogger(s.log, false, false)
	go n.Start()
	for end := time.Now().Add(readyWithin); !n.ReadyForConnections(tryReady); {
		if s.log.fatal() || ctx.Err() != nil || time.Now().After(end) {
			n.Shutdown()
			n.WaitForShutdown()
			return fmt.Errorf("the NATS server did not start: %w", errors.Join(s.log.seen()...))
		}
	}
	return nil
}

// distrust removes the index files of NATS's message store, so that NATS reads all messages from the disk. A message
// that is damaged on disk is then no longer counted, and can be stored again.
func (s *Server) distrust() error {
	notes, err := fs.Glob(s.folder.FS(), "jetstream/*/streams/*/msgs/index.db")
	for _, name := range notes {
		err = errors.Join(err, s.folder.Remove(name))
	}
	return err
}

// address returns the address that the server should listen on. This is the requested address, the address that was
// requested or chosen in an earlier run, or a free port on the loopback interface. If another program is using a port
// that the user requested, address returns an error. If it is using a port that was chosen automatically, address
// chooses another free port.
func (s *Server) address(asked string) (*net.TCPAddr, error) {
	if asked != "" {
		s.Access.Listen = asked
	}
	at, err := resolved(cmp.Or(s.Access.Listen, s.Access.Host(), Loopback))
	if err != nil {
		return nil, err
	}
	l, err := net.ListenTCP("tcp", at)
	switch {
	case err == nil:
		l.Close()
	case s.Access.Listen == "":
		at.Port = 0
	default:
		return nil, fmt.Errorf("the server cannot listen at %s: %w", at, err)
	}
	if at.Port == 0 {
		at.Port = server.RANDOM_PORT
	}
	return at, nil
}

// resolved parses an address of the form HOST:PORT. An empty host means all of this machine's addresses.
func resolved(listen string) (*net.TCPAddr, error) {
	at, err := net.ResolveTCPAddr("tcp", listen)
	if err != nil {
		return nil, fmt.Errorf("%s is not a valid HOST:PORT: %w", listen, err)
	}
	if at.IP == nil {
		at.IP = net.IPv4zero
	}
	return at, nil
}

// listening records the address that the server is listening on.
func (s *Server) listening() {
	at := s.server.Addr().(*net.TCPAddr)
	s.at, s.Access.URL = *at, access.At(at)
	if s.Access.Listen != "" {
		host, _, _ := net.SplitHostPort(s.Access.Listen)
		s.Access.Listen = net.JoinHostPort(host, strconv.Itoa(at.Port))
	}
}

// Know adds checksums to the list of test binaries that this server's workers may execute.
func (s *Server) Know(sums ...string) error {
	for _, sum := range sums {
		if !slices.Contains(s.Access.Binaries, sum) {
			s.Access.Binaries = append(s.Access.Binaries, sum)
		}
	}
	return s.folder.Save(&s.Access)
}

// Running reports whether a server is running in a folder, and how to reach it. If there has never been a server in the
// folder, the error is fs.ErrNotExist. Any other error says what is wrong with the folder.
func Running(path string) (running bool, a *access.Server, err error) {
	folder, err := access.Open(path)
	if err != nil {
		return false, nil, err
	}
	defer folder.Close()
	if a, err = folder.Server(); err != nil {
		return false, nil, err
	}
	lock := flock.New(filepath.Join(path, lockFile), flock.SetPermissions(0o600))
	free, err := lock.TryRLock()
	return !free, a, errors.Join(err, lock.Close())
}

// Close stops the server.
func (s *Server) Close() {
	if s.stop != nil {
		s.stop()
		<-s.watched
		s.nc.Close()
	}
	if s.server != nil {
		s.server.Shutdown()
		s.server.WaitForShutdown()
	}
	s.folder.Close()
	s.lock.Close()
}
