package register

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fencepost-sim/fencepost/checker"
	"github.com/fencepost-sim/fencepost/checker/history"
	"github.com/fencepost-sim/fencepost/checker/linear"
)

// noOrder is the only cause of a violation. A history recorded by a data store's clients does not show what went wrong
// inside the store.
const noOrder checker.CauseKind = "no order explains it"

// remedy is the advice for every violation. It is what data store analyses usually recommend.
const remedy = "Send reads through whatever orders the writes (a quorum, a consensus, " +
	"or a leader that has checked that it is still the leader): a single replica may be behind. " +
	"Report a write as failed only if it can never take effect, and otherwise as unknown."

// violation describes the first operation that no order explains. Before it returned, some order still explained the
// history; afterward, none did.
type violation struct {
	*operation
	of    *part
	could []string // the values that it could have read instead
}

// broken finds the first return after which no order explains the operations.
func (p *part) broken() *violation {
	var reads []int // operations that read, sorted by their returns
	for i := range p.operations {
		if o := &p.operations[i]; o.returned != never && o.reads() {
			reads = append(reads, i)
		}
	}
	slices.SortFunc(reads, func(a, b int) int { return p.operations[a].returned - p.operations[b].returned })
	widest := p.widest()
	explained, refuted := -1, len(reads)-1
	for refuted-explained > 1 {
		middle := (explained + refuted) / 2
		if p.explained(widest, p.operations[reads[middle]].returned) == linear.Refuted {
			refuted = middle
		} else {
			explained = middle
		}
	}
	v := &violation{operation: &p.operations[reads[refuted]], of: p}
	v.steps = slices.Clone(v.steps) // copy them, because alternatives changes them
	v.could = v.alternatives()
	return v
}

// unseen describes a process whose record had already ended when the violation happened. The violation may be due to
// something that this process wrote later. unseen returns "" if there is no such process.
func (v *violation) unseen() string {
	h := v.of.t.h
	at := h.Events[v.returned].Time
	for _, p := range slices.Sorted(maps.Keys(h.Header.Seen)) {
		seen, apart := h.Header.Seen[p], uint64(h.Header.ErrorOf(p))+uint64(h.Header.ErrorOf(v.process))
		if p != v.process && (seen <= at || uint64(seen)-uint64(at) <= apart) {
			return fmt.Sprintf("No order of the operations explains what %s read at %v, "+
				"but the record of %s ends at %v, and it is not known what it did after that.", v.process, at, p, seen)
		}
	}
	return ""
}

// maxAlternatives is the maximum number of values to try instead of the value that was read.
const maxAlternatives = 16

// alternatives returns the values that the operation could have read instead. It returns nil if the operation read
// several registers, if there are too many values to try, or if the search was cut short.
func (v *violation) alternatives() (could []string) {
	found := &v.steps[0]
	if one := len(v.steps) == 1 || v.f == history.CAS; !one || len(v.of.values) > maxAlternatives {
		return nil
	}
	own := found.value
	defer func() { found.value = own }()
	for value := range v.of.values {
		as := v.of.widest()
		as.unknown = as.unknown && value != none // otherwise this view would explain nil in any case
		found.value = value
		switch v.of.explained(as, v.returned) {
		case linear.Unknown:
			return nil
		case linear.Linearizable:
			could = append(could, value)
		}
	}
	slices.Sort(could)
	return could
}

// report fills in the finding. If several is true, the history has other registers as well.
func (v *violation) report(f *checker.Finding, several bool) {
	events := v.of.t.h.Events
	e := &events[v.returned]
	on := ""
	if several {
		on = " of the register " + shown(v.of.name)
	}
	did := map[history.F]string{history.Read: "read", history.CAS: "compare-and-set", history.Txn: "transaction"}[v.f]
	story := fmt.Sprintf("No order of the operations until then explains the %s%s by %s, which returned %s at %v",
		did, on, v.process, shown(e.Value), e.Time)
	if v.of.widest().anything {
		story += ", whatever the initial value was"
	}
	story += "."
	switch could := strings.Join(v.could, " or "); {
	case could == "":
	case v.of.widest().unknown:
		story += fmt.Sprintf(" It could have found %s.", could)
	default:
		story += fmt.Sprintf(" It could only have found %s.", could)
	}
	f.Outcome, f.Cause, f.Remedy, f.Explanation = checker.Violated, checker.Cause{Kind: noOrder}, remedy, story
	f.Lock, f.Holders, f.At = history.Lock(v.of.name), []history.Process{v.process}, e.Index
	for _, at := range []int{v.first, v.last, v.returned} {
		if at >= 0 && !slices.Contains(f.Witness, events[at].Index) {
			f.Witness = append(f.Witness, events[at].Index)
		}
	}
	slices.Sort(f.Witness)
}
