//go:build !go1.26 || go1.28

package bubble

// countMutexes changes nothing and returns false, because the table of waits is not known for this version of Go: see
// mutex.go.
func countMutexes() bool { return false }
