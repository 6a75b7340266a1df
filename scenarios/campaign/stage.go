package campaign

import "context"

// Stage is work that can be divided among processes. It consists of Size jobs, numbered from 0. The number of a job is
// called its position. Any process that runs the same program can carry out any jobs in any order. It needs only Spec
// and the positions of the jobs. If a job is carried out twice, both results are identical.
type Stage struct {
	Name string `json:"name"` // unique within the search, such as "seeds"
	Spec []byte `json:"spec"` // what the positions mean, in addition to the subject of the search
	Size uint64 `json:"size"` // at least 1
	// Portion is the number of jobs that a worker should get at a time; at least 1.
	Portion uint64 `json:"portion"`
}

// Part is the result of the jobs of a stage at the positions from First to First+Size-1.
type Part struct {
	First uint64 `json:"first"`
	Size  uint64 `json:"size"`
	Value []byte `json:"value"` // encoded by the worker
	// Lost explains why there is no result for these jobs, for example that they crashed their workers. It is empty if
	// there is a result.
	Lost string `json:"lost,omitempty"`
}

// Hands carries out stages, on the cores of this process or on other machines.
type Hands interface {
	// Do carries out all jobs of a stage. It calls take once with the result of each job, in any order, on the caller's
	// goroutine. It stops early when ctx is done, or at the first error of take.
	Do(ctx context.Context, s Stage, take func(Part) error) error
}

// Worker carries out jobs of the stages of one search.
type Worker interface {
	// Make carries out the jobs of a stage at the positions from first to first+size-1. It returns their result in
	// encoded form.
	Make(ctx context.Context, s Stage, first, size uint64) (value []byte, err error)
}
