//go:build unix

package safefile

import "syscall"

// NoFollow, among the flags by which a file is opened, refuses a symbolic link.
const NoFollow = syscall.O_NOFOLLOW
