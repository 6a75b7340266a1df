//go:build linux && amd64

package traced

import (
	"cmp"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// madeFiles lists the files in /proc and /sys that a machine makes. PID stands for a process's ID.
func madeFiles() (list []string) {
	list = slices.Sorted(maps.Keys(hostFiles))
	for _, name := range slices.Sorted(maps.Keys(processFiles)) {
		list = append(list, "/proc/self/"+name, "/proc/PID/"+name)
	}
	return list
}

// seenIn runs a program that prints the given files. It returns what the program prints about each file, and the last
// line.
func seenIn(t *testing.T, paths ...string) (files map[string]string, last string) {
	t.Helper()
	r := newStage(t, 0).run(1, 0, nil, python(t, append([]string{"testdata/procfs.py"}, paths...)...)...)
	if r.err != nil || r.exit != (Exit{}) {
		t.Fatalf("%v, it %v: %s", r.err, r.exit, r.printed)
	}
	files = map[string]string{}
	for line := range strings.Lines(r.printed) {
		last = strings.TrimSpace(line)
		path, content, _ := strings.Cut(last, " ")
		var text string
		if json.Unmarshal([]byte(content), &text) == nil {
			files[path] = text
		}
	}
	return files, last
}

// TestAProcessSeesItsMachine checks what a process reads in /proc and /sys about itself, its family and its machine. It
// must agree with what system calls return, and must not reveal anything about other processes on the host.
func TestAProcessSeesItsMachine(t *testing.T) {
	absent := []string{"/proc", "/sys", "/proc/1/stat", "/proc/1001/stat", "/proc/vmstat", "/proc/self/io",
		"/proc/self/task", "/sys/fs/cgroup", "/proc/sys/fs/file-nr"}
	others := []string{"/proc/self/cmdline", "/proc/PID/cmdline", "/proc/version"}
	files, last := seenIn(t, slices.Concat(madeFiles(), others, absent)...)
	for _, path := range absent {
		if files[path] != "No such file or directory" {
			t.Errorf("%s: %s", path, files[path])
		}
	}
	for path, pattern := range map[string]string{
		"/proc/self/stat":              `1000 \(python3\) R 1 1000 1000 .*`,
		"parent":                       `1000 \(python3\) R 1 1000 1000 .*`,
		"child":                        `1001 \(python3\) R 1000 1000 1000 .*`,
		"host":                         `program 127\.0\.1\.1`,
		"/proc/self/status":            `Name:\tpython3\n.*\nPid:\t1000\nPPid:\t1\n.*\nThreads:\t1\n.*`,
		"/proc/meminfo":                `MemTotal:        8388608 kB\nMemFree:         4194304 kB\n.*`,
		"/proc/uptime":                 `86400\.00 86400\.00\n`,
		"/proc/stat":                   `cpu .*\nbtime 1767139200\n.*`, // a day before the run starts
		"/proc/version":                `Linux version .*`,
		"/proc/sys/kernel/random/uuid": `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}\n`,
	} {
		if !regexp.MustCompile("^(?s:" + pattern + ")$").MatchString(files[path]) {
			t.Errorf("%s: %s, want %s", path, files[path], pattern)
		}
	}
	for path, content := range files {
		if own, ok := strings.CutPrefix(path, "/proc/PID/"); ok && content != files["/proc/self/"+own] {
			t.Errorf("%s is\n%s, but of itself the process sees\n%s", path, content, files["/proc/self/"+own])
		}
	}
	if last != "1 1 2097152 1048576" {
		t.Errorf("numbers of CPUs and pages: %s", last)
	}
}

// TestMadeFilesHaveTheFormOfTheKernels compares the files that a machine makes with the kernel's. The first word of
// each line must be one that begins a line in the kernel's file, and that line must not be shorter. If a file has only
// one line, its number of words must be the same.
func TestMadeFilesHaveTheFormOfTheKernels(t *testing.T) {
	files, _ := seenIn(t, madeFiles()...)
	compared := 0
	for path, made := range files {
		if strings.HasPrefix(path, "/etc/") {
			continue // not the kernel's
		}
		kernels, err := os.ReadFile(path)
		if err != nil {
			continue // a file of another process, or one that the host's kernel does not have
		}
		compared++
		lengths, first := map[string]int{}, 0 // words in each of the kernel's lines, by the first word
		for line := range strings.Lines(string(kernels)) {
			if words := strings.Fields(line); len(words) > 0 {
				lengths[words[0]] = max(lengths[words[0]], len(words))
				first = cmp.Or(first, len(words))
			}
		}
		alone := strings.Count(made, "\n") == 1
		for line := range strings.Lines(made) {
			words := strings.Fields(line)
			if alone && len(words) != first || !alone && len(words) > 0 && lengths[words[0]] < len(words) {
				t.Errorf("%s: the line %q does not have the form of\n%s", path, line, kernels)
			}
		}
	}
	if compared < len(processFiles)+5 {
		t.Errorf("only %d files were compared", compared)
	}
}

// TestFilesThatChangeAreHidden reads each of the host's files in /proc and /sys that a process may open. It reads them
// again after the host has started processes and opened files. Their content must be the same.
func TestFilesThatChangeAreHidden(t *testing.T) {
	process := &thread{p: &Process{family: &family{}}}
	before := map[string]string{}
	for _, root := range []string{"/proc", "/sys/kernel", "/sys/fs", "/sys/devices/system"} {
		filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() && regexp.MustCompile(`^/proc/(\d+|self|thread-self)$`).MatchString(path) {
				return fs.SkipDir
			}
			if hostFiles[path] != nil || !d.Type().IsRegular() {
				return nil
			}
			if _, real, exists := process.seen(path); exists && real == path {
				if b, err := os.ReadFile(path); err == nil {
					before[path] = string(b)
				}
			}
			return nil
		})
	}
	for range 30 {
		f, err := os.Open(os.DevNull)
		if err := errors.Join(err, exec.Command("/bin/true").Run()); err != nil {
			t.Fatal(err)
		}
		defer f.Close()
	}
	for path, was := range before {
		if b, err := os.ReadFile(path); err != nil || string(b) != was {
			t.Errorf("%s changes from %q to %q", path, was, b)
		}
	}
	if len(before) < 100 {
		t.Errorf("only %d files were read", len(before))
	}
}
