//go:build !linux

package main

import (
	"os"
	"path/filepath"
)

// keepBinary stores a program in a temporary folder and returns its path. If this process is killed, the next process
// that creates such a folder removes the old one.
func keepBinary(folder string, content []byte) (path string, open *os.File, err error) {
	path = filepath.Join(folder, "lock.test")
	if err = os.WriteFile(path, content, 0o700); err == nil {
		open, err = os.Open(path)
	}
	return path, open, err
}
