package campaign

import (
	"context"
	"errors"
)

// Ending is the reason why a campaign ended.
type Ending uint8

const (
	Complete    Ending = iota // every run was performed
	OutOfRuns                 // the maximum number of runs was reached
	OutOfTime                 // the maximum time was reached
	Interrupted               // a signal stopped it
)

// EndingBy returns the Ending of a campaign that stops because ctx is done.
func EndingBy(ctx context.Context) Ending {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return OutOfTime
	}
	return Interrupted
}
