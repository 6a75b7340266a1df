package campaign

import "context"

// Stage is work that can be divided: positions 0 to Size-1, any of which any process of the same program can make from
// Spec and their numbers alone, in any portions and any order. Positions may be made twice; what comes of them is
// equal.
type Stage struct {
	Name string `json:"name"` // of the stage in its search, such as "seeds"; no two of one search have the same
	Spec []byte `json:"spec"` // what the positions mean, besides what the search is about
	Size uint64 `json:"size"` // at least 1
	// Portion is how many positions are worth handing out at once; at least 1.
	Portion uint64 `json:"portion"`
}

// Part is what came of the positions First to First+Size-1 of a stage.
type Part struct {
	First uint64 `json:"first"`
	Size  uint64 `json:"size"`
	Value []byte `json:"value"` // as the worker encoded it
	// Lost is why nothing came of the positions, such as that they brought their workers down; empty if something did.
	Lost string `json:"lost,omitempty"`
}

// Hands make stages, on the cores of this process or on other machines.
type Hands interface {
	// Do makes all positions of a stage and hands out what comes of them, on the caller's goroutine, each position once
	// and in any order. It stops early when ctx is done, or at the first error of take.
	Do(ctx context.Context, s Stage, take func(Part) error) error
}

// Worker makes parts of stages of one search, one at a time.
type Worker interface {
	// Make makes positions first to first+size-1 of a stage.
	Make(ctx context.Context, s Stage, first, size uint64) (value []byte, err error)
}
