//go:build linux

package realtime

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
)

// witness is a plain handler that also records the requests that are passed on to the world.
type witness struct {
	plain
	asked *[]string
}

func (h witness) Asked(c *Conn, args []string) {
	*h.asked = append(*h.asked, strings.Join(args, " "))
	h.plain.Asked(c, args)
}

// neighbors contains what other users of the machine may send to a client's port. They do not know its password, and
// each of them gets an error or no answer.
var neighbors = map[string]string{
	"a command":          "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$1\r\nb\r\n",
	"commands at once":   strings.Repeat("*2\r\n$3\r\nDEL\r\n$1\r\na\r\n", 100),
	"a health check":     "PING\r\n",
	"a replica":          "SYNC\r\n",
	"a web browser":      "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
	"a TLS client":       "\x16\x03\x01\x02\x00\x01\x00",
	"a long argument":    "*1\r\n$900000000\r\n" + strings.Repeat("x", 1<<20),
	"many arguments":     "*1000000\r\n" + strings.Repeat("$1\r\nx\r\n", 10_000),
	"half a command":     "*3\r\n$3\r\nSET\r\n$4\r\nlo",
	"a report":           "*3\r\n$9\r\nFENCEPOST\r\n$8\r\nACQUIRED\r\n$1\r\na\r\n",
	"one of our own":     "*2\r\n$9\r\nFENCEPOST\r\n$3\r\nOWN\r\n",
	"no password":        "*1\r\n$4\r\nAUTH\r\n",
	"a wrong password":   "*2\r\n$4\r\nAUTH\r\n$5\r\nguess\r\n*2\r\n$3\r\nDEL\r\n$1\r\na\r\n",
	"no such user":       "*3\r\n$4\r\nAUTH\r\n$4\r\nroot\r\n$0\r\n\r\n",
	"another's hello":    "*5\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n$7\r\ndefault\r\n$5\r\nguess\r\n",
	"half a hello":       "*3\r\n$5\r\nHELLO\r\n$1\r\n3\r\n$4\r\nAUTH\r\n",
	"hello alone":        "*2\r\n$5\r\nHELLO\r\n$1\r\n3\r\n",
	"a guess after more": strings.Repeat("*2\r\n$4\r\nAUTH\r\n$1\r\nx\r\n", 1000),
	"nothing":            "",
}

// TestNeighborsChangeNothing checks that nothing sent without the password reaches the world, not even a connection.
// Afterward, the client must still be served.
func TestNeighborsChangeNothing(t *testing.T) {
	var asked []string
	r := newRig(t, witness{asked: &asked}, 0)
	for name, says := range neighbors {
		s := r.call()
		go func() {
			io.WriteString(s, says)
			s.Conn.(*net.TCPConn).CloseWrite()
		}()
		answers, _ := io.ReadAll(s.r)
		for line := range strings.Lines(string(answers)) {
			if line[0] != '-' {
				t.Errorf("%s is answered %q", name, line)
			}
		}
		if len(answers) > 1<<16 {
			t.Errorf("%s is answered with %d bytes", name, len(answers))
		}
	}
	r.do(func() {
		if len(asked) > 0 || len(r.front.conns) > 0 || len(r.front.callers) > 0 {
			t.Errorf("asked %q, with %d clients and %d callers", asked, len(r.front.conns), len(r.front.callers))
		}
		if n := r.front.Refused("client-1"); n < 10 || n > len(neighbors) {
			t.Errorf("%d were refused", n)
		}
	})
	t.Logf("%d hostile neighbors, of which %d requests were let in", len(neighbors), len(asked))
	s := r.dial()
	s.say("INCR", "a")
	if got := s.line(t); got != ":1" {
		t.Errorf("the client is answered %q", got)
	}
}

// TestACrowdOfCallersDoesNotKeepTheClientOut checks that a client gets a connection after far too many others have
// connected without a password. Only a limited number of these may stay connected.
func TestACrowdOfCallersDoesNotKeepTheClientOut(t *testing.T) {
	r := newRig(t, plain{}, 0)
	for range 5 * mostCallers {
		r.call()
	}
	s := r.dial()
	s.say("INCR", "a")
	if got := s.line(t); got != ":1" {
		t.Errorf("the client is answered %q", got)
	}
	r.front.mu.Lock()
	defer r.front.mu.Unlock()
	if n := len(r.front.callers); n > mostCallers {
		t.Errorf("%d callers are kept", n)
	}
}

// TestWaysToGiveThePassword checks all the ways in which libraries send a password.
func TestWaysToGiveThePassword(t *testing.T) {
	r := newRig(t, plain{}, 0)
	secret := r.front.Secret("client-1")
	for _, test := range []struct{ says, want string }{
		{"AUTH " + secret, "+OK"},
		{"auth default " + secret, "+OK"},
		{"HELLO 3 AUTH default " + secret, "%7"},
		{"HELLO 2 SETNAME AUTH AUTH default " + secret, "*14"},
		{"HELLO 3 SETNAME AUTH default " + secret, "-NOAUTH"},
		{"AUTH default guess", "-WRONGPASS"},
		{"AUTH", "-ERR syntax error"},
		{"HELLO 3 AUTH default", "-ERR syntax error"},
		{"PING", "-NOAUTH"},
	} {
		s := r.call()
		s.say(strings.Fields(test.says)...)
		if got := s.line(t); !strings.HasPrefix(got, test.want) {
			t.Errorf("%s: %q, want %s", test.says, got, test.want)
		}
	}
	inline := r.call()
	fmt.Fprintf(inline, "AUTH %s\r\nPING\r\n", secret)
	if got := inline.line(t) + inline.line(t); got != "+OK+PONG" {
		t.Errorf("inline: %q", got)
	}
	if other := r.front.Secret("client-2"); other == secret || len(other) < 26 {
		t.Errorf("client-2 has %q", other)
	}
}
