//go:build !unix

package socket

import "errors"

// receiveNow says that this is not done here.
func receiveNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
