//go:build !go1.26 || go1.28

package bubble

// countMutexes does nothing and returns false, because the layout of the runtime's table is not known for this version
// of Go (see mutex.go).
func countMutexes() bool { return false }
