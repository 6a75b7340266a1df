// Package site provides the page on which users can play with scenarios in a browser. It either serves the page from
// this machine or writes it as the files of a web site. On the web site, the simulator runs as WebAssembly in a worker.
//
// Goals: only people who have been given the served page's URL can use it. A web site's page does not send anything to
// anyone. Its simulator is compiled from the source of the program that writes the files.
//
// Non-goals: what the page does (see scenarios/play).
package site

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/play"
)

// Server serves the page. It answers only requests with its secret in the URL.
type Server struct {
	listener net.Listener
	secret   string
	again    func() (play.State, error) // returns the state in which the page begins when it is loaded
	player   play.Player
	within   time.Duration // how long a client may take to send the header of a request

	sync.Mutex // protects the fields below
	start      play.State
}

// Listen returns a server that listens on a free port on this machine. Each time the page is loaded, the server calls
// load to get the page's initial state. If load fails, the page uses the state from the last call that succeeded or, if
// there was none, start.
func Listen(start play.State, load func() (play.State, error)) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, secret: rand.Text(), again: load, start: start, within: 5 * time.Second}, nil
}

// Address returns the page's URL, with the secret.
func (s *Server) Address() string { return "http://" + s.host() + "/" + s.secret + "/" }

func (s *Server) host() string { return s.listener.Addr().String() }

// Serve answers requests until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: s.within,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// mostAsked is the maximum request size in bytes. It is twice the maximum scenario size, because the request contains
// the scenario as an escaped string.
const mostAsked = 4 << 20

// ServeHTTP serves the page and handles its requests. It refuses every request that is addressed to another host name,
// because such a request comes from another web site that has made its host name resolve to this machine (DNS
// rebinding).
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Host != s.host():
		http.Error(w, "this server answers to "+s.host(), http.StatusMisdirectedRequest)
	case r.Method == http.MethodGet && r.URL.Path == "/"+s.secret+"/":
		s.page(w)
	case r.Method == http.MethodPost && r.URL.Path == "/"+s.secret+"/ask":
		s.ask(w, r)
	default:
		http.NotFound(w, r)
	}
}

// page serves the page. It reads the scenario file again, so that the user can see changes to the file by reloading the
// page. If the file cannot be read, the page shows the last version that could be read.
func (s *Server) page(w http.ResponseWriter) {
	s.Lock()
	if now, err := s.again(); err == nil {
		s.start = now
	}
	start := s.start
	s.Unlock()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.Header().Set("X-Frame-Options", "DENY")
	if err := (&play.Page{Start: start, Served: true}).Write(w); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// ask answers a request with lines of JSON: first progress reports, then the answer.
func (s *Server) ask(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostAsked))
	if err != nil {
		http.Error(w, "the request cannot be read: "+err.Error(), http.StatusBadRequest)
		return
	}
	w.Header().Set("Content-Type", "application/x-ndjson")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	lines := json.NewEncoder(w)
	lines.SetEscapeHTML(false)
	flush := http.NewResponseController(w)
	answer := s.player.Ask(r.Context(), body, func(p play.Progress) {
		lines.Encode(map[string]play.Progress{"progress": p})
		flush.Flush()
	})
	lines.Encode(map[string]json.RawMessage{"answer": answer})
}
