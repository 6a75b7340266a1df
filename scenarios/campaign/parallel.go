package campaign

// Work is divided among the cores. Its outcome is the same for any number of workers, and results never pile up.

import (
	"cmp"
	"context"
	"runtime"
	"sync"
)

// Crew says how many workers share the jobs, and where progress is reported. The zero Crew is one worker for each core,
// without progress reports.
type Crew struct {
	Workers int // 0: one for each core
	// Progress, if set, is called with the number of jobs done and the total, on the caller's goroutine.
	Progress func(what string, done, of int)
}

// Report reports progress.
func (c Crew) Report(what string, done, of int) {
	if c.Progress != nil {
		c.Progress(what, done, of)
	}
}

// Do runs jobs as InOrder does, and reports progress after take has received each result.
func Do[R any](ctx context.Context, c Crew, what string, n int, start func() func(job int) (R, error),
	take func(job int, r R) error) (done int, err error) {
	return InOrder(ctx, c.Workers, n, start, func(job int, r R) error {
		err := take(job, r)
		c.Report(what, job+1, n)
		return err
	})
}

// InOrder runs jobs 0 to n-1 on the given number of workers (at least 1; 0: one for each core) and passes their results
// to take in order, on the caller's goroutine, so that the outcome does not depend on the workers. start makes one
// worker's own function, which is never called by two goroutines. It stops early when ctx is done, after the jobs under
// way, or at the first error of a job or of take. done is the number of results passed on.
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
	ahead := make(chan struct{}, 4*workers) // jobs given out whose results were not passed on: results never pile up
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
	early := map[int]result{} // results whose turn has not come
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
