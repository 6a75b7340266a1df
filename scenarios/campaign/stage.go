package campaign

import "context"

// Stage is work that can be divided among processes. It consists of Size jobs. A job is identified by its position,
// counted from 0. Any process that runs the same program can carry out any jobs in any order; it needs only Spec and
// the jobs' positions. If a job is carried out twice, both results are identical.
type Stage struct {
	Name string `json:"name"` // unique within the search, such as "seeds"
	Spec []byte `json:"spec"` // what the positions mean, in addition to the subject of the search
	Size uint64 `json:"size"` // at least 1
	// Portion is the number of jobs that a worker should get at a time. It is at least 1.
	Portion uint64 `json:"portion"`
}

// Part is the result of a stage's jobs First to First+Size-1.
type Part struct {
	First uint64 `json:"first"`
	Size  uint64 `json:"size"`
	Value []byte `json:"value"` // encoded by the worker
	// Lost says why there is no result for these jobs, for example because they crashed their workers. It is empty if
	// there is a result.
	Lost string `json:"lost,omitempty"`
}

// Hands carries out stages, on the cores of this process or on other machines.
type Hands interface {
	// Do carries out all of a stage's jobs. It calls take once with each job's result, in any order, on the caller's
	// goroutine. It stops early when ctx is done, or when take first returns an error.
	Do(ctx context.Context, s Stage, take func(Part) error) error
}

// Worker carries out jobs in one search's stages.
type Worker interface {
	// Make carries out a stage's jobs first to first+size-1. It returns their result in encoded form.
	Make(ctx context.Context, s Stage, first, size uint64) (value []byte, err error)
}
