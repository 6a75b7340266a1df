package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/reading"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// recorded is one invocation of the "fencepost check" command.
type recorded struct {
	output.Frame
	reading, lock, initial string
	clockError             time.Duration
	stated                 bool // whether --clock-error was given
	permits                int
	counted                bool // whether --permits was given
}

func newCheck() *cobra.Command {
	r := &recorded{}
	schemaOnly := false
	c := &cobra.Command{
		Use:   "check FILE…",
		Short: "Judge a recorded history, of any lock service",
		Long: `Judges a history that was recorded elsewhere, in JSON lines or in Jepsen's EDN. ("fencepost check
--schema" prints the JSON Schema of the lines; package checker/recorder writes them.) A law is
unchecked if the history lacks the events that it needs.

A history of registers, with reads, writes and compare-and-set instead of locks, is judged for
linearizability; --initial gives the initial value of each register.

Several files are the histories of several machines, whose events are ordered by their times. If the
clocks may be off (clock_error in the header, or --clock-error), a law that depends on an order that
they do not show is undecided.

A file may have 4 GiB, and all files together 16,777,216 events. Judging that many takes about 8 GB
of memory.

With the default reading, a section ends when the holder calls release. With the strict reading, a
release that failed has released nothing, so the lock stays held.

Exit codes: 0 some law holds and none is violated, 1 a law is violated, 2 bad input, 3 a law is
undecided, a file is cut off, or nothing could be judged. deadlock-freedom and fault-tolerance do
not count if they are undecided, unless exact clocks would show that they are violated.`,
		Example: `  fencepost check _runs/kleppmann-gc-pause-1/history.jsonl
  fencepost check store/latest/history.edn --lock mutex --reading strict
  fencepost check machine-1.jsonl machine-2.jsonl --clock-error 2ms --html report.html`,
		RunE: func(c *cobra.Command, args []string) error {
			r.stated, r.counted = c.Flags().Changed("clock-error"), c.Flags().Changed("permits")
			switch {
			case schemaOnly && len(args) > 0:
				return fmt.Errorf("--schema prints the JSON Schema and reads no history: remove %q", args[0])
			case schemaOnly:
				if err := output.OnlyBeside(c, "schema"); err != nil {
					return err
				}
				_, err := fmt.Fprint(c.OutOrStdout(), history.Schema)
				return err
			case len(args) == 0:
				return fmt.Errorf("check needs a history file\nsee: %s -h", c.CommandPath())
			}
			return r.check(args)
		},
	}
	r.Register(c, pageOfRun)
	c.Flags().StringVar(&r.Out, "out", "", "write the history as it was judged, and the verdict, to `DIR`")
	c.Flags().StringVar(&r.reading, "reading", "",
		"how to interpret a failed release: `default|strict`\n(default: as the header says)")
	c.Flags().StringVar(&r.lock, "lock", "",
		"the lock is a `mutex|reentrant` lock: the history contains\nonly acquires and releases")
	c.Flags().StringVar(&r.initial, "initial", "", "initial `VALUE` of each register (default: as the header says)")
	c.Flags().IntVar(&r.permits, "permits", 0,
		"each lock is a semaphore that `N` clients may hold at once\n(default: as the header says)")
	c.Flags().DurationVar(&r.clockError, "clock-error", 0,
		"how far the clock of each process may have been off\n(default: as the header says)")
	c.Flags().BoolVar(&schemaOnly, "schema", false, "print the JSON Schema of the lines of a history")
	return c
}

// check reads a history, judges it and reports the result. It runs the garbage collector more often than other commands
// do: the whole history is in memory, so infrequent collections would let the process grow to several times the
// history's size.
func (r *recorded) check(paths []string) error {
	defer debug.SetGCPercent(debug.SetGCPercent(100))
	run, err := r.read(paths)
	if err != nil {
		return err
	}
	unlimited := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(unlimited)
	debug.SetMemoryLimit(min(unlimited, roomFor(len(run.History.Events))))
	defer r.Close()
	if err := r.Open("check"); err != nil {
		return err
	}
	if r.Out != "" {
		if err := r.Files.Spare(task.HistoryFile, task.VerdictFile); err != nil {
			return err
		}
	}
	run.Judge()
	run.Files, run.Repeat = r.Out, r.repeat(paths)
	report := run.Document()
	if r.Out != "" {
		r.Draw(task.HistoryFile, func(w io.Writer) error { return history.Encode(w, run.History) })
		r.Keep(task.VerdictFile, "check", report)
	}
	return r.Emit(report, run.Standing())
}

// leastRoom is the lowest memory limit for judging a history, in bytes.
const leastRoom = 400 << 20

// roomFor returns the memory limit, in bytes, for judging a history with n events: twice the memory that the events
// take up, but at least leastRoom. To stay below it, the garbage collector runs more often.
func roomFor(n int) int64 {
	return max(leastRoom, 2*int64(n)*int64(reflect.TypeFor[history.Event]().Size()))
}

// read combines the files into one history, according to the flags.
func (r *recorded) read(paths []string) (*single.Run, error) {
	run := &single.Run{Scenario: filepath.Base(paths[0]), Recording: &single.Recording{Files: paths, Lock: r.lock}}
	if len(paths) > 1 {
		run.Scenario += fmt.Sprintf(" and %d more", len(paths)-1)
	}
	options, err := r.options()
	if err != nil {
		return nil, err
	}
	var from []io.Reader
	for i, path := range paths {
		if slices.Contains(paths[:i], path) {
			return nil, fmt.Errorf("%s is given twice", path)
		}
		f, err := openHistory(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		from = append(from, f)
	}
	files, err := reading.ReadAll(paths, from)
	if err != nil {
		return nil, err
	}
	run.Recording.Cut = slices.ContainsFunc(files, func(f *reading.File) bool { return f.Cut != "" })
	run.History, run.Notes, err = reading.Together(files, options)
	return run, err
}

// options returns the options that override the files' headers.
func (r *recorded) options() (o reading.Options, err error) {
	if r.reading != "" {
		o.Reading = new(history.Reading)
		if err := o.Reading.UnmarshalText([]byte(r.reading)); err != nil {
			return o, fmt.Errorf("--reading: %w", err)
		}
	}
	o.Initial = r.initial
	if r.clockError < 0 {
		return o, fmt.Errorf("--clock-error must be zero or longer, not %v", r.clockError)
	}
	if o.Permits = r.permits; r.counted && r.permits < 1 {
		return o, fmt.Errorf("--permits must be 1 or more, not %d", r.permits)
	}
	if r.permits > 1 && r.lock != "" {
		return o, fmt.Errorf("--permits %d makes each lock a semaphore, but a lock of --lock %s has one permit: "+
			"remove one of the two flags", r.permits, r.lock)
	}
	if r.stated {
		o.ClockError = new(history.Of(r.clockError))
	}
	if r.lock != "" {
		if o.Kind, err = reading.KindOf(r.lock); err != nil {
			return o, fmt.Errorf("--lock: %w", err)
		}
	}
	return o, nil
}

func openHistory(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err == nil && info.IsDir() {
		f.Close()
		return nil, fmt.Errorf("%s is a folder, not a history file", path)
	}
	return f, nil
}

// repeat returns the command that judges the history again.
func (r *recorded) repeat(paths []string) string {
	words := []string{output.Program(), "check"}
	for _, path := range paths {
		words = append(words, text.ShellWord(path))
	}
	for _, flag := range [][2]string{{"--reading", r.reading}, {"--lock", r.lock}, {"--initial", r.initial},
		{"--permits", map[bool]string{true: strconv.Itoa(r.permits)}[r.counted]},
		{"--clock-error", map[bool]string{true: r.clockError.String()}[r.stated]}} {
		if flag[1] != "" {
			words = append(words, flag[0], text.ShellWord(flag[1]))
		}
	}
	return strings.Join(words, " ")
}
