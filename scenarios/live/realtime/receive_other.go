//go:build !unix

package realtime

import "errors"

// receiveNow always fails: it is not supported here.
func receiveNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
