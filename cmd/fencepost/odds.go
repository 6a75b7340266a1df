package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/cmd/output"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
)

func newOdds() *cobra.Command {
	var f output.Frame
	var chance, by string
	var measure compare.Options
	var servers, quorum int
	c := &cobra.Command{
		Use:   "odds",
		Short: "Measure how likely Redlock is to fail if servers lose the lock",
		Long: `While client-1 holds the lock, each of N servers loses it with the given chance: a master
fails over to a replica that has not received the lock, or, with --by restart, a server
without persistence restarts. The share of runs in which client-2 also got the lock is
compared with two formulas: P(Bin(h, k) >= q - (N - h)) for h keys held and a quorum of q,
and k^N, which a document of Alibaba Cloud gives. Exit 1 if the first formula lies outside
the 99% interval.`,
		Example: `  fencepost odds
  fencepost odds --servers 3 --by restart
  fencepost odds --servers 5 --quorum 2
  fencepost odds --servers 1                 one master-replica pair`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			asked := compare.Odds{Servers: servers, Quorum: quorum, By: compare.Loss(by)}
			if !c.Flags().Changed("quorum") {
				asked.Quorum = servers/2 + 1
			}
			if err := checkOdds(&asked, chance); err != nil {
				return err
			}
			defer f.Close()
			if err := f.Open("odds"); err != nil {
				return err
			}
			measure.Progress = f.Progress()
			odds, err := measureOdds(asked, measure)
			if err != nil {
				return err
			}
			odds.Repeat = fmt.Sprintf("%s odds --servers %d --quorum %d --by %s --chance %s --runs %d",
				output.Program(),
				asked.Servers, asked.Quorum, asked.By, chance, measure.Runs)
			return f.Emit(odds.Document(), odds.Standing())
		},
	}
	f.Register(c, "")
	c.Flags().StringVar(&chance, "chance", "20%", "`CHANCE` that one server loses the lock")
	output.Count(c, &measure.Runs, "runs", 4000, 1, 0,
		"number of random schedules to try for each number of keys that are held")
	output.Workers(c, &measure.Workers, "how many schedules to run at once")
	output.Count(c, &servers, "servers", 5, 1, compare.MaxOddsServers,
		"how many servers or master-replica pairs there are")
	c.Flags().IntVar(&quorum, "quorum", 0, "how many servers must grant the lock (default a majority)")
	c.Flags().StringVar(&by, "by", string(compare.ByFailover), "how a server loses the lock: failover or restart")
	return c
}

// checkOdds parses the chance, and returns an error if the odds cannot be measured with these options.
func checkOdds(o *compare.Odds, chance string) (err error) {
	if o.Chance, err = parseChance(chance); err != nil {
		return err
	}
	switch {
	case o.Quorum < 1 || o.Quorum > o.Servers:
		return fmt.Errorf("--quorum must be from 1 to the number of servers, %d, not %d", o.Servers, o.Quorum)
	case o.By != compare.ByFailover && o.By != compare.ByRestart:
		return fmt.Errorf("--by must be %s or %s, not %q", compare.ByFailover, compare.ByRestart, o.By)
	}
	return nil
}

// parseChance parses a percentage above 0 and below 100, and returns it as a fraction.
func parseChance(text string) (float64, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !isPercent || err != nil || !(v > 0 && v < 100) {
		return 0, fmt.Errorf("--chance needs a percentage above 0%% and below 100%%, such as 1%%, not %q", text)
	}
	return v / 100, nil
}

// measureOdds measures the odds for each number of keys held. An interruption ends the measurement.
func measureOdds(asked compare.Odds, measure compare.Options) (*compare.OddsReport, error) {
	ctx, stop := output.Interruptible()
	defer stop()
	all := &compare.OddsReport{Asked: asked}
	for held := asked.Quorum; held <= asked.Servers; held++ {
		asked.Held = held
		o, err := asked.Measure(ctx, measure)
		if err != nil {
			return nil, err
		}
		all.Interrupted = all.Interrupted || o.Runs < measure.Runs
		if o.Runs > 0 {
			all.Rows = append(all.Rows, o)
		}
	}
	return all, nil
}
