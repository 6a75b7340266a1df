//go:build unix

package safefile

import "syscall"

// NoFollow is a flag for opening files that makes opening a symbolic link fail.
const NoFollow = syscall.O_NOFOLLOW
