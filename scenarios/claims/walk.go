package claims

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fencepost-sim/fencepost/nemesis"
	"github.com/fencepost-sim/fencepost/scenarios"
	"github.com/fencepost-sim/fencepost/sim"
)

// Walk draws random plans of two to four faults for a scenario, from the grammar of fault lines. It chooses each name,
// duration, rate and time independently of the others, and tries again if the scenario does not accept the result.
// Unlike the searches, Walk ignores the scenario's mix, which says how often each kind of fault is drawn: any fault
// that the scenario accepts can occur, except one that names a message by its content. A Walk is not safe for
// concurrent use.
type Walk struct {
	scenario *scenarios.Scenario
	runner   *scenarios.Runner
	names    nemesis.Names
	all      []sim.ProcessID
	passed   []string      // triggers that a fault-free run reaches, such as "after the 2nd acquired by client-1"
	horizon  time.Duration // duration of the fault-free run
	usages   []string      // usage lines of the kinds of faults that the scenario accepts
	dice     *rand.Rand
}

// fewest and most are the minimum and maximum number of faults in a plan.
const fewest, most = 2, 4

// NewWalk returns a Walk that draws plans for s. It runs s once without faults.
func NewWalk(t testing.TB, s *scenarios.Scenario) *Walk {
	t.Helper()
	o := &Walk{scenario: s, runner: scenarios.NewRunner(s), names: s.Targets()}
	for _, p := range slices.Concat(o.names.Clients, o.names.Servers(),
		[]sim.ProcessID{o.names.Sentinel, o.names.Resource}) {
		if p != "" {
			o.all = append(o.all, p)
		}
	}
	o.runner.Watch(func(m sim.Moment) {
		if m.Kind == sim.Passes {
			o.passed = append(o.passed, fmt.Sprintf("after the %s %s by %s", ordinal(m.Pass), m.Point, m.Process))
		}
		if slices.Contains(o.names.Clients, m.Process) {
			o.horizon = max(o.horizon, m.At.Duration())
		}
	})
	if _, err := o.runner.Run(nemesis.Plan{Scenario: s.Name, Seed: 1}); err != nil {
		t.Fatalf("%s without faults: %v", s.Name, err)
	}
	o.runner.Watch(nil)
	o.usages = o.accepted()
	return o
}

// accepted returns the usage lines for the kinds of faults that the scenario accepts. They depend only on the names of
// the scenario's processes. Walks with the same names share them, because it takes thousands of attempts to find them.
func (w *Walk) accepted() (usages []string) {
	names := fmt.Sprintf("%+v", w.names)
	if known, ok := acceptedOf.Load(names); ok {
		return known.([]string)
	}
	for i, usage := range nemesis.Usage()[:len(nemesis.Kinds)] {
		w.seed(uint64(i))
		if _, ok := w.fault(usage); ok {
			usages = append(usages, usage)
		}
	}
	acceptedOf.Store(names, usages)
	return usages
}

var acceptedOf sync.Map // maps names, as text, to usage lines

func (w *Walk) seed(n uint64) { w.dice = rand.New(rand.NewPCG(n, 0x636c61696d73)) }

// Plan returns the plan for the run with the given seed. The same seed always gives the same plan.
func (w *Walk) Plan(seed uint64) nemesis.Plan {
	w.seed(seed)
	for {
		p := nemesis.Plan{Scenario: w.scenario.Name, Seed: seed}
		for range fewest + w.dice.IntN(most-fewest+1) {
			if f, ok := w.fault(w.usages[w.dice.IntN(len(w.usages))]); ok {
				p.Faults = append(p.Faults, f)
			}
		}
		if len(p.Faults) >= fewest && p.Validate(w.names) == nil {
			return p
		}
	}
}

// tries is the maximum number of fault lines to draw until the scenario accepts one. It is large enough even for a line
// with two names, if the scenario accepts only one in twenty random pairs of names.
const tries = 300

// fault draws a fault of the kind with the given usage line. It returns false if it does not find one that the scenario
// accepts.
func (w *Walk) fault(usage string) (nemesis.Fault, bool) {
	for range tries {
		if f, err := nemesis.Parse(w.line(usage)); err == nil && nemesis.Validate(f, w.names) == nil {
			return f, true
		}
	}
	return nemesis.Fault{}, false
}

// line builds a fault line from a usage line. It replaces each placeholder with a random value, and keeps or drops each
// part in brackets at random.
func (w *Walk) line(usage string) string {
	for {
		open := strings.IndexByte(usage, '[')
		if open < 0 {
			break
		}
		end := open + strings.IndexByte(usage[open:], ']')
		choices := strings.Split(usage[open+1:end], " | ")
		chosen := ""
		if w.dice.IntN(5) > 0 {
			chosen = choices[w.dice.IntN(len(choices))]
		}
		usage = usage[:open] + chosen + usage[end+1:]
	}
	usage = strings.ReplaceAll(usage, "(| or ->)", w.pick("|", "->"))
	when := w.trigger()
	if strings.HasPrefix(usage, nemesis.Drift.String()) {
		when = "from" + strings.TrimPrefix(when, "at")
	}
	var words []string
	for _, word := range strings.Fields(usage) {
		switch bare := strings.TrimSuffix(word, ","); bare {
		case "PROCESS":
			words = append(words, w.process())
		case "LOCK":
			words = append(words, string(w.names.Locks[w.dice.IntN(len(w.names.Locks))]))
		case "…":
			for range w.dice.IntN(3) {
				words = append(words, w.process())
			}
		case "DURATION":
			words = append(words, w.length())
		case "±DURATION":
			words = append(words, w.pick("+", "-")+w.length())
		case "±NUMBERppm":
			words = append(words, w.pick("+", "-")+strconv.Itoa(int(w.doubling(100, nemesis.MaxPPM)))+"ppm")
		case "NUMBER":
			words = append(words, strconv.Itoa(int(w.doubling(1, 100))))
		case "WHEN":
			words = append(words, when)
		default:
			words = append(words, word)
		}
	}
	return strings.ReplaceAll(strings.Join(words, " "), " ,", ",")
}

// trigger returns a random time, or a random step in a client's work that occurs in the run. Both are equally likely.
func (w *Walk) trigger() string {
	if len(w.passed) > 0 && w.dice.IntN(2) == 0 {
		return w.passed[w.dice.IntN(len(w.passed))]
	}
	return "at " + nemesis.FormatDuration(time.Duration(w.dice.Int64N(int64(w.horizon)+1)).Round(time.Millisecond))
}

// length returns a random duration from 8 ms to twice the length of the run. Durations are uniformly distributed on a
// logarithmic scale.
func (w *Walk) length() string {
	d := time.Duration(w.doubling(int64(8*time.Millisecond), max(2*int64(w.horizon), int64(time.Second))))
	return nemesis.FormatDuration(d.Truncate(time.Millisecond))
}

// doubling returns a random number from least to most. It divides this range into equally likely subranges, each twice
// as long as the one before.
func (w *Walk) doubling(least, most int64) int64 {
	steps := 0
	for n := least; n < most; n *= 2 {
		steps++
	}
	from := least << w.dice.IntN(max(1, steps))
	return min(most, from+w.dice.Int64N(from))
}

func (w *Walk) process() string { return string(w.all[w.dice.IntN(len(w.all))]) }

func (w *Walk) pick(of ...string) string { return of[w.dice.IntN(len(of))] }

func ordinal(n int) string {
	suffix := "th"
	if tens := n / 10 % 10; tens != 1 {
		switch n % 10 {
		case 1:
			suffix = "st"
		case 2:
			suffix = "nd"
		case 3:
			suffix = "rd"
		}
	}
	return strconv.Itoa(n) + suffix
}
