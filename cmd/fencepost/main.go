package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/nearest"
	"github.com/fencepost-sim/fencepost/cmd/fencepost/frame"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/sim/live/keeper"
)

// Exit codes, as the README documents them.
const (
	exitExpected  = 0 // every law came out as the scenario expects
	exitOtherwise = 1 // some law came out differently
	exitBadInput  = 2 // bad input or usage; nothing ran
	exitUndecided = 3 // the limit or the checker's budget ended first
)

func main() {
	keeper.Main()
	// a run allocates some tens of KB and leaves next to nothing: rare collections are worth a tenth
	debug.SetGCPercent(400)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main without the process around it. Errors are told on stderr, results on stdout.
func run(args []string, stdout, stderr io.Writer) int {
	out, problems := frame.ForPeople(stdout), frame.ForPeople(stderr)
	args = withLongRun(args)
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(problems)
	err := checkArguments(args)
	if err == nil {
		err = root.Execute()
	}
	var ended frame.Ended
	var badFile *format.Error
	var badPlan *nemesis.PlanError
	var undecided *live.UndecidedError
	switch {
	case err == nil:
		return exitExpected
	case errors.As(err, &ended) && expect.Standing(ended) == expect.Otherwise:
		return exitOtherwise
	case errors.As(err, &ended):
		return exitUndecided
	case errors.Is(err, live.ErrInterrupted), errors.As(err, &undecided):
		fmt.Fprintf(problems, "fencepost: %s\n", err)
		return exitUndecided
	case errors.As(err, &badFile), errors.As(err, &badPlan): // begins with its place, as editors expect
		fmt.Fprintln(problems, err)
		return exitBadInput
	default:
		fmt.Fprintf(problems, "fencepost: %s\n", strings.TrimSpace(err.Error()))
		return exitBadInput
	}
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "fencepost",
		Short: "Does this distributed lock still exclude when things go wrong?",
		Long: `Fencepost runs many clients of a distributed lock against simulated servers, lets processes
pause, clocks jump, servers crash and packets arrive late, and judges the recorded history.
Same seed, same run.

Locks on: Redis (one, with replicas and Sentinel, and Redlock on several), Tair, etcd and
ZooKeeper.`,
		Example: `  fencepost run kleppmann-gc-pause
  fencepost init redlock --out my-lock.yaml
  fencepost run my-lock.yaml --seeds 1000`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SuggestionsMinimumDistance = 2
	root.AddCommand(newList(), newRun(), newReplay(), newExplore(), newVerify(), newSweep(), newAdvise(), newMerge(),
		newOdds(), newCorpus(), newCompare(), newCheck(), newShow(), newInit(), newVersion(), newLive(),
		newLiveClient())
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%s\nsee: %s -h", flagProblem(c, err), c.CommandPath())
	})
	return root
}

// flagProblem says what is wrong with a flag, and what to write.
func flagProblem(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		return fmt.Sprintf("--%s needs %s, not %q", f.Name, flagValues(f.Value.Type()), invalid.GetValue())
	case errors.As(err, &unknown):
		var flags []string
		c.Flags().VisitAll(func(f *pflag.Flag) { flags = append(flags, f.Name) })
		if near := nearest.Word(unknown.GetSpecifiedName(), flags); near != "" {
			return fmt.Sprintf("%s (did you mean \"--%s\"?)", err, near)
		}
	}
	return err.Error()
}

// flagValues says what a flag of a type takes.
func flagValues(kind string) string {
	switch kind {
	case "uint64":
		return "a whole number from 0 to 18446744073709551615"
	case "int":
		return "a whole number"
	case "duration":
		return "a duration with its unit, such as 90s or 2m"
	case "bool":
		return "no value, or =true or =false"
	}
	return "a text without unpaired quotes" // of lists, which are read as CSV
}

// checkArguments refuses an argument that no line of text can hold, before it gets into a report.
func checkArguments(args []string) error {
	for i, arg := range args {
		if at := strings.IndexFunc(arg, history.Unprintable); at >= 0 {
			c, _ := utf8.DecodeRuneInString(arg[at:])
			return fmt.Errorf("argument %d, %q, has the control character %U", i+1, arg, c)
		}
	}
	return nil
}
