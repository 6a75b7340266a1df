//go:build !go1.26 || go1.28 || race

package bubble

import "runtime"

// EmptyPools empties every sync.Pool in the process.
func EmptyPools() {
	runtime.GC()
	runtime.GC()
}
