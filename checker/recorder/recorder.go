// Package recorder lets a production service record what it does with its locks. The command "fencepost check" checks
// the recording.
//
// A Recorder appends one line per event to a file, in the format of package history. Each line is passed to the
// operating system in a single write before the call returns. If the service crashes, the file is complete up to its
// last event. If the machine crashes or the disk is full, at most the last line is cut off, and check reports it.
// Recording an event takes one to two microseconds. It allocates no memory, except for the name of each attempt.
//
// Each machine writes its own file, and check examines the files together. Options.ClockError says how far a machine's
// clock may be from true time. If a violation depends on the order of two events and the clocks cannot decide that
// order, check reports the law as undecided, never as violated. The order of events within a process is always certain.
//
// Goals: recording is cheap enough to leave on, and the recording is correct even if the service dies in the middle of
// an operation.
//
// Non-goals: checking histories, or sending them anywhere.
//
// This package runs in real time: it reads the host's clock and writes files.
package recorder

import (
	"cmp"
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

// Options are the settings that a Recorder writes into the header of its file.
type Options struct {
	// Process is the name of the recording process. It must differ between machines, and between a service and its
	// successor after a restart. If empty, it defaults to the program, the host and the process ID:
	// "orders@host-3-4711".
	Process history.Process
	// ClockError is how far the host's clock may be from true time, in either direction, as its NTP client reports it
	// (chronyc tracking: root dispersion + root delay/2). It must be positive: no two machines have exactly the same
	// time.
	ClockError time.Duration
	// Header contains everything else that is known: locks, TTL, hold, slack, and the service. New sets its Start, End
	// and ClockError.
	Header history.Header
}

// Recorder writes a history. It is safe for concurrent use by multiple goroutines. A nil Recorder records nothing.
type Recorder struct {
	process history.Process
	header  history.Header
	start   int64     // time at which the recording started, in ns since 1970
	close   io.Closer // closes the file; nil if the recorder did not create it

	mu       sync.Mutex
	to       io.Writer
	line     []byte
	next     int   // index of the next event
	attempts int64 // number of attempts so far
	err      error // the first write error, or errClosed; nothing is written after it
	leftOut  error // the first argument that was not recorded because it contradicts the header
	event    history.Event
	grant    history.Grant
}

// Create creates a file and records into it. It returns an error if the file already exists, so a Recorder never
// overwrites or appends to another service's recording.
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

// New records into w. It passes each line in a single Write. It returns an error if the options are invalid or the
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
	r.header = h
	line, err := history.AppendHeader(nil, &h)
	if err == nil {
		_, err = w.Write(line)
	}
	if err != nil {
		return nil, fmt.Errorf("recorder: %w", err)
	}
	return r, nil
}

// valid replaces invalid UTF-8 in a name with "?".
func valid[T ~string](name T) T { return T(strings.ToValidUTF8(string(name), "?")) }

// Err returns the first write error, after which nothing more is recorded. If there was none, but an argument was left
// out because it contradicts Options.Header, Err returns an error that says so. Otherwise, it returns nil.
func (r *Recorder) Err() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return cmp.Or(r.err, r.leftOut)
}

// errClosed is returned for events recorded after Close.
var errClosed = errors.New("recorder: the recorder is closed")

// Close ends the recording. It returns what Err returns, joined with any error from closing the file. Further calls
// return nil.
func (r *Recorder) Close() error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	err := cmp.Or(r.err, r.leftOut)
	if errors.Is(err, errClosed) {
		return nil
	}
	r.err = errClosed
	if r.close != nil {
		err = errors.Join(err, r.close.Close())
	}
	return err
}

// Record writes any other event:
//   - a request that the protected resource accepted or refused (apply)
//   - a client's read or write
//   - a change to a server's key (key-set, key-gone), with the attempt whose Name is the key's value
//
// Record sets the event's index and time, and its process if it has none. All other times in the event must be Unix
// times. A key without an Until is recorded as one that does not expire. If the event is not allowed in a history,
// Record returns an error and writes nothing.
func (r *Recorder) Record(e history.Event) error {
	if r == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.event = e
	if e.Sent != 0 {
		r.event.Sent = r.since(e.Sent)
	}
	switch isKey := e.F == history.KeySet || e.F == history.KeyProlonged; {
	case e.Until != 0:
		r.event.Until = r.since(e.Until)
	case isKey:
		r.event.Until = history.Never
	}
	if e.Grant != nil {
		r.grant = *e.Grant
		r.grant.Since, r.grant.Granted = r.since(r.grant.Since), r.since(r.grant.Granted)
		r.grant.Until = r.since(r.grant.Until)
		r.event.Grant = &r.grant
	}
	return r.write(time.Now().UnixNano())
}

// since converts a Unix time to the time since the start of the recording.
func (r *Recorder) since(t history.Time) history.Time {
	if t == history.Never {
		return t
	}
	return t - history.Time(r.start)
}

// write sets the index and time of r.event and writes it.
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
	if err == nil {
		err = r.header.Refuses(e)
	}
	if err != nil {
		return fmt.Errorf("recorder: %w", err)
	}
	r.next++
	if _, err := r.to.Write(line); err != nil {
		r.err = fmt.Errorf("recorder: %w", err)
	}
	return r.err
}
