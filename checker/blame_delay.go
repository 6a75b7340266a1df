package checker

import (
	"cmp"
	"slices"

	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/trace"
)

// delay is time that a fault may have cost a client. It is either a period or an amount. An amount says, for example,
// how far a clock jumped or how much slower a link became. Overlapping periods count once. Amounts add up.
type delay struct {
	fault    *trace.Fault
	from, to history.Time
	amount   history.Time
}

func (d delay) length() history.Time { return max(0, d.to-d.from) + d.amount }

// spent returns the total time lost to the delays.
func spent(delays []delay) history.Time {
	var sum, till history.Time
	for _, d := range slices.SortedFunc(slices.Values(delays),
		func(a, b delay) int { return cmp.Compare(a.from, b.from) }) {
		sum, till = sum+d.amount+max(0, d.to-max(d.from, till)), max(till, d.to)
	}
	return sum
}

// mostBlamed is the maximum number of faults that an explanation blames for one client's lateness. If more faults
// contributed, it names the costliest ones.
const mostBlamed = 8

// enoughOf picks the delay without which a client would have been on time. late is how late the client was. If no
// single delay is enough, enoughOf picks a small set of delays. It returns nil if the client was not late, or would
// have been late even without all of them.
func enoughOf(late history.Time, delays []delay) []*trace.Fault {
	delays = slices.DeleteFunc(delays, func(d delay) bool { return d.length() == 0 })
	all := spent(delays)
	if late < 0 || all < late || len(delays) == 0 {
		return nil
	}
	var faults []*trace.Fault
	for len(faults) < mostBlamed && (len(faults) == 0 || all-spent(delays) < late) {
		// the delay whose removal saves the most time; if several do, the longest of these
		saves, first := saved(delays), 0
		for i := range delays {
			if saves[i] > saves[first] || saves[i] == saves[first] && delays[i].length() > delays[first].length() {
				first = i
			}
		}
		faults, delays = append(faults, delays[first].fault), slices.Delete(delays, first, first+1)
	}
	return faults
}

// saved returns, for each delay, how much time the client would save without it: the delay's amount, plus the time
// between its from and to during which no other delay is active.
func saved(delays []delay) []history.Time {
	type bound struct {
		at    history.Time
		of    int
		opens bool
	}
	saves, bounds := make([]history.Time, len(delays)), make([]bound, 0, 2*len(delays))
	for i, d := range delays {
		if saves[i] = d.amount; d.from < d.to {
			bounds = append(bounds, bound{d.from, i, true}, bound{d.to, i, false})
		}
	}
	slices.SortFunc(bounds, func(a, b bound) int { return cmp.Compare(a.at, b.at) })
	// on is the number of active delays, and sum is the sum of their indexes. If only one delay is active, sum is its
	// index.
	on, sum := 0, 0
	for n, b := range bounds {
		if on == 1 {
			saves[sum] += b.at - bounds[n-1].at
		}
		if b.opens {
			on, sum = on+1, sum+b.of
		} else {
			on, sum = on-1, sum-b.of
		}
	}
	return saves
}
