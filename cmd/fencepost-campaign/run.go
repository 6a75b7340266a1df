package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/access"
	"github.com/fencepost-sim/fencepost/cmd/fencepost-campaign/queue"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/reports/text"
)

func newRun(to console) *cobra.Command {
	b := begun{place: place{console: to}}
	c := &cobra.Command{
		Use:   "run FILE...",
		Short: "Run a campaign on this machine, with all its cores",
		Long: `Starts a server and workers on this machine, waits for the end, and reports. Ctrl-C stops it; the
same command continues it. To let workers on other machines join, use start.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return b.run(c, args, true) },
	}
	b.request.register(c)
	b.report.register(c)
	c.Flags().StringVar(&b.name, "name", "", "the campaign's `NAME`")
	output.Workers(c, &b.workers, "how many worker processes to start")
	registerPage(c, &b.page)
	return c
}

func newStart(to console) *cobra.Command {
	b := begun{place: place{console: to}}
	c := &cobra.Command{
		Use:   "start FILE...",
		Short: "Start a campaign for workers on any machines, and follow it",
		Long: `Puts a campaign on a NATS server and follows it to its end. Without --nats it runs a server
itself, prints how workers join, and stays until Ctrl-C. Ctrl-C does not end the campaign: workers
continue as long as there is a server, and the same command follows it again.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return b.run(c, args, false) },
	}
	b.request.register(c)
	b.report.register(c)
	b.place.register(c)
	c.Flags().StringVar(&b.listen, "listen", "",
		"`HOST:PORT` where the server of this process listens (default: a free port on the loopback interface)")
	registerPage(c, &b.page)
	return c
}

// begun is one invocation of a command that creates or continues a campaign.
type begun struct {
	place
	request request
	report  report
	workers int
	page    string
}

func (b *begun) run(c *cobra.Command, args []string, here bool) error {
	if err := b.request.check(c, args); err != nil {
		return err
	}
	elsewhere, err := b.settle()
	if elsewhere = elsewhere && !here; err == nil && b.listen != "" && elsewhere {
		err = errors.New("--listen cannot be used with --nats, --access or " + natsURL)
	}
	if err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	entries, files, err := b.request.entries(c, args)
	if err != nil {
		return err
	}
	if err := b.report.check(len(entries)); err != nil {
		return err
	}
	if b.name == "" {
		b.name = nameFor(entries)
	}
	if b.report.Out == "" {
		b.report.Out = folderFor(b.name)
	}
	own, err := version()
	if err != nil {
		return err
	}
	what, err := json.Marshal(order{own, b.request.rules, entries})
	if err != nil {
		return err
	}
	defer b.close()
	if err := b.meet(elsewhere, entries, files); err != nil {
		return err
	}
	if _, err = queue.Create(ctx, b.nc, b.name, what, files, b.request.patience); errors.Is(err, queue.ErrOther) {
		return fmt.Errorf("%w, or was created by another version (this is %s): choose another --name, "+
			"or remove the existing campaign with: fencepost campaign stop --remove --name %s", err, own, b.name)
	}
	if err != nil {
		return err
	}
	return b.follow(ctx, c, here, !elsewhere)
}

// meet connects to the server, and records which test binaries this user has built.
func (b *begun) meet(elsewhere bool, entries []entry, files map[string][]byte) error {
	built := binaries(entries, files)
	if elsewhere {
		b.access.Binaries = append(b.access.Binaries, built...)
		return b.connect()
	}
	if err := b.serve(b.report.Out); err != nil {
		return err
	}
	err := b.server.Know(built...)
	b.access.Binaries = append(b.access.Binaries, built...)
	return err
}

// follow coordinates the campaign until it ends, and then reports its results.
func (b *begun) follow(ctx context.Context, c *cobra.Command, here, embedded bool) error {
	j, err := b.join(ctx)
	if j != nil {
		defer j.close()
	}
	if err != nil {
		return err
	}
	if !here {
		b.invite(embedded)
	}
	close, err := b.show(ctx, j)
	if err != nil {
		return err
	}
	defer close()
	if _, err := j.reopen(ctx, b.console); err != nil {
		return err
	}
	coordinate := func(ctx context.Context) error { return j.coordinate(ctx, c, output.ProgressOn(c.ErrOrStderr())) }
	if here {
		err = b.withCrew(ctx, b.workers, coordinate)
	} else {
		err = coordinate(ctx)
	}
	if err != nil {
		return b.unfinished(ctx, err, embedded && !here)
	}
	err = b.report.conclude(ctx, b.console, j)
	if embedded && !here {
		b.notice("the campaign is over; the server keeps running for status and report until Ctrl-C")
		<-ctx.Done()
		j.Farewell()
	}
	return err
}

// invite prints how other workers can join.
func (b *begun) invite(embedded bool) {
	if !embedded {
		binaries := ""
		for _, sum := range b.access.Binaries {
			binaries += " --binary " + sum
		}
		b.notice(fmt.Sprintf("campaign %s is on %s; workers join with: fencepost campaign work --name %s%s", b.name,
			b.access.Shown(), b.name, binaries))
		return
	}
	b.notice(fmt.Sprintf("this process runs the server of campaign %s; workers join with: "+
		"fencepost campaign work --out %s", b.name, text.ShellWord(filepath.Clean(b.report.Out))))
	if b.access.Listen != "" {
		b.notice(fmt.Sprintf(
			"it listens at %s; to join from another machine, copy %s there so that only you can read it, and run: "+
				"fencepost campaign work --access %s", b.access.Shown(),
			text.ShellWord(filepath.Join(storeIn(b.report.Out), access.FileName)), access.FileName))
	}
}

// withCrew calls f while worker processes on this machine are working on the campaign.
func (p *place) withCrew(ctx context.Context, workers int, f func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	crew := &crew{place: *p, workers: workers}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := crew.run(ctx); err != nil {
			cancel(err)
		}
	}()
	err := f(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	cancel(nil)
	<-ended
	return err
}

// coordinate coordinates the campaign whenever no other process is doing so. If shown is not nil, coordinate calls it
// to report progress.
func (j *job) coordinate(ctx context.Context, c *cobra.Command, shown func(what string, done, of int)) error {
	host, _ := os.Hostname()
	err := j.Coordinate(ctx, fmt.Sprintf("%s of %s, process %d", c.Name(), host, os.Getpid()),
		func(ctx context.Context, d *queue.Director) error {
			d.Seen = func(p queue.Progress) {
				if s := p.Stage(); shown != nil {
					shown(s.Name, int(s.Done), int(s.Size))
				}
			}
			return j.search(ctx, d)
		})
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return err
}

// unfinished returns an error that says how to continue an unfinished campaign.
func (b *begun) unfinished(ctx context.Context, err error, serving bool) error {
	if !errors.Is(err, context.Canceled) {
		return err
	}
	what := fmt.Sprintf("this command was interrupted; run it again to continue campaign %s", b.name)
	if serving {
		what += "; its workers wait until then"
	}
	return fmt.Errorf("%w: %s; to see the results so far: fencepost campaign report --out %s", errUnfinished, what,
		text.ShellWord(filepath.Clean(b.report.Out)))
}
