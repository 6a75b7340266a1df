//go:build !unix

package realtime

import "errors"

// receiveNow always fails, because it is not supported on this platform.
func receiveNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
