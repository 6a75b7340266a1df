package campaign

import (
	"context"
	"errors"
)

// Ending is why no more runs were made.
type Ending uint8

const (
	Complete    Ending = iota // nothing was left to try
	OutOfRuns                 // as many were made as were allowed
	OutOfTime                 // the time for them was over
	Interrupted               // by a signal
)

// EndingBy is why a context that is done lets no more runs be made.
func EndingBy(ctx context.Context) Ending {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return OutOfTime
	}
	return Interrupted
}
