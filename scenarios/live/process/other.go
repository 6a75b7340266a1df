//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Main does nothing: keepers need Linux, and what stands below is theirs.
func Main() {}

var ownGroup *syscall.SysProcAttr

func fifo(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Monotonic is 0.
func Monotonic() int64 { return 0 }

func inode(os.FileInfo) uint64 { return 0 }
