//go:build go1.26 && !go1.28 && !race

package bubble

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// A value that was put into a sync.Pool in one bubble cannot be used in another bubble if the value contains a channel
// or a timer. Two garbage collections empty all pools: each calls a function of package sync that drops the values that
// were not used since its previous call. But two collections take about as long as a short run. Therefore, EmptyPools
// calls that function itself, if it can find the function. The collector calls it while nothing else runs. Nothing else
// runs when EmptyPools calls it, either. In a process that performs runs, there is one thread for Go code, and no
// goroutine is preempted (package remote).

// EmptyPools empties every sync.Pool of the process.
func EmptyPools() {
	forget := forgetUnused()
	if forget == nil || runtime.GOMAXPROCS(0) > 1 {
		runtime.GC()
		runtime.GC()
		return
	}
	forget()
	forget()
}

// forgetUnused returns sync.poolCleanup, the function that the garbage collector calls to drop unused values from
// pools. It returns nil if the function is not found. It searches near another function of package sync, because the
// linker puts the functions of a file next to each other.
var forgetUnused = sync.OnceValue(func() func() {
	const near, step = 1 << 16, 16 // functions begin at multiples of 16 or 32
	known := reflect.ValueOf((*sync.Pool).Get).Pointer()
	for away := uintptr(0); away < near; away += step {
		for _, at := range []uintptr{known + away, known - away} {
			if f := runtime.FuncForPC(at); f != nil && f.Name() == "sync.poolCleanup" {
				entry := f.Entry()
				code := &entry // a function value points to a variable that contains the address of the code
				return *(*func())(unsafe.Pointer(&code))
			}
		}
	}
	return nil
})
