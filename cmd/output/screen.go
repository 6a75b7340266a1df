package output

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/term"
)

// screen describes the user's terminal.
type screen struct {
	width int
	color bool
}

const defaultWidth = 80

// screenOf returns the width of the terminal that w writes to, and whether it shows colors. If w does not write to a
// terminal, there are no colors. Either way, the COLUMNS environment variable overrides the width.
func screenOf(w io.Writer) screen {
	s := screen{width: defaultWidth}
	if f := terminalOf(w); f != nil {
		s.color = os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			s.width = width
		}
	}
	if n, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && n > 0 {
		s.width = n
	}
	return s
}

// terminalOf returns the terminal that w writes to, or nil if w does not write to a terminal.
func terminalOf(w io.Writer) *os.File {
	if p, ok := w.(*printable); ok {
		w = p.to
	}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return f
	}
	return nil
}

// clearLine erases the line that the cursor is on, and moves the cursor to its beginning.
const clearLine = "\r\x1b[K"

// ProgressOn returns a function that reports progress. On a terminal, it shows how much has been done, and how fast, at
// most ten times a second; otherwise it does nothing.
var ProgressOn = func(w io.Writer) func(what string, done, of int) {
	f := terminalOf(w)
	if f == nil {
		return func(string, int, int) {}
	}
	last := time.Now()
	begin, before := last, -1
	return func(what string, done, of int) {
		if before < 0 || done < before {
			begin, before = time.Now(), done
		}
		switch now := time.Now(); {
		case done == of:
			fmt.Fprint(f, clearLine)
		case now.Sub(last) > 100*time.Millisecond:
			last = now
			fmt.Fprintf(f, clearLine+"%d of %d %s%s", done, of, what, rate(done-before, now.Sub(begin)))
		}
	}
}

// rate says how many schedules, or other units of work, were processed per second. It returns "" if it is too early to
// tell.
func rate(done int, in time.Duration) string {
	switch r := float64(done) / in.Seconds(); {
	case in < time.Second || done < 2:
		return ""
	case r < 10:
		return fmt.Sprintf(", %.1f a second", r)
	default:
		return fmt.Sprintf(", %.0f a second", r)
	}
}

// Interruptible returns a context that is done at the first Ctrl-C, so that the command can report what it has found so
// far. A second Ctrl-C ends the program immediately. Interruptible is a variable so that tests can replace it.
var Interruptible = func() (context.Context, context.CancelFunc) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop)
	return ctx, stop
}

// OutliveReaders keeps the program alive when a program that reads its standard output, such as head, exits. The
// command then finishes its work even though its writes fail, and exits with its usual code.
func OutliveReaders() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// readerHasLeft reports whether a write failed because the program reading the output has exited.
func readerHasLeft(err error) bool { return errors.Is(err, syscall.EPIPE) }
