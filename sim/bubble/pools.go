//go:build go1.26 && !go1.28 && !race

package bubble

import (
	"reflect"
	"runtime"
	"sync"
	"unsafe"
)

// A value that contains a channel or a timer must not pass from one bubble to another through a sync.Pool. Two garbage
// collections empty all pools: each calls a function in package sync that drops the values that have not been used
// since its previous call. But two collections take about as long as a short run. Therefore, EmptyPools calls that
// function itself, if it can find it. The collector calls the function while nothing else is running. Nothing else is
// running when EmptyPools calls it, either, because a process that performs runs has one thread for Go code, and no
// goroutine is preempted (package remote).

// EmptyPools empties every sync.Pool in the process.
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
// pools. It searches the code around another function in package sync, because the linker puts the functions of a file
// next to each other. It returns nil if it does not find the function.
var forgetUnused = sync.OnceValue(func() func() {
	const near, step = 1 << 16, 16 // functions begin at multiples of 16 or 32
	known := reflect.ValueOf((*sync.Pool).Get).Pointer()
	for away := uintptr(0); away < near; away += step {
		for _, at := range []uintptr{known + away, known - away} {
			if f := runtime.FuncForPC(at); f != nil && f.Name() == "sync.poolCleanup" {
				entry := f.Entry()
				code := &entry // a function value points to a variable that contains the code's address
				return *(*func())(unsafe.Pointer(&code))
			}
		}
	}
	return nil
})
