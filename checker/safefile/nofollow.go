//go:build unix

package safefile

import "syscall"

// NoFollow, as a flag for opening files, refuses a symbolic link.
const NoFollow = syscall.O_NOFOLLOW
