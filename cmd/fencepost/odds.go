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
	"github.com/fencepost-sim/fencepost/scenarios"
)

func newOdds() *cobra.Command {
	var o output
	var chance string
	var runs int
	c := &cobra.Command{
		Use:   "odds",
		Short: "Measure how likely a Redlock stops excluding when each server may lose the lock",
		Long: `Each of five masters fails over to its replica while client-1 holds the lock, and loses
it by that with the given chance: the replica has not heard of it. The measured share of
runs in which client-2 got it too is held against the formula
P(Bin(h, k) >= q - (N - h)) for h keys held and a quorum of q, with k^N, which the
article says, beside it. Exit 1 if the formula lies outside the 99 % interval.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			k, err := parseChance(chance)
			if err != nil {
				return err
			}
			if runs < 1 {
				return fmt.Errorf("--runs must be at least 1, not %d", runs)
			}
			if err := o.check(); err != nil {
				return err
			}
			rows, err := measureOdds(k, runs)
			if err != nil {
				return err
			}
			if o.json {
				err = oddsJSON(c.OutOrStdout(), rows)
			} else {
				err = oddsTable(c.OutOrStdout(), k, runs, rows)
			}
			if err != nil {
				return err
			}
			suite := oddsSuite(rows)
			suite.Repeat = fmt.Sprintf("%s odds --chance %s --runs %d", program(), chance, runs)
			if err := o.tell(suite); err != nil {
				return err
			}
			if slices.ContainsFunc(rows, func(r oddsRow) bool { return !r.Agrees }) {
				return outcome(exitOtherwise)
			}
			return nil
		},
	}
	o.register(c)
	c.Flags().StringVar(&chance, "chance", "20%", "`CHANCE` that one server loses the lock in its failover")
	c.Flags().IntVar(&runs, "runs", 4000, "schedules for each number of keys held")
	return c
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

// oddsRow is the odds for one number of keys held.
type oddsRow struct {
	Held     int     `json:"held"`
	Measured float64 `json:"measured"`
	Low      float64 `json:"low"` // of the 99 % interval
	High     float64 `json:"high"`
	Formula  float64 `json:"formula"`
	Article  float64 `json:"article"` // k^N
	Agrees   bool    `json:"agrees"`
}

func measureOdds(chance float64, runs int) ([]oddsRow, error) {
	var rows []oddsRow
	for held := 3; held <= 5; held++ {
		o, err := scenarios.MeasureOdds(held, chance, runs)
		if err != nil {
			return nil, err
		}
		low, high := o.Interval()
		rows = append(rows, oddsRow{held, o.Measured(), low, high, o.Formula(), o.Article(), o.Agrees()})
	}
	return rows, nil
}

func oddsTable(w io.Writer, chance float64, runs int, rows []oddsRow) error {
	fmt.Fprintf(w, "Redlock on 5 masters, each of which fails over and loses the lock by that with chance %g %%; %d "+
		"runs a row\n\n", chance*100, runs)
	fmt.Fprintf(w, "held  measured  99 %% interval        formula    article k^N\n")
	for _, r := range rows {
		mark := "agrees"
		if !r.Agrees {
			mark = "DISAGREES"
		}
		fmt.Fprintf(w, "%4d  %8.5f  %.5f to %.5f  %9.3g  %9.3g  %s\n", r.Held, r.Measured, r.Low, r.High, r.Formula, r.Article, mark)
	}
	_, err := fmt.Fprintf(w, "\nThe article's k^N is the chance that all servers lose the lock at once. A second client needs\n"+
		"only a quorum of servers that do not know the lock: those that lost it and those that never had it.\n")
	return err
}

func oddsJSON(w io.Writer, rows []oddsRow) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	return out.Encode(map[string][]oddsRow{"odds": rows})
}

// oddsSuite has a case for each row.
func oddsSuite(rows []oddsRow) reports.Suite {
	s := reports.Suite{Name: "odds"}
	for _, r := range rows {
		c := reports.Case{Group: "odds", Name: fmt.Sprintf("%d keys held", r.Held), Result: reports.Passed,
			Message: fmt.Sprintf("measured %.5f, 99 %% interval %.5f to %.5f, formula %.3g", r.Measured, r.Low, r.High, r.Formula)}
		if !r.Agrees {
			c.Result = reports.Failed
		}
		s.Cases = append(s.Cases, c)
	}
	return s
}
