package consul

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/sim"
	"github.com/fencepost-sim/fencepost/sim/http1"
)

// answersFile contains requests and the answers of Consul 1.10.12. A case starts with the line "# NAME". A line that
// begins with a method is a request. In requests, S1 stands for the ID of the first session that the case has created,
// and I1 for the first index in an answer. "& " before a request sends it in the background, and "JOIN" waits for its
// answer. "SLEEP 21s" waits. Each JOIN and each other request is followed by a line with the answer: "CODE TYPE
// INDEX BODY".
// To record the answers again, run
//
//	FENCEPOST_CONSUL=http://127.0.0.1:8500 go test ./sim/consul -run TestRequestsAreAnsweredAsByConsul
//
// with the address of a server that was started with "consul agent -dev" or "consul agent -server -bootstrap".
const answersFile = "testdata/answers.txt"

// exchange is one of the two servers being compared, simulated or real.
type exchange interface {
	// ask sends a request and returns the reply's code, some of its header fields and its body.
	ask(r http1.Request) (code int, contentType, index, body string)
	// begin calls f in the background, on a separate connection. Call join to wait until f has returned.
	begin(f func(exchange)) (join func())
	sleep(d time.Duration)
}

// real is a real Consul server.
type real struct {
	t    *testing.T
	base string
}

func (x real) ask(r http1.Request) (code int, contentType, index, body string) {
	request, err := http.NewRequest(r.Method, x.base+r.URI, strings.NewReader(r.Body))
	if err != nil {
		x.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		x.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		x.t.Fatal(err)
	}
	h := response.Header
	return response.StatusCode, h.Get("Content-Type"), h.Get("X-Consul-Index"), string(b)
}

func (x real) begin(f func(exchange)) func() {
	done := make(chan struct{})
	go func() { defer close(done); f(x) }()
	time.Sleep(500 * ms)
	return func() { <-done }
}

func (x real) sleep(d time.Duration) { time.Sleep(d) }

// modeled is a client of the simulated server.
type modeled struct{ *caller }

func (x modeled) ask(r http1.Request) (code int, contentType, index, body string) {
	replies := x.env.Call(10*time.Minute, nil, sim.Request{Conn: sim.Conn{Server: x.names[0], N: x.member},
		Args: r.Args(), Attempt: x.attempt, Phase: r.Method})
	a, head := ReadAnswer(&replies[0]), string(replies[0].Raw())
	_, after, _ := strings.Cut(head, "Content-Type: ")
	contentType, _, _ = strings.Cut(after, "\r\n")
	if a.Index > 0 {
		index = strconv.FormatUint(a.Index, 10)
	}
	return a.Code, contentType, index, a.Body
}

func (x modeled) begin(f func(exchange)) func() {
	var ended sim.Signal
	x.env.Go("background", func(env sim.Env) {
		f(modeled{&caller{x.lab, env, 1, x.attempt}})
		ended.Raise()
	})
	x.env.Sleep(500 * ms)
	return func() { x.env.Sleep(sim.Forever, &ended) }
}

func (x modeled) sleep(d time.Duration) { x.env.Sleep(d) }

// play executes a case's lines on x. It returns the lines together with the answers.
func play(x exchange, lines []string) (shown []string) {
	n := &names{}
	var join func()
	var late string
	for _, line := range lines {
		shown = append(shown, line)
		switch request, behind := strings.CutPrefix(line, "& "); {
		case line == "JOIN":
			join()
			shown = append(shown, "  "+n.hide(late))
		case strings.HasPrefix(line, "SLEEP "):
			d, _ := time.ParseDuration(strings.TrimPrefix(line, "SLEEP "))
			x.sleep(d)
		case behind:
			r := n.request(request)
			join = x.begin(func(x exchange) { late = answerOf(x.ask(r)) })
		default:
			shown = append(shown, "  "+n.hide(answerOf(x.ask(n.request(request)))))
		}
	}
	return shown
}

func answerOf(code int, contentType, index, body string) string {
	contentType, _, _ = strings.Cut(contentType, ";")
	if body == "" {
		contentType = ""
	}
	return fmt.Sprintf("%d %s index=%s %s", code, contentType, index, strings.TrimSpace(body))
}

// names lists the session IDs and indexes in a case's answers. The test replaces them with names, because they differ
// from run to run.
type names struct {
	sessions []string
	indexes  []string
}

var (
	uuid  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	index = regexp.MustCompile(`(CreateIndex":|ModifyIndex":|index=)(\d+)`)
	named = regexp.MustCompile(`\b[SI](\d+)\b`)
	node  = regexp.MustCompile(`"Node":"[^"]*"`)
)

func (n *names) request(line string) http1.Request {
	line = named.ReplaceAllStringFunc(line, func(name string) string {
		i, _ := strconv.Atoi(name[1:])
		list := n.sessions
		if name[0] == 'I' {
			list = n.indexes
		}
		return list[i-1]
	})
	words := strings.SplitN(line, " ", 3)
	r := http1.Request{Method: words[0], URI: words[1]}
	if len(words) == 3 {
		r.Body = words[2]
	}
	return r
}

func (n *names) hide(text string) string {
	text = uuid.ReplaceAllStringFunc(text, func(id string) string { return "S" + number(&n.sessions, id) })
	text = index.ReplaceAllStringFunc(text, func(found string) string {
		parts := index.FindStringSubmatch(found)
		return parts[1] + "I" + number(&n.indexes, parts[2])
	})
	return node.ReplaceAllString(text, `"Node":"NODE"`)
}

// number returns the position of text in a list, counting from 1. If text is new, number appends it to the list.
func number(list *[]string, text string) string {
	i := slices.Index(*list, text)
	if i < 0 {
		i = len(*list)
		*list = append(*list, text)
	}
	return strconv.Itoa(i + 1)
}

// cases reads answersFile and separates the requests from the answers.
func cases(t *testing.T) (titles []string, requests, answered map[string][]string) {
	b, err := os.ReadFile(answersFile)
	if err != nil {
		t.Fatal(err)
	}
	requests, answered = map[string][]string{}, map[string][]string{}
	title := ""
	for in := bufio.NewScanner(strings.NewReader(string(b))); in.Scan(); {
		line := in.Text()
		switch name, begins := strings.CutPrefix(line, "# "); {
		case begins:
			title = name
			titles = append(titles, title)
			continue
		case line == "":
			continue
		case !strings.HasPrefix(line, "  "):
			requests[title] = append(requests[title], line)
		}
		answered[title] = append(answered[title], line)
	}
	return titles, requests, answered
}

// TestRequestsAreAnsweredAsByConsul checks the simulated server's answers against those of a real Consul server.
func TestRequestsAreAnsweredAsByConsul(t *testing.T) {
	titles, requests, answered := cases(t)
	if base := os.Getenv("FENCEPOST_CONSUL"); base != "" {
		answered = map[string][]string{}
		var file strings.Builder
		for _, title := range titles {
			answered[title] = play(real{t, base}, requests[title])
			fmt.Fprintf(&file, "# %s\n%s\n\n", title, strings.Join(answered[title], "\n"))
		}
		if err := os.WriteFile(answersFile, []byte(strings.TrimSuffix(file.String(), "\n")), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if len(titles) < 10 || len(answered) != len(titles) {
		t.Fatalf("%d cases, %d with answers", len(titles), len(answered))
	}
	for _, title := range titles {
		l := newLab(t, 1)
		var got []string
		l.client("client-1", func(c *caller) {
			got = play(modeled{c}, requests[title])
		})
		l.run(limit)
		t.Run(title, func(t *testing.T) { alike(t, got, answered[title]) })
	}
}

// limit is how long a case may take, in virtual time.
const limit = 10 * time.Minute

// alike compares a case's lines, with the simulated server's answers, to the same lines with Consul's answers.
func alike(t *testing.T, got, want []string) {
	t.Helper()
	if len(got) > len(want) {
		t.Errorf("%d lines, and Consul's answers have %d", len(got), len(want))
	}
	for i, line := range want {
		if i >= len(got) || got[i] != line {
			before, now := "", "nothing"
			if i > 0 {
				before = want[i-1]
			}
			if i < len(got) {
				now = got[i]
			}
			t.Errorf("%s\nConsul: %s\nhere:   %s", before, line, now)
		}
	}
}
