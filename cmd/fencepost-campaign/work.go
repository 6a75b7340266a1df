package main

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
)

func newWork(to console) *cobra.Command {
	k, child := crew{place: place{console: to}}, false
	c := &cobra.Command{
		Use:   "work",
		Short: "Work on a campaign until it ends",
		Long: `Works on a campaign until it ends, with one process per core. It may be killed at any moment: other
workers redo what it was doing.`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			ctx, stop := output.Interruptible()
			defer stop()
			defer k.close()
			if child {
				// a worker process performs one run at a time, and there is one such process per core
				runtime.GOMAXPROCS(1)
				debug.SetGCPercent(400) // a run keeps almost nothing, as in fencepost
				life := bufio.NewReader(os.Stdin)
				if err := k.readAccess(life); err != nil {
					return err
				}
				return k.work(outlivedBy(ctx, life))
			}
			err := k.reach()
			if err == nil && !k.stay {
				err = k.choose(ctx)
			}
			if err != nil {
				return err
			}
			return k.serveAll(ctx)
		},
	}
	k.register(c)
	c.Flags().StringVar(&k.folder, "out", "", "`DIR` of a campaign that was started on this machine")
	output.Workers(c, &k.workers, "how many worker processes to start")
	c.Flags().BoolVar(&k.stay, "stay", false, "work on any campaign on the server, and wait for new ones")
	c.Flags().BoolVar(&child, childFlag, false, "")
	c.Flags().MarkHidden(childFlag)
	return c
}

// childFlag is the flag that makes a process a single worker. The worker ends when the process that started it does.
const childFlag = "one"

// readAccess reads the server's address and credentials from the process that started this one. Because they contain
// secrets, they are not passed on the command line or in the environment.
func (k *crew) readAccess(by *bufio.Reader) error {
	line, err := by.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &k.access)
	}
	if err != nil {
		return fmt.Errorf("--%s is only for processes started by fencepost campaign work: %w", childFlag, err)
	}
	return nil
}

// outlivedBy returns a context that is done once the process writing to the given pipe has ended.
func outlivedBy(ctx context.Context, pipe io.Reader) context.Context {
	ctx, cancel := context.WithCancel(ctx)
	go func() {
		io.Copy(io.Discard, pipe)
		cancel()
	}()
	return ctx
}

// crew is the set of worker processes on one machine.
type crew struct {
	place
	workers int  // 0 means one for each core
	stay    bool // whether to stay and wait for further campaigns
}

// lookEvery is how often workers that stay after a campaign has ended look for the next one. It is also how often a
// worker retries a server that is down.
const lookEvery = time.Second

// serveAll works on one campaign and then, if the user wants the workers to stay, on later campaigns.
func (k *crew) serveAll(ctx context.Context) error {
	if !k.stay {
		return k.run(ctx)
	}
	given := k.name
	for {
		name, err := k.next(ctx, given)
		if err != nil {
			return err
		}
		if name == "" {
			select {
			case <-ctx.Done():
				return nil
			case <-time.After(lookEvery):
			}
			continue
		}
		k.name = name
		err = k.run(ctx)
		if ctx.Err() != nil {
			return nil
		}
		if _, gone := queue.Open(ctx, k.nc, name); err != nil && !errors.Is(gone, queue.ErrNone) {
			return err
		}
	}
}

// next returns the name of a campaign that is not over yet, or "" if there is none.
func (k *crew) next(ctx context.Context, given string) (string, error) {
	names, err := queue.List(ctx, k.nc)
	if err != nil {
		return "", err
	}
	for _, name := range names {
		if given != "" && name != given {
			continue
		}
		c, err := queue.Open(ctx, k.nc, name)
		if errors.Is(err, queue.ErrNone) {
			continue
		}
		if err != nil {
			return "", err
		}
		if over, err := c.Over(ctx); err == nil && !over {
			return name, nil
		}
	}
	return "", nil
}

// run starts the workers, and replaces each one that dies. Each worker is a separate process, so a run that crashes its
// process does not crash the other workers. run returns when the campaign is over, ctx is done, or the workers cannot
// work.
func (k *crew) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	n := cmp.Or(k.workers, runtime.GOMAXPROCS(0))
	k.notice(fmt.Sprintf("%s working on campaign %s", text.Count(n, "worker"), k.name))
	for range n {
		all.Go(func() {
			if err := k.keepOne(ctx); err != nil {
				cancel(err)
			}
		})
	}
	all.Wait()
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, context.Canceled) {
		return cause
	}
	return nil
}

// A process that dies within tooSoon hasn't done any work. If mostDeaths processes in a row die that soon, worker
// processes cannot run on this machine.
const (
	tooSoon    = time.Second
	mostDeaths = 20
)

// keepOne keeps one worker process running.
func (k *crew) keepOne(ctx context.Context) error {
	for soon := 0; ctx.Err() == nil; {
		began := time.Now()
		err := k.runOne(ctx)
		var exit *exec.ExitError
		switch {
		case err == nil || ctx.Err() != nil:
			return nil
		case !errors.As(err, &exit):
			return err
		}
		k.notice(fmt.Sprintf("a worker process died (%s); starting another one", err))
		if soon++; time.Since(began) > tooSoon {
			soon = 0
		}
		if soon == mostDeaths {
			return fmt.Errorf("giving up: %d worker processes in a row died right after their start: %w", soon, err)
		}
	}
	return nil
}

// runOne runs one worker process until it ends, and shows the user what it prints. If the process rejected its input
// and said so, runOne returns output.ErrReported.
func (k *crew) runOne(ctx context.Context) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, "work", "--"+childFlag, "--name", k.name)
	life, err := c.StdinPipe() // closing this pipe ends the process
	if err != nil {
		return err
	}
	said, err := c.StderrPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	defer context.AfterFunc(ctx, func() { life.Close() })()
	if err := json.NewEncoder(life).Encode(k.access); err != nil {
		// the process has died, which the code below notices
		k.notice(fmt.Sprintf("cannot pass the server's address and credentials to a worker process: %s", err))
	}
	for lines := bufio.NewScanner(said); lines.Scan(); {
		k.notice(strings.TrimPrefix(lines.Text(), "fencepost campaign: "))
	}
	err = c.Wait()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.Exited() && exit.ExitCode() == output.ExitBadInput {
		return output.ErrReported
	}
	return err
}

// work is a worker process's main function.
func (k *crew) work(ctx context.Context) error {
	for { // try again if this fails, because the parent process has reached the server
		err := k.connect()
		if err == nil {
			break
		}
		if errors.Is(err, access.ErrRefused) {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(lookEvery):
		}
	}
	j, err := k.join(ctx)
	if j == nil {
		return err
	}
	defer j.close()
	if err == nil {
		err = j.prove()
	}
	own, failed := version()
	if failed != nil {
		return failed
	}
	host, _ := os.Hostname()
	id := rand.Text()
	h, failed := j.Join(ctx, id, queue.Present{Host: host, Process: os.Getpid(), Build: own + " " + system})
	if failed != nil {
		return failed
	}
	if err != nil {
		return errors.Join(err, h.Refuse(ctx, err))
	}
	all, err := workers(j)
	if err != nil {
		return err
	}
	return k.workAndCoordinate(ctx, h, &worker{j, all}, id)
}

// workAndCoordinate does the campaign's work, and coordinates the campaign if no other process does. It opens the
// campaign a second time for the coordinator: a subject stores what a search finds, so the worker and the coordinator
// must not share subjects.
func (k *crew) workAndCoordinate(ctx context.Context, h *queue.Hand, w *worker, id string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var all sync.WaitGroup
	all.Go(func() {
		j, err := k.join(ctx)
		if j != nil {
			defer j.close()
		}
		if err == nil {
			err = j.Coordinate(ctx, h.Host+" "+id, j.search)
		}
		if err != nil && ctx.Err() == nil {
			cancel(err)
		}
	})
	err := h.Work(ctx, w)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(err)
	all.Wait()
	if errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}
