//go:build unix

package safefile

import "syscall"

// NoFollow is a flag for opening a file. With it, opening a symbolic link fails.
const NoFollow = syscall.O_NOFOLLOW
