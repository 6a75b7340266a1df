package main

import (
	"errors"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
)

func main() {
	process.Main()
	// A run allocates tens of KB and retains almost nothing. Collecting garbage less often saves a tenth of the time.
	debug.SetGCPercent(400)
	output.OutliveReaders()
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run does main's work, so that tests can call it. It writes results to stdout and errors to stderr, and returns the
// exit code.
func run(args []string, stdout, stderr io.Writer) int {
	out, problems := output.ForPeople(stdout), output.ForPeople(stderr)
	args = withLongRun(args)
	root := newRoot()
	root.SetArgs(args)
	root.SetOut(out)
	root.SetErr(problems)
	err := output.CheckArguments(args)
	if err == nil {
		err = root.Execute()
	}
	return output.ExitCode(err, "fencepost", problems, func(err error) bool {
		var undecided *live.UndecidedError
		return errors.Is(err, live.ErrInterrupted) || errors.As(err, &undecided)
	})
}

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:   "fencepost",
		Short: "Does this distributed lock still work when things go wrong?",
		Long: `Fencepost runs many clients of a distributed lock against simulated servers, lets processes
pause, clocks jump, servers crash and packets arrive late, and judges the recorded history.
Same seed, same run.

Locks on: Redis (one, with replicas and Sentinel, and Redlock on several), Tair, etcd,
ZooKeeper, Kubernetes and Consul.`,
		Example: `  fencepost run kleppmann-gc-pause
  fencepost init redlock --out my-lock.yaml
  fencepost run my-lock.yaml --seeds 1000`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SuggestionsMinimumDistance = 2
	root.Version = strings.Join(ownBuild().lines(), "\n") + "\n"
	root.SetVersionTemplate("{{.Version}}")
	root.AddCommand(newList(), newRun(), newReplay(), newExplore(), newVerify(), newSweep(), newAdvise(), newMerge(),
		newOdds(), newCorpus(), newCampaign(), newCompare(), newCheck(), newShow(), newInit(), newVersion(), newLive(),
		newLiveClient(), newPlay())
	root.SetFlagErrorFunc(output.FlagProblem)
	return root
}

// withLongRun replaces -run, as written for go test, with --run.
func withLongRun(args []string) []string {
	args = slices.Clone(args)
	for i, a := range args {
		if a == "-run" || strings.HasPrefix(a, "-run=") {
			args[i] = "-" + a
		}
	}
	return args
}
