package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/cmd/task"
	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/reports/text"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/scenarios/campaign"
	"github.com/fencepost-sim/fencepost/scenarios/format"
	"github.com/fencepost-sim/fencepost/scenarios/live"
	"github.com/fencepost-sim/fencepost/scenarios/live/agree"
	"github.com/fencepost-sim/fencepost/scenarios/live/process"
	"github.com/fencepost-sim/fencepost/scenarios/live/servers"
	"github.com/fencepost-sim/fencepost/scenarios/search"
	"github.com/fencepost-sim/fencepost/scenarios/single"
)

// liveJob is one invocation of the "fencepost live" command.
type liveJob struct {
	output.Frame
	scenario *scenarios.Scenario
	plan     nemesis.Plan
	planned  bool // whether the plan is from a file
	client   string
	servers  string
	chosen   bool // whether --servers was given
	listen   string
	file     string // the plan's file; empty: the scenario's own faults
	both     bool   // whether to run scenarios both in simulation and live, and to compare the verdicts
	workers  int
	problems io.Writer // the standard error stream
}

func newLive() *cobra.Command {
	j := &liveJob{}
	c := &cobra.Command{
		Use:               "live SCENARIO|FILE",
		ValidArgsFunction: scenarioOrFile,
		Short:             "Run a scenario in real time, with clients in any language",
		Long: `live runs a scenario in real time, on Linux. Its servers listen on ports of this machine, behind the
simulated network; its clients are processes: your own, started by --client, or one for each
client of the scenario's protocol. A pause is a SIGSTOP, a crash a kill -9.

` + live.Reporting(),
		Example: `  fencepost live fenced-gc-pause
  fencepost live fenced-gc-pause --client 'python3 worker.py'
  fencepost live --agree kleppmann-gc-pause fenced-gc-pause`,
		Args: func(c *cobra.Command, args []string) error {
			if j.both {
				return nil
			}
			return oneArgument("a scenario's name or file")(c, args)
		},
		RunE: j.start,
	}
	c.Flags().StringVar(&j.client, "client", "",
		"start `CMD` in a shell for each client\n(default: the scenario's own protocol)")
	c.Flags().StringVar(&j.servers, "servers", servers.Simulated, "what the lock servers are: simulated;\n"+
		text.Join(servers.Real(), " or ")+", which it starts;\n"+
		"or `ADDRESSES` of your own Redis servers, HOST:PORT,HOST:PORT;\n"+
		"if they have passwords, write env:VARIABLE or file:PATH, "+
		"which holds\nredis://[USER]:PASSWORD@HOST:PORT/DATABASE for each")
	c.Flags().BoolVar(&j.both, "agree", false, "run the named scenarios of the catalog (default: all), both\n"+
		"simulated and in real time on real servers, and compare the\n"+
		"verdicts; --servers selects the scenarios of one kind of server")
	output.Workers(c, &j.workers, "with --agree: number of scenarios to run at once")
	c.Flags().StringVar(&j.file, "plan", "", "take faults and seed from a plan `FILE` instead of the scenario")
	c.Flags().Uint64Var(&j.plan.Seed, "seed", 1, "seed for the network's delays")
	c.Flags().StringVar(&j.listen, "listen", loopback, "listen on this `ADDRESS` of the machine")
	c.Flags().StringVar(&j.Metrics, "metrics", "", "write the metrics to `FILE` as OpenMetrics text")
	c.Flags().StringVar(&j.Out, "out", "",
		"write plan, history and verdict to `DIR`\n(default _runs/live-SCENARIO-SEED)")
	j.Register(c, pageOfRun)
	return c
}

// start runs the command. It runs one scenario live or, with --agree, many scenarios both in simulation and live.
func (j *liveJob) start(c *cobra.Command, args []string) (err error) {
	j.problems = c.ErrOrStderr()
	switch j.chosen = c.Flags().Changed("servers"); {
	case j.both:
		if err = output.OnlyBeside(c, "agree", "servers", "listen", "workers", "json", "junit", "html"); err != nil {
			return err
		}
		return j.agree(args)
	case c.Flags().Changed("workers"):
		return errors.New("--workers can be used only with --agree: a live run of one scenario is a single run")
	}
	if j.scenario, err = task.Open(args[0]); err != nil {
		return err
	}
	if err = j.planOf(c.Flags().Changed("seed")); err != nil {
		return err
	}
	return j.run()
}

// planOf sets j.plan to the plan in the plan file. If no such file is given, it uses the scenario's plan. seeded
// reports whether the user gave a seed, which then replaces the seed in the plan file.
func (j *liveJob) planOf(seeded bool) (err error) {
	seed := j.plan.Seed
	if j.file == "" {
		j.plan = j.scenario.Plan(seed)
		return nil
	}
	if j.plan, err = readPlan(j.file, j.scenario); err == nil && seeded {
		j.plan.Seed = seed
	}
	j.planned = true
	return err
}

// loopback is the address on which servers listen by default.
const loopback = "127.0.0.1"

// liveClient is the command that live runs use to start Fencepost's own clients.
const liveClient = "live-client"

func newLiveClient() *cobra.Command {
	return &cobra.Command{Use: liveClient, Hidden: true, Args: cobra.NoArgs,
		Short: "Act as one client of a live run; fencepost live starts it",
		RunE: func(*cobra.Command, []string) error {
			if os.Getenv("FENCEPOST_CLIENT") == "" {
				return errors.New("live-client is not meant to be run by hand: " +
					"fencepost live starts one for each client")
			}
			return live.Child()
		}}
}

// run first checks that the results can be written. It then performs the live run, and writes and reports the results.
func (j *liveJob) run() error {
	choice, err := servers.Parse(j.servers)
	if err != nil {
		return err
	}
	o, err := j.options()
	if err != nil {
		return err
	}
	if o.Scenario, err = choice.Scenario(j.scenario); err != nil {
		return err
	}
	if j.Out == "" {
		j.Out = fmt.Sprintf("_runs/live-%s-%d", j.scenario.Name, j.plan.Seed)
		if j.planned || j.client != "" || choice.Real() {
			j.Out = task.FolderFor("live-"+j.scenario.Name, j.scenario, j.plan.String(), j.client+j.servers)
		}
	}
	defer debug.SetGCPercent(debug.SetGCPercent(100)) // a run may last for hours, and its history keeps growing
	defer j.Close()
	if err := j.Open("run"); err != nil {
		return err
	}
	if err := j.Files.Spare(append(task.FilesOfRun(""), "client-*.txt")...); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	o.Context = ctx
	o.Again = func(why error) {
		fmt.Fprintf(j.problems, "fencepost: %s: the host may have been too busy; starting the run again\n", why)
	}
	result, err := choice.Run(o, j.plan)
	if result == nil {
		return err
	}
	j.keep(result)
	if err != nil {
		return j.unjudged(err)
	}
	judgment := o.Scenario.Judge(result.Result)
	if result.Partial {
		decideLess(&judgment)
	}
	run := single.NewRun(o.Scenario, result.Result, judgment)
	run.Digest, run.Notes = "", result.Notes
	run.Files, run.Repeat = j.Out, j.repeat()
	report := run.Document()
	j.Keep(task.VerdictFile, "run", report)
	return j.Emit(report, judgment.Standing())
}

// keep writes the run's inputs, its history, and the clients' output.
func (j *liveJob) keep(r *live.Result) {
	how := task.Repetition{Options: j.repeatFlags()}
	if j.client != "" || strings.HasPrefix(j.servers, "file:") { // a program or a file that is not in the plan's folder
		how.Command = j.repeat()
	}
	for _, file := range task.Inputs(j.scenario, j.plan, how) {
		j.Files.Keep(output.File{Name: file.Name, Content: file.Text})
	}
	j.Draw(task.HistoryFile, func(w io.Writer) error { return history.Encode(w, r.History) })
	for _, p := range r.Printed {
		j.Files.Keep(output.File{Name: string(p.Client) + ".txt", Content: []byte(p.Text)})
	}
}

// unjudged handles a run that could not be judged for reasons unrelated to the lock, once its history has been written.
// It returns the error that the command ends with.
func (j *liveJob) unjudged(err error) error {
	var undecided *live.UndecidedError
	if !errors.Is(err, live.ErrInterrupted) && !errors.As(err, &undecided) {
		err = &live.UndecidedError{Err: err}
	}
	return errors.Join(fmt.Errorf("%w\nthe history up to then is in %s", err, j.Out), j.Files.Finish())
}

// decideLess marks the judgment of a run as undecided, because the run ended before its work was done. It drops all
// mismatches except violations of laws, because those did occur.
func decideLess(j *format.Judgment) {
	j.Undecided = true
	j.Mismatches = slices.DeleteFunc(j.Mismatches, func(m format.Mismatch) bool {
		return j.Verdict.Of(checker.Law(m.Name)).Outcome != checker.Violated
	})
}

// options returns the options that all of this invocation's runs share.
func (j *liveJob) options() (live.Options, error) {
	self, err := os.Executable()
	return live.Options{Command: j.client, Host: j.listen, Patience: live.Patience,
		Own: process.Command{Path: self, Args: []string{os.Args[0], liveClient}}}, err
}

// agree runs scenarios both in simulation and live, and compares the verdicts. If none are given, it runs all scenarios
// that the servers support. Unless the user chose the servers, the live runs use the kind of real servers that each
// scenario needs.
func (j *liveJob) agree(given []string) error {
	agreement := &agree.Agreement{Servers: "real servers", Repeat: output.Program() + " live --agree"}
	choose := servers.Started
	if j.chosen {
		choice, err := servers.Parse(j.servers)
		if err != nil {
			return err
		}
		choose, agreement.Servers = choice.For, j.servers
		agreement.Repeat += " --servers " + text.ShellWord(j.servers)
	}
	if j.listen != loopback {
		agreement.Repeat += " --listen " + text.ShellWord(j.listen)
	}
	o, failed := j.options()
	names, err := agree.Names(given, choose)
	if err = errors.Join(err, failed); err != nil {
		return err
	}
	agreement.Repeat = strings.Join(append([]string{agreement.Repeat}, given...), " ")
	defer j.Close()
	if err := j.Open("agree"); err != nil {
		return err
	}
	ctx, stop := output.Interruptible()
	defer stop()
	err = agree.Run(ctx, campaign.Crew{Workers: j.workers, Progress: j.Progress()}, names,
		func(ctx context.Context, s *scenarios.Scenario) (*live.Result, error) {
			choice, err := choose(s)
			if err == nil {
				s, err = choice.Scenario(s)
			}
			if err != nil {
				return nil, err
			}
			o := o
			o.Context, o.Scenario = ctx, s
			return choice.Run(o, s.Plan(1))
		}, func(r agree.Row) { agreement.Rows = append(agreement.Rows, r) })
	if err != nil && ctx.Err() == nil {
		return err
	}
	agreement.Interrupted = len(agreement.Rows) < len(names) || ctx.Err() != nil
	return j.Emit(agreement.Document(), agreement.Standing())
}

// repeat returns a command that runs the same plan again.
func (j *liveJob) repeat() string {
	return fmt.Sprintf("%s live %s --plan %s%s", output.Program(), text.ShellWord(task.NameOf(j.scenario)),
		text.ShellWord(j.Out+"/"+search.PlanFile), j.repeatFlags())
}

// repeatFlags returns this invocation's server, address and client flags, as they appear in a command that repeats the
// run.
func (j *liveJob) repeatFlags() (options string) {
	if j.servers != servers.Simulated {
		options += " --servers " + text.ShellWord(j.servers)
	}
	if j.listen != loopback {
		options += " --listen " + text.ShellWord(j.listen)
	}
	if j.client != "" {
		options += " --client " + text.ShellWord(live.WithoutPasswords(j.client))
	}
	return options
}
