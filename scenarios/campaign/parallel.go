package campaign

// The code in this file distributes work among the cores. The outcome is the same for any number of workers. The number
// of results kept in memory until earlier ones arrive is limited.

import (
	"cmp"
	"context"
	"runtime"
	"sync"
)

// Crew determines who does the jobs, and how progress is reported. The zero Crew has one worker for each core available
// to this process and reports no progress.
type Crew struct {
	Workers int // number of workers in this process; 0: one for each core
	// Hands, if set, makes other processes do the jobs.
	Hands Hands
	// Progress, if set, is called on the caller's goroutine with a name for the jobs, the number of jobs done and the
	// total.
	Progress func(what string, done, of int)
}

// Report calls c.Progress, unless it is nil.
func (c Crew) Report(what string, done, of int) {
	if c.Progress != nil {
		c.Progress(what, done, of)
	}
}

// InOrder runs jobs 0 to n-1 on the given number of workers, or on one per core if workers is 0. It calls the function
// take with each result, in job order and on the caller's goroutine, so the outcome does not depend on the number of
// workers. Each worker has its own goroutine, on which it calls start once and then the returned function for each job.
// InOrder stops early at the first error, in job order, from a job or from take. It also stops, without an error, when
// ctx is done, after finishing the jobs that are already running. done is the number of results that take has accepted.
func InOrder[R any](ctx context.Context, workers, n int, start func() func(job int) (R, error),
	take func(job int, r R) error) (done int, err error) {
	workers = cmp.Or(max(workers, 0), runtime.GOMAXPROCS(0))
	type result struct {
		job int
		r   R
		err error
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	jobs, results := make(chan int), make(chan result)
	ahead := make(chan struct{}, 4*workers) // limits the number of jobs whose results have not been passed on yet
	go func() {
		defer close(jobs)
		for job := range n {
			select {
			case ahead <- struct{}{}:
			case <-ctx.Done():
				return
			}
			select {
			case jobs <- job:
			case <-ctx.Done():
				return
			}
		}
	}()
	var all sync.WaitGroup
	for range min(workers, n) {
		all.Go(func() {
			work := start()
			for job := range jobs {
				r, err := work(job)
				results <- result{job, r, err}
			}
		})
	}
	go func() {
		all.Wait()
		close(results)
	}()
	early := map[int]result{} // results that wait for the results of earlier jobs
	for r := range results {
		early[r.job] = r
		for next, ok := early[done]; ok && err == nil; next, ok = early[done] {
			delete(early, done)
			if err = next.err; err == nil {
				err = take(done, next.r)
			}
			if err == nil {
				done++
				<-ahead
			}
		}
		if err != nil {
			cancel()
		}
	}
	return done, err
}
