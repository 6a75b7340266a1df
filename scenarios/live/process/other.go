//go:build !linux

package process

import (
	"errors"
	"os"
	"syscall"
)

// Main does nothing, because keepers need Linux. The functions below do nothing for the same reason.
func Main() {}

var ownGroup *syscall.SysProcAttr

func fifo(string) (*os.File, error) { return nil, errors.ErrUnsupported }

// Monotonic returns 0.
func Monotonic() int64 { return 0 }

func inode(os.FileInfo) uint64 { return 0 }
