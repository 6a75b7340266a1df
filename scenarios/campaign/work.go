package campaign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// Work consists of jobs that do not depend on each other. Anything that can be split into such jobs runs as Work. The
// same Work runs on the cores of this process or, if the crew has Hands, in other processes on any machine. R is the
// result of a job. It is sent as JSON, which must restore exactly the same value.
type Work[R any] struct {
	Name  string // what the jobs are, for reports of progress, such as "points"
	Stage string // unique name of the stage in its search; empty: the same as Name
	Size  int    // number of jobs; they are numbered from 0
	// Start is called once for each worker in this process. The function that it returns performs a job.
	Start func() func(job int) (R, error)
	// Spec describes the jobs to other processes, which already know the subject of the search. It is sent as JSON.
	Spec    any
	Portion int // number of jobs that another process gets at a time; 0: one
	// Fits, if set, reports whether a result sent by another process could be the job's result.
	Fits func(job int, r R) bool
	// Lost returns the result of a job that was lost, for example because it crashed its workers. If Lost is nil, a
	// lost job is an error.
	Lost func(why string) R
	// If AnyOrder is set, other processes' results are passed on as soon as they arrive. Otherwise, they are passed on
	// in job order.
	AnyOrder bool
}

// Do performs the jobs and passes each result to take, on the caller's goroutine. done is the number of results passed
// on. Do stops early at the first error from a job or from take. It also stops when ctx is done, but that is not an
// error.
func (w *Work[R]) Do(ctx context.Context, c Crew, take func(job int, r R) error) (done int, err error) {
	if c.Hands == nil {
		return InOrder(ctx, c.Workers, w.Size, w.Start, func(job int, r R) error {
			err := take(job, r)
			c.Report(w.Name, job+1, w.Size)
			return err
		})
	}
	if w.Size == 0 {
		return 0, nil
	}
	spec, err := json.Marshal(w.Spec)
	if err != nil {
		return 0, err
	}
	stage := Stage{Name: cmp.Or(w.Stage, w.Name), Spec: spec, Size: uint64(w.Size), Portion: uint64(max(w.Portion, 1))}
	early := map[int]R{} // results that wait for the results of earlier jobs
	pass := func(job int, r R) error {
		err := take(job, r)
		done++
		c.Report(w.Name, done, w.Size)
		return err
	}
	err = c.Hands.Do(ctx, stage, func(p Part) error {
		list, err := w.results(&stage, p)
		for i := range list {
			switch job := int(p.First) + i; {
			case !w.AnyOrder:
				early[job] = list[i]
			case err == nil:
				err = pass(job, list[i])
			}
		}
		for r, ok := early[done]; ok && err == nil; r, ok = early[done] {
			delete(early, done)
			err = pass(done, r)
		}
		return err
	})
	if ended := ctx.Err(); ended != nil && (err == nil || errors.Is(err, ended)) {
		return done, nil
	}
	if err == nil && done < w.Size {
		err = fmt.Errorf("only %d of the %d %s were completed", done, w.Size, stage.Name)
	}
	return done, err
}

// results decodes and checks the results of the jobs in a part.
func (w *Work[R]) results(s *Stage, p Part) (list []R, err error) {
	broken := func(how string) error {
		return fmt.Errorf("%s: the result of %d positions from position %d %s", s.Name, p.Size, p.First, how)
	}
	switch {
	case p.Size > s.Size || p.First > s.Size-p.Size:
		return nil, broken("is beyond the last")
	case p.Lost != "" && w.Lost == nil:
		return nil, broken("was lost: " + p.Lost)
	case p.Lost != "":
		for range p.Size {
			list = append(list, w.Lost(p.Lost))
		}
		return list, nil
	}
	if err := strictly(p.Value, &list); err != nil {
		return nil, broken("cannot be read: " + err.Error())
	}
	if uint64(len(list)) != p.Size {
		return nil, broken(fmt.Sprintf("has %d elements", len(list)))
	}
	for i, r := range list {
		if w.Fits != nil && !w.Fits(int(p.First)+i, r) {
			return nil, broken("does not belong to this search")
		}
	}
	return list, nil
}

// strictly reads JSON into v and rejects unknown fields.
func strictly(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(v)
}

// Jobs describes the jobs of a Work to the process that performs them for another process.
type Jobs struct {
	Size int
	// Do performs a job and returns its result. If ctx is done, the result is ignored.
	Do func(ctx context.Context, job int) (any, error)
}

// NewWorker returns a Worker that performs the jobs of every Work in a search. To get a stage's jobs, the Worker calls
// open with the stage's name and a function that decodes the stage's Spec.
func NewWorker(open func(stage string, spec func(any) error) (Jobs, error)) Worker {
	return &worker{open: open}
}

type worker struct {
	open  func(stage string, spec func(any) error) (Jobs, error)
	stage Stage // the latest stage that was opened
	jobs  Jobs  // its jobs
}

// Make performs jobs of a Work. It returns a JSON list of their results, or ctx's error if ctx is done first.
func (w *worker) Make(ctx context.Context, s Stage, first, size uint64) ([]byte, error) {
	if s.Size != w.stage.Size || s.Name != w.stage.Name || !bytes.Equal(s.Spec, w.stage.Spec) {
		jobs, err := w.open(s.Name, func(v any) error { return strictly(s.Spec, v) })
		if err == nil && uint64(jobs.Size) != s.Size {
			err = fmt.Errorf("it has %d positions, not %d", jobs.Size, s.Size)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Name, err)
		}
		w.stage, w.jobs = s, jobs
	}
	if size < 1 || size > s.Size || first > s.Size-size {
		return nil, fmt.Errorf("%s: %d positions from position %d do not exist: there are %d in all", s.Name, size,
			first, s.Size)
	}
	list := make([]any, size)
	for i := range list {
		var err error
		if list[i], err = w.jobs.Do(ctx, int(first)+i); err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return nil, err
		}
	}
	return json.Marshal(list)
}
