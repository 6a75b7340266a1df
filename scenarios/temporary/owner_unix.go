//go:build unix

package temporary

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a folder belongs to this user.
func owned(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Uid == uint32(os.Geteuid())
}
