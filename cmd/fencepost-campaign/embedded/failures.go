package embedded

import (
	"fmt"
	"sync"
)

// failures are what a server logs as errors while it starts.
type failures struct {
	mu  sync.Mutex
	all []error
}

// most is how many are kept.
const most = 5

func (f *failures) seen() []error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.all
}

func (f *failures) keep(format string, v ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.all) < most {
		f.all = append(f.all, fmt.Errorf(format, v...))
	}
}

// Errorf keeps an error.
func (f *failures) Errorf(format string, v ...any) { f.keep(format, v...) }

// Fatalf keeps an error. The server says by it that it cannot start, and would have its process ended.
func (f *failures) Fatalf(format string, v ...any) { f.keep(format, v...) }

// Noticef keeps nothing.
func (*failures) Noticef(string, ...any) {}

// Warnf keeps nothing.
func (*failures) Warnf(string, ...any) {}

// Debugf keeps nothing.
func (*failures) Debugf(string, ...any) {}

// Tracef keeps nothing.
func (*failures) Tracef(string, ...any) {}
