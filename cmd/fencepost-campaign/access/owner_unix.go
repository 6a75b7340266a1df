//go:build unix

package access

import (
	"io/fs"
	"os"
	"syscall"
)

// owned reports whether a file belongs to this user.
func owned(info fs.FileInfo) bool { return owner(info) == uint32(os.Geteuid()) }

func ownedByRoot(info fs.FileInfo) bool { return owner(info) == 0 }

func owner(info fs.FileInfo) uint32 {
	s, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return ^uint32(0)
	}
	return s.Uid
}

// closed reports whether only the file's owner may read or write it.
func closed(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 == 0 }

// writable reports whether every user may remove other users' files in a folder.
func writable(info fs.FileInfo) bool {
	return info.Mode().Perm()&0o002 != 0 && info.Mode()&fs.ModeSticky == 0
}
