package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThreeTerminals runs the commands shown in the README: start, work, work. It kills one of the workers. The report
// must be the same as from a single process.
func TestThreeTerminals(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, block, _ := strings.Cut(string(text), "<!-- terminals: begin -->\n```sh\n")
	block, _, ok := strings.Cut(block, "```\n<!-- terminals: end -->")
	var calls [][]string
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(line, "#")
		calls = append(calls, strings.Fields(line))
	}
	if !ok || len(calls) != 3 {
		t.Fatalf("the README shows %q", calls)
	}
	_, again, _ := strings.Cut(string(text), "    fencepost campaign report ")
	again, _, _ = strings.Cut(again, "\n")

	dir := t.TempDir()
	says, end, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer says.Close()
	var terminals []*exec.Cmd
	for i, args := range calls {
		c := program(t, dir, args[0], args[1:]...)
		if i == 0 {
			c.Stderr = end
		}
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			end.Close()
			waitFor(t, says, "workers join with: fencepost campaign work --out night")
		}
		terminals = append(terminals, c)
	}
	status := []string{"status", "--out", "night"}
	until(t, "a worker that has joined", func() bool {
		return strings.Contains(call(t, campaignOf(t, dir, status...)).out, "here")
	})
	kill(terminals[1])
	waitFor(t, says, "the campaign is over")
	if err := terminals[2].Wait(); err != nil {
		t.Errorf("the other worker ended with %s", err)
	}
	got := call(t, campaignOf(t, dir, append([]string{"report"}, strings.Fields(again)...)...))
	terminals[0].Process.Signal(os.Interrupt)
	terminals[0].Wait()
	one := t.TempDir()
	want := call(t, program(t, one, "fencepost", append([]string{"explore"}, calls[0][3:]...)...))
	if got.out != want.out || got.code != want.code {
		t.Errorf("exit %d\n%s%s\nwant %d\n%s", got.code, got.out, got.problems, want.code, want.out)
	}
	same(t, filesIn(t, filepath.Join(dir, "night")), filesIn(t, filepath.Join(one, "night")))
}
