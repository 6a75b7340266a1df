package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
)

func main() {
	output.OutliveReaders()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// errUnfinished is returned by a command if the campaign has not finished yet.
var errUnfinished = errors.New("the campaign is not finished")

// run does the work of main, so that tests can call it. It prints results on stdout and errors on stderr, and returns
// the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	problems := output.ForPeople(stderr)
	root := newRoot(console{output.ForPeople(stdout), problems, &said{}})
	root.SetArgs(args)
	root.SetOut(output.ForPeople(stdout))
	root.SetErr(problems)
	err := output.CheckArguments(args)
	if err == nil {
		err = root.Execute()
	}
	return output.ExitCode(err, "fencepost campaign", problems, func(err error) bool {
		return errors.Is(err, errUnfinished) || errors.Is(err, context.Canceled)
	})
}

// console is where a command writes its results and, while it is working, notices to the user.
type console struct {
	out, problems io.Writer
	last          *said
}

// said stores the latest notice, so that it is not repeated.
type said struct {
	sync.Mutex
	text string
}

// notice writes a line for users, unless the previous line was the same. Multiple goroutines may call it at the same
// time.
func (c console) notice(text string) {
	c.last.Lock()
	defer c.last.Unlock()
	if text != c.last.text {
		fmt.Fprintf(c.problems, "fencepost campaign: %s\n", text)
	}
	c.last.text = text
}

func newRoot(c console) *cobra.Command {
	root := &cobra.Command{
		Use:   "campaign",
		Short: "Divide a search among any number of machines, with one report",
		Long: `Divides explorations, verifications, sweeps, searches for advice, comparisons and the corpus among
any number of processes on any machines, which take their work from a NATS server. Workers may join,
leave and be killed at any time. The report is the same as if one machine had done all the work.`,
		Example: `  fencepost campaign run our-lock.yaml --seeds 1000000
  fencepost campaign start our-lock.yaml --seeds 1000000000 --nats nats://queue:4222
  fencepost campaign work --nats nats://queue:4222`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SuggestionsMinimumDistance = 2
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "fencepost campaign"}
	root.CompletionOptions.DisableDefaultCmd = true // the program fencepost generates the completion script
	root.AddCommand(newRun(c), newStart(c), newWork(c), newStatus(c), newReport(c), newStop(c))
	root.SetFlagErrorFunc(output.FlagProblem)
	return root
}
