//go:build unix

package safefile

import "syscall"

// NoFollow is a flag for opening files that refuses a symbolic link.
const NoFollow = syscall.O_NOFOLLOW
