package http1

import (
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/sim"
)

// mostRequest is the maximum size in bytes of a request in these tests.
const mostRequest = 1000

var front = Front{Longest: mostRequest, TooLong: "413 too long"}

// line is a sim.Line that records what happens on it.
type line struct {
	asked     [][]string
	delivered string
	over      bool
}

func (l *line) Now() sim.Time                                  { return 0 }
func (l *line) Ask(args []string, _ history.Attempt, _ string) { l.asked = append(l.asked, args) }
func (l *line) Deliver(b []byte)                               { l.delivered += string(b) }
func (l *line) HangUp()                                        { l.over = true }

// TestRequestsAreCutFromAnyPieces checks that requests are recognized no matter how their bytes are split into pieces.
// A body may have a length or be chunked, and several requests may follow each other.
func TestRequestsAreCutFromAnyPieces(t *testing.T) {
	const two = "PUT /a?b=c HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAccept: */*\r\nContent-Length: " +
		"4\r\n\r\n{12}" +
		"POST /d HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n" +
		"1;name=value;other=\"a b\"\r\n[\r\n1 ;last\r\n]\r\n0;end\r\nTrailer: x\r\nAnother: y\r\n\r\n"
	for piece := 1; piece <= len(two); piece++ {
		l, w := &line{}, front.Begin().Caller("client-1").Wire("server-1")
		for rest := two; rest != ""; {
			n := min(piece, len(rest))
			if err := w.Written(l, []byte(rest[:n])); err != nil {
				t.Fatal(err)
			}
			rest = rest[n:]
		}
		if l.over || len(l.asked) != 2 || strings.Join(l.asked[0],
			"|") != "HTTP|PUT|/a?b=c|application/json|*/*|{12}" ||
			strings.Join(l.asked[1], "|") != "HTTP|POST|/d|||[]" {
			t.Fatalf("pieces of %d: %q, over: %t", piece, l.asked, l.over)
		}
	}
}

// TestOtherProtocolsGetAClearAnswer checks that bytes other than HTTP/1.1 get a reply, and that the connection is
// closed.
// TestTheLimitIsForOneRequest checks that requests that follow each other without waiting are together allowed to be
// longer than one request.
func TestTheLimitIsForOneRequest(t *testing.T) {
	one := "PUT /a HTTP/1.1\r\nContent-Length: 400\r\n\r\n" + strings.Repeat("x", 400)
	long := "PUT /a HTTP/1.1\r\nContent-Length: 1000\r\n\r\n" + strings.Repeat("x", 1000)
	for _, test := range []struct {
		sent  string
		asked int
		over  bool
	}{{strings.Repeat(one, 5), 5, false}, {one + long, 1, true}, {one + long[:len(long)-1], 1, true}} {
		l, w := &line{}, front.Begin().Caller("client-1").Wire("server-1")
		if err := w.Written(l, []byte(test.sent)); err != nil || l.over != test.over || len(l.asked) != test.asked {
			t.Errorf("%d bytes: %d requests, over: %t, %v", len(test.sent), len(l.asked), l.over, err)
		}
	}
}

func TestOtherProtocolsGetAClearAnswer(t *testing.T) {
	for sent, want := range map[string]string{
		"\x16\x03\x01\x02\x00\x01\x00":     "Client sent an HTTPS request to an HTTP server",
		"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n": "400 Bad Request",
		"*1\r\n$4\r\nPING\r\n":             "400 Bad Request",
		"GET nowhere HTTP/1.1\r\n\r\n":     "400 Bad Request",
		"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nab\r\n0\r\n\r\n": "400 Bad Request",
		"GET /" + strings.Repeat("a", mostRequest) + " HT":                           "413 too long",
	} {
		l, w := &line{}, front.Begin().Caller("client-1").Wire("server-1")
		if err := w.Written(l, []byte(sent)); err != nil || !l.over || !strings.Contains(l.delivered, want) {
			t.Errorf("%.20q: %q, over: %t, %v", sent, l.delivered, l.over, err)
		}
	}
}
