package embedded

import (
	"fmt"
	"strings"
	"sync"
)

// failures is a NATS server's logger. It records the first few errors, and the latest error about messages that could
// not be stored.
type failures struct {
	mu      sync.Mutex
	first   []error
	ended   bool  // whether the server has reported that it cannot run
	storing error // why the server cannot store messages; nil if it has not reported that
}

// most is the maximum number of errors in failures.first.
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

// stuck returns an error that says why the server is not storing messages, or nil if the server has not reported such
// an error.
func (f *failures) stuck() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.storing
}

// Errorf records an error logged by the server.
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

// storage reports whether an error in the server's log says that a stream no longer stores messages. A client cannot
// cause such a line, because NATS puts the client's address in front of any text that the client sent.
func storage(text string) bool {
	return (strings.HasPrefix(text, "Filestore [") || strings.HasPrefix(text, "JetStream stream '")) &&
		strings.Contains(strings.ToLower(text), " critical write error: ")
}

// Fatalf records an error, and the fact that the server cannot run. NATS's own logger would terminate the process.
func (f *failures) Fatalf(format string, v ...any) {
	f.Errorf(format, v...)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ended = true
}

// Noticef discards the message.
func (*failures) Noticef(string, ...any) {}

// Warnf discards the message.
func (*failures) Warnf(string, ...any) {}

// Debugf discards the message.
func (*failures) Debugf(string, ...any) {}

// Tracef discards the message.
func (*failures) Tracef(string, ...any) {}
