//go:build unix

package safefile

import "syscall"

// NoFollow is an open flag that makes opening a symbolic link fail.
const NoFollow = syscall.O_NOFOLLOW
