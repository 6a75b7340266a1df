//go:build !go1.26 || go1.28

package bubble

// countMutexes changes nothing in a version of Go whose table of waits is not known: see mutex.go.
func countMutexes() bool { return false }
