package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fencepost-sim/fencepost/scenarios"
)

func newOdds() *cobra.Command {
	var chance string
	var runs int
	c := &cobra.Command{
		Use:   "odds",
		Short: "Measure how likely a Redlock stops excluding when each server may lose the lock",
		Long: `Each of five servers loses the lock with the given chance while client-1 holds it. The
measured share of runs in which client-2 got it too is held against the formula
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
			return oddsTable(c.OutOrStdout(), k, runs)
		},
	}
	c.Flags().StringVar(&chance, "chance", "20%", "`CHANCE` that one server loses the lock")
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

func oddsTable(w io.Writer, chance float64, runs int) error {
	fmt.Fprintf(w, "Redlock on 5 servers, each of which loses the lock with chance %g %%; %d runs a row\n\n", chance*100, runs)
	fmt.Fprintf(w, "held  measured  99 %% interval        formula    article k^N\n")
	agree := true
	for held := 3; held <= 5; held++ {
		o, err := scenarios.MeasureOdds(held, chance, runs)
		if err != nil {
			return err
		}
		low, high := o.Interval()
		mark := "agrees"
		if !o.Agrees() {
			agree, mark = false, "DISAGREES"
		}
		fmt.Fprintf(w, "%4d  %8.5f  %.5f to %.5f  %9.3g  %9.3g  %s\n", held, o.Measured(), low, high, o.Formula(), o.Article(), mark)
	}
	fmt.Fprintf(w, "\nThe article's k^N is the chance that all servers lose the lock at once. A second client needs\n"+
		"only a quorum of servers that do not know the lock: those that lost it and those that never had it.\n")
	if !agree {
		return outcome(exitOtherwise)
	}
	return nil
}
