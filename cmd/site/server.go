// Package site brings the page on which a reader plays to a browser: served on this machine, or as the files of a site,
// with the simulator as WebAssembly that answers it in a worker.
//
// Goals: nobody drives the page but who was given its address; as files it sends nothing anywhere; what is compiled is
// the source of the program that writes it. Non-goals: what the page does (scenarios/play).
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

// Server answers the page that knows its secret, and no other.
type Server struct {
	listener net.Listener
	secret   string
	again    func() (play.State, error) // the state that a page begins with now
	player   play.Player

	sync.Mutex // of what follows
	start      play.State
}

// Listen makes a server on a free port of this machine. Its page begins with a state, and when it is loaded with what
// again gives then.
func Listen(start play.State, again func() (play.State, error)) (*Server, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	return &Server{listener: listener, secret: rand.Text(), again: again, start: start}, nil
}

// Address is the page's.
func (s *Server) Address() string { return "http://" + s.host() + "/" + s.secret + "/" }

func (s *Server) host() string { return s.listener.Addr().String() }

// Serve answers until ctx is done.
func (s *Server) Serve(ctx context.Context) error {
	server := &http.Server{Handler: s, ReadHeaderTimeout: headersWithin,
		BaseContext: func(net.Listener) context.Context { return ctx }}
	defer context.AfterFunc(ctx, func() { server.Close() })()
	if err := server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// headersWithin is how long a client may take to send the header of a request.
const headersWithin = 5 * time.Second

// mostAsked bounds the size of a request, in bytes: twice that of the largest scenario, whose text is escaped in it.
const mostAsked = 4 << 20

// ServeHTTP serves the page, and what it asks. A host that is not the server's own is that of a page elsewhere, whose
// name leads here.
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

// page serves the page. A file is read anew, so that the page shows it as it is when it is loaded again; one that is
// gone, or cannot be read now, is shown as it last was.
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

// ask answers a request in lines of JSON: what is done so far, then the answer.
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
