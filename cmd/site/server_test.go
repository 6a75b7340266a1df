package site

import (
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/scenarios/play"
)

const lock = "name: mine\nservers: {redis: 1}\nlock: {protocol: set-nx-px, ttl: 2s}\n"

// served returns a server whose page starts out in the state that the given function returns.
func served(t *testing.T, now func() (play.State, error)) *Server {
	t.Helper()
	s, err := Listen(play.State{Text: lock, Seed: 1}, now)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.listener.Close() })
	return s
}

// answered returns the response to a request.
func (s *Server) answered(method, url, host, body string) *http.Response {
	r := httptest.NewRequest(method, url, strings.NewReader(body))
	if host != "" {
		r.Host = host
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w.Result()
}

// TestOnlyWhoKnowsTheAddressIsAnswered sends valid requests, and requests that another web site or another user of the
// machine could send. The server must answer only the valid ones.
func TestOnlyWhoKnowsTheAddressIsAnswered(t *testing.T) {
	s := served(t, func() (play.State, error) { return play.State{Text: lock, Seed: 1}, nil })
	root := "http://" + s.host()
	const show = `{"do": "show", "seed": "1", "text": "name: x"}`
	for _, c := range []struct {
		method, url, host, body string
		want                    int
	}{
		{"GET", s.Address(), "", "", http.StatusOK},
		{"POST", s.Address() + "ask", "", show, http.StatusOK},
		{"GET", root + "/", "", "", http.StatusNotFound},
		{"GET", root + "/" + strings.ToLower(s.secret) + "/", "", "", http.StatusNotFound},
		{"POST", root + "/ask", "", show, http.StatusNotFound},
		{"GET", s.Address() + "ask", "", "", http.StatusNotFound},
		{"GET", s.Address(), "evil.example", "", http.StatusMisdirectedRequest},
		{"POST", s.Address() + "ask", "evil.example:80", show, http.StatusMisdirectedRequest},
		{"POST", s.Address() + "ask", "", strings.Repeat(" ", mostAsked+1), http.StatusBadRequest},
	} {
		if got := s.answered(c.method, c.url, c.host, c.body); got.StatusCode != c.want {
			t.Errorf("%s %s of %q: %d, not %d", c.method, c.url, c.host, got.StatusCode, c.want)
		}
	}
}

// TestTheFileIsReadAgain reloads the page, first after its file has changed, and then after the file has become
// unreadable. The page must show the file's current content, and then the content that was read last.
func TestTheFileIsReadAgain(t *testing.T) {
	name, gone := "mine", error(nil)
	s := served(t, func() (play.State, error) {
		return play.State{Text: strings.Replace(lock, "mine", name, 1), Seed: 1}, gone
	})
	shows := func(want string) {
		t.Helper()
		page, err := io.ReadAll(s.answered("GET", s.Address(), "", "").Body)
		if err != nil || !strings.Contains(string(page), "name: "+want+`\n`) {
			t.Errorf("the page does not begin with %s: %v", want, err)
		}
	}
	shows("mine")
	name = "changed"
	shows("changed")
	name, gone = "lost", errors.New("it is gone")
	shows("changed")
}

// TestAnUnfinishedHeaderEndsTheConnection checks that the server closes the connection if a client does not complete
// its request's header.
func TestAnUnfinishedHeaderEndsTheConnection(t *testing.T) {
	s := served(t, func() (play.State, error) { return play.State{}, nil })
	s.within = 10 * time.Millisecond
	go s.Serve(t.Context())
	c, err := net.Dial("tcp", s.host())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(time.Minute))
	if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: "); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(c); errors.Is(err, os.ErrDeadlineExceeded) || strings.Contains(string(rest), "200 OK") {
		t.Errorf("the server says %q: %v", rest, err)
	}
}
