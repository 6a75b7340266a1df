package consul

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// started starts a Consul server from PATH, waits until it has a leader, and returns its base URL. Debian does not
// package it; sim/README.md says how to build it.
func started(t *testing.T) string {
	t.Helper()
	testkit.FullNeeds(t, "consul")
	host, api := testkit.FreeAddress(t)
	_, server := testkit.FreeAddress(t)
	_, gossip := testkit.FreeAddress(t)
	c := exec.CommandContext(t.Context(), "consul", "agent", "-server", "-bootstrap", "-bind", host, "-client", host,
		"-data-dir", t.TempDir(), "-log-level", "info", "-hcl", fmt.Sprintf(`ports { http = %s, server = %s,
			serf_lan = %s, serf_wan = -1, dns = -1, grpc = -1 }`, api, server, gossip))
	out, err := c.StdoutPipe()
	if err == nil {
		err = c.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Wait() }) // the end of the test's context kills it
	// sessions can be created once the server has been registered as a healthy member
	missing := []string{"member joined, marking health alive", "Synced node info"}
	lines := bufio.NewScanner(out)
	for len(missing) > 0 && lines.Scan() {
		for i, text := range missing {
			if strings.Contains(lines.Text(), text) {
				missing = append(missing[:i], missing[i+1:]...)
				break
			}
		}
	}
	if len(missing) > 0 {
		t.Fatalf("Consul ended before it was ready: %v", lines.Err())
	}
	go io.Copy(io.Discard, out)
	return "http://" + net.JoinHostPort(host, api)
}

// noSession matches two releases' answers to a request with a session ID that is not a UUID. Consul 1.10 and 1.14 word
// the error differently.
var noSession = regexp.MustCompile(`raft apply failed: (invalid session ".*"|failed session lookup: .*)$`)

// TestARealServerAnswersAlike sends the same requests to a real Consul server and to the simulated one: sessions, lock
// delays, check-and-set and blocking queries. The server's release may differ from the one in answersFile.
func TestARealServerAnswersAlike(t *testing.T) {
	testkit.ThoroughOnly(t) // it waits for sessions to end, which takes 50 s of real time
	base := started(t)
	titles, requests, _ := cases(t)
	for _, title := range titles {
		t.Run(title, func(t *testing.T) {
			want := play(real{t, base}, requests[title])
			var got []string
			l := newLab(t, 1)
			l.client("client-1", func(c *caller) { got = play(modeled{c}, requests[title]) })
			l.run(limit)
			for _, lines := range [][]string{got, want} {
				for i := range lines {
					lines[i] = noSession.ReplaceAllString(lines[i], "raft apply failed: no session")
				}
			}
			alike(t, got, want)
		})
	}
}
