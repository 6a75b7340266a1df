package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// keepBinary stores a program in the given folder's file system. It returns a path at which this process can execute
// the program until the file is closed. The file has no name, so nothing is left of it when this process is killed. If
// the file system does not support unnamed files, the file has a name until it has been opened.
func keepBinary(folder string, content []byte) (path string, open *os.File, err error) {
	nameless, err := os.OpenFile(folder, os.O_RDWR|unix.O_TMPFILE, 0o700)
	if err != nil {
		return keepNamed(folder, content)
	}
	_, err = nameless.Write(content)
	if err == nil { // a file that is open for writing cannot be executed
		open, err = os.Open(fmt.Sprintf("/proc/self/fd/%d", nameless.Fd()))
	}
	return executable(open), open, errors.Join(err, nameless.Close())
}

// keepNamed is like keepBinary, but for file systems that do not support unnamed files. It removes the file's name once
// the file is open.
func keepNamed(folder string, content []byte) (path string, open *os.File, err error) {
	name := filepath.Join(folder, "lock.test")
	if err = os.WriteFile(name, content, 0o700); err == nil {
		open, err = os.Open(name)
	}
	return executable(open), open, errors.Join(err, os.Remove(name))
}

// executable returns a path that this process and its children can use to execute an open file.
func executable(open *os.File) string {
	if open == nil {
		return ""
	}
	return fmt.Sprintf("/proc/%d/fd/%d", os.Getpid(), open.Fd())
}
