package campaign

import (
	"context"
	"errors"
)

// Ending says why a campaign stopped.
type Ending uint8

const (
	Complete    Ending = iota // every run was performed
	OutOfRuns                 // the number of runs allowed was reached
	OutOfTime                 // the time allowed had passed
	Interrupted               // by a signal
)

// EndingBy returns why a context that is done stops a campaign.
func EndingBy(ctx context.Context) Ending {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return OutOfTime
	}
	return Interrupted
}
