package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// keepBinary keeps a program on the disk of a folder, and returns the path by which this process executes it until the
// file is closed. The file has no name, so that nothing is left of it when this process is killed; a disk that cannot
// do so gives it one, until it is open.
func keepBinary(folder string, content []byte) (path string, open *os.File, err error) {
	nameless, err := os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE, 0o700)
	if err != nil {
		return keepNamed(folder, content)
	}
	_, err = nameless.Write(content)
	if err == nil { // what is open for writing cannot be executed
		open, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", nameless.Fd()))
	}
	return executable(open), open, errors.Join(err, nameless.Close())
}

// keepNamed is keepBinary for a disk on which each file has a name.
func keepNamed(folder string, content []byte) (path string, open *os.File, err error) {
	name := filepath.Join(folder, "lock.test")
	if err = os.WriteFile(name, content, 0o700); err == nil {
		open, err = os.Open(name)
	}
	return executable(open), open, errors.Join(err, os.Remove(name))
}

// executable is the path of an open file for this process and for those that it starts.
func executable(open *os.File) string {
	if open == nil {
		return ""
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), open.Fd())
}
