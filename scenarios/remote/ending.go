package remote

import (
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"slices"
	"sync"
)

// tail stores the text that a process has printed since its last message. This text shows why the process ended.
type tail struct {
	mu     sync.Mutex
	text   []byte
	last   []byte // the latest bytes, which may contain the beginning of a mark
	killed string // why the process was killed; empty if it was not
}

// tailLimit is the maximum number of bytes that are stored. If there are more, only the beginning is stored, because
// the first lines show the cause.
const tailLimit = 1 << 20

// Write adds output from the process, but stores only the text after the last mark.
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

// forget discards the text printed so far.
func (t *tail) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text = t.text[:0]
}

// kill records why the process is being killed.
func (t *tail) kill(why string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.killed = why
}

// shown is the maximum number of bytes of the output that are reported.
const shown = 4 << 10

// race is how a race detector report begins.
const race = "WARNING: DATA RACE"

// ending returns an error that explains why the process ended. more is the rest of its output.
func (t *tail) ending(err error, more []byte) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	text := bytes.TrimSpace(slices.Concat(more, t.text))
	switch exit := (*exec.ExitError)(nil); {
	case t.killed != "":
		return errors.New(t.killed + culprits(text))
	case bytes.Contains(text, []byte(Standstill)):
		return errors.New(Standstill + culprits(text))
	case bytes.Contains(text, []byte(race)):
		return fmt.Errorf("the race detector found a race in the code under test:\n%s", text)
	case !errors.As(err, &exit) || exit.ExitCode() != 2:
		return fmt.Errorf("the code under test ended its process: %v\n%s", err, text[:min(len(text), shown)])
	}
	return fmt.Errorf("the code under test crashed its process:\n%s", text[:min(len(text), shown)])
}
