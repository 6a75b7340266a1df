//go:build !unix

package safefile

// NoFollow is 0, because this system has no flag that refuses a symbolic link.
const NoFollow = 0
