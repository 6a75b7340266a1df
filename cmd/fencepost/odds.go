package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/reports"
	"github.com/fencepost-sim/fencepost/scenarios/compare"
	"github.com/fencepost-sim/fencepost/scenarios/expect"
)

func newOdds() *cobra.Command {
	var o output
	var chance, by string
	var measure compare.Options
	var servers, quorum int
	c := &cobra.Command{
		Use:   "odds",
		Short: "Measure how likely Redlock fails when servers may lose the lock",
		Long: `While client-1 holds the lock, each of N servers loses it with the given chance: a master
fails over to a replica that has not heard of it, or, with --by restart, a server without
persistence restarts. The measured share of runs in which client-2 got the lock too is
compared with the formula P(Bin(h, k) >= q - (N - h)) for h keys held and a quorum of q, and
with k^N, which Alibaba Cloud's document says. Exit 1 if the formula lies outside the 99 %
interval.`,
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
			if err := checkOdds(&asked, chance, measure); err != nil {
				return err
			}
			defer o.close()
			if err := o.open("", "odds", "", ""); err != nil {
				return err
			}
			measure.Progress = progressOn(c.ErrOrStderr())
			odds, err := measureOdds(asked, measure)
			if err != nil {
				return err
			}
			if o.json {
				err = odds.json(c.OutOrStdout())
			} else {
				err = odds.table(c.OutOrStdout(), &asked)
			}
			if err != nil {
				return err
			}
			suite := odds.suite()
			suite.Repeat = fmt.Sprintf("%s odds --servers %d --quorum %d --by %s --chance %s --runs %d", program(),
				asked.Servers, asked.Quorum, asked.By, chance, measure.Runs)
			o.tell(suite)
			return o.exit(odds.standing())
		},
	}
	o.register(c)
	c.Flags().StringVar(&chance, "chance", "20%", "`CHANCE` that one server loses the lock")
	c.Flags().IntVar(&measure.Runs, "runs", 4000, "schedules for each number of keys held")
	c.Flags().IntVar(&measure.Workers, "workers", 0, "how many schedules to run at once (default: one a core)")
	c.Flags().IntVar(&servers, "servers", 5, "how many servers or master-replica pairs there are")
	c.Flags().IntVar(&quorum, "quorum", 0, "how many must grant the lock (default a majority)")
	c.Flags().StringVar(&by, "by", string(compare.ByFailover), "how a server loses the lock: failover or restart")
	return c
}

// checkOdds reads the chance, and refuses what cannot be measured.
func checkOdds(o *compare.Odds, chance string, measure compare.Options) (err error) {
	if o.Chance, err = parseChance(chance); err != nil {
		return err
	}
	switch {
	case measure.Runs < 1:
		return fmt.Errorf("--runs must be at least 1, not %d", measure.Runs)
	case o.Servers < 1 || o.Servers > compare.MaxOddsServers:
		return fmt.Errorf("--servers must be from 1 to %d, not %d", compare.MaxOddsServers, o.Servers)
	case o.Quorum < 1 || o.Quorum > o.Servers:
		return fmt.Errorf("--quorum must be from 1 to the number of servers, %d, not %d", o.Servers, o.Quorum)
	case o.By != compare.ByFailover && o.By != compare.ByRestart:
		return fmt.Errorf("--by must be %s or %s, not %q", compare.ByFailover, compare.ByRestart, o.By)
	}
	return checkWorkers(measure.Workers)
}

// parseChance reads a percentage above 0 and below 100.
func parseChance(text string) (float64, error) {
	digits, isPercent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(digits, 64)
	if !isPercent || err != nil || !(v > 0 && v < 100) {
		return 0, fmt.Errorf("--chance needs a percentage above 0%% and below 100%%, such as 1%%, not %q", text)
	}
	return v / 100, nil
}

// odds are what was measured.
type odds struct {
	Schema      string    `json:"schema"`
	Command     string    `json:"command"`
	Rows        []oddsRow `json:"odds"`
	Interrupted bool      `json:"interrupted"` // a signal came before all runs were made
}

// oddsRow is the odds for one number of keys held.
type oddsRow struct {
	Held     int     `json:"held"`
	Runs     int     `json:"runs"` // that were made
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"` // of the 99 % interval
	High     float64 `json:"high"`
	Formula  float64 `json:"formula"`
	Article  float64 `json:"article"` // k^N
	Agrees   bool    `json:"agrees"`
}

// measureOdds measures for each number of keys held, until it is interrupted.
func measureOdds(asked compare.Odds, measure compare.Options) (*odds, error) {
	ctx, stop := interruptible()
	defer stop()
	all := &odds{Schema: reports.SchemaName, Command: "odds", Rows: []oddsRow{}}
	for held := asked.Quorum; held <= asked.Servers; held++ {
		asked.Held = held
		o, err := asked.Measure(ctx, measure)
		if err != nil {
			return nil, err
		}
		all.Interrupted = all.Interrupted || o.Runs < measure.Runs
		if o.Runs > 0 {
			low, high := o.Interval()
			all.Rows = append(all.Rows, oddsRow{held, o.Runs, o.Measured(), low, high, o.Formula(), o.Article(), o.Agrees()})
		}
	}
	return all, nil
}

// standing is Otherwise if the formula lies outside the interval of what was measured.
func (o *odds) standing() expect.Standing {
	switch {
	case slices.ContainsFunc(o.Rows, func(r oddsRow) bool { return !r.Agrees }):
		return expect.Otherwise
	case o.Interrupted:
		return expect.NotDecidable
	}
	return expect.AsExpected
}

func (o *odds) table(w io.Writer, asked *compare.Odds) error {
	what := "masters, each of which fails over and loses the lock by that"
	if asked.By == compare.ByRestart {
		what = "servers, each of which restarts and loses the lock by that"
	}
	fmt.Fprintf(w, "Redlock with a quorum of %d of %d %s with chance %g %%\n\n", asked.Quorum, asked.Servers, what,
		asked.Chance*100)
	fmt.Fprintf(w, "held      runs  measured  99 %% interval        formula    article k^N\n")
	for _, r := range o.Rows {
		mark := "agrees"
		if !r.Agrees {
			mark = "DISAGREES"
		}
		fmt.Fprintf(w, "%4d  %8d  %8.5f  %.5f to %.5f  %9.3g  %9.3g  %s\n", r.Held, r.Runs, r.Measured, r.Low, r.High, r.Formula, r.Article, mark)
	}
	if o.Interrupted {
		fmt.Fprintf(w, "\nstopped by a signal before all runs were made\n")
	}
	_, err := fmt.Fprintf(w, "\nThe article's k^N is the chance that all servers lose the lock at once. A second client needs\n"+
		"only a quorum of servers that do not know the lock: those that lost it and those that never had it.\n")
	return err
}

func (o *odds) json(w io.Writer) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(o)
}

// suite has a case for each row.
func (o *odds) suite() reports.Suite {
	s := reports.Suite{Name: "odds", Cases: reports.Interrupted("odds", o.Interrupted)}
	for _, r := range o.Rows {
		c := reports.Case{Group: "odds", Name: fmt.Sprintf("%d keys held", r.Held), Result: reports.Passed,
			Message: fmt.Sprintf("measured %.5f, 99 %% interval %.5f to %.5f, formula %.3g", r.Measured, r.Low, r.High, r.Formula)}
		if !r.Agrees {
			c.Result = reports.Failed
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
