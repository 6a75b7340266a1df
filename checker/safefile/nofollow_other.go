//go:build !unix

package safefile

// NoFollow would refuse a symbolic link; this system has no such flag.
const NoFollow = 0
