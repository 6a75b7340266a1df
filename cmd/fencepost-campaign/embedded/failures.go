package embedded

import (
	"fmt"
	"strings"
	"sync"
)

// failures are what a server logs as errors: the first ones, and the last one that says that it cannot store.
type failures struct {
	mu      sync.Mutex
	first   []error
	ended   bool  // the server says that it cannot run
	storing error // why it cannot store; nil if it has not said so
}

// most is how many are kept.
const most = 5

func (f *failures) seen() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.first
}

func (f *failures) fatal() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ended
}

// stuck is why the server cannot store; nil if it has not said so.
func (f *failures) stuck() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.storing
}

// Errorf keeps an error.
func (f *failures) Errorf(format string, v ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	err := fmt.Errorf(format, v...)
	if len(f.first) < most {
		f.first = append(f.first, err)
	}
	if storage(err.Error()) {
		f.storing = err
	}
}

// storage reports whether an error of the server's log says that a stream stores nothing more. What clients have sent
// stands behind their addresses in it, and so cannot look like that.
func storage(text string) bool {
	return (strings.HasPrefix(text, "Filestore [") || strings.HasPrefix(text, "JetStream stream '")) &&
		strings.Contains(strings.ToLower(text), " critical write error: ")
}

// Fatalf keeps an error. The server says by it that it cannot start, and would have its process ended.
func (f *failures) Fatalf(format string, v ...any) {
	f.Errorf(format, v...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

// Noticef keeps nothing.
func (*failures) Noticef(string, ...any) {}

// Warnf keeps nothing.
func (*failures) Warnf(string, ...any) {}

// Debugf keeps nothing.
func (*failures) Debugf(string, ...any) {}

// Tracef keeps nothing.
func (*failures) Tracef(string, ...any) {}
