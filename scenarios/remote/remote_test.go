//go:build unix

package remote

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestProcessesStartAtTheSameTime checks that other runs need not wait for a process that is starting: while it starts,
// the Test's mutex is free.
func TestProcessesStartAtTheSameTime(t *testing.T) {
	folder := t.TempDir()
	binary, starting, proceed := filepath.Join(folder, "t"), filepath.Join(folder, "starting"),
		filepath.Join(folder, "proceed")
	script := "#!/bin/sh\necho > " + starting + "\nread x < " + proceed + "\nprintf '\\n" + mark + "\\n'\nread x\n"
	if err := os.WriteFile(binary, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, pipe := range []string{starting, proceed} {
		if err := syscall.Mkfifo(pipe, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	test := &Test{folder: folder, binary: binary, name: "TestLock"}
	started := make(chan error, 1)
	go func() {
		p, err := test.process(false)
		if err == nil {
			p.Close()
		}
		started <- err
	}()
	if _, err := os.ReadFile(starting); err != nil { // waits until the process writes to it
		t.Fatal(err)
	}
	if !test.mu.TryLock() {
		t.Error("no other run can begin while a process starts")
	} else {
		test.mu.Unlock()
	}
	if err := os.WriteFile(proceed, []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := <-started; err != nil {
		t.Error(err)
	}
}
