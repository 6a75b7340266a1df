//go:build linux && amd64

package live

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fencepost-sim/fencepost/checker/testkit"
)

// holdings counts the host resources that this process is using: memory, files and processes.
type holdings struct {
	files     int // number of open files
	processes int // number of children, including those that have ended and that nobody has waited for
	heap      int // live memory of the Go runtime, in bytes
	children  int // memory of the children, in bytes
}

// held counts the resources that this process is using now. Memory that the garbage collector can free does not count.
func held(t *testing.T) (h holdings) {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	h.files = len(files)
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lists {
		list, _ := os.ReadFile(path) // a thread may have ended
		for _, pid := range strings.Fields(string(list)) {
			h.processes++
			var size, resident int
			text, _ := os.ReadFile("/proc/" + pid + "/statm")
			fmt.Sscan(string(text), &size, &resident)
			h.children += resident * os.Getpagesize()
		}
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // for memory that finalizers have released
	runtime.ReadMemStats(&m)
	h.heap = int(m.HeapAlloc)
	return h
}

// TestRunsOfProgramsLeaveNothing checks that many runs of programs need no more memory, files and processes than a few
// runs, and that all of these are released at the end. No files may remain in the folder for temporary files. Faults
// pause or kill some of the clients, and one kind of client starts other processes. A full test executes 1,000 runs.
func TestRunsOfProgramsLeaveNothing(t *testing.T) {
	testkit.ThoroughOnly(t)
	command := redisPy(t)
	script := filepath.Join(t.TempDir(), "start.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"+command+"\necho over\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	temporary := t.TempDir()
	t.Setenv("TMPDIR", temporary)
	faults := []string{"pause client-1 for 15s after before-write", "crash client-1 after before-write",
		"cut client-1 | redis-1 at 50ms for 3s", "jump client-1 clock by +1h after acquired"}
	const warm = 8 // runs until everything that is kept has been made
	for name, c := range map[string]struct {
		command string
		runs    int
	}{"one process": {command, testkit.Size(24, 24, 1000)}, "two processes": {script, testkit.Size(12, 12, 100)}} {
		start := held(t)
		t.Run(name, func(t *testing.T) {
			v := inVirtualTime(t, "kleppmann-gc-pause", c.command)
			var before holdings
			for n := range c.runs {
				if n == warm {
					before = held(t)
				}
				if _, err := planned(t, v, uint64(n), faults[n%len(faults)]); err != nil {
					t.Fatal(err)
				}
			}
			after := held(t)
			t.Logf("after %d runs %+v, after %d runs %+v", warm, before, c.runs, after)
			const slack = 1 << 20
			if after.files > before.files || after.processes > before.processes || after.heap > before.heap+slack ||
				after.children > before.children+slack {
				t.Errorf("after %d runs %+v, after %d runs %+v", warm, before, c.runs, after)
			}
		})
		if end := held(t); end.files > start.files || end.processes > start.processes {
			t.Errorf("%s: at first %+v, at the end %+v", name, start, end)
		}
	}
	if entries, err := os.ReadDir(temporary); err != nil || len(entries) > 0 {
		t.Errorf("the folder for temporary files holds %v (%v)", entries, err)
	}
}
