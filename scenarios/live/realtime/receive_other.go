//go:build !unix

package realtime

import "errors"

// receiveNow reports that this is not possible here.
func receiveNow(uintptr, []byte) (int, error) { return 0, errors.ErrUnsupported }
