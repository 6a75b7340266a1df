//go:build !unix

package safefile

// NoFollow is 0, because this system doesn't have a flag that makes opening a symbolic link fail.
const NoFollow = 0
