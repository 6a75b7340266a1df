package remote

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// tail keeps what a process printed since it said something last, and tells by it why the process ended.
type tail struct {
	mu     sync.Mutex
	text   []byte
	last   []byte // too few to be a mark
	killed string // why it was; empty: it was not
}

// tailLimit bounds what is kept: the first lines tell why.
const tailLimit = 1 << 20

// Write keeps what comes after the last mark.
func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	all, after := append(t.last, b...), b
	if at := bytes.LastIndex(all, []byte(mark)); at >= 0 {
		t.text, after = t.text[:0], all[at+len(mark):]
	}
	t.text = append(t.text, after[:min(len(after), tailLimit-len(t.text))]...)
	t.last = bytes.Clone(all[max(0, len(all)-len(mark)+1):])
	return len(b), nil
}

// forget drops what was printed so far.
func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// kill notes why the process is killed.
func (t *tail) kill(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed = why
}

// shown is how many bytes of what a process printed are told.
const shown = 4 << 10

// ending says why the process ended, which has printed more on its output.
func (t *tail) ending(err error, more []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(slices.Concat(more, t.text))
	if t.killed != "" {
		return fmt.Errorf("%s. Virtual time stands still while a goroutine runs, or is blocked by something other "+
			"than a channel, a timer or a connection of the client:\n\n%s", t.killed, culprits(string(text)))
	}
	if exit := (*exec.ExitError)(nil); !errors.As(err, &exit) || exit.ExitCode() != 2 {
		return fmt.Errorf("the code under test ended its process: %v\n%s", err, text[:min(len(text), shown)])
	}
	return fmt.Errorf("the code under test brought its process down:\n%s", text[:min(len(text), shown)])
}

var goroutine = regexp.MustCompile(`(?m)^goroutine \d+ .*\[([^\]]*)\]:$`)

// culprits are the goroutines of the bubble that are not durably blocked, each with its state and the calls that are
// not the runtime's.
func culprits(dump string) string {
	var b strings.Builder
	for _, g := range strings.Split(dump, "\n\n") {
		head := goroutine.FindStringSubmatch(g)
		if head == nil || !strings.Contains(head[1], "synctest bubble") || strings.Contains(head[1], "(durable)") ||
			strings.Contains(g, "synctest.Wait(") {
			continue
		}
		state, _, _ := strings.Cut(head[1], ",")
		fmt.Fprintf(&b, "a goroutine, %s:\n%s", state, callsOf(g))
	}
	if b.Len() == 0 {
		return dump[:min(len(dump), shown)]
	}
	return b.String()
}

// depth is how many calls of a goroutine are told.
const depth = 8

// callsOf lists the innermost calls of a goroutine, with their places.
func callsOf(g string) string {
	var b strings.Builder
	lines := strings.Split(g, "\n")
	for i, n := 1, 0; i+1 < len(lines) && n < depth; i++ {
		if strings.HasPrefix(lines[i], "\t") || strings.HasPrefix(lines[i], "runtime.") ||
			!strings.HasPrefix(lines[i+1], "\t") {
			continue
		}
		place, _, _ := strings.Cut(strings.TrimSpace(lines[i+1]), " +")
		fmt.Fprintf(&b, "  %s\n      %s\n", lines[i], place)
		n++
	}
	return b.String()
}

// Groups are the goroutines of a bubble that look alike, the most frequent first, each with the calls of one of them.
func Groups(dump string) string {
	count, of := map[string]int{}, []string{}
	for _, g := range strings.Split(dump, "\n\n") {
		head := goroutine.FindStringSubmatch(g)
		if head == nil || !strings.Contains(head[1], "synctest bubble") || strings.Contains(g, "testing/synctest.") {
			continue
		}
		text := callsOf(g)
		if count[text]++; count[text] == 1 {
			of = append(of, text)
		}
	}
	slices.SortStableFunc(of, func(a, b string) int { return count[b] - count[a] })
	var b strings.Builder
	for _, text := range of[:min(len(of), 3)] {
		fmt.Fprintf(&b, "%d goroutines:\n%s", count[text], text)
	}
	return b.String()
}
