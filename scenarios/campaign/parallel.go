package campaign

// Work divided among the cores: what is made of the results is the same for any number of workers, and results never
// pile up.

import (
	"cmp"
	"context"
	"runtime"
	"sync"
)

// Crew is who does jobs, and who is told how far they are. The zero Crew is one worker for each core, and nobody is
// told.
type Crew struct {
	Workers int // 0: one for each core
	// Progress, if set, is told how many are done of what there is to do, on the caller's goroutine.
	Progress func(what string, done, of int)
}

// Tell says how many are done.
func (c Crew) Tell(what string, done, of int) {
	if c.Progress != nil {
		c.Progress(what, done, of)
	}
}

// Do does jobs as InOrder does, and tells after each, once take has it, how many of what are done.
func Do[R any](ctx context.Context, c Crew, what string, n int, start func() func(job int) (R, error),
	take func(job int, r R) error) (done int, err error) {
	return InOrder(ctx, c.Workers, n, start, func(job int, r R) error {
		err := take(job, r)
		c.Tell(what, job+1, n)
		return err
	})
}

// InOrder does jobs 0 to n-1 on the given number of workers (at least 1; 0: one for each core) and hands out their
// results in their order, on the caller's goroutine, so that what is made of them does not depend on the workers. start
// makes one worker's own function, which is never called by two goroutines. It stops early when ctx is done, after the
// jobs under way, or at the first error of a job or of take. done is the number of results handed out.
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
	ahead := make(chan struct{}, 4*workers) // jobs given out and not yet handed on: results never pile up
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
