// Package recorder lets a service in production record what it does with its locks, for "fencepost check" to judge.
//
// A Recorder appends one line an event to a file, in the form of package history. Each line is passed to the operating
// system in one piece before the call returns: when the service crashes, the file is complete up to its last event;
// when the machine does, or the disk is full, at most the last line is cut off, and check reports it. An event costs
// one to two microseconds and allocates nothing; an attempt allocates its name.
//
// Several machines write a file each, and check judges them together. Options.ClockError states how far their clocks
// may be from true time; whatever the clocks leave uncertain is then undecided, never violated. Events of the same
// process are in order for certain.
//
// Goals: cheap enough to leave on; true, even if the service ends in the middle of an operation. Non-goals: judging;
// sending histories anywhere.
//
// This package runs in real time: it reads the host's clock and writes files.
package recorder

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/safefile"
)

// Options are what the header of the file states.
type Options struct {
	// Process names the recording process. It must differ between machines, and between a service and its successor
	// after a restart. Empty stands for the program, the host and the process ID: "orders@host-3-4711".
	Process history.Process
	// ClockError is how far the host's clock may be from true time, either way, as its NTP client states (chronyc
	// tracking: root dispersion + root delay/2). It must be more than zero: no two machines have one clock.
	ClockError time.Duration
	// Header holds whatever else is known: locks, TTL, hold and slack, the service. Start, End and ClockError are
	// filled in.
	Header history.Header
}

// Recorder writes a history. Its methods may be called by many goroutines at once. A nil Recorder records nothing.
type Recorder struct {
	process history.Process
	start   int64     // ns since 1970
	close   io.Closer // the file, if it is the recorder's own

	mu       sync.Mutex
	to       io.Writer
	line     []byte
	next     int   // index of the next event
	attempts int64 // so far
	err      error // the first error; nothing is written after it
	event    history.Event
	grant    history.Grant
}

// Create creates a file and records into it. It is an error if the file exists: another service's record is neither
// overwritten nor continued.
func Create(path string, o Options) (*Recorder, error) {
	f, err := safefile.Create(path, 0o644)
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	r, err := New(f, o)
	if err != nil {
		return nil, errors.Join(err, safefile.Discard(f))
	}
	r.close = f
	return r, nil
}

// New records into w, to which each line is passed in one Write. It is an error if the options are not valid or the
// header cannot be written.
func New(w io.Writer, o Options) (*Recorder, error) {
	if o.ClockError <= 0 {
		return nil, fmt.Errorf("recorder: ClockError is %v: it must be more than zero, as no clock is exact",
			o.ClockError)
	}
	if o.Process == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("recorder: Options.Process is empty, and the host has no name: %w", err)
		}
		program := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
		o.Process = history.Process(program + "@" + host + "-" + strconv.Itoa(os.Getpid()))
	}
	r := &Recorder{process: valid(o.Process), start: time.Now().UnixNano(), to: w}
	h := o.Header
	h.Start, h.ClockError, h.End = r.start, history.Of(o.ClockError), 0
	line, err := history.AppendHeader(nil, &h)
	if err == nil {
		_, err = w.Write(line)
	}
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	return r, nil
}

// valid makes a name valid UTF-8.
func valid[T ~string](name T) T { return T(strings.ToValidUTF8(string(name), "?")) }

// Err returns the first write error, nil if there was none. After it nothing is recorded.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// errClosed is returned for events after Close.
var errClosed = errors.New("recorder: it is closed")

// Close ends the recording. It returns the first write error, or else that of closing the file.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := r.err
	if errors.Is(err, errClosed) {
		return nil
	}
	r.err = errClosed
	if r.close != nil {
		err = errors.Join(err, r.close.Close())
	}
	return err
}

// Record writes any other event: what the protected resource accepted (apply), a read or a write, changes of the
// servers' keys (key-set, key-gone, of the attempt whose Name is their value). Its index and time are filled in, and
// its process if it has none. The times of its grant, if it has one, count from Unix time 0. An event that a history
// must not contain is an error, and is not written.
func (r *Recorder) Record(e history.Event) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event = e
	if e.Grant != nil {
		r.grant = *e.Grant
		r.grant.Since, r.grant.Granted = r.since(r.grant.Since), r.since(r.grant.Granted)
		r.grant.Until = r.since(r.grant.Until)
		r.event.Grant = &r.grant
	}
	return r.write(time.Now().UnixNano())
}

// since converts a time to one from the start of the recording.
func (r *Recorder) since(t history.Time) history.Time {
	if t == history.Never {
		return t
	}
	return t - history.Time(r.start)
}

// write stamps and writes the current event.
func (r *Recorder) write(now int64) error {
	if r.err != nil {
		return r.err
	}
	e := &r.event
	e.Index, e.Time = r.next, history.Time(now-r.start)
	if e.Process == "" {
		e.Process = r.process
	}
	line, err := history.AppendEvent(r.line[:0], e)
	r.line = line
	if err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	r.next++
	if _, err := r.to.Write(line); err != nil {
		r.err = fmt.Errorf("recorder: %w", err)
	}
	return r.err
}
